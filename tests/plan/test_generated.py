"""Both engines on random queries, against a model that knows neither. No Spark."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from lineage import MemoryCatalog, analyze
from lineage.engine_diff import differences
from lineage.plan import PlanFacts, analyze_plan
from tests.plan.generated import TABLES, Query, queries

CATALOG = {f"s.{name}": dict.fromkeys(columns, "bigint") for name, columns in TABLES.items()}
WRITTEN = {f"w{number}": "bigint" for number in range(40)}
MANY = settings(max_examples=40, deadline=None)


def catalog(**more):
    """The tables of the model, and a wide one to write into."""
    return MemoryCatalog({**CATALOG, "s.w": WRITTEN}, current_schema="c.s", **more)


def short(refs):
    """Sources as the model writes them."""
    return frozenset(f"{ref.object_name.rpartition('.')[2]}.{ref.column_name}" for ref in refs)


def outputs(access):
    """The outputs of a query as the model has them."""
    assert access.analysis == "full", access.reason
    return [(c.name, short(c.base_sources), short(c.indirect_sources)) for c in access.columns]


def read(objects):
    """The columns that were read, as the model writes them."""
    return {f"{o.name.rpartition('.')[2]}.{c.name}" for o in objects for c in o.columns}


@MANY
@given(queries())
def test_text_is_made_of_what_the_model_says(query: Query):
    """Names, sources and indirect sources of every output; every column that the text names is accessed."""
    access = analyze(query.sql, catalog())
    assert outputs(access) == query.expected
    assert read(access.direct_objects_accessed) == read(access.base_objects_accessed) == query.named
    assert all(column.direct_sources == column.base_sources for column in access.columns)


@MANY
@given(queries())
def test_a_plan_is_made_of_what_the_model_says(query: Query):
    """The same query as a plan; what nobody uses is not accessed."""
    access = analyze_plan(json.dumps(query.plan), PlanFacts())
    assert outputs(access) == query.expected
    used = query.rows.union(*(column.all for column in query.columns))
    assert read(access.direct_objects_accessed) == read(access.base_objects_accessed) == used


@MANY
@given(queries())
def test_both_engines_agree(query: Query):
    """Text and plan of one query differ in nothing, transformations included."""
    text, plan = analyze(query.sql, catalog()), analyze_plan(json.dumps(query.plan), PlanFacts())
    assert list(map(str, differences(text, plan))) == []
    how = [[(c.direct_transformation, c.base_transformation) for c in one.columns] for one in (text, plan)]
    assert how[0] == how[1]


@pytest.mark.parametrize(
    "around",
    [
        "SELECT * FROM ({sql}) AS outermost",
        "WITH inside AS ({sql}) SELECT * FROM inside",
        "(({sql}))",
        "FROM ({sql})",
        "SELECT * FROM ({sql}) AS one WHERE true",
    ],
)
@settings(max_examples=10, deadline=None)
@given(query=queries(2))
def test_what_stands_around_a_query_changes_nothing(around, query: Query):
    """A subquery, a CTE, brackets, FROM before SELECT, a condition that reads nothing."""
    assert outputs(analyze(around.format(sql=query.sql), catalog())) == query.expected


@settings(max_examples=20, deadline=None)
@given(queries(3))
def test_a_temporary_view_is_its_query_and_a_view_is_an_object(query: Query):
    """A temporary view is opened and leaves no trace; a view's own columns are its direct sources."""
    temporary = analyze("SELECT * FROM q", catalog(temp_views={"q": query.sql}))
    assert outputs(temporary) == query.expected
    view = analyze("SELECT * FROM q", catalog(views={"s.q": query.sql}))
    assert outputs(view) == query.expected
    assert [short(c.direct_sources) for c in view.columns] == [{f"q.{c.name}"} for c in query.columns]
    assert read(view.direct_objects_accessed) == {f"q.{c.name}" for c in query.columns}


@settings(max_examples=20, deadline=None)
@given(queries(3))
def test_what_is_written_is_what_the_query_yields(query: Query):
    """INSERT by position: a column has the sources of its output, conditions are no sources."""
    columns = query.columns[: len(WRITTEN)]
    access = analyze(f"INSERT INTO w ({', '.join(list(WRITTEN)[: len(columns)])}) {query.sql}", catalog())
    (written,) = access.objects_modified
    assert [short(c.base_sources) for c in written.columns] == [c.sources for c in columns]
    assert short(written.base_indirect) == query.rows
