"""`governance_history`: the Delta table of all governance events, beside the audit tables.

In: events. Out: the `GovernanceState` that they lead to. Appends of several drivers are serialised: each is
decided on all events before it. So two drivers never create the same policy, and the table tells which
policies were in force on a given day.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from audit.core.file_paths import local_path
from audit.core.gc_pause import collector_paused
from audit.policies.errors import GovernanceConflictError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import COLUMNS, NAME, GovernanceEvent, event_of, row_of
from audit.policies.model.state import GovernanceState
from audit.spark.delta.event_table import HistoryTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRIES = 20
Decide = Callable[[GovernanceState], Sequence[GovernanceEvent]]
"""The events of a statement in a given state; raises if the statement is refused."""


class EventLog:
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
        learned: called with each new state and its events.
    """

    def __init__(
        self,
        session: SparkSession,
        root: str,
        learned: Callable[[GovernanceState, Sequence[GovernanceEvent]], None] = lambda _state, _events: None,
    ) -> None:
        self._update_enforcement = learned
        self.location = f"{root.rstrip('/')}/{NAME}"
        self._table = HistoryTable(session, self.location, COLUMNS, ordered_by="sequence")
        local = local_path(self.location)
        self._log = None if local is None else local / "_delta_log"
        # Reentrant: `change` reads the state under the lock.
        self._lock = threading.RLock()
        self._be_at(-1)
        self._events = 0
        # Of all events, in order of time: clocks of drivers differ, so it need not be the order of events.
        self._times: list[int] = []
        # A version of the table, how many of its events come first in time, and their state.
        self._past: tuple[int, int, GovernanceState] | None = None
        self._state = GovernanceState()

    def state(self) -> GovernanceState:
        """The newest state; one look at the log's folder tells whether another driver has written."""
        with self._lock:
            if not self._is_newest():
                self._read()
            return self._state

    def state_at(self, moment: int) -> GovernanceState:
        """The state in which a plan was run that has started at a moment.

        A record is written after its plan has ended. Policies may have changed since: the events up to the
        moment are then read from the table.

        Args:
            moment: UTC microseconds.
        """
        with self._lock:
            state = self.state()
            count = bisect_right(self._times, moment)
            if count == self._events:
                return state
            # The statements of a script ask one after the other, mostly between the same two changes.
            if self._past is None or self._past[:2] != (self._version, count):
                rows = self._table.rows(self._version, f"event_time <= timestamp_micros({moment})")
                past = state_after([event_of(row) for row in rows])
                self._past = self._version, count, past
            return self._past[2]

    def version(self) -> int:
        """The newest version; -1 where nothing has happened yet."""
        with self._lock:
            self.state()
            return self._version

    def events(self, version: int) -> list[GovernanceEvent]:
        """All events up to a version, oldest first, read from the table."""
        return [] if version < 0 else [event_of(row) for row in self._table.rows(version)]

    @property
    def known(self) -> GovernanceState:
        """The cached state; nothing is read."""
        return self._state

    def _is_newest(self) -> bool:
        """Whether no newer version exists. Every statement asks, so a local file is checked without Java."""
        if self._next is not None:
            # A Delta table has a newer version exactly if the log has the next file.
            return not os.access(self._next, os.F_OK)  # half the time of `exists`
        return self._table.is_newest(self._version)

    def change(self, decide: Decide) -> GovernanceState:
        """Decide on the newest state and append the events; again if another driver was faster.

        Raises:
            GovernanceConflictError: other drivers were faster at every attempt.
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
        raise GovernanceConflictError(
            f"{self.location} is changed by others faster than by this statement", "run the statement again"
        )

    def _append(self, events: Sequence[GovernanceEvent]) -> bool:
        if self._version < 0:
            self._table.create()
            # Delta's CREATE TABLE is a commit of its own, version 0.
            self._be_at(0)
        numbered = [row_of(number, event) for number, event in enumerate(events, self._events)]
        # Two blind appends do not conflict in Delta (4.4); the version that was read makes the later one
        # fail.
        version = self._table.append(numbered, seen=self._version)
        if version is None:
            return False
        self._take(version, events)
        return True

    def _take(self, version: int, events: Sequence[GovernanceEvent]) -> None:
        state = state_after(events, self._state)
        self._update_enforcement(
            state, events
        )  # where this fails, it is learned again before the next statement
        self._state = state
        self._be_at(version)
        self._events += len(events)
        self._times.extend(event.time for event in events)
        self._times.sort()

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
            self._take(version, [event_of(row) for row in new])
