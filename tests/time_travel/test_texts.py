"""However a statement is written, it is the same statement: comments, nouns, words in strings, parameters."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

pytestmark = pytest.mark.spark


@pytest.fixture
def table(session, schema):
    """Of two versions."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (2)")
    return "t"


def rows(frame):
    """In order."""
    return sorted(tuple(row) for row in frame.collect())


def test_comments_before_a_show(session, table, schema):
    """Dbt puts one before every statement."""
    for text in (
        "/* x */ SHOW TABLES HISTORY",
        "-- x\nSHOW TABLES HISTORY;",
        f"SHOW TABLES HISTORY IN NAMESPACE {schema}",
    ):
        assert [row["name"] for row in session.sql(text).collect()] == ["t"]
    (row,) = session.sql("-- x\nSHOW PARAMETERS IN TABLE t").collect()
    assert row["key"] == "DATA_RETENTION_TIME_IN_DAYS"


def test_comments_before_a_clone_of_a_schema(session, table, schema):
    """And the other words for a schema."""
    time.sleep(0.01)
    moment = datetime.now(tz=timezone.utc).isoformat(sep=" ")
    session.sql("INSERT INTO t VALUES (3)")
    session.sql(f"/* c */ CREATE SCHEMA cloned CLONE {schema} AT (TIMESTAMP => '{moment}')")
    session.sql(f"CREATE NAMESPACE again CLONE {schema};")
    assert rows(session.table("cloned.t")) == [(1,), (2,)]
    assert rows(session.table("again.t")) == [(1,), (2,), (3,)]
    for name in ("cloned", "again"):
        session.sql(f"/* x */ DROP NAMESPACE {name} CASCADE -- RESTRICT")


def test_a_transient_clone(session, table):
    """It is kept as what is transient, whatever its source is."""
    session.sql("CREATE TRANSIENT TABLE c CLONE t")
    session.sql("CREATE OR REPLACE TRANSIENT TABLE c CLONE t AT (VERSION => 0)")
    assert rows(session.table("c")) == [(1,)]
    kinds = {row["name"]: row["kind"] for row in session.sql("SHOW TABLES HISTORY").collect()}
    assert kinds == {"c": "TRANSIENT", "t": "TABLE"}


def test_a_word_in_a_comment_makes_no_parquet_table(session, schema):
    """Its commit carries the statement's id, and it lies where DROP keeps it."""
    session.sql("CREATE TABLE t (a INT) COMMENT 'made USING parquet'")
    (commit,) = session.sql("DESCRIBE HISTORY t").collect()
    assert commit.userMetadata
    assert "/_tables/t-" in session.sql("DESCRIBE DETAIL t").first()["location"]


def test_a_semicolon_and_a_comment_at_the_end(session, schema):
    """What is put into the text stands before them."""
    session.sql("CREATE SCHEMA made DATA_RETENTION_TIME_IN_DAYS = 5; -- CLONE x")
    assert session.sql("SHOW PARAMETERS IN NAMESPACE made").first()["value"] == "5"
    session.sql("CREATE TABLE t (a INT) -- LOCATION '/x'\n;")
    assert rows(session.table("t")) == []
    session.sql("DROP SCHEMA made CASCADE;")


def test_parameters(session, table):
    """Named and by place, beside others of the statement."""
    time.sleep(0.01)
    moment = datetime.now(tz=timezone.utc)
    session.sql("INSERT INTO t VALUES (3)")
    asked = session.sql(
        "SELECT a FROM t AT (TIMESTAMP => :t) WHERE a > :least", args={"t": moment, "least": 1}
    )
    assert rows(asked) == [(2,)]
    asked = session.sql("SELECT a + ? FROM t AT (VERSION => ?) WHERE a = ?", args=[10, 1, 2])
    assert rows(asked) == [(12,)]
    session.sql("RESTORE TABLE t TO AT (TIMESTAMP => ?)", args=[moment])
    assert rows(session.table("t")) == [(1,), (2,)]
