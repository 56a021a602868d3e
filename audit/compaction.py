"""Small files of a partition made into large ones, after ingest.

In: an audit table, the days that an ingest wrote. Out: at most `MAX_FILES` files, and what the last
ingest added, in each of those partitions.

Explicit OPTIMIZE on the days just written, not Delta's auto compaction: that one is a property of the
table, waits for 50 files, and looks at all partitions inside every commit of every writer. A look at the
file list of one day costs one small job, and OPTIMIZE runs once in `MAX_FILES` ingests. It changes no
data, so it never conflicts with appends, which is all that other drivers do nearly always; if it does
(two of them optimize, a RUNNING row is replaced), it is left to the next ingest.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from audit.conflicts import is_conflict
from audit.tables import delta_path

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import SparkSession

    from audit.tables import AuditTable

MAX_FILES = 16
_PARTITION = re.compile(r"/query_date=(\d{4}-\d\d-\d\d)/")
# Files that large are left as they are, so that a day is not rewritten whole again and again (default 1 GiB).
_SMALL = {"spark.databricks.delta.optimize.minFileSize": str(64 << 20)}


def compact(
    spark: SparkSession, table: AuditTable, root: str, first: date, last: date, limit: int = MAX_FILES
) -> tuple[str, ...]:
    """Compact the partitions between two days that have more than `limit` files.

    Args:
        spark: the session of the ingest; nobody else's.
        table: one of the audit tables.
        root: its root.
        first: the first day written (UTC).
        last: the last one.
        limit: files that a partition may have.

    Returns:
        The days that were compacted; none where another commit came in between.
    """
    from pyspark.errors import PySparkException

    counts = files_by_day(spark, table, root, first, last)
    days = tuple(sorted(day for day, count in counts.items() if count > limit))
    if not days:
        return ()
    for key, value in _SMALL.items():
        spark.conf.set(key, value)
    listed = ", ".join(f"DATE'{day}'" for day in days)
    try:
        spark.sql(f"OPTIMIZE {delta_path(table, root)} WHERE query_date IN ({listed})").collect()
    except PySparkException as error:
        if is_conflict(error):
            return ()
        raise
    return days


def files_by_day(spark: SparkSession, table: AuditTable, root: str, first: date, last: date) -> Counter[str]:
    """How many live files each partition between two days (UTC) has."""
    frame = spark.read.format("delta").load(table.location(root))
    files = frame.where(f"query_date BETWEEN DATE'{first}' AND DATE'{last}'").inputFiles()
    found = (_PARTITION.search(file) for file in files)
    return Counter(match.group(1) for match in found if match)
