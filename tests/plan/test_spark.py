"""Real statements through Spark, the facts and the engine, and both forms of the plan against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql.functions import col

from audit.spark.plans.plan_facts import PlanFactsReader
from lineage.plan import analyze_plan
from tests.plan.brief import brief

pytestmark = pytest.mark.spark

STATEMENTS = json.loads((Path(__file__).parent / "statements.json").read_text())
LOSSY = {"sql_function", "sql_function_reads", "sql_table_function"}
"""toJSON leaves out the names of SQL functions."""


class Executions:
    """The root executions of what runs inside, as the listener bus reports them; no Python callback."""

    def __init__(self, spark):
        self.context = spark.sparkContext
        jvm = self.context._jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        name = "org.apache.spark.scheduler.SparkListenerInterface"
        listener = jvm.java.lang.Class.forName(name, True, loader)  # noqa: FBT003  # Java takes no keywords
        self.queue = jvm.java.util.concurrent.LinkedBlockingQueue()
        self.list = jvm.java.util.ArrayList
        self.listener = jvm.java.beans.EventHandler.create(listener, self.queue, "offer", "", "onOtherEvent")
        self.bus = self.context._jsc.sc().listenerBus()
        self.bus.addToQueue(self.listener, "plan-tests")

    def close(self):
        """Later plans are for the collector to take."""
        self.bus.removeListener(self.listener)
        self.queue.clear()

    def of(self, action):
        """The QueryExecutions of the roots that an action started."""
        self._drain()
        action()
        roots, found = {}, []
        for event in self._drain():
            name = event.getClass().getSimpleName()
            if name == "SparkListenerSQLExecutionStart":
                roots[event.executionId()] = event.rootExecutionId().get()
            elif (
                name == "SparkListenerSQLExecutionEnd"
                and roots.get(event.executionId()) == event.executionId()
            ):
                found.append(event.qe())
        return found

    def _drain(self):
        self.bus.waitUntilEmpty()
        events = self.list()
        self.queue.drainTo(events)
        return list(events)


@pytest.fixture(scope="module")
def executions(spark):
    """The listener of this module."""
    executions = Executions(spark)
    yield executions
    executions.close()


@pytest.fixture
def seen(executions, reader):
    """What the last execution of an action gives, in brief; both forms of its plan must agree."""

    def run(action):
        execution = executions.of(action)[-1]
        access = analyze_plan(*reader.read_execution(execution))
        plain = analyze_plan(execution.analyzed().toJSON(), reader.read_execution(execution)[1])
        assert access == plain, "toJSON and the compact form tell different things"
        return brief(access)

    return run


@pytest.mark.parametrize("name", STATEMENTS)
def test_query(spark, reader, name):
    """Each recorded statement still gives what was reviewed, from both forms of the plan."""
    plan = spark.sql(STATEMENTS[name])._jdf.queryExecution().analyzed()
    shape, facts = reader.read(plan)
    access = analyze_plan(shape, facts)
    recorded = json.loads((Path(__file__).parent / "recorded" / f"{name}.json").read_text())
    assert brief(access) == recorded["expect"]
    plain = analyze_plan(plan.toJSON(), reader.collect_facts(plan))
    assert plain.analysis == "partial" if name in LOSSY else plain == access


FROM_W = {"direct": ["w(wa, ub)"], "base": ["t(a, b, c)"]}


@pytest.mark.parametrize(
    ("name", "target"),
    [("insertInto", "d"), ("append", "d"), ("overwrite", "d"), ("partitions", "d"), ("parquet", "s2")],
)
def test_writer_into_a_table(spark, seen, name, target):
    """Each writer into a table names its columns, by position or by name, with direct and base sources."""
    spark.sql("CREATE TABLE IF NOT EXISTS s2 (a INT, b STRING) USING parquet")
    frame = spark.table("w")
    named = frame.toDF("a", "b")
    actions = {
        "insertInto": lambda: frame.write.insertInto("d"),
        "append": lambda: named.writeTo("d").append(),
        "overwrite": lambda: named.writeTo("d").overwrite(col("a") > 3),
        "partitions": lambda: named.writeTo("d").overwritePartitions(),
        "parquet": lambda: frame.write.insertInto("s2"),
    }
    modified = {target: {"a": "w.wa < t.a", "b": "w.ub < t.b"}}
    replaced = ["d(a)"] if name == "overwrite" else []
    assert seen(actions[name]) == {
        "type": "INSERT",
        "direct": [*FROM_W["direct"], *replaced],
        "base": [*FROM_W["base"], *replaced],
        "modified": modified,
    }


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_save_as_table(spark, seen, kind):
    """A saveAsTable defines and fills its table; its columns are the query's."""
    spark.sql("DROP TABLE IF EXISTS made")
    found = seen(lambda: spark.table("w").write.format(kind).saveAsTable("made"))
    modified = {"made": {"wa": "w.wa < t.a", "ub": "w.ub < t.b"}}
    assert found == {
        "type": "CREATE_TABLE_AS_SELECT",
        **FROM_W,
        "modified": modified,
        "ddl": "CREATE Table made",
    }


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_save_and_read_by_path(spark, seen, path, kind):
    """A location is a STAGE, written and read."""
    found = seen(lambda: spark.table("w").write.format(kind).save(path))
    assert found == {
        "type": "INSERT",
        **FROM_W,
        "modified": {"out": {"wa": "w.wa < t.a", "ub": "w.ub < t.b"}},
    }
    read = seen(lambda: spark.read.format(kind).load(path).select("wa").collect())
    assert read == {"type": "SELECT", "direct": ["out(wa)"], "base": ["out(wa)"], "columns": ["wa: out.wa"]}


