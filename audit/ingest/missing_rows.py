"""The rows of a batch that a table lacks, when a batch is taken in again after a crash.

In: a table, rows. Out: those of them whose statements have no row there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import compute

from audit.core.clock import to_micros
from audit.store.tables import AuditTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def missing_rows(
    spark: SparkSession, table: AuditTable, root: str, rows: pa.Table, existing_where: str = "true"
) -> pa.Table:
    """The rows whose statements are not yet among the rows of a table for which a condition is true."""
    if not len(rows):
        return rows
    # The time span lets Delta skip files: without it every file of the table would be read.
    span = compute.min_max(rows[table.time]).as_py()
    first, last = to_micros(span["min"]), to_micros(span["max"])
    existing = spark.read.format("delta").load(table.location(root))
    times = f"{table.time} BETWEEN timestamp_micros({first}) AND timestamp_micros({last})"
    found = existing.where(times).where(existing_where).select("query_id").distinct().collect()
    there = pa.array([row["query_id"] for row in found], pa.string())
    return rows.filter(compute.invert(compute.is_in(rows["query_id"], value_set=there)))
