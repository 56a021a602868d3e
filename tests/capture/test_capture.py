"""What each way into Spark leaves on record, on real Spark and Delta.

Every case runs as a user of its own name, so that its records are found by `user_name`. All cases run
once, one flush follows, and each is checked by itself.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.errors import PySparkException

import audit
from tests.capture.brief import brief

SETUP = """
CREATE SCHEMA s;
CREATE TABLE s.t (a INT, b STRING, c INT) USING delta;
INSERT INTO s.t VALUES (1, 'x', 10), (2, 'y', 20), (3, 'z', 30);
CREATE TABLE s.d (a INT, name STRING) USING delta;
INSERT INTO s.d VALUES (1, 'one'), (2, 'two');
CREATE TABLE s.sink (a INT, b STRING) USING delta;
CREATE VIEW s.v AS SELECT a + 1 AS n, b FROM s.t WHERE c > 0;
CREATE VIEW s.vv AS SELECT n AS m, b FROM s.v
"""


@dataclass(frozen=True)
class Case:
    """A user's call and the records that it leaves, oldest first."""

    name: str
    run: Any
    expected: tuple[str, ...]


CASES: list[Case] = []


def case(name: str, *expected: str) -> Any:
    """Note a function of the session as a case."""

    def noted(run: Any) -> Any:
        CASES.append(Case(name, run, expected))
        return run

    return noted


def sql(name: str, text: str, *expected: str) -> None:
    """Note a statement as a case; its rows are fetched."""
    CASES.append(Case(name, lambda spark: spark.sql(text).collect(), expected))


