from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage import LineageError, MemoryCatalog, analyze, parse, trace
from lineage.model import Access, AccessedObject, Column, ColumnRef, Domain, OutputColumn, Relation

CATALOG = MemoryCatalog({"s.t": {"a": "int", "b": "int"}, "s.u": {"x": "int"}}, current_schema="s")


def test_the_callers_word_on_existence_beats_the_catalogs():
    """IF [NOT] EXISTS: `existed` says what was there before the statement ran."""
    create = parse("CREATE TABLE IF NOT EXISTS t (a INT)")
    assert trace(create, CATALOG).object_modified_by_ddl is None
    assert trace(create, CATALOG, existed=False).object_modified_by_ddl is not None
    drop = parse("DROP TABLE IF EXISTS gone")
    assert trace(drop, CATALOG).object_modified_by_ddl is None
    assert trace(drop, CATALOG, existed=True).object_modified_by_ddl is not None


def test_ids_are_the_catalogs():
    """ObjectId and columnId go from the catalog into every place of the record."""
    access = analyze("INSERT INTO u SELECT a FROM t", CATALOG)
    table = CATALOG.relation(("t",))
    record = access.to_dict()
    assert record["direct_objects_accessed"][0]["objectId"] == table.object_id
    written = record["objects_modified"][0]["columns"][0]
    assert written["columnId"] == CATALOG.relation(("u",)).columns[0].column_id
    assert written["baseSources"] == [
        {
            "columnName": "a",
            "columnId": table.columns[0].column_id,
            "objectDomain": "Table",
            "objectId": table.object_id,
            "objectName": "spark_catalog.s.t",
        }
    ]


def test_ids_are_stable_63_bit_hashes():
    """The same name has the same id in every process, in any case."""
    other = MemoryCatalog({"S.T": ["a"]})
    assert other.relation(("s", "t")).object_id == CATALOG.relation(("s", "t")).object_id
    assert 0 <= CATALOG.relation(("t",)).object_id < 2**63


class _WithFrame(MemoryCatalog):
    """A catalog with a view over a DataFrame, as Spark's has."""

    def relation(self, parts, current=None):
        if tuple(parts) != ("df",):
            return super().relation(parts, current)
        table = super().relation(("t",))
        a, b = (
            ColumnRef(table.name, c.name, table.domain, table.object_id, c.column_id) for c in table.columns
        )
        read = AccessedObject(table.name, table.domain, table.object_id, table.columns)
        access = Access("SELECT", (read,), (read,), columns=(OutputColumn("z", (a,), (a,), (b,)),))
        return Relation("df", Domain.VIEW, columns=(Column("z"),), view_access=access, temporary=True)


def test_a_view_over_a_dataframe_is_what_its_plan_was():
    """Such a view has no text: its traced outputs stand in for it."""
    catalog = _WithFrame({"s.t": {"a": "int", "b": "int"}}, current_schema="s")
    access = analyze("SELECT z + 1 AS y FROM df", catalog)
    assert access.analysis == "full"
    assert [o.name for o in access.direct_objects_accessed] == ["spark_catalog.s.t"]
    assert [c.name for c in access.base_objects_accessed[0].columns] == ["a", "b"]
    assert [r.column_name for r in access.columns[0].base_sources] == ["a"]
    assert [r.column_name for r in access.columns[0].indirect_sources] == ["b"]


