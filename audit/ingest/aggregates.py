"""One row for the records of a batch that have the same mark (`audit.record.aggregation`).

In: the records of a batch. Out: the rows of query_history and access_history, where a row with `calls` stands
for as many statements: it has the id and the start of the first, the end of the last, and what all of them
took and gave. Which is the first depends on the batch alone: one that is run again gives the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.ingest.marks import has_mark, sql_has_mark
from audit.record.aggregation import MARK
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

_BYTES = f',"{MARK}":{{"key":'.encode()
HAS_AGGREGATE = sql_has_mark(_BYTES)
"""SQL: whether a line (in bytes) has the mark."""
_OF_ALL = {
    "end_time": "max(r.query.end_time)",
    "total_elapsed_time": "CAST(sum(r.query.total_elapsed_time) AS BIGINT)",
    "rows_produced": "CAST(sum(r.query.rows_produced) AS BIGINT)",
    "bytes_scanned": "CAST(sum(r.query.bytes_scanned) AS BIGINT)",
    "bytes_written": "CAST(sum(r.query.bytes_written) AS BIGINT)",
    # The text of one call must not stand for others that asked for another row.
    "query_text": (
        "if(min(r.query.query_text) = max(r.query.query_text), min(r.query.query_text),"
        f" min_by(r.{MARK}.text, r.query.query_id))"
    ),
    "calls": "count(*)",
}


def has_aggregates(file: Path) -> bool:
    """Whether a segment holds a record with a mark."""
    return has_mark(file, _BYTES)


def aggregate_schema() -> str:
    """The parts of a record that rows are made of."""
    return (
        f"STRUCT<query: STRUCT<{QUERY_HISTORY.row_schema}>,"
        f" access: ARRAY<STRUCT<{ACCESS_HISTORY.row_schema}>>, {MARK}: STRUCT<key: STRING, text: STRING>>"
    )


def aggregate_rows(table: AuditTable, parsed: DataFrame) -> DataFrame:
    """The rows of query_history or access_history for parsed records `r` with a mark; none for a null."""
    from pyspark.sql import functions as f

    alike = parsed.where(f"r.{MARK}.key IS NOT NULL").groupBy(f"r.{MARK}.key")
    if table is ACCESS_HISTORY:
        return alike.agg(f.expr("min_by(r.access, r.query.query_id) AS access")).selectExpr("inline(access)")
    made = [f.expr(f"{sql} AS {name}") for name, sql in _OF_ALL.items()]
    rows = alike.agg(f.expr("min_by(r.query, r.query.query_id) AS first"), *made)
    names = [name for name, _, _ in table.columns]
    return rows.selectExpr(*(name if name in _OF_ALL else f"first.{name}" for name in names))
