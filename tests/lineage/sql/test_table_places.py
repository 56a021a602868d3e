"""Where tables stand in a text, and where the query of a writing statement begins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.sql.parse import parse
from lineage.sql.table_places import tables_of, written_query


def places(text):
    """The text of each table, in order of its place, and whether an alias follows."""
    found = sorted(tables_of(parse(text)), key=lambda place: place.first)
    return [(text[place.first : place.stop], place.aliased) for place in found]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM s.t", [("s.t", False)]),
        ("SELECT * FROM t x, u AS y JOIN v USING (a)", [("t", True), ("u", True), ("v", False)]),
        ("SELECT '😀' FROM `a b` . `c``d` `where`", [("`a b` . `c``d`", True)]),
        ("SELECT (SELECT 1 FROM t) FROM (SELECT * FROM t) q", [("t", False), ("t", False)]),
        ("TABLE t", [("t", False)]),
        ("FROM t |> JOIN u |> SELECT a", [("t", False), ("u", False)]),
        ("SELECT * FROM delta.`/x`", [("delta.`/x`", False)]),
        ("SELECT * FROM range(3), explode(array(1))", []),
        ("SELECT t.a, 't' FROM u /* FROM t */ -- JOIN t", [("u", False)]),
        ("SELECT * FROM t AT (OFFSET => -1), u@v3, v VERSION AS OF 3, w", [("w", False)]),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c, C, s.c", [("t", False), ("s.c", False)]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", [("t", False)]),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b", [("b", False)]),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", []),
        ("SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) JOIN x", [("x", False)]),
        (
            "WITH x AS (SELECT 1) SELECT * FROM (WITH y AS (SELECT * FROM x, y) SELECT * FROM y)",
            [("y", False)],
        ),
        ("SELECT 'open", []),
        ("", []),
    ],
)
def test_tables_are_found_and_ctes_are_none(text, tables):
    """A CTE hides a table behind its own definition, and within it only where it is recursive."""
    assert places(text) == tables


NAMES = st.sampled_from(["t", "s.t", "`a b`", "größe", "c.s.`x.y`"])
QUERIES = st.recursive(
    NAMES.map("SELECT * FROM {}".format),
    lambda inner: st.one_of(
        st.tuples(inner, NAMES).map(lambda pair: f"SELECT * FROM ({pair[0]}) q JOIN {pair[1]} r ON true"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) UNION ALL ({pair[1]})"),
        st.tuples(inner, NAMES).map(
            lambda p: f"WITH cte AS ({p[0]}) SELECT * FROM cte, {p[1]} WHERE a IN ({p[0]})"
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=50)
@given(QUERIES)
def test_tables_that_are_replaced_leave_no_other(query):
    """With something else in each place, a text reads that alone."""
    text = query
    for place in sorted(tables_of(parse(query)), key=lambda place: -place.first):
        text = f"{text[: place.first]}other{text[place.stop :]}"
    assert parse(text).references == (("other",),)


@pytest.mark.parametrize(
    "head",
    [
        "INSERT INTO t",
        "INSERT INTO TABLE s.t (a, b)",
        "INSERT OVERWRITE TABLE t PARTITION (a = 1, b)",
        "INSERT INTO t BY NAME",
        "INSERT WITH SCHEMA EVOLUTION INTO t",
        "INSERT INTO t REPLACE WHERE a IN (1, 2)",
        "INSERT INTO t REPLACE WHERE (a IN (SELECT b FROM u)) AND a IN (SELECT c FROM v)",
        "INSERT OVERWRITE DIRECTORY '/x' USING csv OPTIONS ('select' 'from')",
        "CREATE TABLE t AS",
        "CREATE OR REPLACE TABLE t USING delta PARTITIONED BY (a) COMMENT 'AS SELECT' AS",
        "CREATE TABLE IF NOT EXISTS `select` (`from`, `table`) AS",
        "REPLACE TABLE t TBLPROPERTIES ('a' = 'b') AS",
        "INSERT INTO `table` /* SELECT */",
    ],
)
def test_the_query_that_is_written_begins_behind_the_head(head):
    """Whatever stands in names, options, conditions and comments."""
    for query in ("SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a", "FROM u", "VALUES (1)", "TABLE s"):
        assert written_query(f"{head} {query}") == query


@pytest.mark.parametrize(
    "head", ["INSERT INTO t", "INSERT INTO t (a)", "CREATE TABLE t AS", "CREATE TABLE t"]
)
def test_a_query_in_brackets_keeps_them(head):
    """A list of columns in brackets is no query."""
    for query in ("(SELECT 1)", "((SELECT 1))", "((SELECT 1) UNION SELECT 2)", "(TABLE s)"):
        assert written_query(f"{head} {query}") == query


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INSERT INTO t",
        "CREATE TABLE t (a INT, b STRING)",
        "CREATE TABLE t LIKE u",
        "CREATE TABLE t (`select` INT) COMMENT 'SELECT 1'",
        "FROM u INSERT INTO t SELECT a",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "INSERT INTO t SELECT 'open",
    ],
)
def test_a_statement_without_a_query_of_its_own_has_none(text):
    """Nor has one whose FROM or WITH stands before the INSERT: its end alone says something else."""
    assert written_query(text) == ""
