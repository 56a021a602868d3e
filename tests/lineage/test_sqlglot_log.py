"""What sqlglot logs: nothing where this project calls it, and all where the user does."""

from __future__ import annotations

import logging
import threading

import pytest
import sqlglot

from lineage import MemoryCatalog, analyze, parse
from lineage.sqlglot_log import quiet, spark_sql

NOT_READ = "EXPLAIN EXTENDED SELECT 1"


@pytest.mark.parametrize(
    "sql",
    [
        NOT_READ,
        "INSERT INTO t WITH ('k' = 'v') SELECT 1",
        "CREATE TABLE t (a INT) LOCATION 'x' 'y'",
        "ALTER TABLE t REPLACE COLUMNS (a INT)",
    ],
)
def test_a_statement_that_sqlglot_cannot_read_is_no_warning_of_the_users(caplog, sql):
    """Sqlglot's "contains unsupported syntax" reaches no logger of the process."""
    with caplog.at_level(logging.DEBUG):
        parse(sql)
        analyze(sql, MemoryCatalog({}))
    assert caplog.records == []


def test_the_users_own_use_of_sqlglot_warns_as_ever(caplog):
    """What a user parses warns, before, after, and on another thread while this project parses."""
    parse(NOT_READ)
    sqlglot.parse_one(NOT_READ, "spark")
    with quiet():
        other = threading.Thread(target=sqlglot.parse_one, args=(NOT_READ, "spark"))
        other.start()
        other.join()
        sqlglot.parse_one(NOT_READ, "spark")
    assert [record.name for record in caplog.records] == ["sqlglot", "sqlglot"]


def test_text_of_a_node_is_written_without_a_warning(caplog):
    """What the generator cannot say in Spark's SQL is no warning either."""
    node = sqlglot.parse_one("SELECT regexp_extract(a, b, 1, 2, 'c')", "snowflake")
    assert spark_sql(node) == "SELECT REGEXP_EXTRACT(a, b)"
    assert caplog.records == []
    node.sql("spark")
    assert caplog.records != []