def test_count_names_the_object_alone(spark, seen):
    """count() reads a view without its columns; what the view filters by is a base column."""
    found = seen(lambda: spark.table("w").count())
    assert found == {"type": "SELECT", "direct": ["w()"], "base": ["t(c)"], "columns": ["count:  | t.c.x"]}


def test_temp_views_are_transparent(spark, seen):
    """Temporary views, over SQL or a DataFrame, are no objects."""
    spark.table("w").createOrReplaceTempView("tv")
    spark.sql("CREATE OR REPLACE TEMP VIEW tv2 AS SELECT wa FROM tv")
    found = seen(lambda: spark.sql("SELECT wa FROM tv2").collect())
    assert found["direct"] == ["w(wa)"]
    assert found["base"] == ["t(a, c)"]


MERGE = """MERGE INTO d USING (SELECT * FROM w) x ON d.a = x.wa
WHEN MATCHED AND x.ub > 'q' THEN UPDATE SET b = x.ub
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (a, b) VALUES (wa, upper(ub))
WHEN NOT MATCHED BY SOURCE THEN UPDATE SET b = 'gone'"""


def test_merge(spark, seen):
    """Every branch of a MERGE gives sources; its conditions are accessed only."""
    found = seen(lambda: spark.sql(MERGE))
    assert found == {
        "type": "MERGE",
        "direct": ["d(a)", "w(wa, ub)"],
        "base": ["d(a)", "t(a, b, c)"],
        "modified": {"d": {"b": "w.ub < t.b", "a": "w.wa < t.a"}},
    }


def test_delta_table_commands(spark, seen):
    """DeltaTable's update, delete and merge are read as their SQL is."""
    table = DeltaTable.forName(spark, "d")
    updated = seen(lambda: table.update("a = 1", {"b": "upper(b)"}))
    assert updated == {
        "type": "UPDATE",
        "direct": ["d(a, b)"],
        "base": ["d(a, b)"],
        "modified": {"d": {"b": "d.b"}},
    }
    deleted = seen(lambda: table.delete("a = 1"))
    assert deleted == {"type": "DELETE", "direct": ["d(a)"], "base": ["d(a)"], "modified": {"d": {}}}
    frame = spark.table("w").alias("x")
    merged = seen(
        lambda: table.alias("d").merge(frame, "d.a = x.wa").whenMatchedUpdate(set={"b": "x.ub"}).execute()
    )
    assert merged["modified"] == {"d": {"b": "w.ub < t.b"}}


def test_update_of_a_field(spark, seen):
    """Writing a struct's field writes its column; the fields that stay are no sources."""
    found = seen(lambda: spark.sql("UPDATE t SET c.x = a + 1 WHERE b = 'q'"))
    assert found["modified"] == {"t": {"c": "t.a"}}
    assert found["direct"] == ["t(a, b)"]


