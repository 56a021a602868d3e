"""Backups: how long one takes whatever its bytes, what a year of them binds, how fast they are verified.

In: tables whose files are written here. Out: for each question a line. The files of a backup are hard links,
so that its time follows the number of files alone; the hash of what is large is left to `audit backup run`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import audit
from audit import attached_sessions
from audit.core.actor import Actor
from audit.time_travel.backups.files.manifest import sha256_of
from audit.time_travel.backups.verify_backups import verified_backups
from benchmarks import sessions, time_travel_data
from benchmarks.result import Options, Result, Row, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.capture.audited_session import AuditedSession
    from audit.time_travel.backups.service import Backups

_CONF = {"spark.sql.sources.default": "delta"}
_BYTES_OF_A_ROW = 40
_TABLE_SECONDS, _SCHEMA_SECONDS = 3.0, 120.0
_MORE_BYTES = 10
_ADDED = 1.01
_OF_SHA = 0.8
_PARTITIONS = 100
_TURNS = 3
_MEBIBYTES = 16
"""Of each partition: small beside what tables of this kind have, large beside the log of a backup."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """A session, and how large everything is.

    Attributes:
        session: audited.
        files: of a table.
        tables: of a schema.
        days: of daily backups.
        say: progress.
    """

    session: SparkSession
    files: int
    tables: int
    days: int
    say: Say

    @property
    def service(self) -> Backups:
        """The service of backups."""
        application = attached_sessions.find(self.session)
        assert application is not None  # noqa: S101  the run has attached it
        return application.services.backups

    def seconds(self, text: str) -> float:
        """Of a statement."""
        begin = time.perf_counter()
        self.session.sql(text).collect()
        return time.perf_counter() - begin


def run(options: Options, say: Say) -> Result:
    """Makes the tables, then measures."""
    files = options.pick("records", full=10_000, quick=100)
    tables, days = (10, 5) if options.quick else (500, options.pick("days", full=365, quick=5))
    with sessions.folder("backups") as root, sessions.session(root, _CONF) as spark:
        session = spark.newSession()
        audit.attach(session, user="bench", root=str(root / "audit"))
        session.sql("CREATE SCHEMA bench")
        session.sql("USE bench")
        bench = _Bench(session, files, tables, days, say)
        rows = [*_of_a_table(bench), _of_a_schema(bench), *_of_a_year(bench)]
        audit.detach(session)
    return Result(
        f"Backups: {files:,} files, {tables:,} tables, {days:,} days",
        ("measured", "beside it"),
        tuple(rows),
        "local[2]. A backup is the statement ALTER BACKUP SET … ADD BACKUP, from the text to its answer;"
        " each file of a table has bytes of its own, and was written just before. What is bound is the bytes"
        " of files that the table no longer has, with the logs and manifests of all backups; beside it the"
        " bytes of the data files that were overwritten. Verifying reads each file once; beside it SHA-256 of"
        " the same files in two threads; the medians of rounds in turn.",
    )


def _of_a_table(bench: _Bench) -> Iterator[Row]:
    """Of as many files, of few bytes and of many."""
    first, again, sizes = [], [], []
    for table, factor in (("few_bytes", 1), ("many_bytes", _MORE_BYTES)):
        bench.say(f"{table}: a table of {bench.files:,} files")
        bench.session.sql(f"CREATE TABLE {table} (a BIGINT, noise STRING)")
        # Compressed they are half as long, whatever the factor.
        noise = f"SELECT 1, string_agg(sha2(string(id), 512), '') FROM range({factor * 200})"  # noqa: S608
        bench.session.sql(f"INSERT INTO {table} {noise}")
        sizes.append(time_travel_data.more_files(bench.session, table, bench.files))
        _give_each_its_bytes(Path(_location(bench.session, table)))
        bench.session.sql(f"CREATE BACKUP SET of_{table} FOR TABLE {table}")
        add = f"ALTER BACKUP SET of_{table} ADD BACKUP"
        first.append(bench.seconds(add))
        again.append(median(bench.seconds(add) for _ in range(3)))
    shown = " and ".join(f"{size / 1e6:,.0f} MB" for size in sizes)
    for what, (few, many) in (("the first", first), ("the next", again)):
        yield Row(
            f"ADD BACKUP, {what}: {bench.files:,} files of {shown}",
            f"{few:.2f} s",
            f"{many:.2f} s",
            many / few,
            target=f"≤ {_TABLE_SECONDS:g} s",
            met=max(few, many) <= _TABLE_SECONDS,
        )


def _of_a_schema(bench: _Bench) -> Row:
    bench.say(f"a schema of {bench.tables:,} tables")
    bench.session.sql("CREATE SCHEMA many")
    bench.session.sql("CREATE TABLE many.t AS SELECT 1 AS a")
    time_travel_data.more_tables(bench.session, "many.t", "many", bench.tables - 1)
    bench.session.sql("CREATE BACKUP SET of_many FOR SCHEMA many")
    seconds = bench.seconds("ALTER BACKUP SET of_many ADD BACKUP")
    made = bench.service.log.state().all_backups()
    tables = max(one.content["tables"] for one in made)
    return Row(
        f"ADD BACKUP of a schema, {tables:,} tables",
        f"{seconds:.1f} s",
        target=f"< {_SCHEMA_SECONDS:.0f} s",
        met=seconds < _SCHEMA_SECONDS and tables == bench.tables,
    )


def _of_a_year(bench: _Bench) -> Iterator[Row]:
    """Daily backups of a table of which one of a hundred partitions is overwritten each day."""
    bench.say(f"{bench.days:,} daily backups")
    for name in ("few_bytes", "many_bytes", "many"):
        bench.session.sql(f"DROP BACKUP SET of_{name}")
    rows = (_MEBIBYTES << 20) // _BYTES_OF_A_ROW
    bench.session.sql("CREATE TABLE daily (noise STRING, p INT) PARTITIONED BY (p)")
    bench.session.sql(
        f"INSERT INTO daily SELECT /*+ REPARTITION({_PARTITIONS}, p) */ uuid(), p FROM (SELECT"  # noqa: S608
        f" int(id % {_PARTITIONS}) AS p FROM range({rows * _PARTITIONS}))"
    )
    bench.session.sql("CREATE BACKUP SET of_daily FOR TABLE daily")
    bench.session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    place, overwritten, took = Path(_location(bench.session, "daily")), 0, []
    for day in range(bench.days):
        partition = day % _PARTITIONS
        # What was there before the first backup is in none.
        overwritten += _bytes_of(bench.session, partition) if day else 0
        bench.session.sql(
            f"INSERT OVERWRITE daily SELECT /*+ COALESCE(1) */ uuid(), {partition} FROM range({rows})"  # noqa: S608
        )
        took.append(bench.seconds("ALTER BACKUP SET of_daily ADD BACKUP"))
        if (day + 1) % 30 == 0:
            bench.say(f"{day + 1:,} days: {took[-1]:.2f} s a backup")
    # As a purge after Fail-safe: the backups alone have what was overwritten.
    kept = {Path(one).name for one in bench.session.table("daily").inputFiles()}
    for file in place.rglob("*.parquet"):
        if file.name not in kept and "_delta_log" not in file.parts:
            file.unlink()
    bound = bench.service.bytes_bound()
    yield Row(
        f"{bench.days:,} daily backups of a table with 1 % daily change bind; beside it what was overwritten",
        f"{bound / 1e6:,.1f} MB",
        f"{overwritten / 1e6:,.1f} MB",
        bound / max(1, overwritten),
        target=f"ratio ≤ {_ADDED}",
        met=bound <= overwritten * _ADDED,
    )
    yield Row(
        f"ADD BACKUP on day 2, and on day {bench.days:,}",
        f"{took[1]:.2f} s",
        f"{took[-1]:.2f} s",
        took[-1] / took[1],
    )
    yield _verifying(bench)


def _verifying(bench: _Bench) -> Row:
    """Beside SHA-256 of the same bytes, each file once, on both cores."""
    bench.say("verifying")
    application = attached_sessions.find(bench.session)
    assert application is not None  # noqa: S101  the run has attached it
    list(bench.service.run_schedules(_actor(application)))
    config = application.services.config
    files = {file.stat().st_ino: file for file in Path(config.backup_location).rglob("*") if file.is_file()}
    ours, beside = [], []
    # In turn, so that neither alone finds the files in memory; the first of each finds them on the disk.
    for _ in range(_TURNS):
        sizes: list[int] = []
        begin = time.perf_counter()
        found = list(verified_backups(config, None, sizes.append))
        ours.append(sum(sizes) / (time.perf_counter() - begin) / 1e6)
        begin = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            read = sum(size for size, _ in pool.map(sha256_of, files.values()))
        beside.append(read / (time.perf_counter() - begin) / 1e6)
    bench.say(f"MB/s in turn: verify {_rounded(ours)}, SHA-256 {_rounded(beside)}")
    rate, alone = median(ours), median(beside)
    is_whole = not any(one.damages or one.unread for one in found)
    return Row(
        f"audit backup verify of {len(found):,} backups, {sum(sizes) / 1e9:,.1f} GB; beside it SHA-256 alone",
        f"{rate:,.0f} MB/s",
        f"{alone:,.0f} MB/s",
        rate / alone,
        target=f"ratio ≥ {_OF_SHA}",
        met=rate / alone >= _OF_SHA and is_whole,
    )


def _rounded(rates: list[float]) -> str:
    return ", ".join(f"{one:,.0f}" for one in rates)


def _actor(application: AuditedSession) -> Actor:
    services = application.services
    return Actor(services.clock(), "bench", None, services.new_id)


def _location(spark: SparkSession, table: str) -> str:
    location: str = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0].location
    return location.removeprefix("file:")


def _bytes_of(spark: SparkSession, partition: int) -> int:
    """Of the files that a partition has now."""
    files = spark.table("daily").where(f"p = {partition}").inputFiles()
    return sum(Path(one.removeprefix("file:")).stat().st_size for one in files if f"p={partition}/" in one)


def _give_each_its_bytes(folder: Path) -> None:
    """Copies in the place of links."""
    for file in folder.glob("part-*.parquet"):
        copy = file.with_suffix(".copy")
        shutil.copyfile(file, copy)
        copy.replace(file)
