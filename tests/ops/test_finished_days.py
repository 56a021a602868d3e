"""Finished days: views over sums and records give the rows that the records alone give."""

from __future__ import annotations

import gc
import json
import random
import shutil
import tempfile
from datetime import timedelta

import pytest
from click.testing import CliRunner
from py4j.java_gateway import JavaObject

from audit.cli import main
from audit.core.clock import ManualClock, SystemClock, to_datetime
from audit.ingest import folder as ingest
from audit.ingest.folder import ingest_folder
from audit.query import sum_up
from audit.query.sum_up import rows_of_days, summarize
from audit.query.tables import opened
from audit.record.access_record import Ended, Finding, Started, build_row
from audit.spark.delta.conflicts import retried
from audit.store.days import last_tables, summary
from audit.store.days.finished_tables import FINISHED_TABLES, LAST_TABLES
from audit.store.days.retention import retain
from audit.store.days.summary import forget_since, last_finished, rows_by_spark
from audit.store.delta_files import UnsupportedStore
from audit.store.registration import register_tables
from audit.store.tables import HISTORY_TABLES
from audit.store.views import create_views, with_those_below
from lineage import Access, MemoryCatalog, analyze
from lineage.model import Domain, ObjectDdl

from .helpers import DAY, NOON, Source, make_tables

pytestmark = [pytest.mark.spark, pytest.mark.slow("sums up with Spark, several times")]

TABLES = tuple(table.name for table in FINISHED_TABLES)
NO_ROWS = ("finished_writes", "finished_policy_statements")
"""Of a statement that only reads."""
VIEWS = (
    "top_readers", "top_writers", "objects_last_read", "columns_last_read", "objects_last_written",
    "first_time_access", "policy_changes", "users_by_day", "users_last_active", "sessions_by_day", "sessions",
    "top_readers_of_all_days", "policy_statements_of_all_days",
)  # fmt: skip
CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int"}, "s.u": {"c": "int"}},
    views={"s.v": "SELECT a FROM s.t"},
    current_schema="s",
)
STATEMENTS = (
    *(
        analyze(text, CATALOG)
        for text in (
            "SELECT a FROM t", "SELECT a + b FROM t", "SELECT a FROM v", "SELECT count(*) FROM u, t",
            "SELECT 1", "INSERT INTO u SELECT b FROM t",
        )
    ),
    Access("CREATE_ROLE", object_modified_by_ddl=ObjectDdl("HR", Domain.ROLE, "CREATE", 5)),
)  # fmt: skip


class Readers(Source):
    """Statements of several users and sessions, read at a time that the test says."""

    def read(self, at, who, number, status="SUCCESS"):
        """A statement that has run."""
        self.clock.set(at)
        access = STATEMENTS[number]
        started = Started(
            self.ids.new(), self.clock.now(), who, "SELECT", "SELECT", "SparkSession.sql", is_sql=True,
            session_id=f"{who}-{at // (3 * DAY)}", application_id="app",
        )  # fmt: skip
        self.spool.start(started.query_id, started.to_dict())
        ended = Ended(status, self.clock.now())
        found = Finding(access, "text", rows_produced=number) if status == "SUCCESS" else None
        self.spool.end(started.query_id, ended.to_dict())
        self.spool.record(started.query_id, build_row(started, ended, found))


@pytest.fixture
def source(spark, tmp_path):
    """The spool of a driver on a root with empty tables."""
    make_tables(spark, tmp_path)
    return Readers(tmp_path, NOON)


def take(spark, source):
    """Seal, and ingest."""
    source.spool.rotate()
    ingest_folder(spark, source.spool.path, str(source.home))


def take_late(spark, root, *reads):
    """Of a driver that died days ago; its ids are of that time."""
    for at, who, number, *status in reads:
        driver = Readers(root, at)
        driver.read(at, who, number, *status)
        take(spark, driver)
        driver.die()


def rows(frame):
    """Rows that can be compared, in an order of their own."""
    return sorted(repr(tuple(row)) for row in frame.collect())


def by_duckdb(root):
    """The rows of the views without a JVM."""
    with opened(str(root)) as tables:
        found = {name: tables.ask(f"SELECT * FROM account_usage.{name}", {}).rows for name in VIEWS}
    return {name: sorted(map(repr, map(tuple, answer))) for name, answer in found.items()}


