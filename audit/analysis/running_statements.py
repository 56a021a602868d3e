"""The statements of one application that are running now, by query id, and those that ran lately.

In: a statement as it starts and ends. Out: who runs it, and what a statement inside of it has raised. Spark
calls the driver back for a statement inside EXECUTE IMMEDIATE or a script, on a thread of Py4J's choice: only
the job tags of the JVM's thread tell what it belongs to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.core.job_tags import STATEMENT_TAG

if TYPE_CHECKING:
    from audit.analysis.sessions import Session
    from audit.core.identity import Ancestry, Identity

_REMEMBERED = 10_000


@dataclass(slots=True)
class RunningStatement:
    """A statement between its start and its end.

    Attributes:
        audited: its session.
        identity: who runs it.
        ancestry: what statements inside of it point at.
        handled: a stage of the pipeline runs it, so what it sends to Spark is Spark's alone.
        errors: what statements inside of it have raised, by their messages.
    """

    audited: Session
    identity: Identity
    ancestry: Ancestry
    handled: bool
    errors: dict[str, BaseException] = field(default_factory=dict)

    def error_in(self, message: str) -> BaseException | None:
        """The error of a statement inside whose message stands in another one."""
        return next((error for text, error in self.errors.items() if text in message), None)


class RunningStatements:
    """All of them."""

    def __init__(self) -> None:
        self._running: dict[str, RunningStatement] = {}
        self._lately: OrderedDict[str, None] = OrderedDict()

    @contextmanager
    def entered(self, query_id: str, statement: RunningStatement) -> Iterator[None]:
        """A block in which a statement runs."""
        self._running[query_id] = statement
        try:
            yield
        finally:
            # Spark tells of executions later than it runs them: within seconds, so the oldest can go.
            self._lately[query_id] = None
            del self._running[query_id]
            while len(self._lately) > _REMEMBERED:
                self._lately.popitem(last=False)

    def knows(self, query_id: str) -> bool:
        """Whether a statement runs here, or did lately; not one of another root, nor one made up."""
        return query_id in self._running or query_id in self._lately

    def of_tags(self, tags: Iterable[str]) -> RunningStatement | None:
        """The innermost statement that a thread of the JVM is inside of, by its job tags."""
        ids = [tag.removeprefix(STATEMENT_TAG) for tag in tags if tag.startswith(STATEMENT_TAG)]
        # Query ids are UUIDv7 and sort by time, so the newest one is the innermost.
        running = (self._running.get(query_id) for query_id in sorted(ids, reverse=True))
        return next((statement for statement in running if statement is not None), None)
