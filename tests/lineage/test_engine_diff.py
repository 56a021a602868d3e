"""What counts as a difference between the text engine and the plan engine, and what does not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import MemoryCatalog, analyze
from lineage.catalog.identify import identify
from lineage.engine_diff import Difference, differences, different_definitions
from lineage.model import (
    Access,
    AccessedObject,
    Column,
    ColumnRef,
    Domain,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
    OutputColumn,
)

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int", "st": "struct<x:int>"}, "s.u": {"x": "int", "y": "int"}},
    {"s.v": "SELECT a, b FROM t"},
    {"s.f": "CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE PYTHON AS $$return n$$"},
    current_schema="s",
)
TEXTS = [
    "SELECT a, b + 1 AS c FROM t WHERE st.x > 0",
    "SELECT * FROM v ORDER BY a",
    "SELECT f(a) AS z FROM t",
    "INSERT INTO u SELECT f(a), b FROM v",
    "UPDATE u SET x = y + 1 WHERE y > 2",
    "DELETE FROM u WHERE x = 1",
    "CREATE TABLE n AS SELECT a FROM t",
    "TRUNCATE TABLE u",
    "DROP TABLE t",
]


def read(name, *columns, domain=Domain.TABLE):
    """An object that was read."""
    return AccessedObject(f"c.s.{name}", domain, columns=tuple(map(Column, columns)))


def ref(path):
    """A source, as `table.column.field`."""
    table, column, *field = path.split(".")
    return ColumnRef(f"c.s.{table}", column, field_path=tuple(field))


def output(name, *sources, by=()):
    """An output column of sources that are direct and base."""
    refs = tuple(map(ref, sources))
    return OutputColumn(name, refs, refs, tuple(map(ref, by)))


def query(*objects, outputs=(), kind="SELECT"):
    """A query over objects that are direct and base."""
    return Access(kind, objects, objects, columns=tuple(outputs))


def write(name, **columns):
    """A write of columns, each with its sources."""
    made = {name: tuple(map(ref, sources)) for name, sources in columns.items()}
    written = tuple(ModifiedColumn(name, None, refs, refs) for name, refs in made.items())
    return Access("INSERT", objects_modified=(ModifiedObject(f"c.s.{name}", Domain.TABLE, columns=written),))


def found(text, plan, **options):
    """The differences as pairs of kind and place."""
    return [(one.kind, one.where) for one in differences(text, plan, **options)]


@pytest.mark.parametrize("sql", TEXTS)
def test_a_result_agrees_with_itself_and_with_its_numbered_self(sql):
    """Ids are left out, since one engine alone may know them."""
    access = analyze(sql, CATALOG)
    numbered = identify(access, {})
    assert list(differences(access, numbered)) == list(differences(numbered, access)) == []
    assert list(different_definitions(access, numbered)) == []


@given(st.data())
def test_the_order_of_objects_and_columns_is_no_difference(data):
    """A plan lists what it reads in another order than the text names it."""
    access = analyze("INSERT INTO u SELECT a + b, x FROM v JOIN u ON a = x", CATALOG)
    mixed = {
        name: tuple(
            replace(item, columns=tuple(data.draw(st.permutations(item.columns))))
            for item in data.draw(st.permutations(getattr(access, name)))
        )
        for name in ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
    }
    assert list(differences(access, replace(access, **mixed))) == []


@pytest.mark.parametrize(
    ("text", "plan", "differs"),
    [
        (query(read("T", "A")), query(read("t", "a")), []),
        (query(outputs=[output("a", "T.A")]), query(outputs=[output("a", "t.a")]), []),
        (query(outputs=[output("A")]), query(outputs=[output("a")]), [("name", "output 0")]),
        (write("W", A=["T.B"]), write("w", a=["t.b"]), []),
    ],
)
def test_the_case_of_a_name_counts_for_outputs_alone(text, plan, differs):
    """An output is called as the query spells it; all other names are names of objects."""
    assert found(text, plan) == differs


def test_what_an_insert_of_a_merge_leaves_out_is_no_difference():
    """Delta's plan writes null there; a source, or the text's own column, counts, and so does an INSERT."""
    merge = partial(replace, statement_type="MERGE")
    text = write("w", a=["t.b"])
    assert found(merge(text), merge(write("w", a=["t.b"], left_out=[]))) == []
    assert found(merge(text), merge(write("w", a=["t.b"], c=["t.d"]))) == [("modified", "c.s.w")]
    assert found(merge(write("w", a=["t.b"], said=[])), merge(text)) == [("modified", "c.s.w")]
    assert found(text, write("w", a=["t.b"], left_out=[])) == [("modified", "c.s.w")]


def test_names_of_outputs_may_be_left_out():
    """Spark alone knows the names of some expressions."""
    text, plan = query(outputs=[output("ANY(a)", "t.a")]), query(outputs=[output("any(a)", "t.a")])
    assert found(text, plan) == [("name", "output 0")]
    assert found(text, plan, names=False) == []


def test_a_temporary_function_has_no_schema_in_a_plan():
    """A function is compared by its last name, a table by its full one."""
    text = query(read("f", domain=Domain.FUNCTION))
    plan = query(AccessedObject("f", Domain.FUNCTION))
    assert found(text, plan) == []
    assert found(query(read("f")), query(AccessedObject("f", Domain.TABLE))) != []


@pytest.mark.parametrize(
    ("text", "plan", "differs"),
    [
        (query(read("t", "a")), query(), ["direct_objects_accessed c.s.t", "base_objects_accessed c.s.t"]),
        (query(), query(read("t")), ["direct_objects_accessed c.s.t", "base_objects_accessed c.s.t"]),
        (
            query(read("t", "a")),
            query(read("t", "a", "b")),
            ["direct_objects_accessed c.s.t", "base_objects_accessed c.s.t"],
        ),
    ],
)
def test_what_one_engine_alone_has_read_is_a_difference(text, plan, differs):
    """An object, or a column that the plan reads and the text does not."""
    assert found(text, plan) == [("objects", where) for where in differs]


STARRED = query(read("t", "a", "b"), outputs=[output("a", "t.a")])


@pytest.mark.parametrize(
    ("text", "plan", "differs"),
    [
        (STARRED, query(read("t", "a"), outputs=[output("a", "t.a")]), False),
        (query(read("t", "a", "b"), outputs=[output("a", "t.a", by=["t.b"])]), query(read("t", "a")), True),
        (query(read("t", "a", "b"), kind="CACHE"), query(read("t", "a"), kind="CACHE"), True),
    ],
    ids=["named by a star", "used by the text", "no query"],
)
def test_a_column_that_only_a_star_names_may_be_missing_in_a_plan(text, plan, differs):
    """Nobody uses it, and Spark's plan has no trace of it; one that is used must be in both."""
    assert any(kind == "objects" for kind, _ in found(text, plan)) is differs


