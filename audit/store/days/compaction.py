"""Puts small files together after ingest.

In: a table of a root, the first day that an ingest wrote, how many commits it made. Out: about `EVERY` small
files at most in each partition.

At every `EVERY`th version of the table, on the days written lately. Not Delta's auto compaction: it waits for
50 files and looks through the table's file list at each commit of each writer. The table's version counts the
commits of all drivers for nothing. No data change, so it never conflicts with appends, which is what drivers
do nearly always; where others have written meanwhile, it is left to the next one.

On a local disk Arrow reads the files and writes one, and Delta commits it. Spark's OPTIMIZE of sixteen files
of a few rows takes 2 to 6 seconds in a JVM that has run no other, which one short driver in sixteen would pay
when it exits; this takes a tenth of a second. Elsewhere, and on a table that delta-rs cannot read, Spark does
it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from audit.core.file_paths import local_path
from audit.spark.delta import delta_log
from audit.spark.delta.append_files import NewFiles, add_action, new_name, replace_files
from audit.spark.delta.conflicts import is_conflict
from audit.spark.unrecorded import unrecorded
from audit.store.delta_files import UnsupportedStore, open_table
from audit.store.tables import TableOfRoot, path_name

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

EVERY = 16
_SMALL = 4 << 20
"""Bytes: a larger file is left as it is. By default Delta (4.4) would write a large one anew each time."""
_TOGETHER = 32 << 20
"""Bytes of small files that become one."""
_ROWS = 64 << 20
"""Bytes of rows that are in memory, and become a row group."""
_DAY = "query_date"
_COUNTED = "null_count."
"""What delta-rs calls a column with statistics."""


def is_due(version: int, commits: int, every: int) -> bool:
    """Whether one of the last `commits` commits, of which `version` is the newest, is an `every`th.

    >>> [is_due(version, 2, 16) for version in (1, 15, 16, 17, 18)]
    [False, False, True, True, False]
    """
    return version // every > max(version - commits, 0) // every


def compact(
    spark: SparkSession, table: TableOfRoot, root: str, commits: int, first: date | None = None
) -> int | None:
    """Put the small files of a table together, if it is due. The caller holds the `commit_lock`.

    Args:
        spark: a session of the audit's own.
        table: an audit table, or one beside them.
        root: its root.
        commits: how many commits this ingest has made on the table.
        first: the first day written (UTC): of an audit table that day and later ones are looked at, and the
            day before.

    Returns:
        The version that it made; None where nothing was due or small, or others have committed meanwhile.

    Raises:
        TableUnreadable: the log of the table is not whole.
    """
    known = int(delta_log.known_snapshot(spark, table.location(root)).version())
    if not is_due(known, commits, EVERY):
        return None
    since = None if first is None else first - timedelta(days=1)
    try:
        return _by_arrow(spark, table, root, since)
    except UnsupportedStore:
        return _by_spark(spark, table, root, since)


def _by_spark(spark: SparkSession, table: TableOfRoot, root: str, since: date | None) -> int | None:
    from audit.spark.java_errors import JVM_ERRORS

    spark.conf.set("spark.databricks.delta.optimize.minFileSize", _SMALL)
    days = "" if since is None else f" WHERE {_DAY} >= DATE'{since}'"
    try:
        with unrecorded():
            spark.sql(f"OPTIMIZE {path_name(table, root)}{days}").collect()
    except JVM_ERRORS as error:
        if is_conflict(error):
            return None
        raise
    return int(delta_log.known_snapshot(spark, table.location(root)).version())


@dataclass(frozen=True, slots=True)
class _File:
    """A small file: its name below the table's folder, and what else the log says of it."""

    name: str
    size: int
    written: int
    rows: int | None
    day: date | None

    @property
    def partition(self) -> dict[str, str]:
        """As Delta writes it."""
        return {} if self.day is None else {_DAY: self.day.isoformat()}

    @property
    def action(self) -> dict[str, Any]:
        """What the log says of it, as far as a removal tells."""
        return {
            "path": self.name,
            "partitionValues": self.partition,
            "size": self.size,
            "modificationTime": self.written,
            "dataChange": False,
            **({} if self.rows is None else {"stats": json.dumps({"numRecords": self.rows})}),
        }


