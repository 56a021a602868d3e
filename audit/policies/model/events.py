"""Governance events, and the rows of `governance_history` that keep them.

In: a change that a statement makes. Out: a `GovernanceEvent`, and its row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timezone
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime, to_micros

if TYPE_CHECKING:
    from audit.core.actor import Actor

NAME = "governance_history"
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


@dataclass(frozen=True, slots=True)
class GovernanceEvent:
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

    @classmethod
    def of(
        cls,
        actor: Actor,
        event: str,
        *,
        of_id: str | None = None,
        key: str | None = None,
        name: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> GovernanceEvent:
        """An event of an actor, with a new id."""
        made = actor.new_id()
        return cls(actor.time, event, made, of_id, key, name, actor.user, None, actor.query_id, details or {})


def row_of(sequence: int, event: GovernanceEvent) -> tuple[Any, ...]:
    """An event as a row of `COLUMNS`."""
    return (
        sequence, to_datetime(event.time), event.event, event.event_id,
        event.of_id, event.object_key, event.name, event.user, event.role, event.query_id,
        json.dumps(dict(event.details), ensure_ascii=False),
    )  # fmt: skip


def event_of(row: Any) -> GovernanceEvent:
    """A row of PySpark's as an event."""
    # PySpark (4.2) gives a TIMESTAMP as a naive datetime in the process' zone, which astimezone expects.
    return event_from(to_micros(row.event_time.astimezone(timezone.utc)), lambda name: getattr(row, name))


def event_from(time: int, value_of: Callable[[str], Any]) -> GovernanceEvent:
    """An event, from its time in UTC microseconds and what its row has in the other columns.

    >>> row = {"event": "CREATE_ROLE", "event_id": "e", "name": "HR", "details": '{"comment": null}'}
    >>> event_from(7, row.get).details
    {'comment': None}
    """
    return GovernanceEvent(
        time, value_of("event"), value_of("event_id"), value_of("of_id"), value_of("object_key"),
        value_of("name") or "", value_of("user_name"), value_of("role_name"), value_of("query_id"),
        json.loads(value_of("details") or "{}"),
    )  # fmt: skip
