"""Whether a CREATE TABLE has a LOCATION."""

from __future__ import annotations

import pytest

from lineage.sql.commands.create import CreateTable
from lineage.sql.parse import typed_of


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
