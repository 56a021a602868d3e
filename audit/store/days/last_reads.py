"""When each user had read each object last, as of the end of a day: first_time_access asks what was before.

In: `finished_reads`. Out: `finished_last_reads`, a file for the newest finished day of each of the last runs
of `audit summarize`, with one row for each user and object of the history that is kept. That day is there
when the first reads until then are; days after it the view makes of `finished_reads`, and of the records.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.spark.delta.conflicts import retried
from audit.store.days.finished_tables import LAST_READS, READS
from audit.store.tables import exists, path_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT_DAYS = 7
"""Records that come later than these days take all of them away; the next run makes one of all reads."""
_COLUMNS = "query_date, user_name, object_name, object_id, last_read"


def newest_last_reads(spark: SparkSession, root: str, until: date) -> date | None:
    """The newest day of the table that is not after another one; None: it has none.

    The temporary view `finished_last_reads` shows it.
    """
    days = [day for day in _days(spark, root) if day <= until]
    if days:
        frame = spark.read.format("delta").load(LAST_READS.location(root))
        frame.createOrReplaceTempView(LAST_READS.name)
    return max(days, default=None)


def forget_last_reads(spark: SparkSession, root: str, first: date) -> None:
    """Take out what was read last as of the days from one on: their records have changed."""
    if exists(spark, LAST_READS, root):
        delete = f"DELETE FROM {path_name(LAST_READS, root)} WHERE as_of >= DATE'{first}'"  # noqa: S608 - our own path and day
        retried(partial(spark.sql, delete))


def write_last_reads(spark: SparkSession, root: str) -> None:
    """Write what was read last as of the two newest finished days, and keep those of a few days before.

    Of two: a record that comes late for the newest day leaves the other one.
    """
    if not exists(spark, READS, root):
        return
    reads = spark.read.format("delta").load(READS.location(root))
    reads.createOrReplaceTempView(READS.name)
    newest = _newest_day(reads)
    before = newest and _newest_day(reads.where(f"query_date < DATE'{newest}'"))
    for day in filter(None, (before, newest)):
        if day not in _days(spark, root):
            _write(spark, root, day)


def _write(spark: SparkSession, root: str, day: date) -> None:
    """Write what was read last as of a day; the temporary view `finished_reads` shows the reads."""
    kept, earlier, before = _days(spark, root), newest_last_reads(spark, root, day), ""
    if earlier is not None:
        before = f"UNION ALL SELECT {_COLUMNS} FROM {LAST_READS.name} WHERE as_of = DATE'{earlier}'"  # noqa: S608 - our own names
    # An object that has no id is told apart by its name.
    name = "if(object_id IS NULL, object_name, NULL)"
    rows = spark.sql(
        f"""
        SELECT DATE'{day}' AS as_of, max(query_date) AS query_date, user_name, {name} AS object_name,
          object_id, max(last_read) AS last_read
        FROM (
          SELECT {_COLUMNS} FROM {READS.name}
          WHERE query_date > DATE'{earlier or date.min}' AND query_date <= DATE'{day}' {before}
        )
        GROUP BY user_name, object_id, {name}
        """  # noqa: S608 - our own names
    )
    writer: Any = rows.repartition(1).write.format("delta").partitionBy("as_of").mode("overwrite")
    # Older ones go in the same commit.
    old = sorted(kept)[: 1 - _KEPT_DAYS]
    listed = ", ".join(f"DATE'{one}'" for one in (day, *old))
    writer = writer.option("replaceWhere", f"as_of IN ({listed})").option(
        "delta.enableDeletionVectors", "false"
    )
    retried(lambda: writer.save(LAST_READS.location(root)))


def _days(spark: SparkSession, root: str) -> Collection[date]:
    if not exists(spark, LAST_READS, root):
        return ()
    frame = spark.read.format("delta").load(LAST_READS.location(root))
    return [row["as_of"] for row in frame.select("as_of").distinct().collect()]


def _newest_day(reads: DataFrame) -> date | None:
    found: date | None = reads.selectExpr("max(query_date) AS day").collect()[0]["day"]
    return found
