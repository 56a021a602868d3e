"""What was dropped and can be brought back: a Delta table of events beside the audit tables.

In: drops, restorations, purges, parameters of the account. Out: `Dropped` objects, newest first, and
parameters. The table is only ever appended to, so that drivers never conflict over it, and what was so on
a given day can be asked of it.

The metastore says what is alive. An event is written before Spark drops: a driver that is killed in
between leaves an event about an object that is still registered at its location, and such an object counts
as alive. `unfinished` says what else it may leave, and how the next statement finishes that.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import TYPE_CHECKING, Any

from audit.history_table import HistoryTable
from time_travel.times import micros_of, moment_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from time_travel.lake import Lake

NAME = "object_history"
MOVED_FROM = "moved_from"
"""In the details of a drop: where the files lay before, and still do if the driver was killed just then."""
_COLUMNS = (
    ("event_time", "TIMESTAMP", "When it happened (UTC, microseconds)"),
    (
        "event",
        "STRING",
        "DROPPED, RETRACTED (it failed), MOVED, UNDROPPED, PURGING, PURGED, PURGED_VERSIONS, SET_PARAMETER",
    ),
    ("event_id", "STRING", "Identifier of the event, and of what was dropped by it"),
    ("of_event", "STRING", "RETRACTED, UNDROPPED, PURGING, PURGED: the drop that it is about"),
    ("container_event", "STRING", "The drop of the schema that the object went with"),
    ("object_domain", "STRING", "TABLE, VIEW, FUNCTION, SCHEMA or ACCOUNT"),
    ("object_id", "STRING", "The id of a Delta table, which a rename keeps"),
    ("catalog_name", "STRING", "The catalog"),
    ("schema_name", "STRING", "The schema"),
    ("object_name", "STRING", "The name, or the parameter"),
    ("location", "STRING", "Where its files lie"),
    ("retention_days", "DOUBLE", "The retention period in force at the drop"),
    ("fail_safe_days", "DOUBLE", "Days in Fail-safe after it"),
    ("user_name", "STRING", "Who did it"),
    ("query_id", "STRING", "The statement that did it"),
    ("details", "STRING", "What brings it back, as JSON; of a parameter its value"),
)
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """One row of the table; `time` in UTC microseconds."""

    time: int
    event: str
    event_id: str
    domain: str
    name: tuple[str, ...]
    of_event: str | None = None
    container_event: str | None = None
    object_id: str | None = None
    location: str | None = None
    retention_days: float | None = None
    fail_safe_days: float | None = None
    user: str | None = None
    query_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> frozenset[str]:
        """Where its files lie, or lay before they moved."""
        found = (self.location, self.details.get(MOVED_FROM))
        return frozenset(place for place in found if place)

    @property
    def retained_until(self) -> int:
        """When a dropped object goes to Fail-safe, UTC microseconds."""
        return self.time + round((self.retention_days or 0) * _DAY)

    @property
    def kept_until(self) -> int:
        """When its Fail-safe ends."""
        return self.retained_until + round((self.fail_safe_days or 0) * _DAY)


@dataclass(frozen=True, slots=True)
class Objects:
    """All events, folded.

    Attributes:
        dropped: drops that nothing has undone or purged, newest first.
        parameters: of the account, by name.
        half_purged: drops whose folders a purge was to delete, and did not say that it has.
        purged: for a Delta table by its id: what was replaced by when is deleted, and when that was done; UTC
            microseconds.
    """

    dropped: tuple[Event, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    purged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    half_purged: tuple[Event, ...] = ()


class Registry:
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
    """

    def __init__(self, session: SparkSession, root: str) -> None:
        self.location = f"{root.rstrip('/')}/{NAME}"
        self._table = HistoryTable(session, self.location, _COLUMNS)
        self._lock = threading.Lock()
        self._seen: tuple[tuple[str, int], list[Event], Objects] | None = None

    def append(self, lake: Lake, events: Sequence[Event]) -> None:
        """Add events in one commit; they are on record when this returns."""
        if lake.state(self.location) is None:
            self._table.create()
        self._table.append([_row(event) for event in events])
        self._learn(lake, events)

    def _learn(self, lake: Lake, events: Sequence[Event]) -> None:
        """Spare the next look a read of the whole table, where nobody else has written meanwhile."""
        state = lake.state(self.location)
        with self._lock:
            if state is None or self._seen is None or self._seen[0] != (state.table_id, state.latest - 1):
                return
            # Another thread may have read these by now; the newest version is then somebody else's.
            if {event.event_id for event in events}.isdisjoint(one.event_id for one in self._seen[1]):
                every = [*self._seen[1], *events]
                self._seen = ((state.table_id, state.latest), every, folded(every))

    def objects(self, lake: Lake) -> Objects:
        """What is dropped, and the parameters, as of now."""
        state = lake.state(self.location)
        if state is None:
            return Objects()
        version = (state.table_id, state.latest)
        with self._lock:
            if self._seen is None or self._seen[0] != version:
                every = [_event(row) for row in self._table.read().collect()]
                self._seen = (version, every, folded(every))
            return self._seen[2]


