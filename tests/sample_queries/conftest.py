"""A small audited workload that every sample query has something to say about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import audit
import views
from audit.core.errors import StatementDeniedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SCHEMA = "sample_usage"


@audit.procedure
def payroll(spark):
    """A procedure that nobody may call."""
    raise StatementDeniedError("payroll is closed", "ask again on Monday")


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session after ann and bob have worked; the audit's tables are in a schema of their own."""
    root = tmp_path_factory.mktemp("sample_root")
    audit.attach(spark, user="ann", root=str(root), schema=SCHEMA, ingest_interval_seconds=3600)
    _ann(spark, root)
    with audit.as_user(spark, "bob", roles=["analyst"]):
        _bob(spark)
    audit.flush(spark)
    views.install(spark, SCHEMA)
    yield spark
    audit.detach(spark)
    spark.sql("DROP SCHEMA sq CASCADE")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def _ann(spark: SparkSession, root: Path) -> None:
    for statement in (
        "CREATE SCHEMA sq",
        "CREATE TABLE sq.people (name STRING, ssn STRING, born INT) USING delta",
        "INSERT INTO sq.people VALUES ('Ada', '1', 1815), ('Max', '2', 1858)",
        "CREATE VIEW sq.adults AS SELECT name, born + 18 AS of_age FROM sq.people",
        "CREATE TABLE sq.ages USING delta AS SELECT name AS who, of_age FROM sq.adults",
        "CREATE TABLE sq.report USING delta AS SELECT upper(who) AS who, of_age FROM sq.ages",
        "UPDATE sq.report SET of_age = 0 WHERE who = 'ADA'",
        "DELETE FROM sq.report WHERE who = 'MAX'",
        "CREATE TABLE sq.forgotten (a INT) USING delta",
        "CREATE TABLE sq.salaries (pay INT) USING delta",
        "CREATE MASKING POLICY sq.m AS (v INT) RETURNS INT -> CASE WHEN current_user() = 'ann' THEN v END",
        "ALTER TABLE sq.salaries ALTER COLUMN pay SET MASKING POLICY sq.m",
        "ALTER TABLE sq.forgotten ADD COLUMN b INT",
    ):
        spark.sql(statement)
    spark.table("sq.salaries").collect()
    spark.table("sq.people").where("born > 1850").write.parquet(str(root / "people.parquet"))


def _bob(spark: SparkSession) -> None:
    spark.sql("SELECT name FROM sq.adults").collect()
    spark.table("sq.people").select("ssn").collect()
    spark.sql("SELECT * FROM sq.report").collect()
    spark.sql("SELECT max(pay) FROM sq.salaries").collect()
    with pytest.raises(AnalysisException):
        spark.sql("SELECT salary FROM sq.people")
    with pytest.raises(StatementDeniedError):
        payroll(spark)
