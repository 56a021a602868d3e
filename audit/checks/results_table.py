"""The table data_quality_results under a root: written by `audit.expect`, read for the lineage.

In: rows of a validation, or a moment. Out: a commit; or which columns and objects have a check that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.checks.errors import ResultsNotRecorded
from audit.core.clock import to_datetime
from audit.core.errors import TableMissingError
from audit.core.file_paths import local_path
from audit.spark.delta.conflicts import retried
from audit.store.delta_files import UnsupportedStore, data_files, open_table
from audit.store.error_translation import first_lines
from audit.store.made_tables import exists
from audit.store.tables import DATA_QUALITY

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from audit.checks.outcome import Json

FailedChecks = dict[tuple[int, str | None], tuple[str, ...]]
"""The names of expectations by object id and column; the column is None for those of a whole object."""
_FIELDS = (
    "run_time", "object_id", "object_version", "suite_name", "expectation_name", "arguments", "column_name",
    "outcome",
)  # fmt: skip


def append_results(spark: SparkSession, root: str, schema: str, rows: list[Json]) -> None:
    """Write rows, and make the table known by its name; it is made where it is not there.

    Args:
        spark: a session of the audit's own.
        root: folder of the audit tables.
        schema: where they are registered.
        rows: as `Validation.rows` gives them.

    Raises:
        IngestError: others have written under the root all the time.
        ResultsNotRecorded: Spark or Delta refused.
        SchemaTakenError: the schema shows another root.
    """
    # These import PySpark, which the command line reads results without.
    from audit.spark.java_errors import CALL_ERRORS, java_message
    from audit.store.commit_lock import commit_lock
    from audit.store.registration import register_tables

    location = DATA_QUALITY.location(root)
    try:
        with commit_lock(spark, root):
            if not exists(spark, DATA_QUALITY, root):
                retried(partial(spark.sql, DATA_QUALITY.create_sql(root)))
            frame = spark.createDataFrame(rows, DATA_QUALITY.row_schema)
            retried(lambda: frame.coalesce(1).write.format("delta").mode("append").save(location))
        register_tables(spark, root, schema, ())
    except CALL_ERRORS as error:
        raise ResultsNotRecorded(
            f"the results could not be written to {location} ({first_lines(java_message(error))})",
            "mend the cause, and validate again",
        ) from error


def failed_checks(
    root: str, moment: int | None = None, spark: Callable[[], SparkSession] | None = None
) -> FailedChecks:
    """What fails at the newest version of each object that was validated; without a JVM.

    Of one expectation at one version the newest validation counts.

    Args:
        root: folder of the audit tables.
        moment: the last microsecond (UTC) that counts; None: now.
        spark: gives a session that reads what delta-rs cannot.
    """
    try:
        rows = _read(root, spark)
    except TableMissingError:
        return {}  # nothing was validated
    if moment is not None:
        rows = [row for row in rows if row["run_time"] <= to_datetime(moment)]
    return failing(rows)


def failing(rows: Iterable[Json]) -> FailedChecks:
    """What fails, out of rows of data_quality_results; see `failed_checks`.

    >>> row = {"object_id": 1, "column_name": "a", "suite_name": "s", "expectation_name": "e"}
    >>> row |= {"arguments": "{}", "outcome": "FAILED"}
    >>> old, new = ({**row, "run_time": at, "object_version": at} for at in (1, 2))
    >>> failing([old, new]), failing([old, {**new, "outcome": "PASSED"}])
    ({(1, 'a'): ('e',)}, {})
    """
    known = [row for row in rows if row["object_id"] is not None]
    newest: dict[int, int] = {}
    for row in known:
        newest[row["object_id"]] = max(newest.get(row["object_id"], -1), _version(row))
    last: dict[tuple[Any, ...], Json] = {}
    for row in sorted(known, key=lambda one: one["run_time"]):
        if _version(row) == newest[row["object_id"]]:
            key = row["object_id"], row["suite_name"], row["expectation_name"], row["arguments"]
            last[key] = row
    found: dict[tuple[int, str | None], list[str]] = {}
    for row in last.values():
        if row["outcome"] != "PASSED":
            found.setdefault((row["object_id"], row["column_name"]), []).append(row["expectation_name"])
    return {key: tuple(dict.fromkeys(names)) for key, names in found.items()}


def _version(row: Json) -> int:
    """A view has none: all of its validations are of the same."""
    return -1 if row["object_version"] is None else int(row["object_version"])


def _read(root: str, spark: Callable[[], SparkSession] | None) -> list[Json]:
    try:
        table = open_table(root, DATA_QUALITY.name)
    except UnsupportedStore:
        if spark is None:
            raise
        frame = spark().read.format("delta").load(DATA_QUALITY.location(root))
        rows: list[Json] = frame.select(*_FIELDS).toArrow().to_pylist()
        return rows
    if local_path(root) is None:
        from pyarrow.dataset import ParquetReadOptions

        options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
        remote = table.to_pyarrow_dataset(parquet_read_options=options)
        return _in_utc(remote.to_table(columns=list(_FIELDS)))
    return [row for path in data_files(table) for row in _in_utc(_of_file(path))]


def _of_file(path: str) -> pa.Table:
    from pyarrow.parquet import ParquetFile

    # Spark writes INT96, which has nanoseconds if nobody says otherwise.
    with ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        return file.read(columns=list(_FIELDS), use_threads=False)


def _in_utc(table: pa.Table) -> list[Json]:
    """Rows whose times have a zone: INT96 has none."""
    import pyarrow as pa

    at = table.schema.get_field_index("run_time")
    times = table.column(at).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    rows: list[Json] = table.set_column(at, "run_time", times).to_pylist()
    return rows
