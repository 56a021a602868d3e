"""A Spark with Delta for the tests of this folder, and the tables that their statements use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.plan_facts import PlanFactsReader

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
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on two cores with Delta; its jars come from AUDIT_TEST_JARS (a folder) or Maven."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    root = tmp_path_factory.mktemp("plan")
    jars = os.environ.get("AUDIT_TEST_JARS")
    builder = SparkSession.builder.master("local[2]").config(
        "spark.sql.warehouse.dir", str(root / "warehouse")
    )
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, sorted(Path(jars).glob("*.jar")))))
    else:
        builder = builder.config("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0")
    for key, value in {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for statement in TABLES:
        session.sql(statement)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def reader(spark: SparkSession) -> PlanFactsReader:
    """The compiled reader of the session's JVM."""
    from audit.plan_facts import PlanFactsReader  # noqa: PLC0415

    return PlanFactsReader(spark.sparkContext._jvm)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A location to write to."""
    return f"file:{tmp_path / 'out'}"
