"""Gap entries: rows of query_history that tell which records were lost, and why.

In: what was refused, damaged or orphaned. Out: the line of a G entry, whose `query` is a row of
query_history (`query_type` GAP), so that ingest brings the loss where an auditor looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.core.json_text import to_json
from audit.spool.entry import encode


def gap_line(gap_id: str, payload: Mapping[str, Any]) -> bytes:
    """The line of a gap.

    Args:
        gap_id: a query id of its own.
        payload: `gap` (refused, damaged or orphaned), `since` and `until` as ISO 8601, and the counts.
    """
    row = {
        "query_id": gap_id,
        "start_time": payload["since"],
        "end_time": payload["until"],
        "user_name": "audit",
        "query_text": to_json(dict(payload)).decode(),
        "query_type": "GAP",
        "action": "audit",
        # Not SUCCESS: `audit verify` would miss its record in access_history.
        "execution_status": "INCOMPLETE",
        "error_code": f"AUDIT_GAP_{payload['gap'].upper()}",
        "error_message": _message(payload),
    }
    return encode("G", gap_id, {**payload, "query": row})


def _message(payload: Mapping[str, Any]) -> str:
    """One sentence.

    >>> _message({"gap": "refused", "queries": 2, "causes": {"ENOSPC": 3}})
    '2 statements may have run without a record: the spool could not be written (ENOSPC)'
    """
    if payload["gap"] == "refused":
        causes = ", ".join(payload["causes"])
        lost = "statements may have run without a record: the spool could not be written"
        return f"{payload['queries']} {lost} ({causes})"
    files = ", ".join(payload.get("files", ())) or "none"
    return (
        f"a part of the spool was damaged (set aside: {files}); of {payload.get('queries', 0)} statements"
        " nothing but their end was readable"
    )
