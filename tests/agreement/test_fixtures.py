"""Each fixture of the text engine through Spark: the plan engine must say the same."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lineage import analyze
from lineage.engine_diff import differences

from .cases import EXCEPTIONS, ON_SPARK, VIEWS, fixtures
from .planner import Planner

pytestmark = pytest.mark.spark

WORLD = (
    (
        "CREATE TABLE t (a INT, b INT, c INT, st STRUCT<x: INT, y: STRUCT<z: INT>>, m MAP<STRING, INT>,"
        " arr ARRAY<STRUCT<p: INT, q: INT>>) USING delta"
    ),
    "CREATE TABLE u (a INT, x INT, k INT) USING delta",
    "CREATE TABLE w (id INT, v INT) USING delta PARTITIONED BY (id)",
    (
        "CREATE TABLE MixedCase (Id INT, `Full Name` STRING) USING delta"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    ),
    *VIEWS,
    "CREATE TEMPORARY FUNCTION h(n INT) RETURNS INT RETURN f(n) + 1",
    "DECLARE VARIABLE vx INT DEFAULT 3",
)


@pytest.fixture(scope="module")
def world(spark):
    """The world of the fixtures, in Spark."""
    session = spark.newSession()
    session.sql("DROP SCHEMA IF EXISTS s CASCADE")  # of another module
    session.sql("CREATE SCHEMA s")
    session.sql("USE s")
    session.udf.register("f", lambda n: n, "int")
    session.udf.register("py", lambda n, s: f"{n}{s}", "string")
    for statement in WORLD:
        session.sql(statement)
    yield session
    session.sql("DROP SCHEMA s CASCADE")


@pytest.fixture(scope="module")
def ask(world):
    """What the plan engine says of a fixture's text; `/data/w` is where the table w lies."""
    place = world.sql("DESCRIBE DETAIL s.w").first()["location"]
    planner = Planner(world, {place: "spark_catalog.s.w"})
    return lambda sql: planner.access(sql.rstrip(";").replace("/data/w", place))


@pytest.mark.parametrize("case", ON_SPARK, ids=[case.name for case in ON_SPARK])
def test_engines_agree_on_a_fixture(ask, case):
    """Objects, columns and sources of each fixture: text and plan say the same."""
    text, plan = analyze(case.sql.rstrip(";"), fixtures.catalog()), ask(case.sql)
    assert text.analysis == plan.analysis, (text.reason, plan.reason)
    assert list(map(str, differences(text, plan))) == [], case.rule


@pytest.mark.parametrize("case", EXCEPTIONS, ids=[case.name for case in EXCEPTIONS])
def test_what_is_left_out_would_fail(ask, case):
    """A fixture is left out only where Spark refuses it or its plan says something else."""
    try:
        plan = ask(case.sql)
    except (PySparkException, Py4JJavaError):
        return
    text = analyze(case.sql.rstrip(";"), fixtures.catalog())
    assert text.analysis != plan.analysis or list(differences(text, plan)) != []
