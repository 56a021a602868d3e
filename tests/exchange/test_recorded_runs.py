"""Events that dbt, Airflow and Flink themselves have written, beside Spark's on one lineage (`recorded/`)."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from audit.exchange.incoming.events import read_events
from audit.exchange.incoming.runs import ToldRun
from audit.exchange.names import DatasetNames
from tests.query.roots import make_root

from .roots import Root

RECORDED = Path(__file__).with_name("recorded")
CHAIN = ("airflow", "flink", "dbt")
SHOP, TOPIC = "postgres://localhost:5432/shop.public", "kafka://localhost:9092/orders"
FILE = "file:/data/shop/lake/raw/orders.csv"
# When Spark's part ran, between that of Flink and that of dbt.
LOADED = datetime(2026, 11, 29, 6, 49)  # noqa: DTZ001 - the tables' UTC, without a zone


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Spark loads what Airflow has copied, what Flink has sent, and a table of the shop's database."""
    monkeypatch.setenv("AUDIT_OPENLINEAGE_NAMESPACES", "spark://localhost:10000=spark_catalog")
    spark = Root()
    for table, column, source in (
        ("orders", "price", (FILE, "price")),
        ("live", "price", (TOPIC, "value")),
        ("customers", "name", (f"{SHOP}.customers", "name")),
    ):
        spark.ran("CREATE_TABLE_AS_SELECT", f"CREATE TABLE clean.{table} AS …", at=LOADED)
        spark.flowed(source, (f"spark_catalog.clean.{table}", column), overwrites=True)
    (tmp_path / "root").mkdir()
    return make_root(tmp_path / "root", spark.rows)


def test_one_lineage_over_real_runs(root, command):
    """A model of dbt comes from the shop's database by Airflow, Flink, Spark and dbt."""
    files = [RECORDED / f"{name}.ndjson" for name in CHAIN]
    (done,) = json.loads(command("import", "openlineage", *files, "--json", "--root", root).stdout)
    assert (done["read"], done["taken_in"]) == (35, 35)
    asked = ("lineage", "spark_catalog.mart.best_customers", "--tables", "--format", "json", "--root", root)
    said = json.loads(command(*asked).stdout)
    names = [one["object_name"] for one in said["nodes"]]
    assert {(names[one["source"]], names[one["target"]]) for one in said["edges"]} == {
        ("spark_catalog.mart.revenue", "spark_catalog.mart.best_customers"),
        ("spark_catalog.clean.customers", "spark_catalog.mart.best_customers"),
        ("spark_catalog.clean.live", "spark_catalog.mart.best_customers"),
        ("spark_catalog.mart.stg_orders", "spark_catalog.mart.revenue"),
        ("spark_catalog.clean.orders", "spark_catalog.mart.stg_orders"),
        (FILE, "spark_catalog.clean.orders"),
        ("file:/data/shop/shop/orders.csv", FILE),
        (f"{SHOP}.customers", "spark_catalog.clean.customers"),
        (TOPIC, "spark_catalog.clean.live"),
        (f"{SHOP}.named_orders", TOPIC),
        (f"{SHOP}.customers", f"{SHOP}.named_orders"),
        (f"{SHOP}.orders", f"{SHOP}.named_orders"),
    }


def flows(name):
    """The edges between whole datasets that a file tells, by job."""
    runs = {}
    for event in read_events(RECORDED / f"{name}.ndjson"):
        runs.setdefault(event.run_id, []).append(event)
    names = DatasetNames("spark://local")
    edges = [edge for run in runs.values() for edge in ToldRun.of(run).edges(names)]
    return sorted({
        (edge.job, edge.source.named.name, edge.target.named.name)
        for edge in edges if edge.source and edge.source.column is None
    })  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.ndjson")))
def test_every_file_is_read(name):
    """Each line is an event, and each run has edges or none."""
    assert len(list(read_events(RECORDED / f"{name}.ndjson"))) > 2
    flows(name)


def test_a_job_of_flink_counts_from_its_start():
    """By default its integration tells no end."""
    kinds = {event.kind for event in read_events(RECORDED / "flink.ndjson")}
    assert kinds == {"START", "RUNNING"}
    assert flows("flink") == [
        ("flink/large_orders", TOPIC, "kafka://localhost:9092/large_orders"),
        ("flink/orders_to_files", f"{SHOP}.named_orders",
         "flink/orders_to_files/default_catalog.default_database.files"),
        ("flink/orders_to_topic", f"{SHOP}.named_orders", TOPIC),
    ]  # fmt: skip


def test_a_job_of_flink_that_tells_its_end():
    """The same edges, once; one that was cancelled has written until then."""
    assert {job for job, _, _ in flows("flink_with_ends")} == {
        "flink/revenue_to_topic", "flink/best_days", "flink/topic_to_files",
    }  # fmt: skip
    kinds = [event.kind for event in read_events(RECORDED / "flink_cancelled.ndjson")]
    assert "ABORT" in kinds
    assert len(flows("flink_cancelled")) == 1


def test_what_has_failed_wrote_nothing():
    """Airflow lists the output of a task that fails; a model of dbt that fails has none."""
    assert flows("airflow_broken") == []
    assert not [job for job, _, _ in flows("dbt_duckdb") if "broken" in job]
    assert len(flows("dbt_duckdb")) > 2