def _by_arrow(spark: SparkSession, table: TableOfRoot, root: str, since: date | None) -> int | None:
    """As `compact`.

    Raises:
        UnsupportedStore: delta-rs cannot read the table, or a file lacks what the table has gained since.
    """
    import pyarrow as pa

    folder = local_path(table.location(root))
    if folder is None:
        raise UnsupportedStore(root)
    found = open_table(root, table.name)
    said = pa.table(found.get_add_actions(flatten=True))
    if not len(said):
        return None  # such a list has other columns
    schema = pa.schema(found.schema().to_arrow())
    # delta-rs lists all columns; those without statistics are null.
    counted = {name for name in said.column_names if said[name].null_count < len(said)}
    stats = [
        one.name for one in schema if f"{_COUNTED}{one.name}" in counted and not pa.types.is_nested(one.type)
    ]
    new: list[dict[str, Any]] = []
    gone: list[dict[str, Any]] = []
    try:
        for files in _groups(_small(said, since)):
            new.append(_one_file(folder, files, schema, stats))
            gone += [one.action for one in files]
    except BaseException:
        NewFiles(table.location(root), new).discard()
        raise
    if not new:
        return None
    made = NewFiles(table.location(root), new)
    version = replace_files(spark, made, gone, seen=found.version())
    if version is None:
        made.discard()
    return version


def _small(said: pa.Table, since: date | None) -> list[_File]:
    """The small files of the days, in the order of their days, and in which they were written."""
    days = [None] * len(said) if since is None else said[f"partition.{_DAY}"].to_pylist()
    columns = (said[name].to_pylist() for name in ("path", "size_bytes", "modification_time", "num_records"))
    wanted = [
        file for file in (_File(*told) for told in zip(*columns, days, strict=True))
        # An escape in the name: somebody else has written it.
        if file.size < _SMALL and "%" not in file.name and (since is None or (file.day and file.day >= since))
    ]  # fmt: skip
    return sorted(wanted, key=lambda file: (str(file.day), file.written))


def _groups(files: Sequence[_File]) -> Iterator[list[_File]]:
    """Files that become one each."""
    for _, of_day in groupby(files, attrgetter("day")):
        group: list[_File] = []
        for file in of_day:
            if sum(one.size for one in group) + file.size > _TOGETHER:
                if len(group) > 1:
                    yield group
                group = []
            group.append(file)
        if len(group) > 1:
            yield group


def _one_file(
    folder: Path, files: Sequence[_File], schema: pa.Schema, stats: Sequence[str]
) -> dict[str, Any]:
    """Write the rows of files into one; returns what the log is to say of it.

    It is on the disk when this returns: a power cut must not take rows that were there.
    """
    import pyarrow as pa
    from pyarrow import parquet

    name = new_name(files[0].partition)
    path = folder / name
    own = pa.schema([field for field in schema if field.name not in files[0].partition])
    counted: list[pa.Table] = []
    waiting: list[pa.Table] = []
    try:
        with path.open("xb") as to, parquet.ParquetWriter(to, own, compression="zstd") as writer:
            for file in files:
                rows = _rows(folder / file.name, own)
                counted.append(rows.select(stats))
                waiting.append(rows)
                if file is files[-1] or sum(some.nbytes for some in waiting) > _ROWS:
                    writer.write_table(pa.concat_tables(waiting))
                    waiting = []
            writer.close()
            to.flush()
            os.fsync(to.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    action = add_action(name, path.stat().st_size, pa.concat_tables(counted), stats, files[0].partition)
    return {**action, "dataChange": False}


def _rows(path: Path, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    # Spark writes times as INT96, which Arrow would take for nanoseconds.
    file = parquet.ParquetFile(path, coerce_int96_timestamp_unit="us")
    if missing := {*schema.names} - {*file.schema_arrow.names}:
        raise UnsupportedStore(f"{path} has no {', '.join(sorted(missing))}")
    try:
        return file.read(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UnsupportedStore(f"{path} has other columns: {error}") from error
