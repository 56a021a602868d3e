"""Both engines on live statements: `cross_check`."""

from __future__ import annotations

import pytest

import audit
from audit.testing import records

pytestmark = pytest.mark.spark

AGREED = (
    "SELECT a, count(*) AS n FROM checked GROUP BY a HAVING max(st.x) > 0",
    "WITH q AS (SELECT a, st.x AS x FROM checked) SELECT q.a, r.x FROM q JOIN q AS r ON q.a = r.x",
    "CREATE TABLE checked_copy USING delta AS SELECT a + 1 AS b FROM checked",
    "INSERT INTO checked_copy SELECT st.x FROM checked WHERE a > 0",
    "MERGE INTO checked_copy USING checked ON b = a WHEN MATCHED THEN UPDATE SET b = st.y",
    # Delta writes the whole struct back, and null where an INSERT leaves a column out.
    "UPDATE checked SET st.x = a",
    "MERGE INTO checked USING checked_copy ON a = b WHEN NOT MATCHED THEN INSERT (a) VALUES (b)",
)
# Delta's plan has no trace of a column that is assigned to itself.
DIFFERENT = "UPDATE checked SET a = a, st = named_struct('x', 1, 'y', a)"


@pytest.fixture
def checked(spark, tmp_path):
    """A session every statement of which goes through both engines."""
    session = spark.newSession()
    session.sql("CREATE TABLE checked (a INT, st STRUCT<x: INT, y: INT>) USING delta")
    audit.attach(session, user="checker", root=str(tmp_path), cross_check=1.0, ingest="external")
    yield session
    audit.detach(session)
    for table in ("checked", "checked_copy"):
        session.sql(f"DROP TABLE IF EXISTS {table}")


def test_what_a_policy_reads_is_no_difference(checked):
    """Spark's analyzed plan has no policies yet: a statement that one protects is not compared."""
    checked.sql("CREATE MASKING POLICY hide AS (v INT) RETURNS INT -> (SELECT max(st.y) FROM checked) + v")
    checked.sql("CREATE TABLE checked_copy (b INT) USING delta")
    checked.sql("ALTER TABLE checked_copy ALTER COLUMN b SET MASKING POLICY hide")
    checked.sql("SELECT b FROM checked_copy").collect()
    (row,) = records(checked)[-1].access
    assert row.policies_referenced
    assert (row.analysis, row.analysis_reason) == ("full", None)
    coverage = audit.coverage(checked)
    assert (coverage.cross_checked, coverage.differed) == (0, 0)


def test_differences_are_on_record_and_counted(checked):
    """Where the engines agree the record is full; where they differ it is partial and says what."""
    for text in (*AGREED, DIFFERENT):
        checked.sql(text).collect()
    reasons = {row.analysis_reason: row.analysis for record in records(checked) for row in record.access}
    assert list(reasons.values()).count("partial") == 1
    (said,) = (reason for reason, analysis in reasons.items() if analysis == "partial")
    assert said.startswith("the engines differ: ")
    assert "checked" in said
    coverage = audit.coverage(checked)
    assert (coverage.cross_checked, coverage.differed, coverage.partial) == (len(AGREED) + 1, 1, 1)
