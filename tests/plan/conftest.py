"""A Spark with Delta for the tests of this folder, and the tables that their statements use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.spark.plans.plan_facts import PlanFactsReader

TABLES = (
    """CREATE TABLE t (a INT, b STRING, c STRUCT<x: INT, y: STRUCT<z: STRING>>, arr ARRAY<INT>,
    m MAP<STRING, INT>, sa ARRAY<STRUCT<p: INT, q: STRING>>) USING delta""",
    "CREATE TABLE s (a INT, b STRING, d DOUBLE) USING parquet",
    "CREATE TABLE d (a INT, b STRING) USING delta",
    "CREATE VIEW v AS SELECT a, upper(b) AS ub FROM t WHERE c.x > 0",
    "CREATE VIEW w AS SELECT a AS wa, ub FROM v",
    "CREATE FUNCTION plus1(n INT) RETURNS INT RETURN n + 1",
    "CREATE FUNCTION maxd() RETURNS DOUBLE RETURN (SELECT max(d) FROM s)",
    "CREATE FUNCTION rows_of(k INT) RETURNS TABLE (a INT, d DOUBLE) RETURN SELECT a, d FROM s WHERE a = k",
)


@pytest.fixture(scope="session")
def spark(spark: SparkSession) -> SparkSession:
    """A session of the one Spark, with the tables that the statements use in its default schema."""
    session = spark.newSession()
    for statement in TABLES:
        session.sql(statement)
    return session


@pytest.fixture(scope="session")
def reader(spark: SparkSession) -> PlanFactsReader:
    """The compiled reader of the session's JVM."""
    from audit.spark.plans.plan_facts import PlanFactsReader

    return PlanFactsReader(spark.sparkContext._jvm)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A location to write to."""
    return f"file:{tmp_path / 'out'}"
