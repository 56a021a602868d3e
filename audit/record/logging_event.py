"""Rows of query_history about the logging itself: that it began, paused or ended, and what was done to it.

In: an event. Out: a row. PCI DSS 10.2.1.6 asks for "all initialization of new audit logs, and all starting,
stopping, or pausing of the existing audit logs", 10.2.1.3 for all access to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from audit.core.json_text import to_json
from audit.record.access_record import Ended, Started, build_row, issued

if TYPE_CHECKING:
    from audit.core.identity import Tagging
    from audit.core.origin import Origin

LoggingEvent = Literal[
    "AUDIT_ATTACH", "AUDIT_DETACH", "AUDIT_CONFIGURE", "AUDIT_SUPPRESS", "AUDIT_RESUME", "AUDIT_RETAIN",
    "AUDIT_VERIFY", "AUDIT_INGEST", "AUDIT_CHECK", "AUDIT_QUERY", "AUDIT_REPORT", "AUDIT_EXPORT",
    "AUDIT_IMPORT",
]  # fmt: skip
"""A session is recorded from now on, or no longer; its configuration is another one than that of the attach
before it; the recording of a thread pauses, and goes on; days were deleted; the tables were verified; the
records of other drivers were taken in; the tables were checked; they were read by `audit query`, by
`audit report`, by `audit export`; events of other systems were taken in."""
LOGGING_EVENTS: frozenset[str] = frozenset(get_args(LoggingEvent))
"""The `query_type` of each. None of them is a statement."""
PREFIX = "AUDIT_"


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the logging.

    Attributes:
        kind: what has happened.
        query_id: of its row.
        began: UTC microseconds.
        ended: the same, or later.
        user: who did it.
        action: the call or the command.
        details: what else there is to say; it becomes the row's text.
        session_id: Spark's; None for a command.
        application_id: Spark's; None for a command.
    """

    kind: LoggingEvent
    query_id: str
    began: int
    ended: int
    user: str
    action: str
    details: Mapping[str, Any]
    session_id: str | None = None
    application_id: str | None = None


def event_row(event: Event, origin: Origin, tagging: Tagging) -> dict[str, Any]:
    """The row of query_history."""
    text = to_json(dict(event.details), sort_keys=True).decode()
    started = Started(
        query_id=event.query_id,
        start_time=event.began,
        user_name=event.user,
        query_text=text,
        query_type=event.kind,
        action=event.action,
        session_id=event.session_id,
        application_id=event.application_id,
    )
    row: dict[str, Any] = build_row(issued(started, origin, tagging), Ended("SUCCESS", event.ended), None)[
        "query"
    ]
    return row
