"""The edges of the spool's records as rows of the lineage tables.

In: the `edges` of a record (`audit.record.lineage_edges`), nested by target. Out: one row an edge and source
kind, under the columns of column_lineage or table_lineage. Most batches have none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import compute

from audit.evidence.row_texts import Repeated, Rows
from audit.ingest.arrow_lists import exploded, fields_of, numbered, taken
from audit.ingest.parts import EDGES as EDGES_PART
from audit.spark.arrow import arrow_type
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


def edge_rows(table: AuditTable, records: pa.Table, query: pa.Table, parts: pa.Table) -> Rows:
    """The rows of a lineage table.

    Args:
        table: one of the two.
        records: with the columns "edges" and EDGES_PART; those without edges have no row.
        query: the row of query_history of each.
        parts: the lists of edges that EDGES_PART numbers.
    """
    records = records.select(["edges", EDGES_PART])
    has_edges = compute.or_(compute.is_valid(records["edges"]), compute.is_valid(records[EDGES_PART]))
    of_query = query.select(["query_id", "start_time", "user_name", "query_type"]).filter(has_edges)
    records = records.filter(has_edges)
    # Records of another form have no part: what they hold is one.
    lists = [*parts["edges"].chunks, *records["edges"].drop_null().chunks]
    edges = _each(table, pa.chunked_array(lists, arrow_type(EDGES)))
    number = numbered(records[EDGES_PART], len(parts)).to_numpy()
    of_part = np.bincount(edges[EDGES_PART].to_numpy(), minlength=int(number.max(initial=-1)) + 1)
    counts = of_part[number]
    record = np.repeat(np.arange(len(records)), counts)
    ordinal = np.arange(len(record)) - np.repeat(np.cumsum(counts) - counts, counts)
    index = pa.chunked_array([((np.cumsum(of_part) - of_part)[number][record] + ordinal).astype(np.int32)])
    values = edges.select([name for name in table.names if name not in _OF_QUERY])
    rows = dict(zip(_OF_QUERY, of_query.take(record).columns, strict=True))
    rows |= {name: taken(values[name], index) for name in values.column_names}
    made = pa.table({**{name: rows[name] for name in table.names}, EDGES_PART: index})
    return Rows(made, [Repeated(values, EDGES_PART)])


def _each(table: AuditTable, lists: pa.ChunkedArray) -> pa.Table:
    """A row for each edge and source kind of some lists, in their order, with the number of its list."""
    numbers = pa.array(np.arange(len(lists)), pa.int32())
    targets = exploded(pa.table({EDGES_PART: numbers, "target": lists}), "target")
    target = fields_of(targets["target"])
    edges = targets.select([EDGES_PART])
    for name in _OF_TARGET:
        edges = edges.append_column(name, target[name])
    edges = exploded(edges.append_column("edge", target[_PARTS[table]]), "edge")
    edge = fields_of(edges["edge"])
    for name in _own(table):
        edges = edges.append_column(name, edge[name])
    return exploded(edges.append_column("source_kind", edge["source_kinds"]), "source_kind")
