"""What was read last, as of the end of a day: in place of all days before, a view opens one file.

In: `finished_reads`. Out: the tables `LAST_TABLES`, a file for each of the newest finished days of the last
runs of `audit summarize`, with the rows that their views give of all days until then. Such a day is there
when the first reads until then are; days after it the views make of `finished_reads`, and of the records.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.spark.delta.conflicts import retried
from audit.store.days.finished_tables import LAST_TABLES, OBJECTS_LAST_READ, READS, FinishedTable, LastTable
from audit.store.tables import exists, path_name
from audit.store.views import temporary_definition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT_DAYS = 7
"""Records that come later than these days take all of them away; the next run makes one of all reads."""


def finished_rows(spark: SparkSession, table: FinishedTable, root: str) -> DataFrame:
    """The rows of a table's view for the days that are over."""
    days = spark.read.format("delta").load(table.location(root))
    return days.where(f"{table.never_null} IS NOT NULL")


def newest_last_reads(spark: SparkSession, root: str, until: date) -> date | None:
    """The newest day of `OBJECTS_LAST_READ` that is not after another one; None: it has none.

    The temporary view of the table's name shows it.
    """
    return _newest_kept(spark, root, OBJECTS_LAST_READ, _days(spark, root, OBJECTS_LAST_READ), until)


def forget_last_reads(spark: SparkSession, root: str, first: date) -> None:
    """Take out what was read last as of the days from one on: their records have changed."""
    for table in LAST_TABLES:
        if exists(spark, table, root):
            delete = f"DELETE FROM {path_name(table, root)} WHERE as_of >= DATE'{first}'"  # noqa: S608 - our own path and day
            retried(partial(spark.sql, delete))


def write_last_reads(spark: SparkSession, root: str) -> None:
    """Write what was read last as of the two newest finished days, and keep those of a few days before.

    Of two: a record that comes late for the newest day leaves the other one.
    """
    if not exists(spark, READS, root):
        return
    days = spark.read.format("delta").load(READS.location(root))
    newest = _newest_day(days)
    before = newest and _newest_day(days.where(f"query_date < DATE'{newest}'"))
    reads = finished_rows(spark, READS, root)
    for table in LAST_TABLES:
        for day in filter(None, (before, newest)):
            kept = _days(spark, root, table)
            if day not in kept:
                reads.where(f"query_date <= DATE'{day}'").createOrReplaceTempView(READS.view)
                _write(spark, root, table, day, kept)


def _write(spark: SparkSession, root: str, table: LastTable, day: date, kept: Collection[date]) -> None:
    """Write the rows of a table's view as of a day: of the reads until then, and of a day that is kept.

    The temporary view of `READS` shows the reads.
    """
    earlier = _newest_kept(spark, root, table, kept, day)
    bound = None if earlier is None else f"DATE'{earlier}'"
    spark.sql(temporary_definition(table.view, bound))
    rows = spark.table(table.view).selectExpr(f"DATE'{day}' AS as_of", "*")
    writer: Any = rows.repartition(1).write.format("delta").partitionBy("as_of").mode("overwrite")
    # Older ones go in the same commit.
    old = sorted(kept)[: 1 - _KEPT_DAYS]
    listed = ", ".join(f"DATE'{one}'" for one in (day, *old))
    writer = writer.option("replaceWhere", f"as_of IN ({listed})").option(
        "delta.enableDeletionVectors", "false"
    )
    retried(lambda: writer.save(table.location(root)))


def _newest_kept(
    spark: SparkSession, root: str, table: LastTable, kept: Collection[date], until: date
) -> date | None:
    days = [day for day in kept if day <= until]
    if days:
        _load(spark, root, table).createOrReplaceTempView(table.name)
    return max(days, default=None)


def _days(spark: SparkSession, root: str, table: LastTable) -> Collection[date]:
    if not exists(spark, table, root):
        return ()
    return [row["as_of"] for row in _load(spark, root, table).select("as_of").distinct().collect()]


def _load(spark: SparkSession, root: str, table: LastTable) -> DataFrame:
    return spark.read.format("delta").load(table.location(root))


def _newest_day(reads: DataFrame) -> date | None:
    found: date | None = reads.selectExpr("max(query_date) AS day").collect()[0]["day"]
    return found
