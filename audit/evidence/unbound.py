"""The rows that were there before the log of digests began.

In: a root. Out: how many of them each day has. Nobody vouches for them, but none may come or go unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.spark.unrecorded import unrecorded
from audit.store.made_tables import newest_snapshot
from audit.store.tables import AUDIT_TABLES, QUERY_HISTORY

if TYPE_CHECKING:
    from audit.evidence.digest_log import DigestLog


def unbound_rows(log: DigestLog) -> dict[str, dict[str, int]]:
    """How many rows each table has, by day (UTC); tables and days without rows are left out."""
    found: dict[str, dict[str, int]] = {}
    for table in AUDIT_TABLES:
        if int(newest_snapshot(log.spark, table, log.root).version()) <= 0:
            continue  # as it was made
        with unrecorded():
            rows = log.spark.read.format("delta").load(table.location(log.root))
            if table is QUERY_HISTORY:
                rows = rows.where("NOT (execution_status <=> 'RUNNING')")  # their records are bound
            counts = rows.groupBy("query_date").count().collect()
            days = {str(row["query_date"]): int(row["count"]) for row in counts}
        if days:
            found[table.name] = days
    return found
