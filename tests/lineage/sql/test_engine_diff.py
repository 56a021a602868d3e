"""What counts as a difference between what two engines have found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lineage import MemoryCatalog, analyze
from lineage.engine_diff import Difference, differences, different_definitions
from lineage.model import Access, AccessedObject, Column, ColumnRef, Domain, ObjectDdl
from lineage.transformation import AGGREGATED, BELOW, COMPUTED, bits, named

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int"}, "s.u": {"k": "int"}},
    {"s.v": "SELECT a AS x, b AS y FROM s.t"},
    current_schema="s",
)


def found(text):
    """What one engine has found in a statement."""
    return analyze(text, CATALOG)


def kinds(text, plan, **options):
    """The kinds of the differences between two statements, each once."""
    return sorted({one.kind for one in differences(found(text), found(plan), **options)})


TEXTS = [
    "SELECT a, b FROM t WHERE b > 1",
    "SELECT x, count(*) FROM v JOIN u ON x = k GROUP BY x",
    "INSERT INTO u SELECT a + b FROM t",
    "CREATE TABLE n AS SELECT x FROM v",
    "UPDATE t SET a = b WHERE a = 1",
    "CREATE VIEW w AS SELECT * FROM t",
    "DROP TABLE t",
]


@pytest.mark.parametrize("text", TEXTS)
def test_an_engine_agrees_with_itself(text):
    """No difference in what is read, written and defined."""
    assert list(differences(found(text), found(text))) == []
    assert list(different_definitions(found(text), found(text))) == []


@pytest.mark.parametrize(
    ("text", "plan", "expected"),
    [
        ("SELECT a FROM t", "SELECT a FROM s.t", []),
        ("SELECT a FROM t, u", "SELECT a FROM u, t", []),
        ("SELECT a AS z FROM t", "SELECT a AS y FROM t", ["name"]),
        ("SELECT a FROM t", "SELECT A FROM t", ["name"]),
        ("SELECT a FROM t", "SELECT a, a FROM t", ["outputs"]),
        ("SELECT a AS z FROM t", "SELECT b AS z FROM t", ["objects", "sources"]),
        ("SELECT a FROM t", "SELECT a FROM t WHERE b > 1", ["objects", "sources"]),
        ("SELECT a FROM t", "SELECT a FROM t, u", ["objects"]),
        ("SELECT x AS a FROM v", "SELECT a FROM t", ["objects", "sources"]),
        ("INSERT INTO u SELECT a FROM t", "INSERT INTO u SELECT a FROM t", []),
        ("INSERT INTO u SELECT a FROM t", "INSERT INTO u SELECT a + b FROM t", ["objects", "sources"]),
        ("INSERT INTO u SELECT a FROM t", "SELECT a AS k FROM t", ["modified", "outputs"]),
        ("UPDATE t SET a = 1", "UPDATE t SET b = 1", ["modified"]),
        ("INSERT INTO u SELECT 1", "INSERT INTO t SELECT 1, 2", ["modified"]),
    ],
)
def test_each_kind_of_difference_is_told_apart(text, plan, expected):
    """The order of objects does not count; the case and the text of an output's name do."""
    assert kinds(text, plan) == expected


def test_names_of_outputs_may_be_left_out():
    """Spark alone knows those of some expressions."""
    assert kinds("SELECT a AS z FROM t", "SELECT a AS y FROM t", names=False) == []


def test_ids_case_and_order_do_not_count():
    """They are not the statement's meaning."""
    one = found("SELECT a, b FROM t JOIN u ON a = k")
    objects = tuple(
        replace(
            o,
            name=o.name.upper(),
            object_id=7,
            columns=tuple(Column(c.name.upper()) for c in reversed(o.columns)),
        )
        for o in reversed(one.base_objects_accessed)
    )
    assert list(differences(one, replace(one, base_objects_accessed=objects))) == []


def accessed(*columns):
    """A query that has read columns of one table, and used none of them."""
    table = AccessedObject("c.s.t", Domain.TABLE, columns=tuple(map(Column, columns)))
    return Access("SELECT", (table,), (table,))


def test_the_text_may_name_more_than_the_plan_reads():
    """A column of a subquery that nobody uses is accessed; Spark's plan has no trace of it."""
    assert list(differences(accessed("a", "b"), accessed("a"))) == []
    assert {one.kind for one in differences(accessed("a"), accessed("a", "b"))} == {"objects"}
    assert {one.kind for one in differences(accessed("a", "b"), accessed("c"))} == {"objects"}
    other = replace(accessed("a", "b"), statement_type="MERGE")
    assert {one.kind for one in differences(other, accessed("a"))} == {"objects"}


