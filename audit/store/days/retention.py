"""Retention of the audit tables: deletes whole days that are too old.

In: a root, a number of days, a clock. Out: what was deleted, by table and day. The partition column
alone decides, so Delta only removes files from its log: no data is read or written, and appends of
drivers at work do not conflict.

Deleting is not freeing. The files lie there until a VACUUM, and VACUUM runs with each table's own
`delta.deletedFileRetentionDuration` (7 days unless someone sets it), never with a shorter one: a reader
or a time-travel query that began before the deletion still opens those files, and Delta's own check
refuses less for that reason. So the space of a day is free by the first run a week after the day was
deleted; who must have it gone sooner sets that property on each table, knowing what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from audit.spark.delta.conflicts import retried
from audit.spark.sessions import own_session
from audit.store.commit_lock import commit_lock
from audit.store.days.finished_tables import LAST_TABLES, SUM_TABLES
from audit.store.days.kept_days import oldest_kept
from audit.store.days.last_tables import forget_sums
from audit.store.error_translation import as_ingest_error
from audit.store.later_tables import LATER_TABLES
from audit.store.made_tables import exists, require_tables
from audit.store.tables import AUDIT_TABLES, TableOfRoot, path_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock

_LISTING_TASKS = 16
_SUMS_OF_ALL_DAYS = [table for table in LAST_TABLES if table.adds_up]
_SUMS_BY_DAY = [table for table in SUM_TABLES if table not in _SUMS_OF_ALL_DAYS]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The deletions in one table: `days` (UTC) and their rows. `oldest_kept` is the first day that stays."""

    table: str
    oldest_kept: date
    days: tuple[date, ...]
    rows: int


def retain(
    spark: SparkSession,
    root: str,
    days_of: Callable[[str], int],
    clock: Clock,
    sign: Callable[[Sequence[Deleted]], object] = lambda _: None,
    *,
    dry_run: bool = False,
) -> tuple[Deleted, ...]:
    """Delete days that are too old from all tables, and VACUUM.

    Args:
        spark: a session with Delta.
        root: folder of the audit tables.
        days_of: how long the records of a table are kept, in days; see `oldest_kept` for the boundary.
        clock: tells the time. VACUUM goes by the file system's.
        sign: is told what will be deleted, before it is.
        dry_run: only list the days to delete.

    Raises:
        IngestError: Spark or Delta refused.
        TableAlteredError: a table is not as this version made it, or gone.
    """
    now = clock.now()
    spark = own_session(spark)
    # VACUUM (Delta 4.4) lists a table's folders in this many tasks: 10,000, minutes for a handful of days.
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", _LISTING_TASKS)
    with commit_lock(spark, root), as_ingest_error(f"retention under {root} could not be done"):
        require_tables(spark, root, upgrade=True)
        later = [table for table in (*LATER_TABLES, *_SUMS_BY_DAY) if exists(spark, table, root)]
        # The sums of finished days go with the records that they were made of.
        sources = {table.name: table.sources for table in SUM_TABLES}
        tables: dict[str, TableOfRoot] = {table.name: table for table in (*AUDIT_TABLES, *later)}
        found = tuple(
            _too_old(
                spark,
                table,
                root,
                oldest_kept(now, min(days_of(one) for one in sources.get(name, (name,)))),
            )
            for name, table in tables.items()
        )
        if not dry_run:
            sign(found)
            forget_sums(spark, root, [one.table for one in found if one.days])
            for one in found:
                _delete(spark, tables[one.table], root, one)
            for table in _SUMS_OF_ALL_DAYS:
                if exists(spark, table, root):
                    _vacuum(spark, table, root)
        return found


def _too_old(spark: SparkSession, table: TableOfRoot, root: str, first: date) -> Deleted:
    frame = spark.read.format("delta").load(table.location(root))
    old = frame.where(f"query_date < DATE'{first}'")
    counts = old.groupBy("query_date").count().orderBy("query_date").collect()
    days = tuple(row["query_date"] for row in counts)
    return Deleted(table.name, first, days, sum(row["count"] for row in counts))


def _delete(spark: SparkSession, table: TableOfRoot, root: str, old: Deleted) -> None:
    if old.days:
        where = f"query_date < DATE'{old.oldest_kept}'"
        retried(partial(spark.sql, f"DELETE FROM {path_name(table, root)} WHERE {where}"))  # noqa: S608 - our own path and day
    _vacuum(spark, table, root)


def _vacuum(spark: SparkSession, table: TableOfRoot, root: str) -> None:
    spark.sql(f"VACUUM {path_name(table, root)}")