sql("select", "SELECT a, upper(b) FROM s.t WHERE c > 5", "SELECT text full; direct s.t(a,b,c)")
sql("star", "SELECT * FROM s.t", "SELECT text full; direct s.t(a,b,c)")
sql("constant", "SELECT 1", "SELECT text full")
sql("view", "SELECT n FROM s.v", "SELECT text full; direct VIEW:s.v(n); base s.t(a,c)")
sql("view on view", "SELECT m FROM s.vv", "SELECT text full; direct VIEW:s.vv(m); base s.t(a,c)")
sql(
    "join",
    "SELECT t.b, d.name FROM s.t JOIN s.d ON t.a = d.a",
    "SELECT text full; direct s.d(a,name) s.t(a,b)",
)
sql("cte", "WITH q AS (SELECT a FROM s.t) SELECT max(a) FROM q", "SELECT text full; direct s.t(a)")
sql(
    "subquery",
    "SELECT (SELECT max(name) FROM s.d) m FROM s.t WHERE EXISTS (SELECT 1 FROM s.d WHERE d.a = t.a)",
    "SELECT text full; direct s.d(a,name) s.t(a)",
)
sql("union", "SELECT a FROM s.t UNION ALL SELECT a FROM s.d", "SELECT text full; direct s.d(a) s.t(a)")
sql(
    "window", "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) FROM s.t", "SELECT text full; direct s.t(a,b,c)"
)
sql(
    "lateral",
    "SELECT x FROM s.t LATERAL VIEW explode(array(a, c)) e AS x",
    "SELECT text full; direct s.t(a,c)",
)
sql(
    "pivot",
    "SELECT * FROM (SELECT a, b, c FROM s.t) PIVOT (sum(c) FOR b IN ('x', 'y'))",
    "SELECT text full; direct s.t(a,b,c)",
)
sql("pipe", "FROM s.t |> WHERE c > 1 |> SELECT a", "SELECT text full; direct s.t(a,c)")
sql("insert values", "INSERT INTO s.sink VALUES (1, 'x')", "INSERT text full; writes s.sink(a, b)")
sql(
    "insert select",
    "INSERT INTO s.sink SELECT c, b FROM s.t WHERE a > 99",
    "INSERT text full; direct s.t(a,b,c); writes s.sink(a<-s.t.c, b<-s.t.b)",
)
sql(
    "insert columns",
    "INSERT INTO s.sink (b) SELECT b FROM s.t WHERE a > 99",
    "INSERT text full; direct s.t(a,b); writes s.sink(b<-s.t.b)",
)
sql(
    "insert from view",
    "INSERT INTO s.sink SELECT m, b FROM s.vv WHERE m > 99",
    "INSERT text full; direct VIEW:s.vv(b,m); base s.t(a,b,c);"
    " writes s.sink(a<-s.vv.m<<s.t.a, b<-s.vv.b<<s.t.b)",
)
sql(
    "insert overwrite",
    "INSERT OVERWRITE s.sink SELECT a, name FROM s.d",
    "INSERT text full; direct s.d(a,name); writes s.sink(a<-s.d.a, b<-s.d.name)",
)
sql(
    "ctas",
    "CREATE TABLE s.ctas USING delta AS SELECT n, b FROM s.v",
    "CREATE_TABLE_AS_SELECT text full; direct VIEW:s.v(b,n); base s.t(a,b,c);"
    " writes s.ctas(n<-s.v.n<<s.t.a, b<-s.v.b<<s.t.b); ddl CREATE Table s.ctas(b:ADD,n:ADD)",
)
sql(
    "merge",
    "MERGE INTO s.sink USING s.t ON sink.a = t.a WHEN MATCHED AND t.c > 5 THEN UPDATE SET b = upper(t.b)"
    " WHEN NOT MATCHED THEN INSERT (a, b) VALUES (t.a, t.b)",
    "MERGE text full; direct s.sink(a) s.t(a,b,c); writes s.sink(b<-s.t.b, a<-s.t.a)",
)
sql(
    "update",
    "UPDATE s.sink SET b = concat(b, 'x') WHERE a = 1",
    "UPDATE text full; direct s.sink(a,b); writes s.sink(b<-s.sink.b)",
)
sql(
    "update from subquery",
    "UPDATE s.sink SET b = (SELECT max(name) FROM s.d)",
    "UPDATE text full; direct s.d(name); writes s.sink(b<-s.d.name)",
)
sql("delete", "DELETE FROM s.sink WHERE a > 2", "DELETE text full; direct s.sink(a); writes s.sink()")
sql("explain", "EXPLAIN SELECT a FROM s.t", "EXPLAIN text full")
sql("show", "SHOW TABLES IN s", "SHOW text full")
sql(
    "create table",
    "CREATE TABLE s.made (x INT, y STRING) USING delta",
    "CREATE_TABLE text full; ddl CREATE Table s.made(x:ADD,y:ADD)",
)
sql(
    "create again",
    "CREATE TABLE IF NOT EXISTS s.made (x INT, y STRING) USING delta",
    "CREATE_TABLE text full",
)
sql(
    "add column",
    "ALTER TABLE s.made ADD COLUMN z INT",
    "ALTER_TABLE text full; ddl ALTER Table s.made(z:ADD)",
)
sql(
    "replace",
    "CREATE OR REPLACE TABLE s.made (x INT) USING delta",
    "REPLACE_TABLE text full; ddl REPLACE Table s.made(x:ADD)",
)
sql("drop if exists nothing", "DROP TABLE IF EXISTS s.nothing", "DROP_TABLE text full")
sql("drop", "DROP TABLE s.made", "DROP_TABLE text full; ddl DROP Table s.made")
sql("create schema", "CREATE SCHEMA s2", "CREATE_SCHEMA text full; ddl CREATE SCHEMA s2")
sql("create schema that is there", "CREATE SCHEMA IF NOT EXISTS s2", "CREATE_SCHEMA text full")
sql("drop schema", "DROP SCHEMA IF EXISTS s2", "DROP_SCHEMA text full; ddl DROP SCHEMA s2")
sql("drop schema again", "DROP SCHEMA IF EXISTS s2", "DROP_SCHEMA text full")
sql(
    "create view", "CREATE VIEW s.w AS SELECT a FROM s.t", "CREATE_VIEW text full; ddl CREATE VIEW s.w(a:ADD)"
)
sql("drop view", "DROP VIEW s.w", "DROP_VIEW text full; ddl DROP VIEW s.w")
sql("parameters", "SELECT 1", "SELECT text full")


@case("named parameters", "SELECT text full; direct s.t(a,b)")
def _(spark):
    spark.sql("SELECT b FROM s.t WHERE a > :least", args={"least": 1}).collect()


@case("positional parameters", "SELECT text full; direct s.t(a,b)")
def _(spark):
    spark.sql("SELECT b FROM s.t WHERE a > ?", args=[1]).collect()


