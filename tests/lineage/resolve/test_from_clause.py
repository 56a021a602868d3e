"""Joins, pivots and table-valued functions in a FROM clause."""

import pytest

from lineage.resolve.from_clause.generators import generated
from lineage.resolve.from_clause.items import read_from
from lineage.resolve.from_clause.joins import merge_using_keys, natural_keys
from lineage.resolve.from_clause.pivots import pivoted
from lineage.resolve.from_clause.table_functions import table_function_columns
from lineage.resolve.scope import ResolvedColumn, Scope
from lineage.transformation import COMPUTED


def scope_of(trace, node, text):
    """The scope that a FROM clause fills."""
    scope = Scope()
    read_from(trace, node(f"SELECT 1 FROM {text}"), scope)
    return scope


@pytest.mark.parametrize(
    ("side", "found"),
    [("", ["s.t.a"]), ("LEFT", ["s.t.a"]), ("RIGHT", ["s.u.a"]), ("FULL", ["s.t.a", "s.u.a"])],
)
def test_a_key_of_using_has_the_value_of_its_side(trace, over, sources, side, found):
    """A FULL JOIN coalesces both; either side filters the rows."""
    scope = over("s.t")
    left = scope.joined()[0]
    for item in over("s.u").sources:
        scope.add(item)
    merge_using_keys(trace, ["a"], left, 1, side, scope)
    assert sources(scope.using["a"]) == found
    assert bool(scope.using["a"].transformation & COMPUTED) == (side == "FULL")
    assert sources(scope.indirect, "base_indirect") == ["s.t.a", "s.u.a"]
    assert [column.name for column in scope.star()] == ["a", "b", "st", "arr", "k", "m"]


def test_a_natural_join_has_the_shared_names_as_keys(trace, over):
    """In the order of the left side; over unknown columns the analysis is partial."""
    scope = over("s.t")
    left = scope.joined()[0]
    scope.add(over("s.u").sources[0])
    assert natural_keys(trace, left, scope) == ["a"]
    scope.add(over("s.open").sources[0])
    natural_keys(trace, left, scope)
    assert list(trace.partial_reasons) == ["NATURAL JOIN over unknown columns"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("s.t SEMI JOIN s.u ON t.a = u.a", ["a", "b", "st", "arr"]),
        ("s.u JOIN s.u AS v USING (a)", ["a", "k", "m", "k", "m"]),
        ("s.u LATERAL VIEW explode(m) AS key, value", ["a", "k", "m", "key", "value"]),
        ("(s.u JOIN s.t USING (a))", ["a", "k", "m", "b", "st", "arr"]),
        ("(SELECT a AS x FROM s.t) AS q (y)", ["y"]),
        ("VALUES (1, 2) AS v (p, q)", ["p", "q"]),
        ("range(10)", ["id"]),
    ],
)
def test_what_a_from_clause_yields(trace, node, text, names):
    """The columns of `*`, in order."""
    assert [column.name for column in scope_of(trace, node, text).star()] == names
    assert trace.partial_reasons == {}


def test_a_pivot_groups_by_what_it_does_not_use(trace, node, sources):
    """A column for each value, made of what is aggregated; the key and the groups are indirect sources."""
    pivot = node("SELECT * FROM s.u PIVOT (sum(k) FOR a IN (1, 2))").args["from_"].this.args["pivots"][0]
    scope = scope_of(trace, node, "(SELECT a, k FROM s.u) AS u")
    item = pivoted(trace, pivot, scope)
    assert [(c.name, sources(c)) for c in item.columns()] == [("1", ["s.u.k"]), ("2", ["s.u.k"])]
    assert sources(scope.indirect, "base_indirect") == ["s.u.a"]


@pytest.mark.parametrize(
    ("call", "type_text", "names"),
    [
        ("explode(x)", "array<int>", ["col"]),
        ("explode(x)", "map<string,int>", ["key", "value"]),
        ("posexplode(x)", "array<int>", ["pos", "col"]),
        ("inline(x)", "array<struct<p:int,q:int>>", ["p", "q"]),
        ("json_tuple(x, 'a', 'b')", "string", ["c0", "c1"]),
        ("stack(2, 1, 2, 3)", "", ["col0", "col1"]),
    ],
)
def test_what_a_generator_yields(node, call, type_text, names):
    """By the type of its argument."""
    tree = node(call)
    title = call.partition("(")[0]
    count = call.count(",") + 1
    arguments = [ResolvedColumn("x", type_text), *(ResolvedColumn("") for _ in range(count - 1))]
    assert [column.name for column in generated(title, tree, arguments)] == names


def test_an_unknown_generator_yields_nothing_known(node):
    """Its aliases then say what it yields."""
    assert generated("my_udtf", node("my_udtf(1)"), [ResolvedColumn("x")]) is None
    assert generated("inline", node("inline(x)"), [ResolvedColumn("x")]) is None


def test_aliases_name_the_columns_of_an_unknown_table_function(trace, over, node, sources):
    """Each is made of all arguments; without aliases the analysis is partial."""
    scope = over("s.t")
    columns = table_function_columns(trace, node("my_udtf(a, b)"), ["p", "q"], scope)
    assert [(c.name, sources(c)) for c in columns] == [("p", ["s.t.a", "s.t.b"]), ("q", ["s.t.a", "s.t.b"])]
    assert table_function_columns(trace, node("my_udtf(a)"), [], scope) is None
    assert list(trace.partial_reasons) == ["table function my_udtf"]
