"""`audit import openlineage`: runs of Airflow, dbt and Flink beside Spark's on one lineage, each once."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone

import pytest
from deltalake import DeltaTable

from audit.core.clock import SystemClock
from audit.exchange.incoming import tables
from audit.exchange.incoming.tables import import_lock
from audit.exchange.incoming.take_in import Importing
from audit.exchange.names import DatasetNames
from audit.store.later_tables import IMPORTED_EVENTS
from tests.query.roots import make_root

from . import producers
from .roots import Root

MORNING = datetime(2026, 11, 20, 9)  # noqa: DTZ001 - the tables' UTC, without a zone
RAW, CLEAN, REVENUE, BY_DAY = (
    "s3a://lake/raw/orders",
    "spark_catalog.clean.orders",
    "spark_catalog.mart.revenue",
    "spark_catalog.mart.by_day",
)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Spark loads what Airflow has copied, and sums up what dbt has made."""
    monkeypatch.setenv("AUDIT_OPENLINEAGE_NAMESPACES", producers.NAMESPACES)
    spark = Root()
    spark.ran("INSERT", "INSERT INTO clean.orders …", at=MORNING + timedelta(minutes=30))
    spark.flowed((RAW, "day"), (CLEAN, "day"))
    spark.flowed((RAW, "price"), (CLEAN, "price"))
    spark.ran("CREATE_TABLE_AS_SELECT", "CREATE TABLE mart.by_day AS …", at=MORNING + timedelta(hours=2))
    spark.flowed((REVENUE, "revenue"), (BY_DAY, "total"), "AGGREGATION", overwrites=True)
    (tmp_path / "root").mkdir()
    return make_root(tmp_path / "root", spark.rows)


@pytest.fixture
def take_in(root, command, tmp_path):
    """Imports events, as a file of one form or another."""

    def run(events, form="lines", code=0):
        path = tmp_path / f"events-{form}.json"
        lines = "\n".join(map(json.dumps, events)) + "\n"
        texts = {"lines": lines, "list": json.dumps(events, indent=1), "one": json.dumps(events[0], indent=1)}
        path.write_text(texts[form], "utf-8")
        done = command("import", "openlineage", path, "--json", "--root", root, code=code)
        return done if code else json.loads(done.stdout)[0]

    return run


@pytest.fixture
def edges(root, command):
    """The edges of a lineage, as text."""

    def asked(name, *options):
        said = json.loads(command("lineage", name, "--format", "json", *options, "--root", root).stdout)
        names = [".".join(filter(None, (one["object_name"], one["column_name"]))) for one in said["nodes"]]
        return sorted(f"{names[one['source']]} > {names[one['target']]}" for one in said["edges"])

    return asked


def everything():
    """The events of the three."""
    return [*producers.airflow(), *producers.dbt(), *producers.flink()]


def test_one_lineage_over_four_systems(take_in, edges):
    """A topic of Flink's comes from a table of a shop, by Airflow, Spark, dbt and Spark again."""
    assert take_in(everything()) == {"read": 6, "taken_in": 6, "edges": 5}
    assert edges("kafka://broker:9092/revenue", "--tables") == [
        "postgres://shop-db:5432/shop.public.orders > s3a://lake/raw/orders",
        "s3a://lake/raw/orders > spark_catalog.clean.orders",
        "spark_catalog.clean.orders > spark_catalog.mart.revenue",
        "spark_catalog.mart.by_day > kafka://broker:9092/revenue",
        "spark_catalog.mart.revenue > spark_catalog.mart.by_day",
    ]


def test_columns_go_through_a_table_of_both(take_in, edges):
    """The model of dbt is the table that Spark reads, column by column."""
    take_in(everything())
    assert edges("mart.by_day.total") == [
        "s3a://lake/raw/orders.price > spark_catalog.clean.orders.price",
        "spark_catalog.clean.orders.price > spark_catalog.mart.revenue.revenue",
        "spark_catalog.mart.revenue.revenue > spark_catalog.mart.by_day.total",
    ]
    assert edges("clean.orders.price", "--downstream") == [
        "spark_catalog.clean.orders.price > spark_catalog.mart.revenue.revenue",
        "spark_catalog.mart.revenue.revenue > spark_catalog.mart.by_day.total",
    ]


