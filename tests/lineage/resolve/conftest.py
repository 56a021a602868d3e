"""A catalog, an analysis over it, and scopes over its tables."""

import pytest
import sqlglot

from lineage import MemoryCatalog
from lineage.names import split_name
from lineage.resolve.from_clause.relations import relation_item
from lineage.resolve.query import new_trace
from lineage.resolve.scope import Scope

TABLES = {
    "s.t": {"a": "int", "b": "int", "st": "struct<x:int,y:struct<z:int>>", "arr": "array<int>"},
    "s.u": {"a": "int", "k": "int", "m": "map<string,int>"},
    "s.open": [],
}


@pytest.fixture
def trace():
    """An analysis that has read nothing yet."""
    return new_trace(
        MemoryCatalog(TABLES, functions={"s.f": "CREATE FUNCTION f(n INT) RETURNS INT RETURN n"})
    )


@pytest.fixture
def over(trace):
    """Makes a scope over tables, as `t AS alias`."""

    def make(*tables, outer=None):
        scope = Scope(outer)
        for text in tables:
            name, _, alias = text.partition(" AS ")
            parts = split_name(name)
            scope.add(
                relation_item(trace, trace.entry(parts), alias or parts[-1], () if alias else parts, scope)
            )
        return scope

    return make


@pytest.fixture
def node():
    """Parses an expression."""
    return lambda text: sqlglot.parse_one(text, dialect="spark")


@pytest.fixture
def sources():
    """The base sources of a column or a set of sources, as `table.column.field`."""

    def of(found, kind="base"):
        return sorted(
            ".".join((ref.entry.relation.name.removeprefix("spark_catalog."), ref.column.name, *ref.path))
            for ref in getattr(found, kind)
        )

    return of
