"""Verifies the audit tables: each record against its hash, each statement against its records.

In: the audit tables under a root, a range of days. Out: `Verification`, with the query id of every
altered, missing, orphaned or doubled row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.record.logging_event import LOGGING_EVENTS
from audit.record.record_hash import record_hash
from audit.store.tables import (
    ACCESS_HISTORY,
    LINEAGE_TABLES,
    QUERY_HISTORY,
    AuditTable,
    require_tables,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STEP = 10_000
# What has happened to the logging itself is no statement, and has no record.
_EVENTS = ", ".join(f"'{kind}'" for kind in sorted(LOGGING_EVENTS))
_IS_STATEMENT = f"query_type NOT IN ({_EVENTS})"


@dataclass(frozen=True, slots=True)
class Fault:
    """An altered, missing, orphaned or duplicate row."""

    query_id: str
    fault: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Checked rows of access_history (`records`) and query_history (`statements`), and the faults."""

    records: int
    statements: int
    faults: tuple[Fault, ...]


def verify(
    spark: SparkSession,
    root: str,
    since: date | None = None,
    until: date | None = None,
    paired_since: date | None = None,
    progress: Callable[[int], None] = lambda _done: None,
) -> Verification:
    """Check every row between two days (UTC, both included).

    A record's hash covers its row of access_history. It shows an alteration by hand, not one by
    somebody who also computes the hash anew.

    Args:
        spark: a session with Delta.
        root: folder of the audit tables.
        since: the first day; None: from the beginning.
        until: the last day; None: to the end.
        paired_since: the first day that all tables keep, where their retention differs: before it a
            statement may have no record. None: they keep the same days.
        progress: told the number of records looked at, now and then.

    Raises:
        TableAlteredError: a table is not as this version made it, or gone.
    """
    there = require_tables(spark, root)
    days = [f"query_date >= DATE'{since}'"] if since else []
    days += [f"query_date <= DATE'{until}'"] if until else []
    read = partial(_read, spark, root, " AND ".join(days) or "true")
    access, query = read(ACCESS_HISTORY), read(QUERY_HISTORY)
    records, altered = _hash_faults(access, progress)
    paired = f"query_date >= DATE'{paired_since}'" if paired_since else "true"
    both = access.where(paired)
    faults = [*altered, *_pairing_faults(both, query.where(paired))]
    for table in LINEAGE_TABLES:
        if table in there:
            faults += _edge_faults(table, read(table).where(paired), both)
    return Verification(records, query.where(_IS_STATEMENT).count(), tuple(faults))


def _read(spark: SparkSession, root: str, days: str, table: AuditTable) -> DataFrame:
    return spark.read.format("delta").load(table.location(root)).where(days)


def _hash_faults(access: DataFrame, progress: Callable[[int], None]) -> tuple[int, list[Fault]]:
    faults, done = [], 0
    # One partition at a time in memory; the next one is fetched meanwhile.
    for row in access.toLocalIterator(prefetchPartitions=True):
        done += 1
        if done % _STEP == 0:
            progress(done)
        values: dict[str, Any] = row.asDict()
        if record_hash(values) != values["record_hash"]:
            faults.append(Fault(values["query_id"], "the record was altered: its hash is another"))
    return done, faults


def _pairing_faults(access: DataFrame, query: DataFrame) -> list[Fault]:
    from pyspark.sql import functions as f

    succeeded = query.where(f"execution_status = 'SUCCESS' AND {_IS_STATEMENT}")
    doubled = query.groupBy("query_id").count().where(f.col("count") > 1)
    found = {
        "the statement succeeded and has no record in access_history": succeeded.join(
            access, "query_id", "left_anti"
        ),
        "the record has no successful statement in query_history": access.join(
            succeeded, "query_id", "left_anti"
        ),
        "the statement stands twice in query_history": doubled,
    }
    return _faults(found)


def _edge_faults(table: AuditTable, edges: DataFrame, access: DataFrame) -> list[Fault]:
    """Lineage rows without a recorded statement, or duplicates."""
    from pyspark.sql import functions as f

    edge = [name for name, _, _ in table.columns if name != "query_start_time"]
    found = {
        f"{table.name} has edges of the statement, which has no record in access_history": edges.join(
            access, "query_id", "left_anti"
        ),
        # A killed ingest runs its last batch again; a row that was appended twice would show here.
        f"an edge of the statement stands twice in {table.name}": (
            edges.groupBy(*edge).count().where(f.col("count") > 1)
        ),
    }
    return _faults(found)


def _faults(found: dict[str, DataFrame]) -> list[Fault]:
    return [
        Fault(row["query_id"], fault)
        for fault, frame in found.items()
        for row in frame.select("query_id").distinct().orderBy("query_id").collect()
    ]
