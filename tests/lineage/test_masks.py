"""Functions that mask or filter, in Databricks' words: read from text."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog
from lineage.model import Domain
from lineage.sql.commands.command import Change

MASK, ROWS = Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY
READ = [
    (
        "ALTER TABLE t SET ROW FILTER s.f ON (a, b)",
        Change("ADD", ROWS, ("s", "f"), None, ("a", "b"), function=True),
    ),
    ("ALTER TABLE t SET ROW FILTER f ON ()", Change("ADD", ROWS, ("f",), function=True)),
    ("ALTER TABLE t DROP ROW FILTER", Change("DROP", ROWS, function=True)),
    ("ALTER TABLE t ALTER COLUMN c SET MASK f", Change("ADD", MASK, ("f",), "c", function=True)),
    (
        "ALTER TABLE t ALTER COLUMN c SET MASK f USING COLUMNS (d, e)",
        Change("ADD", MASK, ("f",), "c", ("d", "e"), function=True),
    ),
    ("ALTER TABLE t ALTER COLUMN c DROP MASK", Change("DROP", MASK, column="c", function=True)),
]


@pytest.mark.parametrize(("text", "change"), READ)
def test_read(text, change):
    """What it puts where."""
    assert lineage.parse(text).command.changes == (change,)


@pytest.mark.parametrize(
    "text", ["ALTER TABLE t SET ROW FILTER f", "ALTER TABLE t ALTER COLUMN c SET MASK f USING COLUMNS ('x')"]
)
def test_half_a_statement_is_none(text):
    """Spark refuses it."""
    command = lineage.parse(text).command
    assert command is None or not command.changes


def test_lineage_goes_through_the_function():
    """A masked column comes from what the function makes of it."""
    catalog = MemoryCatalog(
        {"s.t": {"a": "string", "b": "string"}, "s.u": {"a": "string"}},
        functions={"s.f": "CREATE FUNCTION f(x STRING, y STRING) RETURNS STRING RETURN y"},
        current_schema="s",
        attached=["ALTER TABLE t ALTER COLUMN a SET MASK f USING COLUMNS (b)"],
    )
    access = lineage.trace(lineage.parse("INSERT INTO u SELECT a FROM t"), catalog)
    (column,) = access.objects_modified[0].columns
    assert [one.column_name for one in column.direct_sources] == ["a"]
    assert [one.column_name for one in column.base_sources] == ["b"]
    assert access.analysis == "full"
