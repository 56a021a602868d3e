"""Compacts the small files of a partition after ingest.

In: an audit table, the first day that an ingest wrote, how many commits it made. Out: about `EVERY` small
files at most in each partition.

Explicit OPTIMIZE at every `EVERY`th version of the table, on the days written lately. Not Delta's auto
compaction: it waits for 50 files and looks through the table's file list at each commit of each writer;
nor a look at the list of our own, which took longer than the ingest it followed (2 s against 1.5 s,
Delta 4.4, two cores). The table's version counts the commits of all drivers for nothing. OPTIMIZE changes
no data, so it never conflicts with appends, which is what drivers do nearly always; if it does conflict
(two of them optimize, a RUNNING row is replaced), it is left to the next one.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from audit.spark.delta import delta_log
from audit.spark.delta.conflicts import is_conflict
from audit.store.tables import path_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.store.tables import AuditTable

EVERY = 16
_SMALL = 4 << 20
"""Bytes: a larger file is left as it is. By default Delta (4.4) would write a large one anew each time."""


def is_due(version: int, commits: int, every: int) -> bool:
    """Whether one of the last `commits` commits, of which `version` is the newest, is an `every`th.

    >>> [is_due(version, 2, 16) for version in (1, 15, 16, 17, 18)]
    [False, False, True, True, False]
    """
    return version // every > max(version - commits, 0) // every


def compact(spark: SparkSession, table: AuditTable, root: str, first: date, commits: int) -> bool:
    """Compact the days from `first` on (and the day before), if it is due.

    Args:
        spark: a session of the audit's own.
        table: one of the audit tables.
        root: its root.
        first: the first day written (UTC).
        commits: how many commits this ingest has made on the table.

    Returns:
        Whether it was done; False where it was not due, or another commit came in between.
    """
    from audit.spark.java_errors import JVM_ERRORS

    if not is_due(_version(spark, table.location(root)), commits, EVERY):
        return False
    since = first - timedelta(days=1)
    spark.conf.set("spark.databricks.delta.optimize.minFileSize", _SMALL)
    try:
        spark.sql(f"OPTIMIZE {path_name(table, root)} WHERE query_date >= DATE'{since}'").collect()
    except JVM_ERRORS as error:
        if is_conflict(error):
            return False
        raise
    return True


def _version(spark: SparkSession, location: str) -> int:
    """The newest version that this JVM knows of a Delta table; its own commits at least."""
    return int(delta_log.known_snapshot(spark, location).version())
