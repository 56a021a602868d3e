"""Sums up finished days: a few rows a day in place of all its statements, for views that ask all days.

In: a root, a clock, what gives the rows of a view. Out: Delta tables with the rows of some views for the days
that are over. `top_readers` over a year of 36.5 million statements would explode each of them; the table
`finished_reads` holds its rows.

The views give the same rows with the tables and without them: a day after the newest one in a table comes
from the records. So a table need not be there, and its newest days may be taken out at any time. Records of
a finished day may come late (a driver that died is taken in days afterwards). Whoever appends such records
takes their day, and all days after it, out of the tables (`forget_since`). Should that be missed, the next
run finds the day: a table remembers the version of query_history that it was made from, and days that have
other files now are summed up again.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.spark.delta.conflicts import retried
from audit.store.commit_lock import commit_lock
from audit.store.days.finished_tables import FINISHED_TABLES, FinishedTable
from audit.store.days.last_tables import (
    finished_rows,
    forget_last,
    forget_sums,
    newest_last_reads,
    write_last,
)
from audit.store.error_translation import as_ingest_error
from audit.store.made_tables import exists, newest_snapshot, require_tables
from audit.store.tables import HISTORY_TABLES, QUERY_HISTORY, TableOfRoot, path_name
from audit.store.views import temporary_definition, with_those_below

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.clock import Clock

_DAYS_A_COMMIT = 7
"""So that the rows of large days fit into a small JVM."""
_SOURCES = {table.name: table for table in HISTORY_TABLES}
_DAY = timedelta(days=1)
_DAY_OF_PATH = re.compile(r"/query_date=(\d{4}-\d{2}-\d{2})/")
_SOURCE = "audit.query_history"
"""The application of Delta's transactions whose number is the version of query_history."""


@dataclass(frozen=True, slots=True)
class Summed:
    """What was done to one table: the days that were written, oldest first, and their rows."""

    table: str
    days: tuple[date, ...]
    rows: int


def last_finished(now: int) -> date:
    """The newest day (UTC) that is over.

    Args:
        now: microseconds since the epoch, UTC.

    >>> last_finished(3 * 86_400_000_000).isoformat()
    '1970-01-03'
    """
    return to_datetime(now).date() - _DAY


RowsOfDays = Callable[[str, Sequence[date]], "DataFrame"]
"""Gives the rows of a view for some days, made of the records alone; for none, its columns."""


def summarize(
    spark: SparkSession,
    root: str,
    clock: Clock,
    of_records: RowsOfDays,
    progress: Callable[[str], None] = lambda _said: None,
) -> tuple[Summed, ...]:
    """Write the finished days that the tables lack, and those whose records have changed since.

    It can be killed at any point and run again, also by two at once.

    Args:
        spark: a session of the audit's own, with Delta.
        root: folder of the audit tables.
        clock: tells the time.
        of_records: works out the rows.
        progress: is told what is done.

    Raises:
        IngestError: Spark or Delta refused.
        TableAlteredError: an audit table is not as this version made it, or gone.
    """
    last = last_finished(clock.now())
    failed = f"the finished days under {root} could not be summed up"
    with commit_lock(spark, root), as_ingest_error(failed, "the views have all rows without; run it again"):
        require_tables(spark, root, upgrade=True)
        done = tuple(_summarize(spark, table, root, last, of_records, progress) for table in FINISHED_TABLES)
        write_last(spark, root)
        return done


def forget_since(spark: SparkSession, root: str, first: date, now: int) -> None:
    """Take the days from `first` on out of the tables, if that day is finished: it has new records.

    Args:
        spark: a session of the audit's own.
        root: folder of the audit tables.
        first: the first day (UTC) with a new record.
        now: microseconds since the epoch, UTC. If the clocks of two machines differ by more than a day, the
            next `summarize` finds what was missed here.
    """
    if first > last_finished(now):
        return
    forget_last(spark, root, first)  # before the first reads: it says that they are whole
    for table in FINISHED_TABLES:
        if exists(spark, table, root):
            delete = f"DELETE FROM {path_name(table, root)} WHERE query_date >= DATE'{first}'"  # noqa: S608 - our own path and day
            retried(partial(spark.sql, delete))