def test_a_column_that_is_used_is_not_forgiven():
    """If it stands among an output's sources, the plan has to read it, too."""
    one = found("SELECT a, b FROM t")
    less = tuple(replace(o, columns=o.columns[:1]) for o in one.base_objects_accessed)
    (difference,) = differences(one, replace(one, base_objects_accessed=less))
    assert (difference.kind, difference.text, difference.plan) == ("objects", {"a", "b"}, {"a"})


def test_definitions_differ_in_name_domain_operation_and_columns():
    """A plan's facts must tell what was defined; the case of names does not count."""
    one = ObjectDdl("c.s.t", Domain.TABLE, "ALTER", 1, {"columns": {"A": {"subOperationType": "ADD"}}})
    same = ObjectDdl("C.S.T", Domain.TABLE, "ALTER", 2, {"columns": {"a": {"subOperationType": "ADD"}}})
    others = [
        None,
        replace(same, name="c.s.u"),
        replace(same, domain=Domain.VIEW),
        replace(same, operation_type="DROP"),
        replace(same, properties={}),
        replace(same, properties={"columns": {"a": {"subOperationType": "DROP"}}}),
        replace(same, properties={"columns": {"b": {"subOperationType": "ADD"}}}),
    ]

    def defined(ddl):
        return Access("ALTER_TABLE", object_modified_by_ddl=ddl)

    assert list(different_definitions(defined(one), defined(same))) == []
    for other in others:
        assert [d.kind for d in different_definitions(defined(one), defined(other))] == ["ddl"]


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (Difference("objects", "c.s.t", {"b", "a"}, None), "c.s.t: text (a, b), plan nothing"),
        (Difference("name", "output 0", "x", "y"), "output 0: text x, plan y"),
        (
            Difference("sources", "a base_sources", [("t", "a")], []),
            "a base_sources: text alone [('t', 'a')], plan alone []",
        ),
        (Difference("modified", "c.s.t", None, set()), "c.s.t: text nothing, plan ()"),
    ],
)
def test_a_difference_says_who_found_what(difference, said):
    """In one line; of sources, what each found alone."""
    assert str(difference) == said


def test_functions_are_compared_by_their_own_name():
    """A temporary function has no schema in a plan; a table of another schema is another table."""
    one, two = AccessedObject("c.s.f", Domain.FUNCTION), AccessedObject("f", Domain.FUNCTION)
    assert list(differences(Access("SELECT", (one,), (one,)), Access("SELECT", (two,), (two,)))) == []
    one, two = (replace(o, domain=Domain.TABLE) for o in (one, two))
    assert list(differences(Access("SELECT", (one,), (one,)), Access("SELECT", (two,), (two,)))) != []


def test_fields_of_a_struct_are_sources_of_their_own():
    """`s.a` is another source than `s` and `s.b`."""
    one = found("SELECT a FROM t")
    for path in ((), ("b",)):
        (column,) = one.columns
        sources = [
            replace(column, base_sources=(ColumnRef("c.s.t", "s", field_path=p),)) for p in (("a",), path)
        ]
        pair = [replace(one, columns=(source,)) for source in sources]
        assert [d.kind for d in differences(*pair)] == ["sources"]


NAMES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def test_transformations_survive_their_bits():
    """Both names, in every combination."""
    for direct in NAMES:
        for base in NAMES:
            assert named(bits(direct, base)) == (direct, base)


@pytest.mark.parametrize(
    ("how", "names"),
    [
        (0, ("IDENTITY", "IDENTITY")),
        (COMPUTED, ("TRANSFORMATION", "TRANSFORMATION")),
        (AGGREGATED, ("AGGREGATION", "AGGREGATION")),
        (COMPUTED | AGGREGATED, ("AGGREGATION", "AGGREGATION")),
        (COMPUTED & BELOW, ("IDENTITY", "TRANSFORMATION")),
        (COMPUTED | (AGGREGATED & BELOW), ("TRANSFORMATION", "AGGREGATION")),
    ],
)
def test_what_happens_on_the_way_adds_up(how, names):
    """An aggregate outweighs a computation; what a view does inside it counts for base sources alone."""
    assert named(how) == names
