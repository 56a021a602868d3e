"""What changes the governance, one event a change: the rows of its table.

In: a change that a statement makes. Out: an `Event`, and the row that it is kept as.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

COLUMNS = (
    ("sequence", "BIGINT", "The order of the changes, from 0, whatever the clocks of the drivers say"),
    ("event_time", "TIMESTAMP", "When it happened (UTC, microseconds)"),
    ("event", "STRING", "What happened: CREATE_POLICY, SET_MASKING_POLICY, GRANT_ROLE …"),
    ("event_id", "STRING", "Identifier of the event, and of what was created by it"),
    ("of_id", "STRING", "The policy or role that it is about, by the event that created it"),
    ("object_key", "STRING", "What is protected: delta:<table id>, which a rename keeps, or name:<name>"),
    ("name", "STRING", "The fully qualified name of the policy or the object, as it was then"),
    ("user_name", "STRING", "Who did it"),
    ("role_name", "STRING", "In which role"),
    ("query_id", "STRING", "The statement that did it"),
    ("details", "STRING", "All that it changes, as JSON"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Event:
    """One change; `time` in UTC microseconds."""

    time: int
    event: str
    event_id: str
    of_id: str | None = None
    object_key: str | None = None
    name: str = ""
    user: str | None = None
    role: str | None = None
    query_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def row_of(sequence: int, event: Event) -> tuple[Any, ...]:
    """An event as a row of `COLUMNS`."""
    return (
        sequence, moment_of(event.time), event.event, event.event_id,
        event.of_id, event.object_key, event.name, event.user, event.role, event.query_id,
        json.dumps(dict(event.details), ensure_ascii=False),
    )  # fmt: skip


def moment_of(time: int) -> datetime:
    """UTC microseconds as a moment.

    >>> moment_of(1719418800000001).isoformat()
    '2024-06-26T16:20:00.000001+00:00'
    """
    return _EPOCH + timedelta(microseconds=time)


def event_of(row: Any) -> Event:
    """A row as an event."""
    since = row.event_time.astimezone(timezone.utc) - _EPOCH
    return Event(
        (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds,
        row.event, row.event_id, row.of_id, row.object_key, row.name, row.user_name, row.role_name,
        row.query_id, json.loads(row.details or "{}"),
    )  # fmt: skip
