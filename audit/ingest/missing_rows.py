"""The rows of a batch that a table lacks, when a batch is taken in again after a crash.

In: a table, rows. Out: those of them whose statements have no row there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.tables import AuditTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def missing_rows(table: AuditTable, root: str, rows: DataFrame, existing_where: str = "true") -> DataFrame:
    """The rows whose statements are not yet among the rows of a table for which a condition is true."""
    # The time span lets Delta skip files: without it every file of the table would be read.
    span = rows.selectExpr(f"unix_micros(min({table.time}))", f"unix_micros(max({table.time}))").collect()[0]
    if span[0] is None:
        return rows
    existing = rows.sparkSession.read.format("delta").load(table.location(root))
    times = f"{table.time} BETWEEN timestamp_micros({span[0]}) AND timestamp_micros({span[1]})"
    existing = existing.where(times).where(existing_where)
    return rows.join(existing.select("query_id"), "query_id", "left_anti")
