"""Events of backups, and the rows of `backup_history` that keep them.

In: a change that a statement or a run makes. Out: a `BackupEvent`, and its row. Events are in the order of
their sequence: whoever appends one has seen all before it, so that a rule decides on the newest state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime

if TYPE_CHECKING:
    from audit.core.actor import Actor

NAME = "backup_history"
COLUMNS = (
    ("sequence", "BIGINT", "The order of the events, from 0, whatever the clocks of the drivers say"),
    ("event_time", "TIMESTAMP", "When it happened (UTC, microseconds)"),
    ("event", "STRING", "What happened: CREATE_SET, APPLY_POLICY, ADD_BACKUP, ADD_LEGAL_HOLD …"),
    ("event_id", "STRING", "Identifier of the event, and of the policy or set that was created by it"),
    ("of_id", "STRING", "The policy or set that it is about, by the event that created it"),
    ("name", "STRING", "The fully qualified name of the policy or set, as it was then"),
    ("user_name", "STRING", "Who did it"),
    ("query_id", "STRING", "The statement that did it"),
    ("details", "STRING", "All that it changes, as JSON"),
)


@dataclass(frozen=True, slots=True)
class BackupEvent:
    """One change; `time` in UTC microseconds by the machine's clock."""

    time: int
    event: str
    event_id: str
    of_id: str | None = None
    name: str = ""
    user: str | None = None
    query_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, actor: Actor, event: str, *, of_id: str | None = None, name: str = "", **details: Any
    ) -> BackupEvent:
        """An event of an actor, with a new id."""
        return cls(actor.time, event, actor.new_id(), of_id, name, actor.user, actor.query_id, details)


def row_of(sequence: int, event: BackupEvent) -> tuple[Any, ...]:
    """An event as a row of `COLUMNS`."""
    return (
        sequence, to_datetime(event.time), event.event, event.event_id, event.of_id, event.name, event.user,
        event.query_id, json.dumps(dict(event.details), ensure_ascii=False),
    )  # fmt: skip


def event_from(time: int, value_of: Callable[[str], Any]) -> BackupEvent:
    """An event, from its time in UTC microseconds and what its row has in the other columns.

    >>> row = {"event": "DROP_SET", "event_id": "e", "of_id": "b", "name": "c.s.b", "details": "{}"}
    >>> event_from(7, row.get).of_id
    'b'
    """
    return BackupEvent(
        time, value_of("event"), value_of("event_id"), value_of("of_id"), value_of("name") or "",
        value_of("user_name"), value_of("query_id"), json.loads(value_of("details") or "{}"),
    )  # fmt: skip
