"""Where a CREATE TABLE takes a LOCATION."""

from __future__ import annotations

import pytest

from audit.time_travel.clones.create import with_location
from lineage.sql.commands.create import CreateTable
from lineage.sql.parse import typed_of


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE t (a INT)", "CREATE TABLE t (a INT) USING delta LOCATION 'x'"),
        (
            "CREATE TABLE IF NOT EXISTS t (a STRUCT<b: INT>) USING DELTA PARTITIONED BY (a)",
            "CREATE TABLE IF NOT EXISTS t (a STRUCT<b: INT>) USING DELTA LOCATION 'x' PARTITIONED BY (a)",
        ),
        ("CREATE TABLE t AS SELECT 1 AS a", "CREATE TABLE t USING delta LOCATION 'x' AS SELECT 1 AS a"),
        ("CREATE TABLE t (SELECT 1 AS a)", "CREATE TABLE t USING delta LOCATION 'x' (SELECT 1 AS a)"),
        (
            "CREATE OR REPLACE TABLE t USING delta COMMENT 'c' AS SELECT 1 AS location",
            "CREATE OR REPLACE TABLE t USING delta LOCATION 'x' COMMENT 'c' AS SELECT 1 AS location",
        ),
        ("CREATE TABLE t LIKE s.u", "CREATE TABLE t LIKE s.u USING delta LOCATION 'x'"),
    ],
)
def test_the_location_stands_behind_the_provider(sql, expected):
    """The rest of the text is as it was."""
    create = typed_of(sql)
    assert not create.has_location
    assert with_location(sql, create, "x", {}) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT) USING delta LOCATION '/x'",
        "CREATE TABLE t USING delta OPTIONS (path '/x') AS SELECT 1 AS a",
        "CREATE TABLE t USING delta COMMENT 'c' LOCATION '/x' AS SELECT 1 AS a",
    ],
)
def test_a_location_that_is_given_stays(sql):
    """By LOCATION or by an option."""
    assert typed_of(sql).has_location


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE IDENTIFIER('t') (a INT)",
        "CREATE TABLE t SHALLOW CLONE u",
        "SELECT 1",
    ],
)
def test_other_statements_are_none(sql):
    """What is no CREATE TABLE with a name."""
    assert not isinstance(typed_of(sql), CreateTable)
