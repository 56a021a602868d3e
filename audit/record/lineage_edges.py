"""The edges of lineage that a statement makes, as the spool's record carries them to the lineage tables.

In: an `Access`. Out: one dict a target under the tables' own column names: its `columns` are edges of
column_lineage, its `tables` rows of table_lineage. An edge that holds for direct and base sources alike
stands once, with both `source_kinds`; a source that shaped every column stands once, without a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lineage.model import CODE, Access, AccessedObject, ColumnRef, Domain, ModifiedObject

Json = dict[str, Any]
_KINDS = ("direct", "base")
_INDIRECT = "INDIRECT"


def edges(access: Access) -> list[Json]:
    """The lineage edges of a statement.

    Statements that end a target's lineage (DROP, TRUNCATE, an overwrite with constants), bring it back
    (UNDROP) or rename it give a target with one table row that has no source.

    >>> from lineage import MemoryCatalog, analyze
    >>> catalog = MemoryCatalog({"s.t": {"a": "int"}, "s.u": {"b": "int"}}, current_schema="s")
    >>> (target,) = edges(analyze("INSERT INTO t SELECT b + 1 FROM u", catalog))
    >>> (edge,) = target["columns"]
    >>> edge["source_column_name"], edge["target_column_name"], edge["transformation"]
    ('b', 'a', 'TRANSFORMATION')
    """
    # Defining a view reads no data, yet its columns have sources: these are its edges.
    if access.defines is not None:
        return [_target(access.defines.view, access.defines.direct_objects, access.defines.base_objects)]
    direct, base = access.direct_objects_accessed, access.base_objects_accessed
    targets = [_target(written, direct, base) for written in access.objects_modified if written.name]
    return [target for target in _merged_targets(targets) if target["tables"]] or _of_ddl(access)


def _merged_targets(targets: list[Json]) -> list[Json]:
    """Each target once, with each edge once: FROM t INSERT INTO u SELECT a INSERT INTO u SELECT a, b."""
    if len(targets) < 2:  # noqa: PLR2004
        return targets
    merged: dict[str, Json] = {}
    seen: set[tuple[Any, ...]] = set()
    for target in targets:
        name = target["target_object_name"]
        into = merged.setdefault(name, {**target, "columns": [], "tables": []})
        for part in ("columns", "tables"):
            for edge in target[part]:
                edge_key = (part, name, *(value for key, value in edge.items() if key != "source_kinds"))
                # A multi-insert may write the same columns twice.
                kinds = [kind for kind in edge["source_kinds"] if (*edge_key, kind) not in seen]
                seen.update((*edge_key, kind) for kind in kinds)
                if kinds:
                    into[part].append({**edge, "source_kinds": kinds})
    return list(merged.values())


def _of_ddl(access: Access) -> list[Json]:
    """A DROP, an UNDROP, a rename, or a REPLACE without a query: no source, and query_type says which."""
    ddl = access.object_modified_by_ddl
    if ddl is None or access.objects_modified:
        return []
    # A schema that is dropped takes its tables along, UNDROP brings them back; the rest touches no lineage.
    if ddl.domain is Domain.SCHEMA and ddl.operation_type not in ("DROP", "UNDROP"):
        return []
    new_name = ddl.properties.get("objectName", {}).get("value")
    if not new_name and ddl.operation_type not in ("DROP", "UNDROP", "REPLACE"):
        return []
    target = _named(new_name or ddl.name, ddl.domain, ddl.object_id)
    ended = ddl.operation_type == "REPLACE"
    return [{**target, "overwrites": ended, "columns": [], "tables": [dict(_NO_SOURCE)]}]


_NO_SOURCE: Json = {"source_kinds": [None], "is_indirect": False}


def _target(
    written: ModifiedObject, direct: Sequence[AccessedObject], base: Sequence[AccessedObject]
) -> Json:
    found = _columns(written)
    tables = _tables(written, found, (direct, base))
    if not tables and written.overwrites:
        tables = [dict(_NO_SOURCE)]
    columns = [
        {
            **_source(ref),
            **column,
            "source_kinds": kinds,
            "is_indirect": how == _INDIRECT,
            "transformation": how,
        }
        for (ref, _, how), (column, kinds) in found.items()
    ]
    target = _named(written.name, written.domain, written.object_id)
    return {**target, "overwrites": written.overwrites, "columns": columns, "tables": tables}


_Edges = dict[tuple[ColumnRef, str | None, str], tuple[Json, list[str]]]
"""The target column and the source kinds of an edge, by source, target column's name and what is done."""


