"""Appends rows to a Delta table in one commit, without a Spark job.

In: a table of Arrow. Out: Parquet files, and a commit of Delta's own that names them. Spark takes a second to
write a few rows; Arrow writes the files in milliseconds. Whoever appends computes what Delta would: generated
columns, and the statistics by which files are left out.
"""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any

from audit.core.file_paths import local_path
from audit.spark import java_classes, jvm

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LONGEST = 1_000
"""Characters of a text that stands in the statistics: a longer one leaves out no file."""
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Files of a table that no commit names yet.

    Attributes:
        location: of the table, a Hadoop path.
        adds: what its log is to say of each, see `add_action`.
    """

    location: str
    adds: Sequence[Mapping[str, Any]]

    def discard(self) -> None:
        """Delete them, on a local disk; elsewhere VACUUM does."""
        folder = local_path(self.location)
        for add in self.adds if folder is not None else ():
            (folder / add["path"]).unlink(missing_ok=True)


def prepare(spark: SparkSession) -> None:
    """Load what the first append of a process needs, half a second's work."""
    from pyarrow import compute, parquet  # noqa: F401 - loaded here

    _java(spark).prepare(spark._jsparkSession)


def write_rows(
    spark: SparkSession, location: str, rows: pa.Table, partition: str, stats: Sequence[str]
) -> NewFiles:
    """Write the files of rows that a table is to have.

    Nothing is checked: the rows have the table's columns and types.

    Args:
        spark: a session of the audit's own.
        location: of the table, a Hadoop path.
        rows: with the partition's column, a date that is never null.
        partition: its name.
        stats: the columns with statistics; texts, numbers and times.
    """
    adds = []
    for day, of_day in _by_day(rows, partition):
        name = new_name({partition: day})
        size = _write(spark, location, name, of_day)
        adds.append(add_action(name, size, of_day, stats, {partition: day}))
    return NewFiles(location, adds)


def commit_files(spark: SparkSession, files: NewFiles) -> None:
    """Append the rows of files in one commit; they are there when this returns.

    On a local disk the caller keeps others from committing meanwhile (`audit.store.commit_lock`).
    """
    if files.adds:
        _java(spark).add(spark._jsparkSession, files.location, _lines(files.adds))


def replace_files(
    spark: SparkSession, files: NewFiles, gone: Iterable[Mapping[str, Any]], seen: int
) -> int | None:
    """Put files in the place of others that hold the same rows, in one commit.

    On a local disk the caller keeps others from committing meanwhile (`audit.store.commit_lock`).

    Args:
        spark: a session of the audit's own.
        files: the new ones; their actions say that no data changes.
        gone: what the log says of those that go.
        seen: the version whose files they are.

    Returns:
        The version; None where others have written since: nothing is done then.
    """
    java, session = _java(spark), spark._jsparkSession
    version = int(java.replace(session, files.location, _lines(files.adds), _lines(gone), seen))
    return None if version < 0 else version


def _lines(adds: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(json.dumps({"add": one}) for one in adds)


def new_name(partition: Mapping[str, str]) -> str:
    """A name for a new file, below the table's folder.

    Args:
        partition: its values, in which nothing needs an escape.
    """
    folder = "".join(f"{name}={value}/" for name, value in partition.items())
    return f"{folder}part-00000-{uuid.uuid4()}.c000.zstd.parquet"


def add_action(
    name: str, size: int, rows: pa.Table, stats: Sequence[str], partition: dict[str, str]
) -> dict[str, Any]:
    """What a log says of a new file.

    Args:
        name: below the table's folder; nothing in it needs an escape.
        size: bytes.
        rows: what the file holds.
        stats: the columns with statistics.
        partition: its values, as text.
    """
    return {
        "path": name,
        "partitionValues": partition,
        "size": size,
        "modificationTime": time.time_ns() // 1_000_000,
        # Delta's streams and change feed ignore files without it.
        "dataChange": True,
        "stats": json.dumps(statistics(rows, stats)),
    }


def statistics(rows: pa.Table, columns: Sequence[str]) -> dict[str, Any]:
    """What Delta keeps of a file, so that who looks for other rows need not open it.

    >>> import pyarrow as pa
    >>> statistics(pa.table({"a": [3, None, 1]}), ["a"])
    {'numRecords': 3, 'minValues': {'a': 1}, 'maxValues': {'a': 3}, 'nullCount': {'a': 1}}
    """
    from pyarrow import compute

    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for name in columns:
        found = compute.min_max(rows[name]).as_py()
        low, high = _stated(found["min"], up=False), _stated(found["max"], up=True)
        if low is not None and high is not None:
            least[name], most[name] = low, high
    nulls = {name: rows[name].null_count for name in columns}
    return {"numRecords": len(rows), "minValues": least, "maxValues": most, "nullCount": nulls}


def _stated(value: Any, *, up: bool) -> Any:
    """A bound as Delta writes it; None for none."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else None
    if hasattr(value, "astimezone"):
        # Delta has milliseconds: not those of a bound that would leave out the value itself.
        whole = value.replace(microsecond=value.microsecond // 1000 * 1000)
        whole += _MILLISECOND if up and whole < value else timedelta()
        return f"{whole.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}.{whole.microsecond // 1000:03}Z"
    return value


def _by_day(rows: pa.Table, partition: str) -> Iterator[tuple[str, pa.Table]]:
    from pyarrow import compute

    days = compute.unique(rows[partition])
    for day in sorted(days, key=lambda one: one.as_py()):
        of_day = rows if len(days) == 1 else rows.filter(compute.equal(rows[partition], day))
        yield day.as_py().isoformat(), of_day.drop_columns([partition])


def _java(spark: SparkSession) -> Any:
    return java_classes.instance(jvm.view(spark.sparkContext), "capture.EventTable")


def _write(spark: SparkSession, location: str, name: str, rows: pa.Table) -> int:
    """Write a file; returns its size."""
    from pyarrow import parquet

    folder = local_path(location)
    if folder is not None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        parquet.write_table(rows, path, compression="zstd")
        return path.stat().st_size
    file = io.BytesIO()
    parquet.write_table(rows, file, compression="zstd")
    _java(spark).write(spark._jsparkSession, location, name, file.getvalue())
    return file.tell()
