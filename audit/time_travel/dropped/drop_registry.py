"""The registry of dropped objects: a Delta table of events beside the audit tables.

In: drops, restorations, purges, parameters of the account. Out: `RegistryState`: drops, newest first, and
parameters. The table is append-only: appends of several drivers do not conflict in Delta, and the state of
any day can be read from it.

The metastore decides which objects exist. An event is written before Spark drops, so a killed driver may
leave the event of an object that is still registered; such an object counts as existing. `crash_repair` tells
what else a killed driver may leave.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timezone
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime, to_micros
from audit.core.file_paths import local_path
from audit.spark.delta.event_table import HistoryTable
from audit.spark.embedded.moved_root import Move, moves_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.spark.delta.delta_catalog import DeltaCatalog

NAME = "object_history"
MOVED_FROM = "moved_from"
"""In the details of a drop: the former location of moved files; after a kill they may still be there."""
IN_FORCE = "retention_in_force"
"""In the details of the drop of a child: the days of its own period, which goes on with UNDROP SCHEMA."""
COLUMNS = (
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
class ObjectEvent:
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
        """The locations where its files may lie: the newest, and the one before a move."""
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
class RegistryState:
    """The state after all events.

    Attributes:
        dropped: drops that are neither restored nor purged, newest first.
        parameters: of the account, by name.
        half_purged: drops whose folders an unfinished purge was deleting.
        purged: by Delta's id of a table: files replaced before the first time were deleted at the second; UTC
            microseconds.
    """

    dropped: tuple[ObjectEvent, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    purged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    half_purged: tuple[ObjectEvent, ...] = ()


class DropRegistry:
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
    """

    def __init__(self, session: SparkSession, root: str) -> None:
        self.location = f"{root.rstrip('/')}/{NAME}"
        self._table = HistoryTable(session, self.location, COLUMNS)
        folder = local_path(root)
        # What was dropped before the root was moved has moved with it.
        self._moves = () if folder is None else moves_of(folder)
        # Statements of several threads read and append at the same time.
        self._lock = threading.Lock()
        self._seen: tuple[tuple[str, int], list[ObjectEvent], RegistryState] | None = None

    def append(self, catalog: DeltaCatalog, events: Sequence[ObjectEvent]) -> None:
        """Append events in one commit."""
        if catalog.state(self.location) is None:
            self._table.create()
        self._table.append([_row(event) for event in events])
        self._learn(catalog, events)

    def _learn(self, catalog: DeltaCatalog, events: Sequence[ObjectEvent]) -> None:
        """Update the cache with own events, if no other driver has written meanwhile."""
        state = catalog.state(self.location)
        with self._lock:
            if state is None or self._seen is None or self._seen[0] != (state.table_id, state.latest - 1):
                return
            # Another thread may have read these events already; then the newest version is another commit.
            if {event.event_id for event in events}.isdisjoint(one.event_id for one in self._seen[1]):
                every = [*self._seen[1], *events]
                self._seen = ((state.table_id, state.latest), every, registry_state_after(every))

    def state(self, catalog: DeltaCatalog) -> RegistryState:
        """The newest state; it is read only if another driver has written."""
        state = catalog.state(self.location)
        if state is None:
            return RegistryState()
        version = (state.table_id, state.latest)
        with self._lock:
            if self._seen is None or self._seen[0] != version:
                every = [_moved(_event(row), self._moves) for row in self._table.rows()]
                self._seen = (version, every, registry_state_after(every))
            return self._seen[2]


def registry_state_after(events: Iterable[ObjectEvent]) -> RegistryState:
    """The state after a history of events; the clocks of the drivers that wrote it may differ.

    >>> drop = ObjectEvent(1, "DROPPED", "a", "TABLE", ("spark_catalog", "s", "t"), location="/t")
    >>> registry_state_after([drop]).dropped == (drop,)
    True
    >>> undrop = ObjectEvent(0, "UNDROPPED", "b", "TABLE", drop.name, of_event="a")
    >>> registry_state_after([undrop, drop]).dropped
    ()
    >>> again = registry_state_after([drop, replace(drop, time=2, event_id="c")])
    >>> [event.event_id for event in again.dropped]
    ['c']
    >>> half = registry_state_after([drop, replace(drop, event="PURGING", of_event="a", event_id="d")])
    >>> half.dropped, half.half_purged == (drop,)
    ((), True)
    """
    drops: dict[str, ObjectEvent] = {}
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
            # Whatever its time: clocks of two drivers may put an UNDROP before its DROP.
            ended.add(event.of_event)
            if event.event == "PURGING":
                purging.add(event.of_event)
            elif event.event == "PURGED":
                done.add(event.of_event)
                # A purge deletes the folder, so earlier drops of the same files have nothing left.
                emptied |= dict.fromkeys(event.places, event.time)
    kept = [
        drop
        for drop in drops.values()
        if drop.event_id not in ended and all(emptied.get(place, -1) < drop.time for place in drop.places)
    ]
    half = tuple(drop for number, drop in drops.items() if number in purging - done)
    return RegistryState(tuple(reversed(_newest_of_each_place(kept))), parameters, purged, half)


def _newest_of_each_place(drops: Sequence[ObjectEvent]) -> list[ObjectEvent]:
    """The drops without those that a later drop of the same files replaces.

    Two drivers may write one drop each, or a killed one wrote a drop before Spark dropped anything.
    """
    newest = {place: _schema_drop(event) for event in drops for place in event.places}
    return [event for event in drops if all(newest[place] == _schema_drop(event) for place in event.places)]


def _schema_drop(event: ObjectEvent) -> str:
    """The id of the schema's drop, else its own: two tables of a schema may share a location."""
    return event.container_event or event.event_id


def _order(event: ObjectEvent) -> tuple[int, str]:
    return event.time, event.event_id


def _moved(event: ObjectEvent, moves: Sequence[Move]) -> ObjectEvent:
    """An event whose places lie in the root as it lies now."""
    for move in moves:
        place = event.location and move.moved(event.location)
        details = {name: _moved_text(value, move) for name, value in event.details.items()}
        event = replace(event, location=place, details=details)
    return event


def _moved_text(value: Any, move: Move) -> Any:
    return move.moved(value) if isinstance(value, str) else value


def _row(event: ObjectEvent) -> tuple[Any, ...]:
    # A parameter of the account has one part, a schema two, any other object three.
    above: list[str | None] = [None] * (3 - len(event.name))
    catalog, schema, name = above + list(event.name)
    return (
        to_datetime(event.time), event.event, event.event_id, event.of_event, event.container_event,
        event.domain, event.object_id, catalog, schema, name, event.location, event.retention_days,
        event.fail_safe_days, event.user, event.query_id,
        json.dumps(dict(event.details), ensure_ascii=False),
    )  # fmt: skip


def _event(row: Any) -> ObjectEvent:
    micros = to_micros(row.event_time.astimezone(timezone.utc))
    name = tuple(part for part in (row.catalog_name, row.schema_name, row.object_name) if part is not None)
    return ObjectEvent(
        micros, row.event, row.event_id, row.object_domain, name, row.of_event, row.container_event,
        row.object_id, row.location, row.retention_days, row.fail_safe_days, row.user_name, row.query_id,
        json.loads(row.details or "{}"),
    )  # fmt: skip
