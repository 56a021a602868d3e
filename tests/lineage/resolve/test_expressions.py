"""Which columns make a value, and which only filter, group or order it."""

import pytest

from lineage.resolve.expressions import add_indirect_sources, add_sources, resolve_expression
from lineage.resolve.scope import SourceSet
from lineage.transformation import AGGREGATED, named


@pytest.mark.parametrize(
    ("text", "values", "indirect"),
    [
        ("a + b", ["a", "b"], []),
        ("CASE WHEN a > 0 THEN b END", ["a", "b"], []),
        ("sum(a) FILTER (WHERE b > 0)", ["a"], ["b"]),
        ("sum(a) OVER (PARTITION BY b)", ["a"], ["b"]),
        ("row_number() OVER (ORDER BY b)", [], ["b"]),
        ("count(*)", [], []),
        ("count(a)", ["a"], []),
        ("grouping(a)", [], ["a"]),
        ("a IN (SELECT k FROM s.u)", ["a"], ["u.k"]),
        ("EXISTS (SELECT k FROM s.u)", [], ["u.k"]),
        ("(SELECT max(k) FROM s.u)", ["u.k"], []),
        ("transform(arr, b -> b + a)", ["a", "arr"], []),
        ("listagg(a) WITHIN GROUP (ORDER BY b)", ["a"], ["b"]),
        ("IDENTIFIER('a')", ["a"], []),
        ("current_date", [], []),
    ],
)
def test_sources_of_an_expression(trace, over, node, sources, text, values, indirect):
    """Values are direct sources; conditions, keys and orders are indirect ones."""
    found = SourceSet()
    add_sources(trace, node(text), over("s.t"), found)
    assert [one.removeprefix("s.").removeprefix("t.") for one in sources(found)] == values
    assert [one.removeprefix("s.").removeprefix("t.") for one in sources(found, "base_indirect")] == indirect
    assert trace.partial_reasons == {}


def test_conditions_are_indirect_alone(trace, over, node, sources):
    """What WHERE reads is no value."""
    found = SourceSet()
    add_indirect_sources(trace, node("a > 0 AND b > 0"), over("s.t"), found)
    assert (sources(found), sources(found, "base_indirect")) == ([], ["s.t.a", "s.t.b"])


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a", "IDENTITY"),
        ("CAST(a AS STRING)", "IDENTITY"),
        ("st.y.z", "IDENTITY"),
        ("a + 1", "TRANSFORMATION"),
        ("arr[0]", "TRANSFORMATION"),
        ("max(a)", "AGGREGATION"),
        ("max(a) + b", "AGGREGATION"),
        ("lag(a) OVER (ORDER BY b)", "TRANSFORMATION"),
    ],
)
def test_how_a_value_is_made(trace, over, node, text, how):
    """Unchanged, computed, or through an aggregate."""
    assert named(resolve_expression(trace, node(text), over("s.t")).transformation)[0] == how


def test_a_long_chain_needs_no_deep_stack(trace, over, node, sources):
    """5,000 ORs are walked by a loop."""
    found = SourceSet()
    add_sources(trace, node(" OR ".join(["a = 1"] * 5_000)), over("s.t"), found)
    assert sources(found) == ["s.t.a"]


def test_a_function_of_sql_is_opened(trace, over, node, sources):
    """Its argument is the source, its name is on record."""
    found = SourceSet()
    add_sources(trace, node("s.f(a)"), over("s.t"), found)
    assert sources(found) == ["s.t.a"]
    assert list(trace.ledger.functions) == ["spark_catalog.s.f"]
    assert not found.transformation & AGGREGATED


def test_a_struct_keeps_its_fields(trace, over, node, sources):
    """`struct(a AS p, b)` has a field p made of a, and a field b."""
    fields = resolve_expression(trace, node("struct(a AS p, b)"), over("s.t")).fields
    assert {name: sources(field) for name, field in fields.items()} == {"p": ["s.t.a"], "b": ["s.t.b"]}


def test_an_identifier_of_an_expression_is_partial(trace, over, node):
    """Spark alone knows what it names."""
    add_sources(trace, node("IDENTIFIER(:name)"), over("s.t"), SourceSet())
    assert list(trace.partial_reasons) == ["IDENTIFIER() of an expression"]
