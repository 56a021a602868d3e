"""Calls of a user's SQL functions: what the call leaves out, and the names of a table function's columns."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze
from lineage.model import Column, Function


@pytest.fixture
def catalog():
    """A table, a function with a default, and a table function whose body names its column otherwise."""
    return MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}},
        functions={
            "s.scaled": Function(
                "scaled", parameters=(Column("n", "int"), Column("by", "int")), data_type="int", body="n * by"
            ),
            "s.rows_of": Function(
                "rows_of",
                parameters=(Column("k", "int"),),
                data_type="struct<found:int>",
                body="SELECT b FROM s.t WHERE a = k",
                is_table=True,
            ),
        },
        current_schema="s",
    )


def sources(column):
    """The columns behind an output, as the statement names them and below."""
    return {r.column_name for r in column.direct_sources}, {r.column_name for r in column.base_sources}


def test_parameter_left_out_reads_nothing(catalog):
    """A parameter with a default may stay out of the call; the others are bound by position."""
    access = analyze("SELECT scaled(a) AS x, scaled(a, b) AS y FROM t", catalog)
    assert access.analysis == "full"
    assert [sources(column) for column in access.columns] == [({"a"}, {"a"}), ({"a", "b"}, {"a", "b"})]


def test_columns_of_a_table_function_have_the_declared_names(catalog):
    """RETURNS TABLE (found INT) names the column, whatever the body calls it; the function is its alias."""
    access = analyze("SELECT rows_of.found FROM t, LATERAL rows_of(t.a)", catalog)
    assert access.analysis == "full"
    assert [column.name for column in access.columns] == ["found"]
    assert sources(access.columns[0]) == ({"a"}, {"b"})


def test_arguments_with_names_go_to_the_parameters_of_these_names(catalog):
    """`f(by => b, n => a)` binds by name, whatever the order; by place first, and defaults are left out."""
    text = "CREATE FUNCTION one_of(x INT, y INT DEFAULT 1, Z INT DEFAULT 2) RETURNS INT RETURN {}"
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int", "c": "int"}},
        functions={f"s.{name}_of": text.replace("one", name).format(name) for name in "xyz"},
        current_schema="s",
    )
    calls = {
        "x_of(z => c, y => b, x => a)": {"a"},
        "y_of(z => c, y => b, x => a)": {"b"},
        "z_of(a, Z => c, y => b)": {"c"},
        "z_of(a, z => b)": {"b"},
        "y_of(a, z => b)": set(),
    }
    for call, base in calls.items():
        access = analyze(f"SELECT {call} AS v FROM t", catalog)
        assert access.analysis == "full"
        assert sources(access.columns[0])[1] == base, call


def test_arguments_of_table_functions_have_names_too(catalog):
    """A table function's parameters are bound by name, beside a table and LATERAL."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}},
        functions={
            "s.both": "CREATE FUNCTION both(lo INT, hi INT DEFAULT 5) RETURNS TABLE (x INT, y INT)"
            " RETURN SELECT lo, hi"
        },
        current_schema="s",
    )
    by_name = analyze("SELECT q.x, q.y FROM t, LATERAL both(hi => t.b, lo => t.a) q", catalog)
    assert [sources(column)[1] for column in by_name.columns] == [{"a"}, {"b"}]
    default = analyze("SELECT q.x, q.y FROM t, LATERAL both(lo => t.b) q", catalog)
    assert [sources(column)[1] for column in default.columns] == [{"b"}, set()]


def test_a_table_that_a_function_gets_is_read_with_all_its_columns():
    """f(TABLE(t)), of a table, a CTE or a query, with keys or a name, reads every column."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}},
        functions={
            "s.rows_of": Function(
                "rows_of", parameters=(Column("input", "TABLE"),), data_type="struct<x:int>", is_table=True
            )
        },
        current_schema="s",
    )
    for argument in (
        "TABLE(t)",
        "TABLE(s.t) PARTITION BY a ORDER BY b",
        "TABLE(SELECT * FROM t) WITH SINGLE PARTITION",
        "input => TABLE(t) PARTITION BY (a, b) SORT BY (b DESC)",
        "TABLE(q)",
        "input => TABLE(q), 3",
    ):
        access = analyze(f"WITH q AS (SELECT * FROM t) SELECT x FROM rows_of({argument})", catalog)
        assert access.analysis == "full", (argument, access.reason)
        assert sources(access.columns[0]) == ({"a", "b"}, {"a", "b"}), argument
        assert {c.name for c in access.direct_objects_accessed[0].columns} == {"a", "b"}


@pytest.mark.parametrize(
    "body", ["(SELECT max(a) FROM s.u) + n", "SELECT max(a) + n FROM s.u", "inner_of(n)"]
)
def test_what_a_called_function_asks_is_accessed_whoever_uses_the_value(body):
    """The call is named, so its queries are base; the argument of a call that ignores it as well."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}, "s.u": {"a": "int", "b": "int"}},
        functions={
            "s.second_of": "CREATE FUNCTION second_of(x INT, y INT) RETURNS INT RETURN y",
            "s.asks": f"CREATE FUNCTION asks(n INT) RETURNS INT RETURN {body}",
            "s.inner_of": "CREATE FUNCTION inner_of(n INT) RETURNS INT RETURN n + (SELECT max(a) FROM s.u)",
        },
        current_schema="s",
    )
    access = analyze("SELECT second_of(asks(a), b) AS x FROM t", catalog)
    assert sources(access.columns[0]) == ({"a", "b"}, {"b"})
    base = {o.name: [c.name for c in o.columns] for o in access.base_objects_accessed}
    assert base["spark_catalog.s.u"] == ["a"]
    assert "spark_catalog.s.u" not in {o.name for o in access.direct_objects_accessed}


def test_an_argument_shapes_rows_where_the_body_asks_for_it():
    """`hi` is a value of the rows, `lo` chooses them; both are direct sources of what comes out."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}, "s.u": {"x": "int", "y": "int"}},
        functions={
            "s.rows_of": "CREATE FUNCTION rows_of(lo INT, hi INT) RETURNS TABLE (p INT, q INT)"
            " RETURN SELECT x, hi FROM s.u WHERE y > lo"
        },
        current_schema="s",
    )
    access = analyze("SELECT r.p, r.q FROM t, LATERAL rows_of(t.a, t.b) AS r", catalog)
    assert [sources(column) for column in access.columns] == [({"a", "b"}, {"x"}), ({"a", "b"}, {"b"})]
    assert [{r.column_name for r in c.indirect_sources} for c in access.columns] == [{"y", "a"}, {"y", "a"}]
    read = {o.name: {c.name for c in o.columns} for o in access.base_objects_accessed}
    assert read == {"spark_catalog.s.t": {"a", "b"}, "spark_catalog.s.u": {"x", "y"}}