def test_multi_insert(spark, seen):
    """A multi-insert modifies each of its targets."""
    found = seen(lambda: spark.sql("FROM w INSERT INTO d SELECT wa, ub INSERT INTO s2 SELECT wa, ub"))
    assert set(found["modified"]) == {"d", "s2"}


DDL = {
    "CREATE TABLE x1 (a INT, b STRING) USING delta": "CREATE Table x1",
    "ALTER TABLE x1 ADD COLUMN c INT": "ALTER Table x1",
    "ALTER TABLE x1 RENAME TO x2": "ALTER Table x1",
    "CREATE OR REPLACE TABLE x2 USING delta AS SELECT * FROM w": "REPLACE Table x2",
    "CREATE VIEW x3 AS SELECT wa FROM w": "CREATE VIEW x3",
    "DROP VIEW x3": "DROP VIEW x3",
    "CREATE TABLE x4 SHALLOW CLONE x2": "CREATE Table x4",
    "DROP TABLE x4": "DROP Table x4",
    "DROP TABLE x2": "DROP Table x2",
    "CREATE SCHEMA x5": "CREATE SCHEMA x5",
    "DROP SCHEMA x5": "DROP SCHEMA x5",
}


def test_ddl(spark, seen):
    """Each DDL statement gives one operation on its object, fully understood."""
    found = {statement: seen(lambda statement=statement: spark.sql(statement)) for statement in DDL}
    assert {statement: access["ddl"] for statement, access in found.items()} == DDL
    assert not [access for access in found.values() if "analysis" in access]


def test_set_variable_reads(spark, seen):
    """A session variable set from a query reads what the query reads."""
    spark.sql("DECLARE OR REPLACE VARIABLE top INT DEFAULT 0")
    assert seen(lambda: spark.sql("SET VAR top = (SELECT max(a) FROM s)"))["direct"] == ["s(a)"]


def test_checkpoint_is_noticed(spark, reader):
    """A checkpointed DataFrame has lost its origin, and the analysis says so."""
    plan = spark.table("s").localCheckpoint()._jdf.queryExecution().analyzed()
    assert (
        analyze_plan(*reader.read(plan)).reason
        == "LogicalRDD: a checkpoint has cut the plan off from its sources"
    )
    fresh = spark.createDataFrame([(1, 2)], ["x", "y"])._jdf.queryExecution().analyzed()
    assert analyze_plan(*reader.read(fresh)).analysis == "full"


def test_micro_batch(spark, executions, reader, path):
    """A micro-batch into Delta names its source table and its location."""

    def stream():
        rows = spark.readStream.table("d").writeStream.format("delta").trigger(availableNow=True)
        rows.option("checkpointLocation", path + "-check").start(path).awaitTermination()

    spark.sql("INSERT INTO d VALUES (1, 'x')")
    found = [brief(analyze_plan(*reader.read_execution(execution))) for execution in executions.of(stream)]
    written = [access for access in found if "modified" in access]
    assert written == [
        {
            "type": "INSERT",
            "direct": ["d(a, b)"],
            "base": ["d(a, b)"],
            "modified": {"out": {"a": "d.a", "b": "d.b"}},
        }
    ]


def test_leaves(spark, reader):
    """The leaves of a plan carry names, types, locations, Delta ids and versions, below subqueries too."""
    plan = spark.sql("SELECT a FROM d WHERE a IN (SELECT a FROM s)")._jdf.queryExecution().analyzed()
    found = {leaf.name: leaf for leaf in reader.leaves(plan)}
    assert set(found) == {"spark_catalog.default.d", "spark_catalog.default.s"}
    table = found["spark_catalog.default.d"]
    assert (table.provider, [(c.name, c.type) for c in table.columns]) == (
        "delta",
        [("a", "int"), ("b", "string")],
    )
    assert table.table_id
    assert table.version is not None
    assert table.locations[0].endswith("/d")


def test_two_readers_in_one_jvm(spark, reader):
    """Py4J keeps methods by class name: a second reader in the same JVM must work all the same."""
    plan = spark.table("s")._jdf.queryExecution().analyzed()
    assert PlanFactsReader(spark.sparkContext._jvm).leaves(plan) == reader.leaves(plan)
