"""The edges of the spool's records as rows of the lineage tables.

In: the `edges` of a record (`audit.record.lineage_edges`), nested by target. Out: one row an edge and source
kind, under the columns of column_lineage or table_lineage. Most batches have none.
"""

from __future__ import annotations

import pyarrow as pa

from audit.ingest.arrow_lists import exploded, fields_of
from audit.store.tables import COLUMN_LINEAGE, TABLE_LINEAGE, AuditTable

_OF_QUERY = ("query_id", "query_start_time", "user_name", "query_type")
_OF_TARGET = ("target_object_id", "target_object_name", "target_object_domain", "overwrites")
_PARTS = {COLUMN_LINEAGE: "columns", TABLE_LINEAGE: "tables"}
"""Where the edges of each table stand in a target."""


def _own(table: AuditTable) -> dict[str, str]:
    """The columns that an edge itself has."""
    others = (*_OF_QUERY, *_OF_TARGET, "source_kind")
    return {name: kind for name, kind, _ in table.columns if name not in others}


def _struct(fields: dict[str, str]) -> str:
    listed = ", ".join(f"{name}: {kind}" for name, kind in fields.items())
    return f"STRUCT<{listed}>"


def _edges() -> str:
    targets = {name: kind for table in _PARTS for name, kind, _ in table.columns if name in _OF_TARGET}
    for table, part in _PARTS.items():
        targets[part] = f"ARRAY<{_struct({**_own(table), 'source_kinds': 'ARRAY<STRING>'})}>"
    return f"ARRAY<{_struct(targets)}>"


EDGES = _edges()
"""Spark's type of the edges of a record."""


def edge_rows(table: AuditTable, records: pa.Table) -> pa.Table:
    """The rows of a lineage table.

    Args:
        table: one of the two.
        records: as `records_of` gives them; those without edges have no row.
    """
    # Without the accesses, which are most of it.
    records = records.select(["query", "edges"]).drop_null()
    query = fields_of(records["query"])
    of_query = {name: query["start_time" if name == "query_start_time" else name] for name in _OF_QUERY}
    targets = exploded(pa.table({**of_query, "target": records["edges"]}), "target")
    target = fields_of(targets["target"])
    rest = {name: target[name] for name in _OF_TARGET}
    edges = targets.select(_OF_QUERY)
    for name, values in {**rest, "edge": target[_PARTS[table]]}.items():
        edges = edges.append_column(name, values)
    edges = exploded(edges, "edge")
    edge = fields_of(edges["edge"])
    for name in _own(table):
        edges = edges.append_column(name, edge[name])
    edges = exploded(edges.append_column("source_kind", edge["source_kinds"]), "source_kind")
    return edges.select([name for name, _, _ in table.columns])
