"""Appends rows to an audit table, with what Delta would work out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.spark.delta.append_files import NewFiles, commit_files, write_rows
from audit.spark.delta.conflicts import retried

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from audit.store.tables import AuditTable

_DAY = "query_date"


def append_audit_rows(spark: SparkSession, table: AuditTable, root: str, rows: pa.Table) -> None:
    """Commit rows; none makes no commit. The caller holds the `commit_lock`. See `write_audit_rows`."""
    commit_audit_rows(spark, write_audit_rows(spark, table, root, rows))


def write_audit_rows(spark: SparkSession, table: AuditTable, root: str, rows: pa.Table) -> NewFiles:
    """Write the files of rows, which no commit names yet.

    Args:
        spark: a session of the audit's own.
        table: where they go.
        root: of the audit tables.
        rows: the columns of the table but for the partition's; no time is null.
    """
    from pyarrow import compute

    # The day in UTC, as the table's generated column has it.
    dated = rows.append_column(_DAY, compute.cast(rows[table.time], "date32"))
    stats = ("query_id", table.time, "user_name", *table.stats_columns)
    return write_rows(spark, table.location(root), dated, _DAY, stats)


def commit_audit_rows(spark: SparkSession, files: NewFiles) -> None:
    """Commit the rows of files; the caller holds the `commit_lock`."""
    retried(lambda: commit_files(spark, files))