def by_records(root):
    """The same from the records alone."""
    with tempfile.TemporaryDirectory() as copy:
        for table in HISTORY_TABLES:
            shutil.copytree(f"{root}/{table.name}", f"{copy}/{table.name}")
        return by_duckdb(copy)


def by_spark(spark, root, schema):
    """The rows of the views as users name them."""
    register_tables(spark, str(root), schema, former=[str(root)])
    create_views(spark, schema, with_those_below(VIEWS))
    return by_views(spark, schema)


def by_views(spark, schema, names=VIEWS):
    """The rows of views as they were made at some time."""
    return {name: rows(spark.table(f"{schema}.{name}")) for name in names}


def summed(spark, source, root, days):
    """The first days with one read each, summed up; gives the clock, which stands at the tenth."""
    for day in range(days):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)
    clock = ManualClock(NOON + 9 * DAY)
    summarize(spark, root, clock)
    return clock


def days_of(spark, root, table):
    """The days that a table holds, as numbers from the first."""
    found = spark.read.format("delta").load(f"{root}/{table}").select("query_date").distinct().collect()
    first = to_datetime(NOON).date()
    return sorted((row.query_date - first).days for row in found)


def done_by(spark, root, clock):
    """How many days a run writes by table. First reads are made anew since the last day with one."""
    found = summarize(spark, root, clock)
    return [len(one.days) for one in found if one.table != "finished_first_reads"]


def assert_same(root, spark=None, schema=None):
    """The views give what the records give: in DuckDB, and in Spark where a session is given."""
    wanted = by_records(root)
    assert by_duckdb(root) == wanted
    if spark is not None:
        assert by_spark(spark, root, schema) == wanted


def assert_sums(root):
    """What adds up all days does so with those that are left."""
    found, wanted = by_duckdb(root), by_records(root)
    for table in LAST_TABLES:
        if table.adds_up:
            assert found[table.view] == wanted[table.view]


def opened_by(tables, query):
    """The plan of DuckDB for a query, as text: it names the files."""
    explain = f"EXPLAIN (ANALYZE, FORMAT json) {tables.translated(query)}"
    ((_, plan),) = tables.connection.execute(explain).fetchall()
    return plan


@pytest.fixture
def schema(spark):
    """A schema of the metastore for one test."""
    name = "finished_usage"
    yield name
    spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


class Killed(Exception):
    """Stands for a process that has gone."""


def test_late_records_and_changed_days(spark, source, tmp_path, schema, monkeypatch):
    """A day that gains records leaves the table at once; where that was missed, the next run finds it."""
    root = str(tmp_path)
    for day in (0, 1, 3, 4, 5):
        for number in range(len(STATEMENTS)):
            source.read(NOON + day * DAY + number, "ann" if number % 2 else "bob", number)
    take(spark, source)
    clock = ManualClock(NOON + 5 * DAY)
    said = []
    done = summarize(spark, root, clock, said.append)
    assert [(one.table, len(one.days)) for one in done] == [(name, 4) for name in TABLES]
    assert said == [f"{name}: 2026-01-01 to 2026-01-05" for name in TABLES]
    assert days_of(spark, root, "finished_reads") == [0, 1, 3, 4]
    assert_same(root)
    # Nothing new: nothing is done.
    assert done_by(spark, root, clock) == [0, 0, 0, 0, 0]
    take_late(spark, tmp_path, (NOON + DAY + 7, "carol", 2))
    assert days_of(spark, root, "finished_reads") == [0]
    assert_same(root, spark, schema)
    assert done_by(spark, root, clock) == [3, 3, 3, 3, 3]
    # As by an ingest whose clock is days behind.
    monkeypatch.setattr(ingest, "forget_since", lambda *_: None)
    take_late(spark, tmp_path, (NOON + 3 * DAY + 8, "carol", 0, "FAIL"), (NOON + 3 * DAY + 9, "carol", 1))
    clock.advance(days=1)
    done = {one.table: [day.day for day in one.days] for one in summarize(spark, root, clock)}
    assert (done["finished_reads"], done["finished_sessions"]) == ([4, 6], [4, 6])
    assert_same(root)


