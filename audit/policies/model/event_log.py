"""`governance_history`: the Delta table of all governance events, beside the audit tables.

In: events. Out: the `GovernanceState` that they lead to. Appends of several drivers are serialised: each is
decided on all events before it. So two drivers never create the same policy, and the table tells which
policies were in force on a given day.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from audit.policies.errors import GovernanceConflictError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import COLUMNS, NAME, GovernanceEvent, event_of, row_of
from audit.policies.model.state import GovernanceState
from audit.spark.delta.serial_log import SerialLog

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

Decide = Callable[[GovernanceState], Sequence[GovernanceEvent]]
"""The events of a statement in a given state; raises if the statement is refused."""


class EventLog(SerialLog[GovernanceState, GovernanceEvent]):
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
        learned: called with each new state and its events.
    """

    conflict = GovernanceConflictError

    def __init__(
        self,
        session: SparkSession,
        root: str,
        learned: Callable[[GovernanceState, Sequence[GovernanceEvent]], None] = lambda _state, _events: None,
    ) -> None:
        super().__init__(session, root, NAME, COLUMNS, GovernanceState())
        self._update_enforcement = learned
        # Of all events, in order of time: clocks of drivers differ, so it need not be the order of events.
        self._times: list[int] = []
        # A version of the table, how many of its events come first in time, and their state.
        self._past: tuple[int, int, GovernanceState] | None = None

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

    def _after(self, events: Sequence[GovernanceEvent], state: GovernanceState) -> GovernanceState:
        return state_after(events, state)

    def _row_of(self, number: int, event: GovernanceEvent) -> tuple[Any, ...]:
        return row_of(number, event)

    def _event_of(self, row: Row) -> GovernanceEvent:
        return event_of(row)

    def _learned(self, state: GovernanceState, events: Sequence[GovernanceEvent]) -> None:
        self._update_enforcement(state, events)

    def _take(self, version: int, events: Sequence[GovernanceEvent]) -> None:
        super()._take(version, events)
        self._times.extend(event.time for event in events)
        self._times.sort()