def _columns(written: ModifiedObject) -> _Edges:
    found: _Edges = {}

    def add(column: Json, how: str, kind: str, refs: Iterable[ColumnRef]) -> None:
        name = column.get("target_column_name")
        for ref in refs:
            kinds = found.setdefault((ref, name, how), (column, []))[1]
            if kind not in kinds:
                kinds.append(kind)

    for column in written.columns:
        target = {"target_column_id": column.column_id, "target_column_name": column.name}
        add(target, column.direct_transformation, "direct", column.direct_sources)
        add(target, column.base_transformation, "base", column.base_sources)
        add(target, _INDIRECT, "direct", column.direct_indirect)
        add(target, _INDIRECT, "base", column.base_indirect)
    # Filters, joins and keys shape the rows, and so every column: these edges have no target column.
    add({}, _INDIRECT, "direct", written.direct_indirect)
    add({}, _INDIRECT, "base", written.base_indirect)
    return found


def _tables(
    written: ModifiedObject,
    found: _Edges,
    accessed: tuple[Sequence[AccessedObject], Sequence[AccessedObject]],
) -> list[Json]:
    """Each source object once a kind; indirect where no value came from it."""
    rows: dict[tuple[str, str], tuple[Json, bool]] = {}
    for (ref, _, how), (_, kinds) in found.items():
        for kind in kinds:
            before = rows.get((ref.object_name, kind))
            indirect = how == _INDIRECT and (before is None or before[1])
            rows[ref.object_name, kind] = (
                _object(ref.object_name, ref.object_domain, ref.object_id),
                indirect,
            )
    for kind, objects in zip(_KINDS, accessed, strict=True):
        for item in objects:
            # Functions and procedures are called, not read; access_history has them.
            if item.domain not in CODE and item.name != written.name and (item.name, kind) not in rows:
                # COPY INTO and LOAD DATA name a stage without columns, and yet all columns come from it.
                indirect = item.domain is not Domain.STAGE and not _counts_rows(written)
                rows[item.name, kind] = (_object(item.name, item.domain, item.object_id), indirect)
    merged: dict[tuple[str, bool], Json] = {}
    for (name, kind), (source, indirect) in rows.items():
        row = merged.setdefault((name, indirect), {**source, "source_kinds": [], "is_indirect": indirect})
        row["source_kinds"].append(kind)
    return list(merged.values())


def _counts_rows(written: ModifiedObject) -> bool:
    """Whether a column counts rows: count(*) reads no column, and yet the table is its source."""
    return any(
        column.base_transformation == "AGGREGATION" and not column.base_sources for column in written.columns
    )


def _source(ref: ColumnRef) -> Json:
    return {
        **_object(ref.object_name, ref.object_domain, ref.object_id),
        "source_column_id": ref.column_id,
        "source_column_name": ".".join((ref.column_name, *ref.field_path)),
    }


def _object(name: str, domain: Domain, object_id: int | None) -> Json:
    return {"source_object_id": object_id, "source_object_name": name, "source_object_domain": domain.value}


def _named(name: str, domain: Domain, object_id: int | None) -> Json:
    return {"target_object_id": object_id, "target_object_name": name, "target_object_domain": domain.value}
