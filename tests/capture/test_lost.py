"""What is counted as lost, and what is not."""

from __future__ import annotations

import pytest

import audit
from audit.testing import records
from tests.sessions import NO_TABLES

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
