"""Tables in constant use: look-ups that are alike are one row, which says how many; none counts twice."""

from __future__ import annotations

from collections import Counter

import pytest

import audit
from audit.core.config import load
from audit.ingest import folder as ingest
from audit.ingest.adopt import salvage_all
from audit.ingest.folder import ingest_folder
from audit.ingest.running import running_in
from audit.query.tables import opened
from audit.record.access_record import Ended, Finding, Started, build_row
from audit.record.aggregation import Aggregation
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader
from lineage import MemoryCatalog, analyze
from tests.sessions import NO_TABLES, attached

from .helpers import Source, ingest_all, make_tables, recorded, statements

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
SESSIONS = MemoryCatalog({"s.sessions": {"id": "int", "user": "string"}}, current_schema="s")
MARKED = Aggregation.of("s.sessions")


class LookUps(Source):
    """Look-ups in a table, as a driver with `aggregated_tables` spools them."""

    def start(self, text="SELECT user FROM sessions WHERE id = 1", user="ann"):
        """A statement that starts."""
        begun = Started(
            self.ids.new(), self.clock.now(), user, text, "SELECT", "SparkSession.sql", is_sql=True,
            session_id="one",
        )  # fmt: skip
        self.spool.start(begun.query_id, begun.to_dict())
        return begun

    def row(self, started, ended):
        """Its record, marked."""
        finding = Finding(analyze(started.query_text, SESSIONS), "text", rows_produced=1, bytes_scanned=100)
        return MARKED.marked(build_row(started, ended, finding if ended.status == "SUCCESS" else None))

    def look_up(self, number, user="ann", first=0):
        """As many, each of another row."""
        for one in range(number):
            started = self.start(f"SELECT user FROM sessions WHERE id = {first + one}", user)
            self.end(started)


@pytest.fixture
def source(spark, tmp_path):
    """A driver's spool on a root with empty tables."""
    make_tables(spark, tmp_path)
    return LookUps(tmp_path)


def take(spark, source, root):
    """Seal and ingest, showing what runs."""
    source.spool.rotate()
    return ingest_folder(spark, source.spool.path, str(root), lambda: running_in(source.spool.path))


def test_alike_look_ups_are_one_row(spark, source, tmp_path):
    """One for each user and ingest, with sums and one record of access; its text has no literals."""
    source.look_up(50)
    source.look_up(7, "bob")
    done = take(spark, source, tmp_path)
    assert done.statements == 57
    rows = {row.user_name: row for row in statements(spark, tmp_path)}
    assert (rows["ann"].calls, rows["bob"].calls) == (50, 7)
    assert (rows["ann"].rows_produced, rows["ann"].bytes_scanned) == (50, 5000)
    assert rows["ann"].start_time < rows["ann"].end_time
    assert rows["ann"].total_elapsed_time >= 50
    assert "= 1" not in rows["ann"].query_text
    assert recorded(spark, tmp_path) == Counter({row.query_id: 1 for row in rows.values()})

    source.look_up(3)
    take(spark, source, tmp_path)
    assert sorted(row.calls for row in statements(spark, tmp_path)) == [3, 7, 50]


@pytest.mark.long("a million look-ups; test_alike_look_ups_are_one_row has 57")
def test_a_million_look_ups_are_a_few_rows(spark, source, tmp_path, monkeypatch):
    """One for each user and kind, in all tables; the views count a million statements."""
    texts = ("SELECT user FROM sessions WHERE id = 1", "SELECT id FROM sessions WHERE user = 'x'")
    analyzed = {text: analyze(text, SESSIONS) for text in texts}
    monkeypatch.setattr(f"{__name__}.analyze", lambda text, _: analyzed[text])
    for number in range(1_000_000):
        text, user = texts[number % 2], f"user_{number % 10}"
        begun = Started(
            source.ids.new(), source.clock.now(), user, text, "SELECT", "SparkSession.sql", is_sql=True
        )
        row = source.row(begun, Ended("SUCCESS", source.clock.now()))
        source.spool.record(begun.query_id, row)  # alone, and not synced: nobody waits for it
    assert take(spark, source, tmp_path).statements == 1_000_000
    rows = statements(spark, tmp_path)
    assert sum(row.calls for row in rows) == 1_000_000
    # Those of one ingest, and of what starts and ends within one file of the spool.
    assert len(rows) < 2_000
    with opened(str(tmp_path)) as tables:
        query = "SELECT sum(calls), count(*) FROM account_usage.aggregate_access_history"
        ((calls, kinds),) = tables.ask(query, {}).rows
    assert (calls, kinds) == (1_000_000, 10)


