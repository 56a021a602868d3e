"""What is counted as lost, and what is not."""

from __future__ import annotations

import pytest

import audit
from audit.core.job_tags import STATEMENT_TAG
from audit.testing import records
from tests.sessions import NO_TABLES, attached

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES


def test_a_plan_that_cannot_be_made_is_a_failure_and_nothing_is_lost(session):
    """Spark (4.2) gives an execution a number, makes its physical plan, and tells of its start after that."""
    session.range(1).collect()
    for text in ("SELECT 1/0", "SELECT raise_error('no')", "SELECT CAST('x' AS INT)"):
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|USER_RAISED_EXCEPTION|CAST_INVALID_INPUT"):
            session.sql(text).collect()
    session.range(1).collect()
    found = [record.query.execution_status for record in records(session)]
    assert found == ["SUCCESS", "FAIL", "FAIL", "FAIL", "SUCCESS"]
    assert audit.coverage(session).lost == 0


def test_what_ran_before_the_attach_is_not_lost(spark, root):
    """Executions are numbered from the start of the application."""
    spark.range(1).collect()
    other = spark.newSession()
    audit.attach(other, user="ann", root=str(root), **ATTACH)
    try:
        other.range(1).collect()
        assert audit.coverage(other).lost == 0
    finally:
        audit.detach(other)


def writes(session, table):
    """What the records say that wrote a table."""
    return [
        record.query.query_id
        for record in records(session)
        for row in record.access
        if any(one["objectName"].endswith(table) for one in row.objects_modified)
    ]


def test_another_root_hides_nothing(session, spark, schema, tmp_path):
    """A session that is audited under a root of its own is for this one as a session without audit."""
    session.sql("CREATE TABLE t (a INT)")
    with attached(spark, tmp_path, **NO_TABLES) as other:
        other.sql(f"INSERT INTO {schema}.t VALUES (1)")
        other.range(2).selectExpr("CAST(id AS INT) AS a").write.mode("append").saveAsTable(f"{schema}.t")
        assert len(writes(other, f"{schema}.t")) == len(writes(session, f"{schema}.t")) == 2
        assert not set(writes(other, f"{schema}.t")) & set(writes(session, f"{schema}.t"))


def test_a_tag_that_names_no_statement_hides_nothing(session, spark, schema):
    """Whoever sets a job tag as the audit does, on a session that nobody audits."""
    session.sql("CREATE TABLE t (a INT)")
    context, plain = spark.sparkContext, spark.newSession()
    context.addJobTag(STATEMENT_TAG + "ffff")
    try:
        plain.sql(f"INSERT INTO {schema}.t VALUES (1)")
    finally:
        context.clearJobTags()
    assert len(writes(session, f"{schema}.t")) == 1
