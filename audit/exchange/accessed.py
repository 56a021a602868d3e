"""The datasets that a statement read and wrote, out of its record and its edges.

In: a recorded statement. Out: tables, views and files, each once, with the columns that the record names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audit.exchange.history import RecordedStatement, Row

_DATASETS = frozenset({"TABLE", "EXTERNAL TABLE", "VIEW", "MATERIALIZED VIEW", "STAGE"})


@dataclass(frozen=True, slots=True)
class Accessed:
    """An object that a statement read or wrote, with the columns that its record names."""

    name: str
    domain: str
    object_id: int | None
    columns: tuple[str, ...] = ()


def read_by(statement: RecordedStatement) -> list[Accessed]:
    """What it read, or defined a view by."""
    return _merged(_read(statement))


def written_by(statement: RecordedStatement) -> list[Accessed]:
    """What it wrote, or changed by DDL."""
    return _merged(_written(statement))


def _read(statement: RecordedStatement) -> Iterator[Accessed]:
    for access in statement.accesses:
        yield from _of_record(access.get("direct_objects_accessed"))
    for row in statement.tables:
        if row["source_object_name"] is not None and row["source_object_name"] != row["target_object_name"]:
            yield Accessed(row["source_object_name"], row["source_object_domain"], row["source_object_id"])


def _written(statement: RecordedStatement) -> Iterator[Accessed]:
    for access in statement.accesses:
        yield from _of_record(access.get("objects_modified"))
        changed = access.get("object_modified_by_ddl")
        if changed:
            yield Accessed(changed["objectName"], changed["objectDomain"], changed["objectId"])
    for row in statement.tables:
        yield Accessed(row["target_object_name"], row["target_object_domain"], row["target_object_id"])


def _of_record(objects: Iterable[Row] | None) -> Iterator[Accessed]:
    for one in objects or ():
        if one["objectName"] is not None:
            columns = tuple(column["columnName"] for column in one["columns"] or () if column["columnName"])
            yield Accessed(one["objectName"], one["objectDomain"] or "", one["objectId"], columns)


def _merged(objects: Iterable[Accessed]) -> list[Accessed]:
    """Each object once, with all columns that are named of it; functions and policies are no datasets."""
    found: dict[str, Accessed] = {}
    for one in objects:
        if one.domain.upper() not in _DATASETS:
            continue
        before = found.get(one.name)
        columns = dict.fromkeys((*(before.columns if before else ()), *one.columns))
        object_id = one.object_id if before is None or before.object_id is None else before.object_id
        found[one.name] = Accessed(one.name, one.domain, object_id, tuple(columns))
    return list(found.values())
