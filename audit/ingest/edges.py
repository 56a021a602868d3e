"""The edges of the spool's records as rows of the lineage tables.

In: the `edges` of a record (`audit.record.lineage_edges`), nested by target. Out: one row an edge and source
kind, under the columns of column_lineage or table_lineage. Most batches have none; a search in the bytes of
their files tells, and then nothing is parsed or committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.ingest.marks import has_mark, sql_has_mark
from audit.store.tables import AuditTable

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

_MARK = b',"edges":[{'
"""How the edges begin in a record's line."""

HAS_EDGES = sql_has_mark(_MARK)
"""SQL: whether a line (in bytes) has edges."""

_QUERY = "STRUCT<query_id: STRING, start_time: TIMESTAMP, user_name: STRING, query_type: STRING>"
_OF_QUERY = ("query_id", "query_start_time", "user_name", "query_type")
_OF_TARGET = ("target_object_id", "target_object_name", "target_object_domain", "overwrites")


def has_edges(file: Path) -> bool:
    """Whether a segment holds a record with edges."""
    return has_mark(file, _MARK)


def edge_schema(table: AuditTable, part: str) -> str:
    """The part of a record that a lineage table is made of: `columns` or `tables` of each target."""
    of_target = [(name, kind) for name, kind, _ in table.columns if name in _OF_TARGET]
    own = [(name, kind) for name, kind in _own(table)]
    own.append(("source_kinds", "ARRAY<STRING>"))
    return (
        f"STRUCT<query: {_QUERY}, edges: ARRAY<STRUCT<{_fields(of_target)},"
        f" {part}: ARRAY<STRUCT<{_fields(own)}>>>>>"
    )


def edge_rows(table: AuditTable, part: str, parsed: DataFrame) -> DataFrame:
    """The rows of parsed records `r`."""
    who = (
        "r.query.query_id",
        "r.query.start_time AS query_start_time",
        "r.query.user_name",
        "r.query.query_type",
    )
    targets = parsed.selectExpr(*who, "explode(r.edges) AS t")
    edges = targets.selectExpr(*_OF_QUERY, "t", f"explode(t.{part}) AS e")
    kinds = edges.selectExpr(*_OF_QUERY, "t", "e", "explode(e.source_kinds) AS source_kind")
    places = {name: f"e.{name}" for name, _ in _own(table)} | {name: f"t.{name}" for name in _OF_TARGET}
    return kinds.selectExpr(*(places.get(name, name) for name, _, _ in table.columns))


def _own(table: AuditTable) -> list[tuple[str, str]]:
    others = (*_OF_QUERY, *_OF_TARGET, "source_kind")
    return [(name, kind) for name, kind, _ in table.columns if name not in others]


def _fields(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in pairs)
