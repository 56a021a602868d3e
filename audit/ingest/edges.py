"""The edges of the spool's records as rows of the lineage tables.

In: the `edges` of a record (`audit.record.lineage_edges`), nested by target. Out: one row an edge and source
kind, under the columns of column_lineage or table_lineage. Most batches have none.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

import pyarrow as pa
from pyarrow import compute

from audit.evidence.bound_tables import OF_STATEMENT
from audit.evidence.row_texts import Repeated, Rows
from audit.ingest.arrow_lists import exploded, fields_of, numbered, places, taken
from audit.spark.arrow import arrow_type, one_array
from audit.spool.parts import EDGES as _PART
from audit.store.tables import COLUMN_LINEAGE, TABLE_LINEAGE, AuditTable

_OF_TARGET = ("target_object_id", "target_object_name", "target_object_domain", "overwrites")
_LIST = "list"
_PARTS = {COLUMN_LINEAGE: "columns", TABLE_LINEAGE: "tables"}
"""Where the edges of each table stand in a target."""


def _own(table: AuditTable) -> dict[str, str]:
    """The columns that an edge itself has."""
    others = (*OF_STATEMENT, *_OF_TARGET, "source_kind")
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
PARTS = pa.schema([(_PART.name, pa.string()), ("edges", arrow_type(EDGES))])
"""Lists of edges that records name, each with its id."""


def edge_rows(table: AuditTable, records: pa.Table, query: pa.Table, known: pa.Table) -> Rows:
    """The rows of a lineage table.

    Args:
        table: one of the two.
        records: as `records_of` gives them; those without edges have no row.
        query: the row of query_history of each.
        known: the lists that they name, by `PARTS`.
    """
    records = records.select(["edges", _PART.name])
    has_edges = compute.or_(compute.is_valid(records["edges"]), compute.is_valid(records[_PART.name]))
    of_query = query.select(["query_id", "start_time", "user_name", "query_type"]).filter(has_edges)
    records = records.filter(has_edges)
    # Records of another form have no part: what they hold is one.
    lists = [*known["edges"].chunks, *records["edges"].drop_null().chunks]
    edges = _each(table, pa.chunked_array(lists, arrow_type(EDGES)))
    number = numbered(places(records[_PART.name], known[_PART.name]), len(known))
    ends = _ends_of_lists(edges, sum(map(len, lists)))
    every = pa.array(range(len(edges)), pa.int32())
    of_record = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), every).take(one_array(number))
    index = pa.chunked_array([compute.list_flatten(of_record)])
    values = edges.select([name for name in table.names if name not in OF_STATEMENT])
    statements = of_query.take(compute.list_parent_indices(of_record))
    rows = dict(zip(OF_STATEMENT, statements.columns, strict=True))
    rows |= {name: taken(values[name], index) for name in values.column_names}
    made = pa.table({**{name: rows[name] for name in table.names}, _LIST: index})
    has_some = compute.greater(compute.list_value_length(of_record), 0)
    signed = pa.table([*of_query.columns, number], names=[*OF_STATEMENT, _LIST]).filter(has_some)
    if len(compute.unique(signed["query_id"])) < len(signed):  # a statement has two records
        return Rows(made, {"edge": Repeated(values, _LIST)})
    return Rows(made, {"edge": Repeated(values, _LIST, ends)}, signed)


def _ends_of_lists(edges: pa.Table, lists: int) -> list[int]:
    """Where the edges of each list begin, and the last ones end; they are ordered by list."""
    counts = Counter(edges[_LIST].to_pylist())
    return [*accumulate((counts[number] for number in range(lists)), initial=0)]


def _each(table: AuditTable, lists: pa.ChunkedArray) -> pa.Table:
    """A row for each edge and source kind of some lists, in their order, with the number of its list."""
    numbers = pa.array(range(len(lists)), pa.int32())
    targets = exploded(pa.table({_LIST: numbers, "target": lists}), "target")
    target = fields_of(targets["target"])
    edges = targets.select([_LIST])
    for name in _OF_TARGET:
        edges = edges.append_column(name, target[name])
    edges = exploded(edges.append_column("edge", target[_PARTS[table]]), "edge")
    edge = fields_of(edges["edge"])
    for name in _own(table):
        edges = edges.append_column(name, edge[name])
    return exploded(edges.append_column("source_kind", edge["source_kinds"]), "source_kind")
