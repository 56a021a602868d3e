"""Reads a recorded statement, for AT | BEFORE (STATEMENT) and for replay.

In: a query id. Out: the statement from the audit tables; None for an unknown id. Waiting records are ingested
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable
from audit.time_travel.versions.recorded import RecordedStatement, VersionRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from audit.store.record_reader import RecordReader


def recorded_statement(records: RecordReader, query_id: str) -> RecordedStatement | None:
    """A statement on record with the versions that it read; None for an unknown query id.

    Raises:
        IngestError: waiting records could not be ingested.
    """
    records.flush()
    queries, accesses = (_rows(records, table, query_id) for table in (QUERY_HISTORY, ACCESS_HISTORY))
    found = queries.selectExpr(
        "query_text", "action", "execution_status", "database_name", "schema_name", "unix_micros(start_time)"
    ).collect()
    if not found:
        return None
    text, action, status, catalog, schema, start = found[0]
    entries = accesses.selectExpr("inline(object_versions)").where("access = 'read'").collect()
    read = tuple(VersionRead(entry.objectName, entry.version, entry.objectId) for entry in entries)
    return RecordedStatement(
        query_id,
        text or "",
        action or "",
        status,
        (catalog or "", schema or ""),
        start,
        tuple(dict.fromkeys(read)),
    )


def _rows(records: RecordReader, table: AuditTable, query_id: str) -> DataFrame:
    rows = records.rows(table)
    return rows.where(rows.query_id == query_id)