@pytest.mark.parametrize(
    ("text", "plan", "where", "alone"),
    [
        (
            output("z", "t.a"),
            output("z", "t.b"),
            ["z base_sources", "z direct_sources"],
            ([("c.s.t", "a")], [("c.s.t", "b")]),
        ),
        (
            output("z", "t.st.x"),
            output("z", "t.st"),
            ["z base_sources", "z direct_sources"],
            ([("c.s.t", "st", "x")], [("c.s.t", "st")]),
        ),
        (output("z", by=["t.a"]), output("z"), ["z indirect_sources"], ([("c.s.t", "a")], [])),
    ],
)
def test_other_sources_of_an_output_are_a_difference(text, plan, where, alone):
    """Only what one engine alone has found is told; a field is not its column."""
    told = list(differences(query(outputs=[text]), query(outputs=[plan])))
    assert [(one.kind, one.where) for one in told] == [("sources", place) for place in where]
    assert {(str(one.text), str(one.plan)) for one in told} == {tuple(map(str, alone))}


def test_another_number_of_outputs_is_a_difference():
    """Those that both have are compared all the same."""
    text = query(outputs=[output("a", "t.a"), output("b", "t.b")])
    plan = query(outputs=[output("a", "t.b")])
    told = {one.kind: one for one in differences(text, plan)}
    assert (told["outputs"].text, told["outputs"].plan) == (["a", "b"], ["a"])
    assert told["sources"].where.startswith("a ")


@pytest.mark.parametrize(
    ("text", "plan", "told"),
    [
        (write("w", a=["t.a"]), Access("INSERT"), "c.s.w: text (a), plan nothing"),
        (Access("INSERT"), write("w", b=[], a=[]), "c.s.w: text nothing, plan (a, b)"),
        (write("w", a=[]), write("w", b=[]), "c.s.w: text (a), plan (b)"),
        (
            write("w", a=["t.a"]),
            write("w", a=[]),
            "c.s.w.a base_sources: text alone [('c.s.t', 'a')], plan alone []",
        ),
    ],
)
def test_another_write_is_a_difference(text, plan, told):
    """Objects, columns and their sources; the text of a difference says which engine found what."""
    assert str(next(differences(text, plan))) == told


def test_a_function_that_one_engine_alone_sees_in_a_value_is_a_difference():
    """The functions behind a written column count, those of the text and those of the plan alike."""
    text = analyze("INSERT INTO u (x) SELECT f(a) FROM t", CATALOG)
    (target,) = text.objects_modified
    (column,) = target.columns
    plain = replace(target, columns=(replace(column, base_functions=()),))
    told = list(differences(text, replace(text, objects_modified=(plain,))))
    assert told == [Difference("sources", "spark_catalog.s.u.x base_functions", ["f"], [])]


CREATED = ObjectDdl("c.s.N", Domain.TABLE, "CREATE", 1, {"columns": {"A": {"subOperationType": "ADD"}}})


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (replace(CREATED, name="c.s.n", object_id=None), False),
        (replace(CREATED, properties={"columns": {"a": {"subOperationType": "ADD", "objectId": 7}}}), False),
        (replace(CREATED, properties={"columns": {"a": {"subOperationType": "DROP"}}}), True),
        (replace(CREATED, properties={}), True),
        (replace(CREATED, operation_type="REPLACE"), True),
        (replace(CREATED, domain=Domain.VIEW), True),
        (replace(CREATED, name="c.s.other"), True),
        (None, True),
    ],
)
def test_definitions_differ_by_object_operation_and_columns(other, differs):
    """Ids and the case of names do not count; a definition that one engine alone sees does."""
    text, plan = (Access("CREATE_TABLE", object_modified_by_ddl=ddl) for ddl in (CREATED, other))
    assert [one.kind for one in different_definitions(text, plan)] == ["ddl"] * differs
    assert [one.kind for one in different_definitions(plan, text)] == ["ddl"] * differs
