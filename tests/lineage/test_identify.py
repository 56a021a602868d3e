"""Ids for what an engine found by name: everywhere, the same each time, and never over one that is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest

from lineage import MemoryCatalog, analyze
from lineage.catalog.identify import identify
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import (
    Access,
    AccessedObject,
    Column,
    ColumnRef,
    Domain,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
    Relation,
    ViewDefinition,
)

READ = AccessedObject("c.s.T", Domain.TABLE, columns=(Column("A"), Column("b")))
SOURCE = ColumnRef("c.s.t", "a")
CALLED = AccessedObject("c.s.f", Domain.FUNCTION)
WRITTEN = ModifiedObject(
    "c.s.w",
    Domain.TABLE,
    columns=(
        ModifiedColumn(
            "z", None, (SOURCE,), (SOURCE,), base_indirect=(SOURCE,), direct_indirect=(SOURCE,),
            base_functions=(CALLED,), direct_functions=(CALLED,),
        ),
    ),
    base_indirect=(ColumnRef("c.s.t", "b"),),
    direct_indirect=(ColumnRef("c.s.t", "b"),),
)  # fmt: skip
DEFINED = ObjectDdl(
    "c.s.w", Domain.TABLE, "CREATE", properties={"columns": {"z": {"subOperationType": "ADD"}}}
)
FOUND = Access(
    "CREATE_TABLE_AS_SELECT",
    (READ, CALLED),
    (READ, CALLED),
    (WRITTEN,),
    DEFINED,
    columns=analyze(
        "SELECT a FROM t WHERE b > 1", MemoryCatalog({"s.t": ["a", "b"]}, current_schema="s")
    ).columns,
    defines=ViewDefinition(WRITTEN, (READ,), (READ,)),
)


def values(found: object) -> Iterator[object]:
    """Every dataclass in a result, however deep."""
    if is_dataclass(found):
        yield found
        for one in fields(found):
            yield from values(getattr(found, one.name))
    elif isinstance(found, tuple):
        for item in found:
            yield from values(item)


def test_everything_has_an_id():
    """Objects, columns, sources, indirect sources, functions, definitions, DDL and its columns."""
    for value in values(identify(FOUND, {})):
        assert getattr(value, "object_id", 1) is not None, value
        if isinstance(value, (Column, ColumnRef, ModifiedColumn)):
            assert value.column_id is not None, value
    ddl = identify(FOUND, {}).object_modified_by_ddl
    assert ddl.properties["columns"]["z"]["objectId"] == {"value": column_id(ddl.object_id, "z")}


def test_ids_are_those_of_the_names():
    """One object has one id, whatever the case of its name and wherever it stands."""
    found = identify(FOUND, {})
    table = object_id("TABLE", "c.s.t")
    (written,) = found.objects_modified
    assert found.direct_objects_accessed[0].object_id == table
    assert written.columns[0].base_sources[0].object_id == written.base_indirect[0].object_id == table
    assert found.direct_objects_accessed[0].columns[0].column_id == column_id(table, "a")
    assert written.columns[0].base_sources[0].column_id == column_id(table, "a")


def test_ids_of_relations_come_first():
    """The catalog knows an object by its metadata id, a column by its mapping id; other columns by name."""
    relation = Relation("c.s.t", object_id=42, columns=(Column("a", "int", 7), Column("b")))
    found = identify(FOUND, {"c.s.t": relation})
    (read, _) = found.direct_objects_accessed
    assert (read.object_id, [c.column_id for c in read.columns]) == (42, [7, column_id(42, "b")])
    source = found.objects_modified[0].columns[0].direct_sources[0]
    assert (source.object_id, source.column_id) == (42, 7)


def test_numbering_twice_changes_nothing():
    """Ids that are there stay, whatever the relations say."""
    once = identify(FOUND, {})
    other = Relation("c.s.t", object_id=1, columns=(Column("a", "", 1), Column("b", "", 2)))
    assert identify(once, {}) == once
    assert identify(once, {"c.s.t": other}) == once


@pytest.mark.parametrize("sql", ["SELECT a, b FROM t", "INSERT INTO w SELECT a FROM t", "DROP TABLE w"])
def test_a_result_of_a_catalog_is_numbered_already(sql):
    """Offline and in a session an object has the same id."""
    access = analyze(sql, MemoryCatalog({"s.t": ["a", "b"], "s.w": ["z"]}, current_schema="s"))
    assert identify(access, {}) == access