def test_what_is_not_alike_has_its_row(spark, source, tmp_path):
    """A failed one, a write, another kind of query: beside the row of the look-ups."""
    source.look_up(5)
    source.end(source.start(), "FAIL")
    source.end(source.start("SELECT * FROM sessions"))
    source.end(source.start("INSERT INTO sessions VALUES (1, 'x')"))
    take(spark, source, tmp_path)
    found = Counter((row.execution_status, row.calls) for row in statements(spark, tmp_path))
    assert found == {("SUCCESS", 5): 1, ("FAIL", None): 1, ("SUCCESS", 1): 1, ("SUCCESS", None): 1}
    # One call keeps its text.
    (alone,) = (row for row in statements(spark, tmp_path) if row.calls == 1)
    assert alone.query_text == "SELECT * FROM sessions"


@pytest.mark.parametrize("committed", ["access_history", "query_history"])
def test_a_killed_ingest_counts_each_once(spark, source, tmp_path, monkeypatch, committed):
    """The batch that is run again has the same rows."""

    def append(session, table, at, *args, **kwargs):
        appended(session, table, at, *args, **kwargs)
        if table.name == committed and at == str(tmp_path):
            raise RuntimeError("killed")

    source.look_up(20)
    appended = ingest._append
    monkeypatch.setattr(ingest, "_append", append)
    with pytest.raises(RuntimeError, match="killed"):
        take(spark, source, tmp_path)
    monkeypatch.undo()
    source.look_up(4)
    take(spark, source, tmp_path)
    assert sorted(row.calls for row in statements(spark, tmp_path)) == [4, 20]
    assert sorted(recorded(spark, tmp_path).values()) == [1, 1]


def test_one_that_was_running_ends_in_the_row(spark, source, tmp_path):
    """Its own row goes, and it is counted."""
    running = source.start()
    take(spark, source, tmp_path)
    assert [row.execution_status for row in statements(spark, tmp_path)] == ["RUNNING"]
    source.look_up(9)
    source.end(running)
    take(spark, source, tmp_path)
    assert [(row.execution_status, row.calls) for row in statements(spark, tmp_path)] == [("SUCCESS", 10)]


def test_a_damaged_file_counts_none_twice(spark, source, tmp_path):
    """Its intact records are taken in at once; of what is salvaged later, none is counted again."""
    source.look_up(6)
    source.spool.rotate()
    (segment,) = source.spool.path.glob("sealed/*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line[9:10] == b"R")
    lines[place] = lines[place][:60] + b"#" + lines[place][61:]
    segment.write_bytes(b"".join(lines))
    take(spark, source, tmp_path)
    assert [row.calls for row in statements(spark, tmp_path)] == [5]
    source.die()
    ingest_all(spark, tmp_path)
    config = load({"root": str(tmp_path), "user": "tester"}, environ={})
    with audit.suppress():
        catalog = SessionCatalog(spark, PlanFactsReader(spark.sparkContext._jvm))
        salvage_all(catalog, config)
    # The damaged one is made again from its text, with a row of its own.
    assert sorted((row.calls or 1) for row in statements(spark, tmp_path)) == [1, 5]


def test_in_a_session(spark, tmp_path):
    """From the configuration to the views, which count statements and not rows."""
    with attached(spark, tmp_path, aggregated_tables="shop.*") as session:
        session.sql("CREATE SCHEMA shop")
        session.sql("CREATE TABLE shop.sessions AS SELECT id, 'u' || id AS name FROM range(10)")
        session.sql("CREATE TABLE default.other AS SELECT 1 AS id")
        for number in range(1, 11):
            session.sql(f"SELECT name FROM shop.sessions WHERE id = {number}").collect()
            session.table("shop.sessions").where("id = 3").collect()
        session.sql("SELECT * FROM default.other").collect()
        session.sql("SELECT s.name FROM shop.sessions s JOIN default.other USING (id)").collect()
        audit.flush(session)
        rows = session.sql(
            """SELECT calls, query_text, query_parameterized_hash FROM account_usage.statements
               WHERE query_type = 'SELECT' ORDER BY calls, query_text"""
        ).collect()
        kinds = session.sql(
            """SELECT calls FROM account_usage.aggregate_access_history
               WHERE exists(base_objects_accessed, o -> o.objectName = 'spark_catalog.shop.sessions')
               ORDER BY calls"""
        ).collect()
        (readers,) = session.sql(
            """SELECT statements FROM account_usage.top_readers
               WHERE object_name = 'spark_catalog.shop.sessions'"""
        ).collect()
        session.sql("DROP SCHEMA shop CASCADE")
        session.sql("DROP TABLE default.other")
    assert [row.calls for row in rows] == [1, 1, 10, 10]
    by_frame, by_text = rows[2:]
    assert by_frame.query_text.startswith("DataFrame.collect()")
    assert "#" not in by_frame.query_text
    assert by_text.query_text == "SELECT name FROM shop.sessions WHERE id = 0"
    assert [row.calls for row in kinds] == [1, 10, 10]
    assert readers.statements == 21
