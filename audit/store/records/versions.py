"""Reads a recorded statement, for AT | BEFORE (STATEMENT) and for replay.

In: a query id. Out: the statement from the audit tables; None for an unknown id. Waiting records are ingested
where the tables do not have its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.store.made_tables import exists
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from audit.time_travel.versions.recorded import RecordedStatement, RecordedVersion

if TYPE_CHECKING:
    from audit.store.records.record_reader import RecordReader

# The clock of a driver may be set back while a script runs.
_SKEW_MICROS = 60_000_000
# Of a statement that has not ended, or whose end nobody has seen: the year 9999.
_LAST = 253_402_214_400_000_000


def recorded_statement(records: RecordReader, query_id: str) -> RecordedStatement | None:
    """A statement on record with the versions that it read and wrote; None for an unknown query id.

    Raises:
        IngestError: waiting records could not be ingested.
    """
    # A statement ends once, after those that it ran: what the tables say of it then needs no flush.
    own = _own(records, query_id)
    if own is None or own.end is None:
        records.flush()
        own = _own(records, query_id)
    if own is None:
        return None
    # The days in which it ran: a year of records has no index of parents.
    first, last = own.start - _SKEW_MICROS, (own.end or _LAST) + _SKEW_MICROS
    while_it_ran = f"BETWEEN timestamp_micros({first}) AND timestamp_micros({last})"
    queries, accesses = records.rows(QUERY_HISTORY), records.rows(ACCESS_HISTORY)
    # A script and EXECUTE IMMEDIATE have written what the statements in them wrote.
    is_child = (queries.parent_query_id == query_id) | (queries.root_query_id == query_id)
    ran = queries.where(f"{QUERY_HISTORY.time} {while_it_ran}").where(is_child).select("query_id").collect()
    versions = (
        accesses.where(f"{ACCESS_HISTORY.time} {while_it_ran}")
        .where(accesses.query_id.isin([query_id, *(row.query_id for row in ran)]))
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


def _own(records: RecordReader, query_id: str) -> Any | None:
    if not exists(records.spark, QUERY_HISTORY, records.root):
        return None
    queries = records.rows(QUERY_HISTORY)
    return (
        queries.where(queries.query_id == query_id)
        .selectExpr(
            "query_text",
            "action",
            "execution_status",
            "database_name",
            "schema_name",
            "unix_micros(start_time) AS start",
            "unix_micros(end_time) AS end",
        )
        .first()
    )