def test_a_view_that_names_itself_is_partial():
    """A cycle among views ends, with a reason."""
    catalog = MemoryCatalog(views={"s.v": "SELECT * FROM w", "s.w": "SELECT * FROM v"}, current_schema="s")
    access = analyze("SELECT * FROM v", catalog)
    assert access.analysis == "partial"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 600 + "a" + ")" * 600 + " FROM t",
        "SELECT a FROM " + "(SELECT a FROM " * 500 + "t" + ")" * 500,
        "SELECT " + "abs(" * 500 + "a" + ")" * 500 + " FROM t",
    ],
    ids=["parentheses", "subqueries", "calls"],
)
def test_deep_nesting_is_opaque_not_a_crash(sql):
    """Nesting beyond Python's stack is a reasoned result."""
    access = analyze(sql, CATALOG)
    assert access.analysis in ("opaque", "full")
    assert access.analysis == "full" or "nested too deep" in access.reason


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE " + " OR ".join(f"b = {n}" for n in range(3000)),
        "SELECT a FROM t WHERE b IN (" + ", ".join(map(str, range(5000))) + ")",
        " UNION ALL ".join(["SELECT a FROM t"] * 1000),
        "SELECT CASE " + " ".join(f"WHEN a = {n} THEN b" for n in range(2000)) + " END AS a FROM t",
    ],
    ids=["ors", "in", "unions", "case"],
)
def test_long_statements_are_traced_in_full(sql):
    """Length alone is no reason to give up."""
    access = analyze(sql, CATALOG)
    assert access.analysis == "full"
    assert len(access.columns) == 1


def test_only_sparks_dialect_is_understood():
    """Errors have one root, a code, and say the way out."""
    with pytest.raises(LineageError, match="spark") as caught:
        analyze("SELECT 1", CATALOG, dialect="tsql")
    assert caught.value.code == "UNKNOWN_DIALECT"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"policies": {"s.p": "SELECT 1"}}, "BAD_POLICY"),
        ({"policies": {"s.p": "CREATE TAG p"}}, "BAD_POLICY"),
        ({"attached": ["DROP TABLE t"]}, "BAD_POLICY"),
        ({"functions": {"s.f": "n + 1"}}, "BAD_FUNCTION"),
    ],
)
def test_texts_that_are_no_policy_or_function_are_refused(given, code):
    """What a catalog is told and does not understand would go unnoticed in every record."""
    with pytest.raises(LineageError) as caught:
        MemoryCatalog(**given)
    assert caught.value.code == code


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "t.a",
        "x",
        "nosuch",
        "*",
        "t.*",
        "count(*)",
        "max(a)",
        "(SELECT",
        "max(x)",
        "FROM",
        "u)",
        "a+b",
        "AS",
        "c",
        "EXISTS(SELECT",
        "1",
        "FROM",
        "u)",
        "sum(a)OVER(ORDER",
        "BY",
        "b)",
        "CASE",
        "WHEN",
        "a=1",
        "THEN",
        "b",
        "END",
        "struct(a,b).a",
        "transform(array(a),q->q+b)",
    ]
)
TAILS = st.sampled_from(
    [
        "FROM t", "FROM t JOIN u ON a = x", "FROM t WHERE b > 1", "FROM (SELECT * FROM t) q", "FROM gone",
        "FROM t LATERAL VIEW explode(array(a)) e AS k", "FROM t GROUP BY a", "FROM t ORDER BY 1", "",
        "FROM t UNION SELECT x, x FROM u", "FROM t, LATERAL (SELECT x FROM u WHERE x = t.a)",
    ]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(PIECES, min_size=1, max_size=4), TAILS)
def test_tracing_never_raises_and_sources_are_accessed(pieces, tail):
    """Every source of an output is among the accessed columns of the same kind."""
    access = analyze(f"SELECT {', '.join(pieces)} {tail}", CATALOG)
    direct = {(o.name, c.name) for o in access.direct_objects_accessed for c in o.columns}
    base = {(o.name, c.name) for o in access.base_objects_accessed for c in o.columns}
    for column in access.columns:
        assert {(r.object_name, r.column_name) for r in column.direct_sources} <= direct
        assert {(r.object_name, r.column_name) for r in column.base_sources} <= base
        assert not set(column.indirect_sources) & set(column.base_sources)


@given(st.text(string.printable, max_size=80))
def test_any_text_has_an_access(sql):
    """The engine answers, whatever it is asked."""
    assert analyze(sql, CATALOG).analysis in ("full", "partial", "opaque")
