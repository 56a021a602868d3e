"""Reads a recorded statement, for AT | BEFORE (STATEMENT) and for replay.

In: a query id. Out: the statement from the audit tables; None for an unknown id. Waiting records are ingested
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from audit.time_travel.versions.recorded import RecordedStatement, RecordedVersion

if TYPE_CHECKING:
    from audit.store.record_reader import RecordReader


def recorded_statement(records: RecordReader, query_id: str) -> RecordedStatement | None:
    """A statement on record with the versions that it read and wrote; None for an unknown query id.

    Raises:
        IngestError: waiting records could not be ingested.
    """
    records.flush()
    queries, accesses = (records.rows(table) for table in (QUERY_HISTORY, ACCESS_HISTORY))
    # A script and EXECUTE IMMEDIATE have written what the statements in them wrote.
    found = (
        queries.where(
            (queries.query_id == query_id)
            | (queries.parent_query_id == query_id)
            | (queries.root_query_id == query_id)
        )
        .selectExpr(
            "query_id",
            "query_text",
            "action",
            "execution_status",
            "database_name",
            "schema_name",
            "unix_micros(start_time) AS start",
            "unix_micros(end_time) AS end",
        )
        .collect()
    )
    own = next((row for row in found if row.query_id == query_id), None)
    if own is None:
        return None
    versions = (
        accesses.where(accesses.query_id.isin([row.query_id for row in found]))
        .selectExpr("query_id", "inline(object_versions)")
        .collect()
    )

    def of(access: str, *, children: bool) -> tuple[RecordedVersion, ...]:
        kept = (
            RecordedVersion(one.objectName, one.version, one.objectId)
            for one in versions
            if one.access == access and (children or one.query_id == query_id)
        )
        return tuple(dict.fromkeys(kept))

    return RecordedStatement(
        query_id,
        own.query_text or "",
        own.action or "",
        own.execution_status,
        (own.database_name or "", own.schema_name or ""),
        own.start,
        own.end,
        of("read", children=False),
        of("write", children=True),
    )
