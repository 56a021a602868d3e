"""What analysts and auditors wait for, over a year: views of what is measured, `audit query`, `audit report`.

In: `benchmarks.year_data` and `benchmarks.measured_data`. Out: for each view the time in Spark and without a
JVM; for each report, and for a question asked on the command line, the time of the whole process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING

import views
from audit.core.clock import ManualClock, to_micros
from audit.query import tables
from audit.query.sum_up import summarize
from audit.report.kinds import KINDS
from audit.store.measured.names import MEASURED, STANDS_ON
from audit.store.registration import register_tables
from benchmarks import measured_data, sessions, year_data
from benchmarks.result import Options, Result, Row, Say

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_TARGET_OF_VIEWS = 5.0
_TARGET_OF_PROCESSORS = 1.0
_SHOWN = 1_000
_REPORTED_DAYS = 7
_ALL_DAYS = frozenset(
    {"unused_columns", "unused_tables", "dormant_privileges", "objects_without_owner", "users"}
)
"""The views that no time bounds: they look at the whole history."""


def run(options: Options, say: Say) -> Result:
    """Makes what is missing, then asks."""
    days = options.pick("days", full=365, quick=20)
    records = options.pick("records", full=100_000, quick=500)
    passes = options.pick("passes", full=3, quick=1)
    with sessions.folder("answers") as home, sessions.session(home) as spark:
        root = year_data.history(spark, days, records, say)
        midnight = year_data.FIRST_DAY + timedelta(days=days)
        summarize(spark, str(root), ManualClock(to_micros(midnight)), say)
        counted = measured_data.measured(spark, root, days)
        told = ", ".join(f"{rows:,} rows of {name}" for name, rows in counted.items())
        say(told)
        register_tables(spark, str(root), "account_usage")
        for name in MEASURED:
            spark.sql(f"CREATE TABLE account_usage.{name} USING delta LOCATION '{root / name}'")
        views.install(spark)
        asked = {name: _of(name, days) for name in STANDS_ON}
        in_spark = {}
        for name, sql in asked.items():
            say(name)
            in_spark[name] = _in_spark(spark, sql, 1 if name in _ALL_DAYS else passes)
    say("without a JVM")
    without = {name: _in_duckdb(root, sql, 1 if name in _ALL_DAYS else passes) for name, sql in asked.items()}
    rows = [_row_of_view(name, in_spark[name], without[name]) for name in asked]
    say("the command line")
    last = year_data.FIRST_DAY + timedelta(days=days - 1)
    period = ("--from", f"{last - timedelta(days=_REPORTED_DAYS - 1):%F}", "--to", f"{last:%F}")
    with sessions.folder("answers") as folder:
        rows += _of_commands(root, folder, period, passes, say)
    return Result(
        f"What analysts and auditors wait for, out of {days} days of {records:,} records",
        ("seconds", "seconds without a JVM"),
        tuple(rows),
        f"On {sessions.MASTER}, medians of {passes} passes after one to warm up, of one pass for all days; a"
        f" process starts anew each time. Measured: {told}. Views give their first {_SHOWN:,}"
        " rows, tagged_data_spread of a day.",
    )


def _of(name: str, days: int) -> str:
    """The first rows of a view; of the last day, where it has days."""
    last = year_data.FIRST_DAY + timedelta(days=days - 1)
    where = f" WHERE query_date = DATE'{last:%F}'" if name in tables.TIMES else ""
    return f"SELECT * FROM account_usage.{name}{where} LIMIT {_SHOWN}"  # noqa: S608 - our own names


def _in_spark(spark: SparkSession, sql: str, passes: int) -> tuple[float, int]:
    """Seconds, rows."""
    seconds = []
    for _ in range(passes + 1):
        began = time.perf_counter()
        rows = spark.sql(sql).collect()
        seconds.append(time.perf_counter() - began)
    return median(seconds[1:]), len(rows)


def _in_duckdb(root: Path, sql: str, passes: int) -> float:
    """Seconds, tables opened anew each time."""
    seconds = []
    for _ in range(passes):
        began = time.perf_counter()
        with tables.opened(str(root), whole=False) as source:
            source.ask(sql, {})
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def _row_of_view(name: str, in_spark: tuple[float, int], without: float) -> Row:
    seconds, rows = in_spark
    bounded = name not in _ALL_DAYS
    return Row(
        f"{name}{'' if bounded else ', of all days'}: {rows:,} rows",
        f"{seconds:.2f} s",
        f"{without:.2f} s",
        target=f"≤ {_TARGET_OF_VIEWS:g} s",
        met=max(seconds, without) <= _TARGET_OF_VIEWS,
    )


def _of_commands(root: Path, folder: Path, period: tuple[str, ...], passes: int, say: Say) -> list[Row]:
    question = year_data.statements()[40].access.base_objects_accessed[0]
    week = f"query_date >= DATE'{period[1]}'"
    sql = (
        f"SELECT user_name, count(*) FROM account_usage.objects_read WHERE {week}"  # noqa: S608 - our own names
        f" AND object_name = '{question.name}' GROUP BY user_name"
    )
    compiled = folder / "compiled"
    seconds, used = _processes(("query", sql, "--root", str(root)), passes, compiled)
    rows = [
        Row(
            "audit query, who read this table within a week, the whole process",
            "",
            f"{seconds:.2f} s, {used:.2f} s of processors",
            target=f"≤ {_TARGET_OF_PROCESSORS:g} s of processors",
            met=used <= _TARGET_OF_PROCESSORS,
        )
    ]
    about = {"user": ("user_1",), "object": (question.name,)}
    for kind in KINDS:
        if kind != "subject":  # it replays statements on versions, which this root does not have
            say(f"audit report {kind}")
            words = ("report", kind, *about.get(kind, ()), *period, "-o", str(folder / f"{kind}.html"))
            seconds, used = _processes((*words, "--root", str(root)), 1, compiled)
            what = f"audit report {kind}, of {_REPORTED_DAYS} days, the whole process"
            rows.append(Row(what, "", f"{seconds:.1f} s, {used:.1f} s of processors"))
    return rows


def _processes(words: tuple[str, ...], passes: int, compiled: Path) -> tuple[float, float]:
    """Seconds of a command, and of the processors; medians. Its modules are compiled, as pip leaves them."""
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(compiled)
    command = [sys.executable, "-m", "audit.cli", *words]
    if not compiled.exists():
        subprocess.run(command, check=True, capture_output=True, env=environment)
    found = []
    for _ in range(passes):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((took, used))
    return median(one for one, _ in found), median(one for _, one in found)
