"""A Delta table of events on which each writer decides in turn, and the state that its events lead to.

In: a function from the newest state to events. Out: the state after them. The events are appended only where
nobody else has written since the state was read; else the function is asked again. So two drivers never
decide on the same state, and the events stand in one order, whatever the clocks of the drivers say.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from audit.core.file_paths import local_path
from audit.core.gc_pause import collector_paused
from audit.spark.delta.event_table import Columns, HistoryTable

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from audit.core.errors import AuditError

_TRIES = 20
State = TypeVar("State")
Event = TypeVar("Event")


class SerialLog(Generic[State, Event]):
    """The table under a root; a class for each table says what its events are.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
        name: of the table.
        columns: of the table; `sequence` numbers the events.
        empty: the state before all events.
    """

    conflict: type[AuditError]
    """Raised where other drivers were faster at every attempt."""

    def __init__(self, session: SparkSession, root: str, name: str, columns: Columns, empty: State) -> None:
        self.location = f"{root.rstrip('/')}/{name}"
        self._table = HistoryTable(session, self.location, columns, ordered_by="sequence")
        local = local_path(self.location)
        self._log = None if local is None else local / "_delta_log"
        # Reentrant: `change` reads the state under the lock.
        self._lock = threading.RLock()
        self._be_at(-1)
        self._events = 0
        self._state = empty

    # -- what a class says ---------------------------------------------------------------------

    def _after(self, events: Sequence[Event], state: State) -> State:
        """The state that events lead to from the one before."""
        raise NotImplementedError

    def _row_of(self, number: int, event: Event) -> tuple[Any, ...]:
        """An event as a row of the table."""
        raise NotImplementedError

    def _event_of(self, row: Row) -> Event:
        """The event of a row."""
        raise NotImplementedError

    def _learned(self, state: State, events: Sequence[Event]) -> None:
        """Told of each new state; where this fails, the events are read again before the next statement."""

    # -- questions and changes -----------------------------------------------------------------

    def state(self) -> State:
        """The newest state; one look at the log's folder tells whether another driver has written."""
        with self._lock:
            if not self._is_newest():
                self._read()
            return self._state

    def version(self) -> int:
        """The newest version; -1 where nothing has happened yet."""
        with self._lock:
            self.state()
            return self._version

    def events(self, version: int) -> list[Event]:
        """All events up to a version, oldest first, read from the table."""
        return [] if version < 0 else [self._event_of(row) for row in self._table.rows(version)]

    @property
    def known(self) -> State:
        """The cached state; nothing is read."""
        return self._state

    def change(self, decide: Callable[[State], Sequence[Event]]) -> State:
        """Decide on the newest state and append the events; again if another driver was faster.

        Args:
            decide: the events in a given state, () for none; raises where the change is refused.

        Raises:
            AuditError: `conflict`: other drivers were faster at every attempt.
        """
        with self._lock:
            for _ in range(_TRIES):
                state = self.state()
                events = decide(state)
                if not events:
                    return state
                if self._append(events):
                    return self._state
                self._read()
        raise self.conflict(
            f"{self.location} is changed by others faster than by this statement", "run the statement again"
        )

    def _is_newest(self) -> bool:
        """Whether no newer version exists. Every statement asks, so a local file is checked without Java."""
        if self._next is not None:
            # A Delta table has a newer version exactly if the log has the next file.
            return not os.access(self._next, os.F_OK)  # half the time of `exists`
        return self._table.is_newest(self._version)

    def _append(self, events: Sequence[Event]) -> bool:
        if self._version < 0:
            self._table.create()
            # Delta's CREATE TABLE is a commit of its own, version 0.
            self._be_at(0)
        numbered = [self._row_of(number, event) for number, event in enumerate(events, self._events)]
        # Two blind appends do not conflict in Delta (4.4); the version that was read makes the later one
        # fail.
        version = self._table.append(numbered, seen=self._version)
        if version is None:
            return False
        self._take(version, events)
        return True

    def _take(self, version: int, events: Sequence[Event]) -> None:
        state = self._after(events, self._state)
        self._learned(state, events)
        self._state = state
        self._be_at(version)
        self._events += len(events)

    def _be_at(self, version: int) -> None:
        self._version = version
        self._next = None if self._log is None else str(self._log / f"{version + 1:020}.json")

    def _read(self) -> None:
        """Read the events that other drivers have appended."""
        version = self._table.version()
        if version < 0:
            return
        # Files carry the minimum and maximum of `sequence`, so Delta reads the new ones alone.
        new = self._table.rows(version, f"sequence >= {self._events}")
        # Building a large state makes many objects and no garbage.
        with collector_paused():
            self._take(version, [self._event_of(row) for row in new])
