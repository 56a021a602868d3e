"""What was done last, or in all, as of the end of a day: in place of all days before, a view opens one day.

In: tables of finished days. Out: the tables `LAST_TABLES`, with the newest finished days of the
last runs of `audit summarize`, and the rows that their views give of all days until then. Days after it the
views make of the finished days, and of the records. Where reads have such a day, the first reads until then
are there, too.

Who takes old days away calls `forget_sums` first. The next run makes the sums anew, of what is left.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.spark.delta.conflicts import retried
from audit.store.days.finished_tables import (
    FINISHED_TABLES,
    LAST_TABLES,
    OBJECTS_LAST_READ,
    FinishedTable,
    LastTable,
)
from audit.store.made_tables import exists
from audit.store.tables import path_name
from audit.store.views import temporary_definition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT_DAYS = 7
"""Records that come later than these days take all of them away; the next run makes one of all reads."""
_ROWS_OF_A_FILE = 100_000
"""So that all cores read a day. One task reads a group of rows, and a file of this size has one."""


def finished_rows(spark: SparkSession, table: FinishedTable, root: str) -> DataFrame:
    """The rows of a table's view for the days that are over."""
    days = spark.read.format("delta").load(table.location(root))
    return days.where(f"{table.never_null} IS NOT NULL")


def newest_last_reads(spark: SparkSession, root: str, until: date) -> date | None:
    """The newest day of `OBJECTS_LAST_READ` that is not after another one; None: it has none.

    The temporary view of the table's name shows it.
    """
    return _newest_kept(spark, root, OBJECTS_LAST_READ, _days(spark, root, OBJECTS_LAST_READ), until)


def forget_last(
    spark: SparkSession, root: str, first: date, upon: Collection[FinishedTable] = FINISHED_TABLES
) -> None:
    """Take out what was done last as of the days from one on: the days of some tables have changed."""
    for table in LAST_TABLES:
        if table.upon in upon:
            _forget(spark, root, table, first)


def forget_sums(spark: SparkSession, root: str, shortened: Collection[str]) -> None:
    """Take out what adds up days, where the tables of these names have lost some: of days, or of records."""
    for table in LAST_TABLES:
        if table.adds_up and not {table.upon.name, *table.sources}.isdisjoint(shortened):
            _forget(spark, root, table, date.min)


def write_last(spark: SparkSession, root: str) -> None:
    """Write what was done last as of the two newest finished days, and keep those of a few days before.

    Of two: a record that comes late for the newest day leaves the other one.
    """
    for table in LAST_TABLES:
        if exists(spark, table.upon, root):
            _write_newest(spark, root, table)


def _forget(spark: SparkSession, root: str, table: LastTable, first: date) -> None:
    if exists(spark, table, root):
        delete = f"DELETE FROM {path_name(table, root)} WHERE as_of >= DATE'{first}'"  # noqa: S608 - our own path and day
        retried(partial(spark.sql, delete))


def _write_newest(spark: SparkSession, root: str, table: LastTable) -> None:
    days = spark.read.format("delta").load(table.upon.location(root))
    newest = _newest_day(days)
    before = newest and _newest_day(days.where(f"query_date < DATE'{newest}'"))
    rows = finished_rows(spark, table.upon, root)
    for day in filter(None, (before, newest)):
        kept = _days(spark, root, table)
        if day not in kept:
            rows.where(f"query_date <= DATE'{day}'").createOrReplaceTempView(table.upon.view)
            _write(spark, root, table, day, kept)


def _write(spark: SparkSession, root: str, table: LastTable, day: date, kept: Collection[date]) -> None:
    """Write the rows of a table's view as of a day: of the days until then, and of a day that is kept.

    The temporary view of what it stands upon shows the days.
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
    writer = writer.option("maxRecordsPerFile", _ROWS_OF_A_FILE)
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


def _newest_day(days: DataFrame) -> date | None:
    found: date | None = days.selectExpr("max(query_date) AS day").collect()[0]["day"]
    return found