@case("template", "SELECT plan full; direct s.t(b)")
def _(spark):
    spark.sql("SELECT b FROM {df}", df=spark.table("s.t")).collect()


@case("each action one record", "SELECT text full; direct s.t(a)", "SELECT text full; direct s.t(a)")
def _(spark):
    frame = spark.sql("SELECT a FROM s.t")
    frame.collect()
    frame.toPandas()


@case("no action no record")
def _(spark):
    spark.sql("SELECT a FROM s.t").filter("a > 1")


@case("frame", "SELECT plan full; direct s.t(a,b,c)")
def _(spark):
    spark.table("s.t").filter("c > 5").select("a", "b").collect()


@case("frame count", "SELECT plan full; direct s.t(c)")
def _(spark):
    spark.table("s.t").filter("c > 5").count()


@case("frame of a view", "SELECT plan full; direct VIEW:s.v(n); base s.t(a,c)")
def _(spark):
    spark.table("s.v").select("n").collect()


@case("rdd", "SELECT plan full; direct s.t(a,b,c)")
def _(spark):
    spark.table("s.t").rdd.count()


@case(
    "by path", "DESCRIBE text full", "SELECT plan full; direct s.t(a,b,c)", "SELECT text full; direct s.t(a)"
)
def _(spark):
    where = spark.sql("DESCRIBE DETAIL s.t")._jdf.collectAsList()[0].getAs("location")
    spark.read.format("delta").load(where).collect()
    spark.sql(f"SELECT a FROM delta.`{where}`").collect()


@case(
    "temp view",
    "CREATE_VIEW plan full",
    "SELECT text full; direct s.t(a)",
    "DROP_VIEW plan full",
)
def _(spark):
    spark.table("s.t").select("a").createOrReplaceTempView("tv")
    spark.sql("SELECT * FROM tv").collect()
    spark.catalog.dropTempView("tv")


@case(
    "save as table",
    "CREATE_TABLE_AS_SELECT plan full; direct s.t(a,b); writes s.saved(a<-s.t.a, b<-s.t.b);"
    " ddl CREATE Table s.saved(a:ADD,b:ADD)",
    "INSERT plan full; direct s.t(a,b); writes s.saved(a<-s.t.a, b<-s.t.b)",
)
def _(spark):
    frame = spark.table("s.t").select("a", "b")
    frame.write.format("delta").saveAsTable("s.saved")
    frame.write.format("delta").mode("append").saveAsTable("s.saved")


@case("insert into", "INSERT plan full; direct s.t(b,c); writes s.sink(a<-s.t.c, b<-s.t.b)")
def _(spark):
    spark.table("s.t").select("c", "b").write.insertInto("s.sink")


@case("write to", "INSERT plan full; direct s.d(a,name); writes s.sink(a<-s.d.a, b<-s.d.name)")
def _(spark):
    spark.table("s.d").selectExpr("a", "name AS b").writeTo("s.sink").append()


@case(
    "merge of a Delta table",
    "MERGE plan full; direct s.d(a,name) s.sink(a); writes s.sink(b<-s.d.name)",
)
def _(spark):
    from delta.tables import DeltaTable

    source = spark.table("s.d").alias("d")
    merge = DeltaTable.forName(spark, "s.sink").alias("k").merge(source, "k.a = d.a")
    merge.whenMatchedUpdate(set={"b": "d.name"}).execute()


@case("update of a Delta table", "UPDATE plan full; direct s.sink(a,b); writes s.sink(b<-s.sink.b)")
def _(spark):
    from delta.tables import DeltaTable

    DeltaTable.forName(spark, "s.sink").update("a = 1", {"b": "upper(b)"})


@case("delete of a Delta table", "DELETE plan full; direct s.sink(a); writes s.sink()")
def _(spark):
    from delta.tables import DeltaTable

    DeltaTable.forName(spark, "s.sink").delete("a = 99")


@case("past the front door", "SELECT listener full; direct s.t(b)")
def _(spark):
    spark._jsparkSession.sql("SELECT b FROM s.t").collectAsList()


