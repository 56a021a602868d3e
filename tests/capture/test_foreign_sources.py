"""What lies outside of Spark's catalogs and file systems: tables behind JDBC, topics of Kafka."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from audit.spark.embedded import jars
from audit.spark.plans.plan_facts import PlanFactsReader
from audit.testing import records
from lineage.plan import analyze_plan
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

# Derby comes with Spark.
URL = "jdbc:derby:memory:shop;create=true"
DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"
OPTIONS = {"url": URL, "driver": DRIVER, "user": "ann", "password": "hunter2"}
SHOP = "derby://memory:shop"
KAFKA = {"kafka.bootstrap.servers": "broker:9092,other:9092"}


@pytest.fixture(scope="module")
def orders(session):
    """A table of the shop's database."""
    rows = session.sql("SELECT 1 AS ID, 2.5D AS PRICE")
    rows.write.format("jdbc").options(**OPTIONS, dbtable="ORDERS").save()


@pytest.fixture
def recorded(session, orders):
    """The one access of the statements that an action runs."""

    def run(action):
        known = len(records(session))
        action()
        found = [one for record in records(session)[known:] for one in record.access]
        assert "hunter2" not in str(found)
        (access,) = found
        assert access.analysis_reason is None
        assert access.analysis == "full"
        return access

    return run


def named(objects):
    """Names and columns of objects."""
    return [(one["objectName"], sorted(column["columnName"] for column in one["columns"])) for one in objects]


def test_a_table_behind_jdbc_is_read(session, schema, recorded):
    """By the name of its server, of its database and its own."""
    orders = session.read.format("jdbc").options(**OPTIONS, dbtable="ORDERS").load()
    access = recorded(lambda: orders.select("PRICE").write.format("delta").saveAsTable("prices"))
    assert named(access.base_objects_accessed) == [(f"{SHOP}/ORDERS", ["PRICE"])]
    (written,) = access.objects_modified
    (column,) = written["columns"]
    (source,) = column["baseSources"]
    assert (source["objectName"], source["columnName"]) == (f"{SHOP}/ORDERS", "PRICE")


@pytest.mark.parametrize(
    "asked", [{"dbtable": "(SELECT PRICE FROM ORDERS) q"}, {"query": "SELECT PRICE FROM ORDERS"}]
)
def test_a_query_behind_jdbc_reads_its_tables(session, recorded, asked):
    """Not a text that no other statement has."""
    frame = session.read.format("jdbc").options(**OPTIONS, **asked).load()
    assert named(recorded(frame.collect).base_objects_accessed) == [(f"{SHOP}/ORDERS", ["PRICE"])]


@pytest.mark.parametrize("way", ["jdbc", "save", "insert"])
def test_a_table_behind_jdbc_is_written(session, schema, recorded, way):
    """Data that leaves Spark has a target on record, with the sources of its columns."""
    session.sql("CREATE TABLE source USING delta AS SELECT 1 AS a")
    if way == "insert":
        session.sql(f"CREATE OR REPLACE TEMP VIEW sink USING jdbc OPTIONS ({given(dbtable='SINK')})")
    rows = session.table("source")
    ways = {
        "jdbc": lambda: rows.write.jdbc(URL, "SINK", "overwrite", OPTIONS),
        "save": lambda: rows.write.format("jdbc").options(**OPTIONS, dbtable="SINK").mode("overwrite").save(),
        "insert": lambda: session.sql("INSERT INTO sink SELECT * FROM source"),
    }
    access = recorded(ways[way])
    assert named(access.objects_modified) == [(f"{SHOP}/SINK", ["a"])]
    (column,) = access.objects_modified[0]["columns"]
    (source,) = column["directSources"]
    assert source["objectName"] == f"spark_catalog.{schema}.source"


def given(**more):
    """Options as SQL has them."""
    return ", ".join(f"{name} '{value}'" for name, value in {**OPTIONS, **more}.items())


def test_a_table_of_parquet_has_its_full_name(session, schema, recorded):
    """A plan has the name as saveAsTable was given it (Spark 4.2, SaveAsV1TableCommand)."""
    for mode in ("error", "append", "overwrite"):
        access = recorded(lambda: session.range(1).write.format("parquet").mode(mode).saveAsTable("saved"))  # noqa: B023
        assert named(access.objects_modified) == [(f"spark_catalog.{schema}.saved", ["id"])], mode


@pytest.fixture(scope="module")
def with_kafka(session):
    """A session that has Spark's source of Kafka."""
    lock = Path(__file__).with_name("kafka_jars.lock")
    for jar in jars.resolve(os.environ, jars.read_lock(lock.read_text(encoding="utf-8"))):
        session.sql(f"ADD JAR '{jar}'")
    return session


@pytest.mark.parametrize(("options", "topics"), [
    ({"subscribe": "orders"}, ["orders"]), ({"subscribe": "orders,returns"}, ["orders", "returns"]),
    ({"subscribePattern": "or.*"}, ["or.*"]), ({"assign": '{"orders":[0,1]}'}, ["orders"]),
])  # fmt: skip
@pytest.mark.parametrize("reads", ["read", "readStream"])
def test_topics_of_kafka(with_kafka, reads, options, topics):
    """Those of a batch, and of a stream; the plan alone: no broker is asked."""
    frame = getattr(with_kafka, reads).format("kafka").options(**KAFKA, **options).load().select("value")
    reader = PlanFactsReader(with_kafka.sparkContext._jvm)
    access = analyze_plan(*reader.read(frame._jdf.queryExecution().analyzed()))
    assert [one.name for one in access.base_objects_accessed] == [
        f"kafka://broker:9092/{one}" for one in topics
    ]
