"""Pipe syntax gives what the nested query gives that it stands for (Spark 4.0, SQL Pipe Syntax)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage import MemoryCatalog, analyze
from lineage.sql.parse import parse
from lineage.sql.syntax.pipe_syntax import without_pipes
from lineage.sql.tokens import tokenize

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int", "c": "int"}, "s.u": {"a": "int", "k": "int"}}, current_schema="s"
)


def meaning(text):
    """What is read, and how each output was made of what."""
    access = analyze(text, CATALOG)
    assert access.analysis == "full", access.reason
    columns = [
        (
            one.name,
            one.base_transformation,
            *map(frozenset, (one.base_sources, one.direct_sources, one.indirect_sources)),
        )
        for one in access.columns
    ]
    return columns, {o.name for o in access.base_objects_accessed}, access.objects_modified


@pytest.mark.parametrize(
    ("piped", "nested"),
    [
        ("FROM t |> WHERE a > 1 |> SELECT b", "SELECT b FROM t WHERE a > 1"),
        ("TABLE t |> EXTEND a + b AS d |> DROP c", "SELECT a, b, a + b AS d FROM t"),
        ("FROM t |> SET a = b, b = a", "SELECT b AS a, b, c FROM t"),
        ("FROM t |> AGGREGATE sum(a) AS s GROUP BY b", "SELECT b, sum(a) AS s FROM t GROUP BY b"),
        ("FROM t |> AGGREGATE count(*) AS n", "SELECT count(*) AS n FROM t"),
        ("FROM t |> JOIN u USING (a) |> SELECT c, k", "SELECT c, k FROM t JOIN u USING (a)"),
        ("FROM t |> WHERE b = 1 |> LEFT JOIN u x ON t.a = x.a |> SELECT k", None),
        ("FROM t |> AS x |> WHERE x.a = 1 |> SELECT x.b", "SELECT x.b FROM t x WHERE x.a = 1"),
        ("SELECT a FROM t |> UNION ALL SELECT k FROM u", "SELECT a FROM t UNION ALL SELECT k FROM u"),
        ("FROM t |> ORDER BY c |> LIMIT 3 |> SELECT a", "SELECT a FROM (SELECT * FROM t ORDER BY c LIMIT 3)"),
        ("(SELECT a FROM t) |> SELECT a AS z", "SELECT a AS z FROM (SELECT a FROM t)"),
        ("SELECT (FROM u |> AGGREGATE max(k)) AS m FROM t", "SELECT (SELECT max(k) FROM u) AS m FROM t"),
        ("WITH c AS (FROM t |> SELECT a) FROM c |> SELECT a", "WITH c AS (SELECT a FROM t) SELECT a FROM c"),
        ("INSERT INTO u FROM t |> SELECT a, b", "INSERT INTO u SELECT a, b FROM t"),
        ("CREATE TABLE n AS FROM t |> SELECT a", "CREATE TABLE n AS SELECT a FROM t"),
        ("SELECT a |> FROM t", "no query"),
    ],
)  # fmt: skip
def test_a_pipeline_means_its_nested_query(piped, nested):
    """The same objects, outputs and sources; an operator that there is not has no form."""
    if nested == "no query":
        assert without_pipes(tokenize(piped)) is None
        assert parse(piped).reason == "pipe syntax |>"
        return
    nested = nested or "SELECT k FROM (SELECT * FROM t WHERE b = 1) t LEFT JOIN u x ON t.a = x.a"
    assert meaning(piped) == meaning(nested)


OPERATORS = [
    ("WHERE a > b", "SELECT * FROM ({}) WHERE a > b"),
    ("EXTEND a + b AS x{n}", "SELECT *, a + b AS x{n} FROM ({})"),
    ("SET a = a + b", "SELECT * REPLACE (a + b AS a) FROM ({})"),
    ("SELECT b, a", "SELECT b, a FROM ({})"),
    ("SELECT *, a AS x{n}", "SELECT *, a AS x{n} FROM ({})"),
    ("AGGREGATE sum(a) AS a GROUP BY b", "SELECT b, sum(a) AS a FROM ({}) GROUP BY b"),
    ("ORDER BY a DESC", "SELECT * FROM ({}) ORDER BY a DESC"),
    ("LIMIT 3", "SELECT * FROM ({}) LIMIT 3"),
    ("AS q |> WHERE q.a = 1", "SELECT * FROM ({}) q WHERE q.a = 1"),
]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=5))
def test_operators_in_any_order_nest_one_in_the_other(operators):
    """Each takes the query so far as its table."""
    piped, nested = "FROM t", "SELECT * FROM t"
    for n, (operator, query) in enumerate(operators):
        piped += " |> " + operator.replace("{n}", str(n))
        nested = query.replace("{n}", str(n)).replace("{}", nested)
    assert meaning(piped) == meaning(nested)


@pytest.mark.parametrize(
    "text",
    [
        "|> SELECT a",
        "FROM t |>",
        "FROM t |> WHERE",
        "FROM t |> FLY a",
        "FROM t |> SET a",
        "FROM t |> AS x y",
        "FROM t |> AGGREGATE sum(a) GROUP BY 1",
        "INSERT INTO t |> SELECT a",
    ],
)
def test_a_pipeline_without_a_nested_form_is_left_to_spark(text):
    """Half an operator, an unknown one, a key by its number: no tree, but a reason."""
    assert without_pipes(tokenize(text)) is None
    statement = parse(text)
    assert statement.tree is None
    assert statement.reason


def test_a_text_without_pipes_stays_as_it_is():
    """Token by token."""
    tokens = tokenize("SELECT (SELECT '|>' FROM t) | a || b FROM u")
    assert without_pipes(list(tokens)) == tokens


def test_a_long_pipeline_is_not_nested_beyond_the_parser():
    """Filters nest nothing; more than a hundred levels have no tree."""
    assert parse("FROM t" + " |> WHERE a" * 500).tree is not None
    deep = parse("FROM t" + " |> EXTEND 1 AS b" * 500)
    assert deep.tree is None
    assert deep.reason