@case("execute immediate of a query", "EXECUTE_IMMEDIATE text full", "SELECT plan full; direct s.t(b)")
def _(spark):
    spark.sql("EXECUTE IMMEDIATE 'SELECT b FROM s.t'").collect()


@case(
    "execute immediate of a write",
    "EXECUTE_IMMEDIATE text full",
    "INSERT plan full; writes s.sink(a, b)",
)
def _(spark):
    spark.sql("EXECUTE IMMEDIATE 'INSERT INTO s.sink VALUES (9, \\'i\\')'").collect()


@case(
    "script",
    "SCRIPT text full",
    "INSERT plan full; direct s.d(a,name); writes s.sink(a<-s.d.a, b<-s.d.name)",
    "SELECT plan full; direct s.t(a)",
)
def _(spark):
    spark.sql("BEGIN INSERT INTO s.sink SELECT a, name FROM s.d; SELECT a FROM s.t; END").collect()


@case("what is shown is asked, and more", "SHOW text full", "SELECT plan full; direct s.t(a)")
def _(spark):
    spark.sql("SHOW TABLES IN s ->> SELECT t.a FROM s.t, $1 ->> SELECT max(a) AS a FROM $1").collect()


@case("result of a command", "DESCRIBE text full")
def _(spark):
    spark.sql("DESCRIBE s.t").first()


@case("suppressed")
def _(spark):
    with audit.suppress():
        spark.sql("SELECT a FROM s.t").collect()


@case("pandas on Spark", "SELECT listener full; direct s.t(a,b,c)")
def _(spark):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its advice on large results
        spark.table("s.t").pandas_api().to_pandas()


@dataclass(frozen=True)
class Ran:
    """The records by user, and what each case raised."""

    access: dict[str, list[Any]]
    queries: dict[str, list[Any]]
    errors: dict[str, BaseException]
    edges: list[Any]


@pytest.fixture(scope="module")
def ran(audited) -> Ran:
    """All cases, run once."""
    for text in SETUP.strip().split(";"):
        audited.sql(text)
    errors: dict[str, BaseException] = {}
    for one in CASES:
        with audit.as_user(audited, one.name):
            try:
                one.run(audited)
            except PySparkException as error:
                errors[one.name] = error
    audit.flush(audited)
    with audit.suppress():
        found = audited.sql(
            "SELECT q.query_type, a.* FROM account_usage.access_history a"
            " JOIN account_usage.query_history q USING (query_id) ORDER BY a.query_start_time, a.query_id"
        ).collect()
        queries = audited.table("account_usage.query_history").collect()
        edges = audited.table("account_usage.column_lineage").collect()
    access, by_user = defaultdict(list), defaultdict(list)
    for row in found:
        access[row.user_name].append(row)
    for row in queries:
        by_user[row.user_name].append(row)
    return Ran(access, by_user, errors, edges)


@pytest.mark.spark
def test_lineage_holds_every_source_that_a_record_names(ran):
    """column_lineage and objects_modified say the same of values: no edge more, none less."""
    named = {
        (row.query_id, written.objectName, column.columnName, kind, source.objectName, source.columnName)
        for rows in ran.access.values()
        for row in rows
        for written in row.objects_modified
        for column in written.columns or ()
        for kind, sources in (("direct", column.directSources), ("base", column.baseSources))
        for source in sources
    }
    value_edges = [e for e in ran.edges if not e.is_indirect and e.target_object_domain != "VIEW"]
    targets = [(e.query_id, e.target_object_name, e.target_column_name, e.source_kind) for e in value_edges]
    sources = [(e.source_object_name, e.source_column_name) for e in value_edges]
    edges = {(*target, *source) for target, source in zip(targets, sources, strict=True)}
    assert len(edges) == len(value_edges)
    assert edges == named
    assert {e.transformation for e in ran.edges} >= {"IDENTITY", "TRANSFORMATION", "INDIRECT"}
    assert all(e.source_object_id and e.target_object_id for e in ran.edges)


@pytest.mark.spark
@pytest.mark.parametrize("one", CASES, ids=lambda c: c.name)
def test_leaves_its_records(ran, one):
    """Each call leaves exactly the records that it should, with what it read and wrote."""
    assert one.name not in ran.errors
    found = tuple(brief(row) for row in ran.access[one.name])
    assert found == one.expected