def folded(events: Iterable[Event]) -> Objects:
    """What a history of events comes to, whatever the clocks of the drivers that wrote it.

    >>> drop = Event(1, "DROPPED", "a", "TABLE", ("spark_catalog", "s", "t"), location="/t")
    >>> folded([drop]).dropped == (drop,)
    True
    >>> folded([Event(0, "UNDROPPED", "b", "TABLE", drop.name, of_event="a"), drop]).dropped
    ()
    >>> [event.event_id for event in folded([drop, replace(drop, time=2, event_id="c")]).dropped]
    ['c']
    >>> half = folded([drop, replace(drop, event="PURGING", of_event="a", event_id="d")])
    >>> half.dropped, half.half_purged == (drop,)
    ((), True)
    """
    drops: dict[str, Event] = {}
    parameters: dict[str, float] = {}
    ended: set[str] = set()
    purging: set[str] = set()
    done: set[str] = set()
    emptied: dict[str, int] = {}
    purged: dict[str, tuple[int, int]] = {}
    for event in sorted(events, key=_order):
        if event.event == "PURGED_VERSIONS":
            purged[event.object_id or ""] = event.details["until"], event.time
        elif event.event == "DROPPED":
            drops.pop(event.event_id, None)  # told again: it is as new as this
            drops[event.event_id] = event
        elif event.event == "SET_PARAMETER":
            value = event.details.get("value")
            if value is None:
                parameters.pop(event.name[-1], None)
            else:
                parameters[event.name[-1]] = value
        elif event.event == "MOVED" and event.of_event in drops:
            old = drops[event.of_event]
            drops[event.of_event] = replace(old, location=event.location, details=event.details)
        elif event.of_event is not None:
            ended.add(event.of_event)
            if event.event == "PURGING":
                purging.add(event.of_event)
            elif event.event == "PURGED":
                done.add(event.of_event)
                emptied |= dict.fromkeys(event.places, event.time)
    kept = [
        drop
        for drop in drops.values()
        if drop.event_id not in ended and all(emptied.get(place, -1) < drop.time for place in drop.places)
    ]
    half = tuple(drop for number, drop in drops.items() if number in purging - done)
    return Objects(tuple(reversed(_newest_of_each_place(kept))), parameters, purged, half)


def _newest_of_each_place(drops: Sequence[Event]) -> list[Event]:
    """Without drops that a later one of the same files has overtaken.

    Two drivers may tell of one drop, or one that was killed before Spark dropped anything, and a later one.
    """
    newest = {place: _by(event) for event in drops for place in event.places}
    return [event for event in drops if all(newest[place] == _by(event) for place in event.places)]


def _by(event: Event) -> str:
    """The drop that it went with: a schema may hold two tables of one place."""
    return event.container_event or event.event_id


def _order(event: Event) -> tuple[int, str]:
    return event.time, event.event_id


def _row(event: Event) -> tuple[Any, ...]:
    above: list[str | None] = [None] * (3 - len(event.name))
    catalog, schema, name = above + list(event.name)
    return (
        moment_of(event.time), event.event, event.event_id, event.of_event, event.container_event,
        event.domain, event.object_id, catalog, schema, name, event.location, event.retention_days,
        event.fail_safe_days, event.user, event.query_id,
        json.dumps(dict(event.details), ensure_ascii=False),
    )  # fmt: skip


def _event(row: Any) -> Event:
    micros = micros_of(row.event_time.astimezone(timezone.utc))
    name = tuple(part for part in (row.catalog_name, row.schema_name, row.object_name) if part is not None)
    return Event(
        micros, row.event, row.event_id, row.object_domain, name, row.of_event, row.container_event,
        row.object_id, row.location, row.retention_days, row.fail_safe_days, row.user_name, row.query_id,
        json.loads(row.details or "{}"),
    )  # fmt: skip
