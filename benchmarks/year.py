"""A year of history: who read this column in the last seven days?

In: `benchmarks.year_data`. Out: for each way to ask, the time, and the files and partitions opened; without
a JVM the time of the processors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeVar

import views
from audit.core.clock import ManualClock, to_micros
from audit.query import tables
from audit.query.sum_up import summarize
from audit.store.days.summary import forget_since, last_finished
from audit.store.registration import register_tables
from audit.store.tables import ACCESS_HISTORY, path_name
from audit.store.views import OF_LINEAGE, OF_RECORDS
from benchmarks import sessions, year_data
from benchmarks.result import Options, Result, Row, Say
from benchmarks.scan import Opened, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Worked = TypeVar("_Worked", Opened, float)
_TARGET_SECONDS = 3.0
_TARGET_OF_PROCESSORS = 1.0
_TARGET_OF_VIEWS = 2.0
_WINDOW_DAYS = 7
_SHOWN = 1_000
_OF_MANY = frozenset({
    "failed_and_denied_attempts", "top_readers", "aggregate_query_history", "aggregate_access_history",
})  # fmt: skip
"""The views a row of which stands for many statements of a day."""
_OF_ALL_DAYS = {
    "the newest sessions of all days": (
        "SELECT * FROM account_usage.sessions ORDER BY created_on DESC LIMIT 1000"
    ),
    "who reads most, of all days": (
        "SELECT * FROM account_usage.top_readers_of_all_days ORDER BY statements DESC LIMIT 1000"
    ),
}
_OF_A_WEEK = {
    "the grants of a week, of system_access_audit": (
        "SELECT * FROM account_usage.system_access_audit"
        " WHERE {window} AND action_name = 'updatePermissions' ORDER BY event_time DESC LIMIT 1000"
    ),
    "who read one table in a week, of system_access_table_lineage": (
        "SELECT created_by, count(*) AS reads FROM account_usage.system_access_table_lineage"
        " WHERE {window} AND source_table_full_name = 'spark_catalog.schema_0.table_0'"
        " GROUP BY created_by ORDER BY reads DESC LIMIT 1000"
    ),
}
_ASKED = 40  # of the templates: one whose statement runs about once in 300

_ANSWER = "SELECT user_name, count(*) AS reads, max(query_start_time) AS last_read FROM"
_SHAPES = {
    "explode": (
        "{answer} {table} LATERAL VIEW explode(base_objects_accessed) AS object"
        " WHERE {window} AND object.objectName = '{object}'"
        " AND array_contains(object.columns.columnName, '{column}')"
        " GROUP BY user_name ORDER BY last_read DESC"
    ),
    "exists": (
        "{answer} {table} WHERE {window} AND exists(base_objects_accessed, o -> o.objectName = '{object}'"
        " AND exists(o.columns, c -> c.columnName = '{column}')) GROUP BY user_name ORDER BY last_read DESC"
    ),
    "the view objects_read": (
        "{answer} account_usage.objects_read"
        " WHERE {window} AND read_kind = 'base' AND object_name = '{object}'"
        " AND array_contains(columns.columnName, '{column}')"
        " GROUP BY user_name ORDER BY last_read DESC"
    ),
    "the view columns_read": (
        "{answer} account_usage.columns_read"
        " WHERE {window} AND is_base AND object_name = '{object}' AND column_name = '{column}'"
        " GROUP BY user_name ORDER BY last_read DESC"
    ),
}


def run(options: Options, say: Say) -> Result:
    """Makes the year where it is missing, then asks in each way, in turns."""
    days = options.pick("days", full=365, quick=20)
    records = options.pick("records", full=100_000, quick=500)
    passes = options.pick("passes", full=5, quick=2)
    with sessions.folder("year") as folder, sessions.session(folder) as spark:
        root = year_data.history(spark, days, records, say)
        midnight = year_data.FIRST_DAY + timedelta(days=days)
        summed = _summed(spark, str(root), midnight, say)
        register_tables(spark, str(root), "account_usage")
        views.install(spark)
        asked = {
            (shape, now): _question(shape, root, now)
            for now in (midnight, midnight - timedelta(hours=9))
            for shape in _SHAPES
        }
        first = _timed(spark, asked["explode", midnight])[0]
        say(f"the first question of a cold JVM: {first:.2f} s")
        found: dict[tuple[str, datetime], list[tuple[float, Opened, int]]] = {key: [] for key in asked}
        for number in range(passes + 1):
            say(f"pass {number} of {passes}" if number else "warm-up")
            for key, sql in asked.items():
                answer = _timed(spark, sql)
                if number:
                    found[key].append(answer)
        say("each view, over a day; those of all days")
        views_asked = {f"the newest of a day of {name}": _of_day(name, midnight) for name in _bounded()}
        views_asked |= _OF_ALL_DAYS
        views_asked |= {
            what: sql.format(window=_window("event_time", midnight)) for what, sql in _OF_A_WEEK.items()
        }
        of_a_view = _in_turns(views_asked, lambda sql: _timed(spark, sql), passes)
    of_views = {key: sql for key, sql in asked.items() if "account_usage" in sql}
    say("the views without a JVM")
    without = {key: [_in_duckdb(root, sql) for _ in range(passes)] for key, sql in of_views.items()}
    views_without = _in_turns(views_asked, lambda sql: _in_duckdb(root, sql), passes)
    size = sum(path.stat().st_size for path in root.rglob("*.parquet")) / 1e9
    rows = tuple(_row(shape, now, answers, days) for (shape, now), answers in found.items())
    rows += tuple(
        _row_of_view(what, seconds, f"{scan.files} files, {scan.megabytes:,.0f} MB", number)
        for what, (seconds, scan, number) in of_a_view.items()
    )
    rows += (Row("audit summarize, for one more day", f"{summed:.1f} s"),)
    rows += tuple(_row_of_duckdb(shape, now, answers) for (shape, now), answers in without.items())
    rows += tuple(
        _row_of_view(f"{what} without a JVM", seconds, f"{used:.2f} s of processors", number)
        for what, (seconds, used, number) in views_without.items()
    )
    return Result(
        f"Who read this column in the last {_WINDOW_DAYS} days, out of {days} days of {records:,} records",
        ("seconds", "opened"),
        rows,
        f"{days * records / 1e6:,.1f} million records, {size:,.1f} GB, in files as compaction leaves them, in"
        f" the audit's own table on {sessions.MASTER}: median of {passes} passes after one to warm up, from"
        " the text to the collected rows. What was opened is what the metrics of the scan say.",
        (
            f"Excluded: a cold JVM. Its first question took {first:.2f} s.",
            (
                f"A window that begins at midnight covers {_WINDOW_DAYS} partitions; at any other time it"
                f" begins and ends inside a day, so it covers {_WINDOW_DAYS + 1}."
            ),
        ),
    )


def _question(shape: str, root: Path, now: datetime) -> str:
    access = year_data.statements()[_ASKED].access
    asked = access.base_objects_accessed[0]
    window = _window("query_start_time", now)
    table = path_name(ACCESS_HISTORY, str(root))
    column = asked.columns[0].name
    return _SHAPES[shape].format(answer=_ANSWER, table=table, window=window, object=asked.name, column=column)


def _window(when: str, now: datetime, days: int = _WINDOW_DAYS) -> str:
    """The condition on a column of time that chooses the days before a moment."""
    since = now - timedelta(days=days)
    return f"{when} >= TIMESTAMP'{since:%F %T}' AND {when} < TIMESTAMP'{now:%F %T}'"


def _bounded() -> list[str]:
    """The views that a bound on their time keeps to some days, but for those that need a measurement."""
    return [name for name in (*OF_RECORDS, *OF_LINEAGE) if name in tables.TIMES]


def _of_day(name: str, now: datetime) -> str:
    """The newest rows of the last day of a view, whole: as an analyst looks first."""
    when, day = tables.TIMES[name], now - timedelta(days=1)
    # Where a row stands for many statements its time is made of theirs; Spark leaves out days by query_date.
    bound = f"query_date = DATE'{day:%F}'" if name in _OF_MANY else _window(when, now, days=1)
    return f"SELECT * FROM account_usage.{name} WHERE {bound} ORDER BY {when} DESC LIMIT {_SHOWN}"  # noqa: S608 - our own names


def _summed(spark: SparkSession, root: str, now: datetime, say: Say) -> float:
    """Seconds to sum up one more day; the days before it are summed up, if they were not yet."""
    clock = ManualClock(to_micros(now))
    summarize(spark, root, clock, say)
    forget_since(spark, root, last_finished(clock.now()), clock.now())
    began = time.perf_counter()
    summarize(spark, root, clock)
    return time.perf_counter() - began


def _in_turns(
    asked: Mapping[str, str], ask: Callable[[str], tuple[float, _Worked, int]], passes: int
) -> dict[str, tuple[float, _Worked, int]]:
    """Of each question the answer that took the median time, after one to warm up."""
    found: dict[str, list[tuple[float, _Worked, int]]] = {what: [] for what in asked}
    for number in range(passes + 1):
        for what, sql in asked.items():
            answer = ask(sql)
            if number:
                found[what].append(answer)
    return {what: sorted(answers, key=itemgetter(0))[len(answers) // 2] for what, answers in found.items()}


def _row_of_view(what: str, seconds: float, worked: str, rows: int) -> Row:
    return Row(
        f"{what}: {rows:,} rows",
        f"{seconds:.2f} s",
        worked,
        target=f"≤ {_TARGET_OF_VIEWS:g} s",
        met=seconds <= _TARGET_OF_VIEWS,
    )


def _timed(spark: SparkSession, sql: str) -> tuple[float, Opened, int]:
    """Seconds, what was opened, rows."""
    began = time.perf_counter()
    frame = spark.sql(sql)
    rows = frame.collect()
    return time.perf_counter() - began, opened(frame), len(rows)


def _row(shape: str, now: datetime, answers: list[tuple[float, Opened, int]], days: int) -> Row:
    seconds = median(answer[0] for answer in answers)
    _, scan, rows = answers[0]
    partitions = _WINDOW_DAYS if now.hour == 0 else _WINDOW_DAYS + 1
    return Row(
        f"{shape}, asked at {now:%H:%M}: {rows:,} users",
        f"{seconds:.2f} s",
        f"{scan.files} files of {scan.partitions} partitions of {days}, {scan.megabytes:,.0f} MB",
        target=f"≤ {_TARGET_SECONDS:g} s, {partitions} partitions",
        met=seconds <= _TARGET_SECONDS and scan.partitions == partitions,
    )


def _in_duckdb(root: Path, sql: str) -> tuple[float, float, int]:
    """Seconds, seconds of processors, rows: as `audit query` answers, tables opened anew each time."""
    began, used = time.perf_counter(), time.process_time()
    with tables.opened(str(root), whole=False) as source:
        rows = source.ask(sql, {}).rows
    return time.perf_counter() - began, time.process_time() - used, len(rows)


def _row_of_duckdb(shape: str, now: datetime, answers: list[tuple[float, float, int]]) -> Row:
    seconds, used = (median(answer[part] for answer in answers) for part in (0, 1))
    return Row(
        f"{shape}, asked at {now:%H:%M} without a JVM: {answers[0][2]:,} users",
        f"{seconds:.2f} s",
        f"{used:.2f} s of processors",
        target=f"≤ {_TARGET_OF_PROCESSORS:g} s of processors",
        met=used <= _TARGET_OF_PROCESSORS,
    )
