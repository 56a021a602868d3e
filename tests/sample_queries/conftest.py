"""A small audited workload that every sample query has something to say about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

import audit
import views
from audit.core.errors import StatementDeniedError
from views.query_file import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

SCHEMA = "sample_usage"


_GOVERNED = (
    "CREATE ROLE readers COMMENT = 'of people'",
    "CREATE ROLE staff",
    "GRANT ROLE readers TO ROLE staff",
    "GRANT ROLE staff TO USER bob",
    "CREATE ROLE guests",
    "GRANT ROLE guests TO USER bob",
    "GRANT SELECT ON TABLE sq.ages TO ROLE guests",
    "DROP ROLE guests",
    "GRANT SELECT ON TABLE sq.people TO ROLE readers WITH GRANT OPTION",
    "REVOKE GRANT OPTION FOR SELECT ON TABLE sq.people FROM ROLE readers",
    "GRANT INSERT ON TABLE sq.people TO USER bob",
    "GRANT USAGE ON SCHEMA sq TO ROLE PUBLIC",
    "GRANT OWNERSHIP ON TABLE sq.report TO ROLE staff COPY CURRENT GRANTS",
    "CREATE TAG sq.pii ALLOWED_VALUES 'high', 'low'",
    "ALTER TABLE sq.people ALTER COLUMN ssn SET TAG sq.pii = 'low'",
    "ALTER TABLE sq.people ALTER COLUMN ssn SET TAG sq.pii = 'high'",
    "ALTER VIEW sq.adults SET TAG sq.pii = 'low'",
    "CREATE TAG sq.cost_center",
    "ALTER SCHEMA sq SET TAG sq.cost_center = '7'",
    "CREATE ROW ACCESS POLICY sq.grown AS (age INT) RETURNS BOOLEAN -> age > 0",
    "ALTER TABLE sq.ages ADD ROW ACCESS POLICY sq.grown ON (of_age)",
    "ALTER TABLE sq.ages DROP ROW ACCESS POLICY sq.grown",
    "CREATE MASKING POLICY sq.old AS (v STRING) RETURNS STRING -> 'x'",
    "DROP MASKING POLICY sq.old",
)
_BACKED_UP = (
    "CREATE BACKUP POLICY sq.daily SCHEDULE = '24 HOUR' EXPIRE_AFTER_DAYS = 90",
    "CREATE BACKUP SET sq.of_people FOR TABLE sq.people WITH BACKUP POLICY sq.daily",
    "ALTER BACKUP SET sq.of_people ADD BACKUP",
)
_IN_CATALOG = (
    "CREATE VIEW sq.elders AS SELECT name FROM sq.adults WHERE of_age < 1850",
    "CREATE TABLE sq.plain (price DECIMAL(9, 2) COMMENT 'in euros', code VARCHAR(3)) USING parquet",
    "CREATE FUNCTION sq.twice(a INT) RETURNS INT COMMENT 'doubles' RETURN a * 2",
    "CREATE VIEW sq.short AS SELECT 1 AS one",
    "DROP VIEW sq.short",
    "CREATE FUNCTION sq.half(a INT) RETURNS INT RETURN a / 2",
    "DROP FUNCTION sq.half",
)


@audit.procedure
def payroll(spark):
    """A procedure that nobody may call."""
    raise StatementDeniedError("payroll is closed", "ask again on Monday")


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session after ann, bob and carol have worked; the audit's tables are in a schema of their own."""
    root = tmp_path_factory.mktemp("sample_root")
    audit.attach(spark, user="ann", root=str(root), schema=SCHEMA, ingest_interval_seconds=3600)
    _ann(spark, root)
    with audit.as_user(spark, "bob", roles=["analyst"]):
        _bob(spark)
    with audit.as_user(spark, "carol", roles=["accountadmin"]):
        spark.sql("SELECT 1 AS one").collect()
    audit.flush(spark)
    views.install(spark, SCHEMA)
    yield spark
    audit.detach(spark)
    spark.sql("DROP SCHEMA sq CASCADE")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def ask(audited: SparkSession) -> Callable[..., list[Row]]:
    """Ask a sample query on the workload."""

    def asked(name: str, **given: str | int) -> list[Row]:
        return sample(name).ask(audited, SCHEMA, **given)

    return asked


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
        *_GOVERNED,
        *_IN_CATALOG,
        *_BACKED_UP,
        "ALTER TABLE sq.forgotten ADD COLUMN b INT",
    ):
        spark.sql(statement)
    with audit.suppress():
        spark.sql("CREATE TABLE sq.stray (a INT) USING delta")
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