def test_retention_takes_the_sums_with_the_records(spark, source, tmp_path):
    """The sums of a table of statements are kept as long as its records."""
    root = str(tmp_path)
    clock = summed(spark, source, root, days=4)
    kept = {"access_history": 8, "query_history": 7}
    deleted = {one.table: one.rows for one in retain(spark, root, lambda table: kept.get(table, 365), clock)}
    assert (deleted["finished_reads"], deleted["finished_sessions"]) == (1, 2)
    assert days_of(spark, root, "finished_reads") == [1, 2, 3]
    assert_sums(root)
    # What was read first of what is kept; the days that are not there any more are nothing to do twice.
    summarize(spark, root, clock)
    assert done_by(spark, root, clock) == [0, 0, 0, 0, 0]
    assert_same(root)


def test_retention_where_the_days_are_gone(spark, source, tmp_path):
    """The sums of all days go with the records, though nobody has the sums by day any more."""
    root = str(tmp_path)
    clock = summed(spark, source, root, days=2)
    for table in ("finished_reads", "finished_sessions"):
        shutil.rmtree(tmp_path / table)
    retain(spark, root, lambda _: 8, clock)
    assert_sums(root)


def test_a_table_of_an_older_version_is_made_anew(spark, source, tmp_path):
    """Its rows are in the records."""
    root = str(tmp_path)
    source.read(NOON, "ann", 0)
    take(spark, source)
    spark.sql(
        f"CREATE TABLE delta.`{root}/finished_reads` USING delta PARTITIONED BY (query_date)"
        " AS SELECT DATE'2026-01-01' AS query_date, 'eve' AS user_name"
    )
    assert [one.rows for one in summarize(spark, root, ManualClock(NOON + 5 * DAY))] == [1, 1, 0, 0, 1, 1]
    assert_same(root)


def test_made_anew_from_the_same_records(spark, source, tmp_path, monkeypatch):
    """A month a commit: each is written, though the table has seen this version of the records."""
    monkeypatch.setattr(summary, "_DAYS_A_COMMIT", 1)
    root, clock = str(tmp_path), ManualClock(NOON + 5 * DAY)
    for day in range(3):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)
    summarize(spark, root, clock)
    wider = spark.read.format("delta").load(f"{root}/finished_reads").selectExpr("*", "1 AS more")
    wider.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(
        f"{root}/finished_reads"
    )
    summarize(spark, root, clock)
    assert days_of(spark, root, "finished_reads") == [0, 1, 2]
    assert_same(root)


def test_rows_of_earlier_days_are_let_go(spark, source, tmp_path, monkeypatch):
    """No commit leaves objects of Python's behind that keep its rows in the JVM's memory."""
    monkeypatch.setattr(summary, "_DAYS_A_COMMIT", 1)
    root, held = str(tmp_path), []
    for day in range(5):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)
    by_duckdb = rows_of_days(spark, root)

    def of_records(view, days):
        if view == "top_readers" and days:
            held.append(sum(isinstance(one, JavaObject) for one in gc.get_objects()))
        return by_duckdb(view, days)

    gc.disable()  # else it may run by chance, as it does where many objects are made
    try:
        summary.summarize(spark, root, ManualClock(NOON + 6 * DAY), of_records)
    finally:
        gc.enable()
    _first, *others = held
    assert len(others) == 4
    assert len(set(others)) == 1, others


def test_spark_works_out_the_same(spark, source, tmp_path, monkeypatch):
    """The rows and the types, of no day as well; it does where delta-rs cannot read a store."""
    root = str(tmp_path)
    for day in range(3):
        for number in range(len(STATEMENTS)):
            source.read(NOON + day * DAY + number, "ann", number)
    take(spark, source)
    first = to_datetime(NOON).date()
    by_duckdb, by_spark = rows_of_days(spark, root), rows_by_spark(spark, root)
    views = [table.view for table in FINISHED_TABLES if not table.upon]
    for view in views:
        for days in ((), (first, first + timedelta(2))):
            assert by_duckdb(view, days).dtypes == by_spark(view, days).dtypes
            assert rows(by_duckdb(view, days)) == rows(by_spark(view, days))
        assert by_duckdb(view, (first,)).count() > 0, view

    def refused(*_args, **_options):
        raise UnsupportedStore

    wanted = {view: rows(by_duckdb(view, (first,))) for view in views}
    monkeypatch.setattr(sum_up, "opened", refused)
    assert {view: rows(by_duckdb(view, (first,))) for view in views} == wanted