def _summarize(
    spark: SparkSession,
    table: FinishedTable,
    root: str,
    last: date,
    of_records: RowsOfDays,
    progress: Callable[[str], None],
) -> Summed:
    """Write the days of one table: of records a week a commit, of sums all at once."""
    # Read before the records are: what is appended meanwhile has a later version, which the next run sees.
    version = int(newest_snapshot(spark, QUERY_HISTORY, root).version())
    if table.upon and not exists(spark, table.upon, root):
        return Summed(table.name, (), 0)
    known = _version_summed(spark, table, root)
    # Of an older version. Nothing is lost: the records are there.
    columns = _upon(spark, table, table.upon, root) if table.upon else of_records(table.view, ())
    is_emptied = _emptied(spark, table, root, columns)
    before = None if is_emptied else known
    below: TableOfRoot = table.upon or _SOURCES[table.sources[0]]
    there = _files_by_day(spark, below.location(root), last).keys()
    days = _days_to_do(spark, table, root, there, before, version)
    # The oldest days go by retention, which takes what was done last with them.
    changed = [day for day in days if day >= min(there, default=date.max)]
    if changed:
        forget_last(spark, root, changed[0], [table])
    if len(changed) < len(days):
        forget_sums(spark, root, [table.name])
    rows, at_once = 0, len(days) if table.upon else _DAYS_A_COMMIT
    for first in range(0, len(days), at_once or 1):
        some = days[first : first + at_once]
        progress(f"{table.name}: {some[0]} to {some[-1]}")
        # With the first commit to a table without days: after a kill those that it has need not be made anew.
        # Else with the last one: a run that is killed has not seen all that has changed.
        is_told = first == 0 if before is None else some[-1] == days[-1]
        # Delta leaves out a commit whose version it has seen.
        seen = version if is_told and version != known else None
        if table.upon:
            computed = _upon(spark, table, table.upon, root, after=some[0] - _DAY)
        else:
            computed = of_records(table.view, some)
        rows += _replace(computed, table, root, some, seen)
        # A DataFrame (PySpark 4.2) stands in a cycle of references, and the JVM holds its rows as long as it
        # does: a year of weeks would fill the heap before Python looks for cycles by itself.
        del computed
        gc.collect()
    if days and not table.upon:
        _stand_for(spark, table, root, days[-1])
    return Summed(table.name, tuple(days), rows)


def rows_by_spark(spark: SparkSession, root: str) -> RowsOfDays:
    """Rows that Spark works out."""

    def rows(view: str, days: Sequence[date]) -> DataFrame:
        for source in HISTORY_TABLES:
            spark.read.format("delta").load(source.location(root)).createOrReplaceTempView(source.name)
        for name in with_those_below([view]):
            spark.sql(temporary_definition(name))
        return spark.table(view).where(among(days))

    return rows


def among(days: Sequence[date]) -> str:
    """SQL: whether a row is of one of some days."""
    listed = ", ".join(f"DATE'{day}'" for day in days)
    return f"query_date IN ({listed})" if days else "false"


def _upon(
    spark: SparkSession, table: FinishedTable, below: FinishedTable, root: str, after: date | None = None
) -> DataFrame:
    """The rows of the view for the days after one, made of the table that it stands upon."""
    newest = None if after is None else newest_last_reads(spark, root, after)
    finished_rows(spark, below, root).createOrReplaceTempView(below.view)
    spark.sql(temporary_definition(table.view, None if newest is None else f"DATE'{newest}'"))
    return spark.table(table.view)


