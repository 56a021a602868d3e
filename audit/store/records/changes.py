"""Reads the changes of a recorded statement and of all later ones.

In: a query id. Out: `RecordedChange`s from the audit tables, read by path. Waiting records are ingested
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, TABLE_LINEAGE
from audit.time_travel.versions.changes import DdlObject, ReadTable, RecordedChange, WrittenObject

if TYPE_CHECKING:
    from audit.store.records.record_reader import RecordReader


def changes_since(records: RecordReader, query_id: str) -> list[RecordedChange] | None:
    """A statement, and every later one that changed something, by time; None for an unknown query id.

    Raises:
        IngestError: waiting records could not be ingested.
    """
    records.flush()
    queries = records.rows(QUERY_HISTORY)
    began = queries.where(queries.query_id == query_id).selectExpr("unix_micros(start_time)").collect()
    if not began:
        return None
    since = f"timestamp_micros({began[0][0]})"
    access = records.rows(ACCESS_HISTORY).where(f"query_start_time >= {since}")
    changed = access.selectExpr(
        "query_id",
        "transform(objects_modified, o -> struct(o.objectName, o.objectId, o.objectDomain)) AS modified",
        "object_modified_by_ddl AS ddl",
        "object_versions AS versions",
    )
    edge = "source_object_name, source_object_id, target_object_name, overwrites"
    edges = (
        records.rows(TABLE_LINEAGE)
        .where(f"query_start_time >= {since}")
        .selectExpr("query_id", f"struct({edge}) AS edge")
        # One row a statement: the join below must not multiply rows.
        .groupBy("query_id")
        .agg({"edge": "collect_list"})
        .toDF("query_id", "edges")
    )
    found = (
        queries.where(f"start_time >= {since}")
        .selectExpr("*", "unix_micros(start_time) AS time")
        .join(changed, "query_id", "left")
        .join(edges, "query_id", "left")
    )
    changing = " OR ".join(
        (
            # The statements of a script or procedure name it as their parent or root.
            *(f"{name} = '{query_id}'" for name in ("query_id", "parent_query_id", "root_query_id")),
            "size(modified) > 0",
            "ddl IS NOT NULL",
            "edges IS NOT NULL",
        )
    )
    return [_change(row) for row in found.where(changing).orderBy("start_time", "query_id").collect()]


def _change(row: Any) -> RecordedChange:
    parents = frozenset(filter(None, (row.parent_query_id, row.root_query_id)))
    ddl = row.ddl
    return RecordedChange(
        row.query_id,
        row.time,
        row.user_name,
        row.query_type,
        row.execution_status,
        parents,
        tuple(_written(row)),
        None if ddl is None else DdlObject(ddl.objectName, ddl.objectId, ddl.objectDomain, ddl.operationType),
        tuple(row.objects_tried or ()),
    )


def _written(row: Any) -> list[WrittenObject]:
    """The objects that a statement modified, each with its sources."""
    objects = {each.objectName: (each.objectId, each.objectDomain) for each in row.modified or ()}
    return [
        WrittenObject(name, object_id, domain, *_of(row, name))
        for name, (object_id, domain) in objects.items()
    ]


def _of(row: Any, name: str) -> tuple[bool, int | None, tuple[ReadTable, ...]]:
    """Whether an object was overwritten, its new version, and the sources."""
    versions = row.versions or ()
    edges = [edge for edge in row.edges or () if edge.target_object_name == name]
    read: dict[str, list[int]] = {}
    for each in versions:
        if each.access == "read":
            read.setdefault(each.objectName.casefold(), []).append(each.version)
    sources = {
        ReadTable(edge.source_object_name, edge.source_object_id, version)
        for edge in edges
        if edge.source_object_name is not None
        for version in read.get(edge.source_object_name.casefold(), [None])
    }
    own = [each.version for each in versions if each.access == "write" and each.objectName == name]
    return any(edge.overwrites for edge in edges), own[0] if own else None, tuple(sources)