def test_a_killed_first_run_goes_on(spark, source, tmp_path, monkeypatch):
    """With the days after those that it has written; days whose records have changed since are made anew."""
    monkeypatch.setattr(summary, "_DAYS_A_COMMIT", 1)
    root, clock = str(tmp_path), ManualClock(NOON + 6 * DAY)
    for day in range(5):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)

    def until(said):
        if said.endswith("to 2026-01-04"):
            raise Killed

    with pytest.raises(Killed):
        summarize(spark, root, clock, until)
    assert days_of(spark, root, "finished_reads") == [0, 1, 2]
    assert_same(root)
    monkeypatch.setattr(ingest, "forget_since", lambda *_: None)
    take_late(spark, tmp_path, (NOON + DAY + 8, "carol", 0))
    done = {one.table: [day.day for day in one.days] for one in summarize(spark, root, clock)}
    assert done["finished_reads"] == [2, 4, 5]
    assert_same(root)


def test_a_table_that_is_gone_is_as_none(spark, source, tmp_path, schema):
    """Its name is gone as well, or the views would not resolve."""
    root = str(tmp_path)
    source.read(NOON, "ann", 0)
    take(spark, source)
    summarize(spark, root, SystemClock())
    assert_same(root, spark, schema)
    shutil.rmtree(tmp_path / "finished_reads")
    assert_same(root, spark, schema)
    assert not spark.catalog.tableExists(f"{schema}.finished_reads")


def test_without_records_nothing_is_finished(spark, source, tmp_path, schema):
    """No table is made; an empty one, from which all days were taken, is as none."""
    root = str(tmp_path)
    assert [one.days for one in summarize(spark, root, SystemClock())] == [()] * len(TABLES)
    assert not (tmp_path / "finished_reads").exists()
    source.read(NOON, "ann", 0)
    take(spark, source)
    summarize(spark, root, SystemClock())
    forget_since(spark, root, to_datetime(NOON).date(), SystemClock().now())
    assert days_of(spark, root, "finished_reads") == []
    assert_same(root, spark, schema)


def test_days_asked_for_are_opened(spark, source, tmp_path):
    """A filter on the day reaches the table, and of the records those of days without a sum are opened."""
    root = str(tmp_path)
    for day in range(5):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)
    summarize(spark, root, ManualClock(NOON + 4 * DAY))
    with opened(root) as tables:
        plan = opened_by(tables, "SELECT * FROM account_usage.sessions")
    assert {f"query_history/query_date=2026-01-0{day}" in plan for day in range(1, 5)} == {False}
    assert "query_history/query_date=2026-01-05" in plan
    assert "finished_sessions_of_all_days/as_of=2026-01-04" in plan
    # Somebody else than `audit retain` deletes the first day: the next run finds it.
    for table in HISTORY_TABLES:
        spark.sql(f"DELETE FROM delta.`{root}/{table.name}` WHERE query_date = DATE'2026-01-01'")
    summarize(spark, root, ManualClock(NOON + 4 * DAY))
    assert_sums(root)


def test_views_that_were_made_long_ago(spark, source, tmp_path, schema):
    """They know a day that was finished then; later ones may be, or none of the last month any more."""
    root, asked = str(tmp_path), ("top_readers", "first_time_access", "users_by_day", "sessions")

    def assert_as_on_record():
        wanted = by_records(root)
        assert by_views(spark, schema, asked) == {name: wanted[name] for name in asked}

    for day in (0, 1, 42, 43):
        source.read(NOON + day * DAY, "ann", day % len(STATEMENTS))
    take(spark, source)
    summarize(spark, root, ManualClock(NOON + 44 * DAY))
    register_tables(spark, root, schema, former=[root])
    create_views(spark, schema, with_those_below(asked))
    assert_as_on_record()
    source.read(NOON + 44 * DAY, "bob", 3)
    take(spark, source)
    summarize(spark, root, ManualClock(NOON + 45 * DAY))
    assert_as_on_record()
    # No day after the first one is finished any more, and the views look for none as early as that.
    take_late(spark, tmp_path, (NOON + DAY + 5, "eve", 0))
    assert days_of(spark, root, "finished_reads") == [0]
    assert_as_on_record()