def _version_summed(spark: SparkSession, table: FinishedTable, root: str) -> int | None:
    """The version of query_history that the table was made from; None where it has none."""
    if not exists(spark, table, root):
        return None
    found = newest_snapshot(spark, table, root).transactions().get(_SOURCE)
    return int(found.get()) if found.isDefined() else None


def _emptied(spark: SparkSession, table: FinishedTable, root: str, columns: DataFrame) -> bool:
    """Whether the table had other columns than these: it is empty now, and has these."""
    location = table.location(root)
    if not exists(spark, table, root) or spark.read.format("delta").load(location).dtypes == columns.dtypes:
        return False
    forget_last(spark, root, date.min, [table])
    empty = columns.where("false").write.format("delta").partitionBy("query_date").mode("overwrite")
    retried(lambda: empty.option("overwriteSchema", "true").save(location))
    return True


def _days_to_do(
    spark: SparkSession,
    table: FinishedTable,
    root: str,
    there: AbstractSet[date],
    before: int | None,
    now: int,
) -> list[date]:
    """The days after the newest one in the table, and older ones whose files are others; in their order."""
    from audit.spark.java_errors import JVM_ERRORS

    if before is None:
        return sorted(there)
    newest, last = _newest(spark, table, root), max(there, default=date.min)
    history = QUERY_HISTORY.location(root)
    files = _files_by_day(spark, history, last, now)
    try:
        earlier = _files_by_day(spark, history, last, before)
    except JVM_ERRORS:  # Delta keeps the log of a version for 30 days
        earlier = {}
    changed = {day for day in files.keys() | earlier.keys() if files.get(day) != earlier.get(day)}
    found = {day for day in changed if day <= newest} | {day for day in there if day > newest}
    if table.upon and found:
        found |= {day for day in there if day > min(found)}
    return sorted(found)


def _newest(spark: SparkSession, table: FinishedTable, root: str) -> date:
    """The newest day that the table has, though it may have no row of it."""
    if table.upon:
        return newest_last_reads(spark, root, date.max) or date.min
    frame = spark.read.format("delta").load(table.location(root)).selectExpr("max(query_date) AS day")
    return frame.collect()[0]["day"] or date.min


def _files_by_day(
    spark: SparkSession, location: str, last: date, version: int | None = None
) -> dict[date, set[str]]:
    """The data files of a table, by day, to the last day that is finished."""
    reader = spark.read.format("delta")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    found: dict[date, set[str]] = {}
    for file in reader.load(location).where(f"query_date <= DATE'{last}'").inputFiles():
        named = _DAY_OF_PATH.search(file)
        if named is not None:
            found.setdefault(date.fromisoformat(named[1]), set()).add(file)
    return found


def _stand_for(spark: SparkSession, table: FinishedTable, root: str, day: date) -> None:
    """Write the row that stands for a day, if no row is of it or of a later one: it is done once."""
    if _newest(spark, table, root) < day:
        insert = f"INSERT INTO {path_name(table, root)} (query_date) VALUES (DATE'{day}')"  # noqa: S608 - our own path and day
        retried(partial(spark.sql, insert))


def _replace(
    computed: DataFrame, table: FinishedTable, root: str, days: list[date], version: int | None
) -> int:
    """Write some days anew, and remember the version of query_history if it is given; returns their rows."""
    chosen, location = among(days), table.location(root)
    # A file a day.
    rows = computed.where(chosen).repartition("query_date")
    writer: Any = rows.write.format("delta").partitionBy("query_date").mode("overwrite")
    # As for the other tables: any Delta reader opens it.
    writer = writer.option("replaceWhere", chosen).option("delta.enableDeletionVectors", "false")
    if version is not None:
        writer = writer.option("txnAppId", _SOURCE).option("txnVersion", version)
    retried(lambda: writer.save(location))
    return int(computed.sparkSession.read.format("delta").load(location).where(chosen).count())
