"""Spark's SQL executions, sorted by the statement that caused them.

In: events of `EventQueue`. Out: for each query id its outermost executions, for each run of a stream those of
its thread, and the executions that no statement of the front door caused. Inner ones (Delta's own jobs for a
MERGE, say) are dropped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from audit.core.identity import user_of_tag
from audit.spark.plans.events import EventQueue, ExecutionEnd, ExecutionEvent, ExecutionStart, Marker
from audit.spark.plans.metrics import NOT_COUNTED, Metrics

# StreamExecution.getBatchDescriptionString: all that a stream's thread runs is described so (Spark 4.2).
_RUN = re.compile(r"\nrunId = ([0-9a-f-]{36})\nbatch = ")


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """One finished outermost execution. Times are UTC microseconds, rounded to milliseconds by Spark.

    `metrics` are of the executions inside it, too: Delta reads and writes in inner ones.
    """

    execution_id: int
    tags: tuple[str, ...]
    description: str
    start_time: int
    end_time: int
    error: str
    query_execution: Any
    name: str
    plan_id: int
    error_code: str = ""
    metrics: Metrics = NOT_COUNTED

    @property
    def user(self) -> str | None:
        """Whom `as_user` names, None outside of it."""
        named = [user for user in map(user_of_tag, self.tags) if user is not None]
        return named[-1] if named else None

    @property
    def is_delta_bookkeeping(self) -> bool:
        """Whether Delta loads a table's state here: it names and describes such jobs so (4.4)."""
        return self.name.startswith("Cache Delta Table State") or self.description.startswith("Delta: ")


