"""A table that is replaced, in every way of doing it, keeps its past and its clones."""

from __future__ import annotations

import pytest
from delta.tables import DeltaTable

from audit.time_travel import errors
from audit.time_travel.retention.periods import DELTAS_FILES
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
pytestmark = pytest.mark.spark

WAYS = {
    "REPLACE": lambda session: session.sql("CREATE OR REPLACE TABLE t (b STRING)"),
    "AS SELECT": lambda session: session.sql("REPLACE TABLE t AS SELECT 'x' AS b"),
    "writeTo": lambda session: session.sql("SELECT 'x' AS b").writeTo("t").createOrReplace(),
    "writeTo.replace": lambda session: session.sql("SELECT 'x' AS b").writeTo("t").replace(),
    "saveAsTable": lambda session: session.range(3, 5).toDF("a").write.mode("overwrite").saveAsTable("t"),
    "overwriteSchema": lambda session: (
        session.sql("SELECT 'x' AS b")
        .write.mode("overwrite")
        .option("overwriteSchema", "true")
        .saveAsTable("t")
    ),
    "builder": lambda session: (
        DeltaTable.createOrReplace(session).tableName("t").addColumn("b", "STRING").execute()
    ),
    "CLONE": lambda session: session.sql("CREATE OR REPLACE TABLE t CLONE u"),
    "DEEP CLONE": lambda session: session.sql("CREATE OR REPLACE TABLE t DEEP CLONE u"),
    "script": lambda session: session.sql("BEGIN CREATE OR REPLACE TABLE t AS SELECT 'x' AS b; END"),
    "EXECUTE IMMEDIATE": lambda session: session.sql("EXECUTE IMMEDIATE 'REPLACE TABLE t (b STRING)'"),
    "JVM": lambda session: session._jsparkSession.sql("CREATE OR REPLACE TABLE t AS SELECT 'x' AS b"),
}


@pytest.fixture
def replaced(session, schema):
    """A table with a retention of its own and two clones, and another table."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 5 AS SELECT 1L AS a")
    session.sql("CREATE TABLE u AS SELECT 'y' AS b")
    session.sql("CREATE TABLE c CLONE t")


SHORT = {"REPLACE", "writeTo", "CLONE", "script"}


@pytest.mark.one_in(2, "each way to replace; the model has them all")
@pytest.mark.parametrize(
    "way",
    [
        way if way in SHORT else pytest.param(way, marks=pytest.mark.long("four ways are short"))
        for way in WAYS
    ],
)
def test_pin_and_retention_stay(session, replaced, stored, way):
    """So what clones read, and the content of before, stay for whoever runs VACUUM."""
    WAYS[way](session)
    assert stored("t")[DELTAS_FILES] == "interval 36500 days"
    assert stored("t")["timeTravel.dataRetentionTimeInDays"] == "5"
    assert session.sql("SELECT a FROM t VERSION AS OF 0").collect() == [(1,)]
    assert session.sql("SELECT a FROM c").collect() == [(1,)]


def test_a_replace_may_change_the_retention(session, schema, stored):
    """What it says counts; a shorter one keeps the files of before for their Fail-safe."""
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 5")
    session.sql("CREATE OR REPLACE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 30")
    assert stored("t")[DELTAS_FILES] == "interval 888 hours"
    session.sql("CREATE OR REPLACE TRANSIENT TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    assert stored("t")["timeTravel.earlierRetention"].endswith(":30")
    session.sql("CREATE OR REPLACE TABLE t (a INT)")
    assert (stored("t")[DELTAS_FILES], "timeTravel.transient" in stored("t")) == ("interval 888 hours", False)


@pytest.mark.long("tables of an older version; test_adopting has them")
def test_a_table_of_before_keeps_its_pin_alone(session, spark, schema, stored):
    """One that nobody has adopted has no retention; a REPLACE gives it none, and its clones go on."""
    spark.sql(f"CREATE TABLE {schema}.t USING delta AS SELECT 1L AS a")
    session.sql("CREATE OR REPLACE TABLE t AS SELECT 2L AS a")
    assert DELTAS_FILES not in stored("t")
    session.sql("CREATE TABLE c CLONE t")
    session.sql("CREATE OR REPLACE TABLE t AS SELECT 3L AS a")
    assert stored("t")[DELTAS_FILES] == "interval 36500 days"
    assert session.sql("SELECT a FROM c").collect() == [(2,)]


def test_a_clone_at_a_point_takes_the_retention_of_now(session, schema, stored):
    """Not that of the version: it is a parameter of the table, and not of its content."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 2 AS SELECT 1 AS a")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 5")
    for number, kind in enumerate(("", "DEEP ")):
        session.sql(f"CREATE TABLE c{number} {kind}CLONE t VERSION AS OF 0")
        assert stored(f"c{number}")["timeTravel.dataRetentionTimeInDays"] == "5"
        assert stored(f"c{number}")[DELTAS_FILES] == "interval 288 hours"
        assert "timeTravel.earlierRetention" not in stored(f"c{number}")


def test_a_clone_with_clauses(session, schema, stored):
    """TRANSIENT and a retention, beside properties and in any order; what cannot be is refused."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE TABLE a CLONE t DATA_RETENTION_TIME_IN_DAYS = 4 TBLPROPERTIES ('x' = 'y')")
    session.sql("CREATE TABLE b DEEP CLONE t TBLPROPERTIES ('x' = 'y') DATA_RETENTION_TIME_IN_DAYS=4;")
    assert [(stored(one)["x"], stored(one)[DELTAS_FILES]) for one in "ab"] == [
        ("y", "interval 264 hours")
    ] * 2
    session.sql("CREATE TRANSIENT TABLE c CLONE t TBLPROPERTIES ('x' = 'y')")
    assert (stored("c")["x"], stored("c")[DELTAS_FILES]) == ("y", "interval 24 hours")
    with pytest.raises(errors.BadParameterError, match="which is transient"):
        session.sql("CREATE TABLE d CLONE c DATA_RETENTION_TIME_IN_DAYS = 4")
    with pytest.raises(errors.BadParameterError, match="0 to 90 days"):
        session.sql("CREATE TABLE d CLONE t DATA_RETENTION_TIME_IN_DAYS = 91")