def test_the_job_is_named(take_in, root, command):
    """As who has done it."""
    take_in(everything())
    said = command("lineage", "mart.revenue", "--depth", "1", "--root", root).stdout
    assert "by dbt/mart.shop.revenue" in said


@pytest.mark.parametrize("form", ["lines", "list"])
def test_twice_is_once(take_in, root, edges, form):
    """In the same form or another, with keys in another order."""
    take_in(everything(), form)
    before = edges("kafka://broker:9092/revenue")
    turned = [dict(reversed(one.items())) for one in everything()]
    assert take_in(turned, "lines") == {"read": 6, "taken_in": 0, "edges": 0}
    assert edges("kafka://broker:9092/revenue") == before
    assert len(DeltaTable(f"{root}/imported_lineage").to_pyarrow_table()) == 5


def test_a_run_adds_up_over_imports(take_in, edges):
    """A START alone says nothing yet; what comes later completes it."""
    start, end = producers.dbt()
    assert take_in([start], "one")["edges"] == 0
    assert take_in([end])["edges"] == 3
    assert take_in([start, end])["taken_in"] == 0


def test_a_failed_run_wrote_nothing(take_in):
    """Nor does one that has not ended."""
    start, end = producers.dbt()
    assert take_in([start, {**end, "eventType": "FAIL"}])["edges"] == 0


def test_a_job_without_an_end_counts_each_day(take_in, root):
    """So that what arrives in its source on a later day goes through it as well."""
    take_in(producers.flink(20))
    assert take_in(producers.flink(21))["edges"] == 1
    assert take_in([*producers.flink(20), *producers.flink(21)])["edges"] == 0
    times = DeltaTable(f"{root}/imported_lineage").to_pyarrow_table()["query_start_time"].to_pylist()
    assert sorted(one.day for one in times) == [20, 21]


def test_a_killed_import_goes_on(root, take_in, monkeypatch):
    """The edges were committed, the events were not: nothing is there twice afterwards."""
    write = tables.append

    def die(where, table, there, rows):
        if table.name == "imported_events":
            raise KeyboardInterrupt
        write(where, table, there, rows)

    with monkeypatch.context() as killed:
        killed.setattr(tables, "append", die)
        take_in(producers.dbt(), code=2)
    assert len(DeltaTable(f"{root}/imported_lineage").to_pyarrow_table()) == 3
    assert take_in(producers.dbt()) == {"read": 2, "taken_in": 2, "edges": 0}