class Executions:
    """The state of the listener: what is open, what has ended and waits to be asked for.

    Args:
        queue: gives the events.
        statement_tag: the prefix of a query id, in a job tag.
        quiet_tags: of the audit's own executions.
        is_own: whether a query id is of a statement of this application's front door. An execution that
            names another root's statement is for nobody here to ask for: it is as one that names none.

    Attributes:
        seen: how many have begun.
        inside: how many of them are inside of another one, which alone is given.
        internal: how many are the audit's own, and given to nobody.
    """

    def __init__(
        self,
        queue: EventQueue,
        statement_tag: str,
        quiet_tags: frozenset[str],
        is_own: Callable[[str], bool],
    ) -> None:
        self._queue = queue
        self._prefix = statement_tag
        self._quiet = quiet_tags
        self._is_own = is_own
        self._open: dict[int, ExecutionStart] = {}
        self._owner: dict[int, str | None] = {}
        # By inner execution the outermost one; by this one what was counted in those inside.
        self._outer: dict[int, int] = {}
        self._inside: defaultdict[int, list[Metrics]] = defaultdict(list)
        self._open_of: defaultdict[str, set[int]] = defaultdict(set)
        self._ended: defaultdict[str, list[Execution]] = defaultdict(list)
        self._runs: set[str] = set()
        self._unseen: list[Execution] = []
        self._highest = self._first = -1
        self.seen = 0
        self.inside = 0
        self.internal = 0
        self._started = 0
        self._marked = 0

    @property
    def lost(self) -> int:
        """Executions whose start never reached the queue: their numbers are missing."""
        # Spark numbers executions without gaps (SQLExecution.nextExecutionId); a full queue of the listener
        # bus drops events (spark.scheduler.listenerbus.eventqueue.capacity, 10,000).
        return max(0, self._highest + 1 - self._started) if self._highest >= 0 else 0

    def close(self) -> None:
        """Stop listening."""
        self._queue.close()

    def take_delivered(self) -> None:
        """Take in whatever has been delivered."""
        for event in self._queue.drain():
            self._take(event)

    def await_delivery(self, timeout: float = 10.0) -> bool:
        """Take in everything that Spark has posted so far; False when its bus is that far behind."""
        # The bus delivers in order, so the marker comes after all events posted before it.
        for event in self._queue.delivered(timeout):
            self._take(event)
        return self._marked >= self._queue.newest_marker

    def of(self, owner: str) -> list[Execution]:
        """The ended outermost executions of a query id or a run id, oldest first; they are forgotten."""
        self._runs.discard(owner)
        return self._ended.pop(owner, [])

    def ended_ids(self) -> list[str]:
        """The statements and runs that have executions waiting."""
        return list(self._ended)

    def ended_runs(self) -> list[str]:
        """The runs of streams that have executions waiting."""
        return list(self._runs)

    def unseen(self) -> list[Execution]:
        """Executions that no statement of the front door caused; they are forgotten."""
        found, self._unseen = self._unseen, []
        return found

    def _take(self, event: ExecutionEvent) -> None:
        if isinstance(event, ExecutionStart):
            self._start(event)
        elif isinstance(event, ExecutionEnd):
            self._end(event)
        elif isinstance(event, Marker):
            self._marked = max(self._marked, event.number)

    def _start(self, event: ExecutionStart) -> None:
        if self._highest < 0:
            self._first = self._started = event.execution_id  # what ran before the attach is not lost
        self._started += 1
        self._highest = max(self._highest, event.execution_id)
        owner = self._owner_of(event)
        # With an owner an execution is inner while another one of its owner is open; without one Spark's
        # rootExecutionId tells (4.2).
        is_inner = bool(self._open_of[owner]) if owner else event.root_id != event.execution_id
        is_quiet = not self._quiet.isdisjoint(event.tags)
        if is_inner and not is_quiet:
            around = (one for one in self._open_of[owner] if one in self._open) if owner else (event.root_id,)
            self._outer[event.execution_id] = next(iter(around), event.root_id)
        if owner:
            self._open_of[owner].add(event.execution_id)
        self._owner[event.execution_id] = owner
        self.seen += 1
        self.internal += is_quiet
        self.inside += is_inner and not is_quiet
        if not is_inner and not is_quiet:
            self._open[event.execution_id] = event

    def _owner_of(self, event: ExecutionStart) -> str | None:
        # Ids are UUIDv7: of nested statements the innermost is the greatest.
        ids = [t.removeprefix(self._prefix) for t in event.tags if t.startswith(self._prefix)]
        return max(filter(self._is_own, ids), default=None) or run_of(event.description)

    def _end(self, event: ExecutionEnd) -> None:
        if event.error and event.execution_id not in self._owner:
            self._never_began(event.execution_id)
        owner = self._owner.pop(event.execution_id, None)
        if owner:
            self._open_of[owner].discard(event.execution_id)
            if not self._open_of[owner]:
                del self._open_of[owner]
        outer = self._outer.pop(event.execution_id, None)
        if outer in self._open:
            self._inside[outer].append(event.metrics)
        start = self._open.pop(event.execution_id, None)
        if start is None:
            self._queue.forget(event.execution_id)
            return
        inside = self._inside.pop(event.execution_id, [])
        ended = Execution(
            event.execution_id,
            start.tags,
            start.description,
            start.time_us,
            event.time_us,
            event.error,
            self._queue.query_execution(event.execution_id),
            event.name,
            event.plan_id,
            event.error_code,
            event.metrics.with_inner(inside),
        )
        if owner:
            self._ended[owner].append(ended)
            if owner == run_of(start.description):
                self._runs.add(owner)
        else:
            self._unseen.append(ended)

    def _never_began(self, number: int) -> None:
        """An end alone: Spark (4.2) tells of no start where it could make no physical plan.

        Nothing has run, so nothing is lost; that the statement failed is on its record.
        """
        if self._highest >= 0 and number > self._first:
            self._started += 1
            self._highest = max(self._highest, number)


def run_of(description: str) -> str | None:
    r"""The run id of the stream whose thread has started an execution, by its description.

    >>> run_of("name\nid = 1\nrunId = 0e4b8e5c-4c43-4c43-8a52-1d3e5f7a9b0c\nbatch = 3")
    '0e4b8e5c-4c43-4c43-8a52-1d3e5f7a9b0c'
    >>> run_of("collect at <stdin>:1")
    """
    found = _RUN.search(description)
    return found.group(1) if found else None
