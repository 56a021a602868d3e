"""The columns of a table or view that a query makes: its own names where the query gives none."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze


@pytest.fixture
def catalog():
    """What a query has just made, beside the table that it was made from."""
    return MemoryCatalog(
        {"s.t": {"a": "int", "b": "int"}, "s.made": {"sum(a) OVER w": "bigint", "b": "int"}},
        current_schema="s",
    )


@pytest.mark.parametrize("noun", ["TABLE", "VIEW"])
def test_unnamed_column_has_the_name_that_it_was_made_under(catalog, noun):
    """An expression without an alias is named as the table has it, whatever the text makes of it."""
    access = analyze(f"CREATE {noun} made AS SELECT sum(a) OVER (PARTITION BY b), b FROM t", catalog)
    assert list(access.object_modified_by_ddl.properties["columns"]) == ["sum(a) OVER w", "b"]


def test_names_that_the_table_has_stay_where_they_are(catalog):
    """A name that the query gives is never taken for another column's, though it stands elsewhere."""
    access = analyze("CREATE TABLE made AS SELECT b, a AS `sum(a) OVER w` FROM t", catalog)
    written = {
        column.name: column.base_sources[0].column_name for column in access.objects_modified[0].columns
    }
    assert written == {"b": "b", "sum(a) OVER w": "a"}