@pytest.mark.parametrize("lock", [import_lock, nullcontext], ids=["of a disk", "none, as of an object store"])
@pytest.mark.parametrize("turn", range(4))
def test_imports_at_once(root, tmp_path, monkeypatch, lock, turn):
    """Each event and each edge is there once, whoever makes the tables."""
    monkeypatch.setattr(tables, "import_lock", lock)
    path = tmp_path / "all.json"
    path.write_text(json.dumps(everything()), "utf-8")
    names = DatasetNames("spark://local")
    results, threads = [], []
    for _ in range(3):
        one = Importing(root, names, SystemClock(), "ann", str)
        threads.append(threading.Thread(target=lambda one=one: results.append(one.files([path]))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done.taken for done in results) == [0, 0, 6]
    assert len(DeltaTable(f"{root}/imported_events").to_pyarrow_table()) == 6
    edges = DeltaTable(f"{root}/imported_lineage").to_pyarrow_table()["edge_id"].to_pylist()
    assert len(edges) == len(set(edges)) == 5


def test_two_have_made_a_table(tmp_path, monkeypatch):
    """delta-rs (1.6) lets both: who comes second finds the other's rows, and begins anew."""
    rows = [{"event_id": "1", "event_time": datetime(2026, 11, 20, tzinfo=timezone.utc)}]
    tables.append(str(tmp_path), IMPORTED_EVENTS, None, rows)
    monkeypatch.setattr(DeltaTable, "create", lambda where, *_, **__: DeltaTable(where))
    with pytest.raises(tables.ImportRaced):
        tables.append(str(tmp_path), IMPORTED_EVENTS, None, rows)
    assert len(DeltaTable(tmp_path / "imported_events").to_pyarrow_table()) == 1


def test_secrets_of_sql_are_left_out(take_in, root):
    """As of statements."""
    take_in(producers.airflow())
    found = DeltaTable(f"{root}/imported_events").to_pyarrow_table()["event"].to_pylist()
    assert not any("sk_live_" in one for one in found)
    assert all("FROM orders" in one for one in found)


def test_the_events_are_a_table(take_in, root, command):
    """Who told what, and which run started which."""
    take_in(everything())
    asked = (
        "SELECT integration, job_name, parent_run_id, count(*) AS events FROM account_usage.imported_events"
        " GROUP BY ALL ORDER BY integration"
    )
    found = json.loads(command("query", asked, "--json", "--root", root).stdout)
    assert [(one["integration"], one["parent_run_id"], one["events"]) for one in found] == [
        ("AIRFLOW", producers.DAG_RUN, 2),
        ("DBT", None, 2),
        ("FLINK", None, 2),
    ]


def test_the_import_is_on_record(take_in, root, command):
    """As what was done to the tables."""
    take_in(everything())
    asked = "SELECT details FROM account_usage.logging_history WHERE event_type = 'AUDIT_IMPORT'"
    (found,) = json.loads(command("query", asked, "--json", "--root", root).stdout)
    assert json.loads(found["details"]) == {
        "files": ["events-lines.json"],
        "read": 6,
        "taken_in": 6,
        "edges": 5,
    }


def test_our_own_events_are_known_again(exchanged, events, take_in, edges):
    """What one root exports another takes in: tables of the default namespace are tables."""
    assert take_in(events)["taken_in"] == 25
    assert edges("p.report.total") == ["lake.sales.orders.total > spark_catalog.p.report.total"]
    assert "spark_catalog.p.people.ssn > spark_catalog.p.report" in edges("p.report", "--include-indirect")


AT, JOB = "2026-11-20T00:00:00Z", {"namespace": "a", "name": "b"}
NO_SOURCE = {"columnLineage": {"fields": {"c": {"inputFields": [{}]}}}}
MISTAKES = {
    "is no JSON": "{",
    "'eventTime' is missing": '{"a": 1}',
    "is no event but int": "[1]",
    "soon": json.dumps({"eventTime": "soon", "job": JOB}),
    "'namespace' is missing": json.dumps({"eventTime": AT, "job": {"name": "b"}}),
    "there is no eventType 'DONE'": json.dumps(
        {"eventTime": AT, "eventType": "DONE", "run": {"runId": "r"}, "job": JOB}
    ),
    "is no event: 'namespace'": json.dumps(
        {"eventTime": AT, "job": JOB, "outputs": [{"namespace": "a", "name": "b", "facets": NO_SOURCE}]}
    ),
}


@pytest.mark.parametrize("said", MISTAKES)
def test_what_is_no_event_is_told_with_its_line(root, command, tmp_path, said):
    """And nothing is taken in, whatever came before it."""
    path, content = tmp_path / "bad.ndjson", MISTAKES[said]
    good = json.dumps(producers.dbt()[1])
    path.write_text(content if content.startswith("[") else f"{good}\n{content}\n", "utf-8")
    done = command("import", "openlineage", path, "--root", root, code=2)
    assert "AUDIT_EVENT_INVALID" in done.stderr
    assert said in done.stderr
    assert str(path) in done.stderr
    assert not (tmp_path / "root" / "imported_events").exists()


def test_no_events_make_no_table(root, command, tmp_path):
    """An empty file is none of a mistake; one that is not there is."""
    path = tmp_path / "none.ndjson"
    path.write_text("", "utf-8")
    assert json.loads(command("import", "openlineage", path, "--json", "--root", root).stdout)[0]["read"] == 0
    assert not (tmp_path / "root" / "imported_events").exists()
    assert "AUDIT_IMPORT" in command("import", "openlineage", tmp_path / "no", "--root", root, code=2).stderr
