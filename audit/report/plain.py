"""Values as people read them, whatever is in them.

In: a value of an answer. Out: its text. What cannot be seen, or steers what is around it, becomes an escape.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from audit.core.plain_text import escaped

_HEADINGS = {
    "user_name": "user",
    "role_name": "role",
    "os_user": "system user",
    "object_name": "object",
    "object_domain": "kind of object",
    "object_id": "id",
    "column_name": "column",
    "table_name": "table",
    "policy_name": "policy",
    "policy_kind": "kind of policy",
    "query_start_time": "time (UTC)",
    "start_time": "time (UTC)",
    "event_time": "time (UTC)",
    "event_type": "event",
    "query_id": "statement's id",
    "query_text": "statement",
    "query_type": "kind of statement",
    "query_types": "kinds of statements",
    "query_tag": "tag",
    "columns_read": "columns",
    "execution_status": "status",
    "error_code": "error",
    "operation_type": "operation",
    "analysis_reason": "reason",
    "client_address": "address",
    "client_host": "machine",
    "client_program": "program",
    "source_object_name": "source",
    "source_column_name": "source column",
    "source_object_domain": "kind of source",
    "target_object_name": "target",
    "target_column_name": "target column",
    "full_percent": "in full, per cent",
    "of_whole_period": "of all days of the period",
    "faults_of_the_last": "faults found by the last",
    "days_of_period": "deleted days of the period",
    "oldest_kept": "oldest day kept",
    "mib": "MiB",
}
_LINES = "\n\t"
NOTHING = "–"  # noqa: RUF001 - a dash as printers set it
"""In the place of a number that there is not."""


def heading(column: str) -> str:
    """The heading of a column.

    >>> heading("user_name"), heading("first_read")
    ('user', 'first read')
    """
    return _HEADINGS.get(column, column.replace("_", " "))


def cell(value: Any, column: str = "") -> str:
    """A value as a table shows it; a time to the second.

    Args:
        value: of an answer.
        column: its name; an id has no thousands.

    >>> cell(1234567), cell(None), cell(True), cell(datetime(2026, 1, 31, 12))
    ('1,234,567', '', 'yes', '2026-01-31 12:00:00')
    >>> cell(["a", "b"]), cell(99.95)
    ('a, b', '99.95')
    >>> cell(1234, "object_id")
    '1234'
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if column.endswith("_id") else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return escaped(f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value), _LINES)
