"""The table of all changes of the governance, beside the audit tables.

In: events. Out: the `State` that they lead to. Drivers change it one after the other: what a change was
decided on is all that the table held when it was appended. So two drivers never both make a policy of one
name, and what was in force on a given day can be asked of the table.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from audit.config import local_path
from audit.history_table import HistoryTable
from lineage.collector import collector_held
from policies.errors import GovernanceConflictError
from policies.events import COLUMNS, Event, event_of, row_of
from policies.state import State, folded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "governance_history"
_TRIES = 20
Decide = Callable[[State], Sequence[Event]]
"""What a change comes to in a state; it raises where it cannot be."""


class Ledger:
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
        learned: is told each new state, with the events that led to it.
    """

    def __init__(
        self,
        session: SparkSession,
        root: str,
        learned: Callable[[State, Sequence[Event]], None] = lambda _state, _events: None,
    ) -> None:
        self._learned = learned
        self.location = f"{root.rstrip('/')}/{NAME}"
        self._table = HistoryTable(session, self.location, COLUMNS, ordered_by="sequence")
        local = local_path(self.location)
        self._log = None if local is None else local / "_delta_log"
        self._lock = threading.RLock()
        self._be_at(-1)
        self._events = 0
        self._state = State()

    def state(self) -> State:
        """The state as of now: one look at the store tells whether another driver has changed it."""
        with self._lock:
            if not self._is_newest():
                self._read()
            return self._state

    @property
    def known(self) -> State:
        """The state as of the last look."""
        return self._state

    def _is_newest(self) -> bool:
        """Whether nobody has written since: every statement asks, of a local file without Java."""
        if self._next is not None:
            return not os.access(self._next, os.F_OK)  # half the time of `exists`
        return self._table.is_newest(self._version)

    def change(self, decide: Decide) -> State:
        """Append what is decided on the newest state.

        Raises:
            GovernanceConflictError: other drivers were faster, again and again.
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

    def _append(self, events: Sequence[Event]) -> bool:
        if self._version < 0:
            self._table.create()
            self._be_at(0)
        numbered = [row_of(number, event) for number, event in enumerate(events, self._events)]
        version = self._table.append(numbered, seen=self._version)
        if version is None:
            return False
        self._take(version, events)
        return True

    def _take(self, version: int, events: Sequence[Event]) -> None:
        state = folded(events, self._state)
        self._learned(state, events)  # where this fails, it is learned again before the next statement
        self._state = state
        self._be_at(version)
        self._events += len(events)

    def _be_at(self, version: int) -> None:
        self._version = version
        self._next = None if self._log is None else str(self._log / f"{version + 1:020}.json")

    def _read(self) -> None:
        """Read what others have appended."""
        version = self._table.version()
        if version < 0:
            return
        later = self._table.read(version).where(f"sequence >= {self._events}")
        new = later.orderBy("sequence").collect()
        with collector_held():
            self._take(version, [event_of(row) for row in new])
