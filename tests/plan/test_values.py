"""Sets of sources as integers and trees as flat lists: both say what sets and nested trees say. No Spark."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.model import Column, Domain, Relation
from lineage.plan import PlanJsonError
from lineage.plan.tree import children, end, kind, parse, trees
from lineage.plan.values import NOTHING, Registry, Value, as_condition, computed, numbers, union
from lineage.transformation import AGGREGATED, COMPUTED, named

SETS = st.sets(st.integers(0, 200), max_size=8)


def bits(members):
    """A set as an integer."""
    return sum(1 << member for member in members)


@given(st.lists(st.tuples(SETS, SETS, SETS, SETS), max_size=5))
def test_a_union_is_that_of_sets(parts):
    """Of each of the four kinds of sources; numbers lists the members in order."""
    found = union(Value(*map(bits, part)) for part in parts)
    for at in range(4):
        assert list(numbers(found[at])) == sorted(set().union(*(part[at] for part in parts)))


@given(SETS, SETS, SETS, SETS)
def test_a_condition_has_no_values(direct, base, direct_by, base_by):
    """All that it reads is indirect, of its kind; twice is once."""
    found = as_condition(Value(bits(direct), bits(base), bits(direct_by), bits(base_by)))
    assert found == Value(0, 0, bits(direct | direct_by), bits(base | base_by))
    assert as_condition(found) == found


@given(SETS, st.sampled_from([COMPUTED, AGGREGATED]))
def test_what_has_no_source_is_computed_from_none_but_may_count_rows(members, how):
    """A constant is no transformation; count(*) aggregates all the same."""
    found = computed(Value(bits(members), bits(members), shape=("x",)), how)
    assert found.shape is None
    assert found.transformation == (how if members or how == AGGREGATED else 0)
    assert named(found.transformation)[0] in ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def test_a_union_of_nothing_is_nothing():
    """It has no source and no transformation."""
    assert union(()) == NOTHING


def test_a_large_set_lists_its_members():
    """50,000 of 100,000 possible ones."""
    members = range(0, 100_000, 2)
    assert list(numbers(int("01" * 50_000, 2))) == list(members)
    assert list(numbers(0)) == []


TABLE = Relation("c.s.t", columns=(Column("a", "struct<x:int,y:array<struct<z:int>>>"), Column("b")))


def test_a_source_has_one_number():
    """However often it is asked for; a field is another source than its column."""
    registry = Registry()
    table = registry.object(TABLE)
    column = registry.source(table, TABLE.columns[0])
    field = registry.field(column, "x")
    assert registry.object(Relation("c.s.t")) == table
    assert registry.object(Relation("c.s.t", Domain.VIEW)) != table
    assert registry.source(table, Column("a", "other")) == column != field == registry.field(column, "x")
    assert registry.columns(1 << field | 1 << column) == {table: {"a": TABLE.columns[0]}}
    assert [(ref.column_name, ref.field_path) for ref in registry.refs(1 << column | 1 << field)] == [
        ("a", ()),
        ("a", ("x",)),
    ]


def test_an_object_as_a_whole_is_a_source_without_a_column():
    """A subquery's objects count where its value does; they are no column of a record."""
    registry = Registry()
    table, other = registry.object(TABLE), registry.object(Relation("c.s.u"))
    whole, column = registry.source(table, None), registry.source(table, TABLE.columns[1])
    registry.source(other, Column("z"))
    assert registry.refs(1 << whole) == ()
    assert registry.columns(1 << whole) == {table: {}}
    assert registry.sources_of(1 << table) == 1 << whole | 1 << column


@pytest.mark.parametrize(
    ("path", "type_text", "first"),
    [((), "struct<x:int,y:array<struct<z:int>>>", "x"), (("x",), "int", None),
     (("y",), "array<struct<z:int>>", "z"), (("nosuch",), "", None)],
)  # fmt: skip
def test_a_field_has_the_type_that_its_struct_says(path, type_text, first):
    """And the fields of that type by their places; of an array those of its elements."""
    registry = Registry()
    number = registry.source(registry.object(TABLE), TABLE.columns[0])
    for name in path:
        number = registry.field(number, name)
    assert (registry.kind(number), registry.field_at(number, 0)) == (type_text, first)
    assert registry.field_at(number, 9) is None


# -- trees -------------------------------------------------------------------------------------

NESTED = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=25)


def flat(nested, at=None):
    """A nested tree in pre-order, its nodes numbered."""
    at = at if at is not None else [0]
    number = at[0]
    at[0] += 1
    found = [{"class": f"a.b.Node{number}", "num-children": len(nested)}]
    for child in nested:
        found += flat(child, at)
    return found


@given(NESTED)
def test_a_tree_in_pre_order_has_the_children_of_the_nested_one(nested):
    """Each child is a tree of its own, down to the leaves."""

    def same(nodes, expected):
        assert end(nodes, 0) == len(nodes)
        below = children(nodes)
        assert len(below) == len(expected)
        for one, other in zip(below, expected, strict=True):
            same(one, other)

    same(parse(json.dumps(flat(nested))), nested)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("org.apache.spark.sql.catalyst.plans.logical.Project", "Project"),
        ("Project", "Project"),
        ("a.b.Outer$Inner", "Inner"),
        ("a.b.LeftOuter$", "LeftOuter"),
        ("a.b.Outer$Inner$Deep", "Deep"),
    ],
)
def test_a_node_is_called_by_the_last_part_of_its_class(name, shown):
    """Nested classes and objects of Scala have a `$` in their names."""
    assert kind({"class": name}) == shown


def test_trees_are_found_however_deep_a_field_nests_them():
    """Lists, options and case classes; in the order in which they stand."""
    one, two, three = ([{"class": f"N{n}", "num-children": 0}] for n in "123")
    field = [one, [[two]], {"product-class": "scala.Some", "value": three}, None, 7, "text", {"no": one}]
    assert list(trees(field)) == [one, two, three]
    assert list(trees(one)) == [one]
    assert list(trees(None)) == []
    deep = one
    for _ in range(10_000):
        deep = [deep]
    assert list(trees(deep)) == [one]


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", "null", '"plan"', "[[]]", '[{"node": 1}]', "[" * 2000])
def test_text_that_is_no_plan_is_refused_with_a_way_out(text):
    """The message says which text to pass."""
    with pytest.raises(PlanJsonError, match="toJSON") as caught:
        parse(text)
    assert (caught.value.code, caught.value.subject) == ("PLAN_JSON", "plan")
