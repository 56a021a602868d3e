"""Time Travel on large tables: what AT adds to a read, and what bringing back and cloning take.

In: tables whose logs `benchmarks.time_travel_data` has written. Out: for each question a line, beside Spark's
own way or beside ten times the bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median
from typing import TYPE_CHECKING, Any

import audit
import views
from benchmarks import sessions, time_travel_data
from benchmarks.alternating import sides
from benchmarks.result import Options, Result, Row, Say, milliseconds
from benchmarks.timers import Timers, on_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.capture.audited_session import AuditedSession

_CONF = {"spark.sql.sources.default": "delta"}
_ADDED_SECONDS = 0.020
_RESTORED_SECONDS = 2.0
_SCHEMA_SECONDS = 120.0
_METRICS_SECONDS = 30.0
_METRICS = """SELECT count(DISTINCT table_name), sum(active_bytes)
    FROM account_usage.table_storage_metrics WHERE table_schema = 'many'"""
_MORE_BYTES = 10
_GROWTH = 1.3


@dataclass(frozen=True, slots=True)
class _Bench:
    """Two sessions of one Spark, and how large everything is.

    Attributes:
        audited: the session that travels.
        plain: beside it, not audited.
        worker: is waited for before a measured statement.
        timers: on PySpark's own methods.
        large: versions of a table, and files.
        tables: of a schema.
        passes: measured ones.
        say: progress.
    """

    audited: SparkSession
    plain: SparkSession
    worker: AuditedSession
    timers: Timers
    large: int
    tables: int
    passes: int
    say: Say

    def timed(self, run: Callable[[], object]) -> dict[str, float]:
        """Seconds with the audit's worker at rest: the `total`, and what was `added` to Spark's own."""
        self.worker.recorder.worker.drain()
        return self.timers.measure(run)


def run(options: Options, say: Say) -> Result:
    """Makes the tables, then measures."""
    large = options.pick("records", full=10_000, quick=300)
    tables = 10 if options.quick else 500
    passes = options.pick("passes", full=30, quick=3)
    with sessions.folder("time_travel") as root, sessions.session(root, _CONF) as spark:
        audited, plain = spark.newSession(), spark.newSession()
        timers = on_the_way()
        worker = audit.attach(audited, user="bench", root=str(root / "audit"))
        audit.flush(audited)
        views.install(audited)
        audited.sql("CREATE SCHEMA bench")
        audited.sql("USE bench")
        plain.sql("USE bench")
        bench = _Bench(audited, plain, worker, timers, large, tables, passes, say)
        rows = [row for measure in _MEASURES for row in measure(bench)]
        audit.detach(audited)
        timers.restore()
    return Result(
        f"Time Travel over {large:,} versions, {large:,} files, {tables:,} tables",
        ("ours", "beside it"),
        tuple(rows),
        f"local[2], {passes} passes of a read, a third of that of the rest, after one that is not counted:"
        " medians. A read is the whole statement, from the text to its one row, at a random version; beside"
        " it `VERSION AS OF` of that version on a session that is not audited, in the order A B B A …; what"
        " it adds is the time on the caller's thread outside PySpark's own `sql` and `collect`. The commits"
        " are written by hand after Spark's own, each overwriting the table's one file, with in-commit times,"
        " checksum files and a checkpoint each 10; files are links to one.",
    )


def _reads(bench: _Bench) -> Iterator[Row]:
    """AT against VERSION AS OF."""
    bench.say(f"a table of {bench.large:,} versions")
    bench.audited.sql(time_travel_data.MAKE_VERSIONS.format("versions"))
    bench.audited.sql("INSERT INTO versions VALUES (1, 'one')")
    made = time_travel_data.more_versions(bench.plain, "versions", bench.large)
    for what in ("TIMESTAMP", "STATEMENT"):
        bench.say(f"AT ({what})")
        yield _read(bench, made, what)


def _read(bench: _Bench, made: time_travel_data.Versions, what: str) -> Row:
    pick = random.Random(7)  # noqa: S311  which version is no secret
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for number, first in enumerate(sides(bench.passes + 1)):
        if number % 2 == 0:
            version = pick.randrange(1, bench.large - 1)
        seconds = bench.timed(_question(bench, made, version, what if first else None))
        (ours if first else theirs).append(seconds)
    added = median(one["added"] for one in ours[1:])
    on, off = (median(one["total"] for one in side[1:]) for side in (ours, theirs))
    return Row(
        f"AT ({what} => …): adds {milliseconds(added, 1)}; the whole, and VERSION AS OF beside it",
        milliseconds(on, 0),
        milliseconds(off, 0),
        on / off,
        target=f"adds ≤ {_ADDED_SECONDS * 1e3:.0f} ms",
        met=added <= _ADDED_SECONDS,
    )


def _question(
    bench: _Bench, made: time_travel_data.Versions, version: int, what: str | None
) -> Callable[[], object]:
    if what is None:
        past = f"SELECT a, b FROM versions VERSION AS OF {version}"  # noqa: S608 - our own number
        return lambda: bench.plain.sql(past).collect()
    moment = datetime.fromtimestamp(made.times[version] / 1000, timezone.utc)
    point = {"TIMESTAMP": f"{moment:%F %T.%f}", "STATEMENT": made.statements[version]}[what]
    ours = f"SELECT a, b FROM versions AT ({what} => '{point}')"  # noqa: S608 - our own
    return lambda: bench.audited.sql(ours).collect()


def _brings_back(bench: _Bench) -> Iterator[Row]:
    """UNDROP and CLONE of tables of as many files, of few bytes and of many."""
    tables, sizes = ("few_bytes", "many_bytes"), []
    for table, factor in zip(tables, (1, _MORE_BYTES), strict=True):
        bench.say(f"{table}: a table of {bench.large:,} files")
        bench.audited.sql(f"CREATE TABLE {table} (a BIGINT, noise STRING)")
        # Compressed they are half as long, whatever the factor.
        digits = f"SELECT 1, string_agg(sha2(string(id), 512), '') FROM range({factor * 200})"  # noqa: S608
        bench.audited.sql(f"INSERT INTO {table} {digits}")
        sizes.append(time_travel_data.more_files(bench.plain, table, bench.large))
    shown = " and ".join(f"{size / 1e6:,.0f} MB" for size in sizes)
    for what, measure in (("UNDROP TABLE", _undrop), ("CREATE TABLE … CLONE", _clone)):
        bench.say(what)
        passes = max(3, bench.passes // 3)
        few, many = (median([measure(bench, table, n) for n in range(passes + 1)][1:]) for table in tables)
        yield Row(
            f"{what}, {bench.large:,} files of {shown}",
            f"{few:.2f} s",
            f"{many:.2f} s",
            many / few,
            target=f"≤ {_RESTORED_SECONDS:g} s, ratio ≤ {_GROWTH}",
            met=max(few, many) <= _RESTORED_SECONDS and many / few <= _GROWTH,
        )


def _undrop(bench: _Bench, table: str, _number: int) -> float:
    bench.audited.sql(f"DROP TABLE {table}")
    return bench.timed(lambda: bench.audited.sql(f"UNDROP TABLE {table}"))["total"]


def _clone(bench: _Bench, table: str, number: int) -> float:
    clone = f"CREATE TABLE {table}_{number} CLONE {table}"
    return bench.timed(lambda: bench.audited.sql(clone))["total"]


def _schemas(bench: _Bench) -> Iterator[Row]:
    """A schema of many tables: what they store, and its CLONE."""
    bench.say(f"a schema of {bench.tables:,} tables")
    bench.audited.sql("CREATE SCHEMA many")
    bench.audited.sql("CREATE TABLE many.t AS SELECT 1 AS a")
    time_travel_data.more_tables(bench.plain, "many.t", "many", bench.tables - 1)
    for what in ("table_storage_metrics, the first look", "the next look, one table changed"):
        bench.say(what)
        answer: list[Any] = []
        seconds = bench.timed(lambda: answer.extend(bench.audited.sql(_METRICS).collect()))["total"]  # noqa: B023
        seen = answer[0][0]
        yield Row(
            f"{what}: {seen:,} tables",
            f"{seconds:.1f} s",
            target=f"< {_METRICS_SECONDS:.0f} s",
            met=seconds < _METRICS_SECONDS and seen == bench.tables,
        )
        bench.audited.sql("INSERT INTO many.t VALUES (2)")
    bench.say("CREATE SCHEMA … CLONE")
    seconds = bench.timed(lambda: bench.audited.sql("CREATE SCHEMA copy CLONE many"))["total"]
    made = len(bench.plain.sql("SHOW TABLES IN copy").collect())
    yield Row(
        f"CREATE SCHEMA … CLONE, {made:,} tables",
        f"{seconds:.1f} s",
        target=f"< {_SCHEMA_SECONDS:.0f} s",
        met=seconds < _SCHEMA_SECONDS and made == bench.tables,
    )


_MEASURES: tuple[Callable[[_Bench], Iterator[Row]], ...] = (_reads, _brings_back, _schemas)