def test_what_was_read_last_stands_for_all_days_before(spark, source, tmp_path, schema, monkeypatch):
    """One of its files is opened, not the reads of each day; of a few runs it is kept."""
    monkeypatch.setattr(last_tables, "_KEPT_DAYS", 2)
    root, last = str(tmp_path), 4
    for day in range(last + 1):
        source.read(NOON + day * DAY, "ann" if day else "bob", 0)
    take(spark, source)
    for day in range(2, last + 1):
        summarize(spark, root, ManualClock(NOON + day * DAY))
    table = tmp_path / "finished_objects_last_read"
    kept = sorted(row.as_of.day for row in spark.read.format("delta").load(str(table)).collect())
    assert kept == [3, 3, 4, 4]  # of two users each
    with opened(root) as tables:
        plan = opened_by(tables, "SELECT * FROM account_usage.first_time_access")
    assert "finished_objects_last_read/as_of=2026-01-04" in plan
    assert "finished_reads/" not in plan
    assert_same(root, spark, schema)
    # Records of the last finished day but one: one of before is there.
    take_late(spark, tmp_path, (NOON + 3 * DAY + 5, "bob", 3))
    assert_same(root)
    with opened(root) as tables:
        plan = opened_by(tables, "SELECT * FROM account_usage.first_time_access")
    assert "finished_objects_last_read/as_of=2026-01-03" in plan
    # Records of the first day: none is left.
    take_late(spark, tmp_path, (NOON + 5, "eve", 0))
    assert spark.read.format("delta").load(str(table)).isEmpty()
    assert_same(root)
    summarize(spark, root, ManualClock(NOON + last * DAY))
    assert_same(root)
    # Nothing else is lost with it.
    shutil.rmtree(table)
    assert_same(root)


@pytest.mark.long("a run for each of its writes")
@pytest.mark.parametrize("is_done", [False, True])
def test_a_run_that_is_killed(spark, source, tmp_path, monkeypatch, is_done):
    """Before any of its writes, or after it: the views give what the records give; the next run goes on."""
    root = str(tmp_path)
    for day in range(4):
        source.read(NOON + day * DAY, "ann", 0)
    take(spark, source)
    summarize(spark, root, ManualClock(NOON + 3 * DAY))
    take_late(spark, tmp_path, (NOON + DAY + 5, "bob", 3))
    left = 0

    def killed(write):
        nonlocal left
        left -= 1
        if left < 0 and not is_done:
            raise Killed
        written = retried(write)
        if left < 0:
            raise Killed
        return written

    for module in (summary, last_tables):
        monkeypatch.setattr(module, "retried", killed)
    for writes in range(20):
        left = writes
        try:
            summarize(spark, root, ManualClock(NOON + 4 * DAY))
        except Killed:
            assert_same(root)
        else:
            break
    assert writes > 1  # a run has those writes alone that are left
    assert_same(root)


def test_the_command(spark, source, tmp_path):
    """It says what it does, on a root of the past."""
    source.read(NOON, "ann", 0)
    take(spark, source)
    answer = CliRunner().invoke(main, ["summarize", "--root", str(tmp_path), "--json"])
    assert answer.exit_code == 0, answer.output
    found = [(row["table"], row["days"], row["rows"], row["first"]) for row in json.loads(answer.stdout)]
    assert found == [(name, 1, name not in NO_ROWS, "2026-01-01") for name in TABLES]


@pytest.mark.long("eight sums each")
@pytest.mark.parametrize("seed", range(4))
def test_random_histories(spark, source, tmp_path, schema, seed):
    """Records early and late, sums at any time, days that are deleted: the views never say anything else."""
    chance = random.Random(seed)  # noqa: S311 - a test's own
    root, today = str(tmp_path), 0
    for _ in range(8):
        today += chance.choice((0, 1, 1, 2, 40))
        for number in range(chance.randint(1, 5)):
            late = chance.choice((1, 2, 3, 30)) if number == 4 else 0  # days
            at = NOON + max(today - late, 0) * DAY + number * DAY // 12
            status = chance.choice(("SUCCESS", "SUCCESS", "SUCCESS", "FAIL"))
            read = at, chance.choice(("ann", "bob", "eve")), chance.randrange(len(STATEMENTS)), status
            if late:
                take_late(spark, tmp_path, read)
            else:
                source.read(*read)
        take(spark, source)
        clock = ManualClock(NOON + today * DAY + DAY // 2 - 1)
        if chance.random() < 0.6:
            newest = last_finished(clock.now())
            assert all(day <= newest for one in summarize(spark, root, clock) for day in one.days)
        if chance.random() < 0.2:
            retain(spark, root, lambda _table: 50, clock)
            summarize(spark, root, clock)
        assert_same(root, spark, schema)
