"""An `Access` in a few lines of text, for tests to compare and people to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lineage.model import Access, AccessedObject, ColumnRef


def brief(access: Access) -> dict[str, Any]:
    """The record without what is empty; names without catalog and schema.

    A source list reads `direct < base | indirect`.
    """
    found: dict[str, Any] = {"type": access.statement_type}
    if access.analysis != "full":
        found["analysis"] = f"{access.analysis}: {access.reason}"
    found["direct"] = [_object(item) for item in access.direct_objects_accessed]
    found["base"] = [_object(item) for item in access.base_objects_accessed]
    if access.columns:
        found["columns"] = [
            f"{column.name}: {_sources(column.direct_sources, column.base_sources, column.indirect_sources)}"
            for column in access.columns
        ]
    for item in access.objects_modified:
        found.setdefault("modified", {})[_short(item.name)] = {
            column.name: _sources(column.direct_sources, column.base_sources) for column in item.columns
        }
    if access.object_modified_by_ddl:
        ddl = access.object_modified_by_ddl
        found["ddl"] = f"{ddl.operation_type} {ddl.domain.value} {_short(ddl.name)}"
    return found


def _short(name: str) -> str:
    return (
        name.rpartition("/")[2]
        if "/" in name
        else name.removeprefix("spark_catalog.").removeprefix("default.")
    )


def _object(item: AccessedObject) -> str:
    return f"{_short(item.name)}({', '.join(column.name for column in item.columns)})"


def _sources(direct: Iterable[ColumnRef], base: Iterable[ColumnRef], by: Iterable[ColumnRef] = ()) -> str:
    one, two, three = (", ".join(map(_ref, refs)) for refs in (direct, base, by))
    text = one if one == two else f"{one} < {two}"
    return f"{text} | {three}" if three else text


def _ref(ref: ColumnRef) -> str:
    return ".".join((_short(ref.object_name), ref.column_name, *ref.field_path))
