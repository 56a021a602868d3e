"""What Spark is doing for the front door without a job tag, which costs two calls of Py4J.

In: a claim before and after a call. Out: whether an execution is the front door's own. Two calls have at
most one execution, which can be told by itself: a query that Spark cannot resolve is reported as a failed
execution of its text, and a `collect` runs the plan of its own DataFrame.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit import jvm

if TYPE_CHECKING:
    from audit.analysis.executions import Execution


class Claim(ABC):
    """A statement's claim to the one execution that it may have."""

    @abstractmethod
    def fits(self, execution: Execution) -> bool:
        """Whether an execution is the one, as far as it can be told; many claims may fit one."""


class FailureOf(Claim):
    """The execution as which Spark reports that it cannot resolve a text.

    Args:
        text: what failed.
        session_id: where: another session, audited or not, may have asked the same.
    """

    def __init__(self, text: str, session_id: str) -> None:
        self._text = text
        self._session_id = session_id

    def fits(self, execution: Execution) -> bool:
        """A failure of that text, under the name that `QueryExecution.assertAnalyzed` gives it (4.2)."""
        of = execution.query_execution
        return (
            execution.name == "analyze"
            and jvm.sql_text(of) == self._text
            and jvm.session_of(of) == self._session_id
        )


class RunOf(Claim):
    """The execution of a DataFrame's own plan.

    Args:
        query_execution: gives Spark's QueryExecution of the DataFrame; called by the worker.
    """

    def __init__(self, query_execution: Callable[[], Any]) -> None:
        self._query_execution = query_execution

    @cached_property
    def _plan_id(self) -> int:
        return jvm.plan_id(self._query_execution())

    def fits(self, execution: Execution) -> bool:
        """A run of that plan."""
        return execution.plan_id == self._plan_id


class Untagged:
    """The claims that are open, from any thread."""

    def __init__(self) -> None:
        self._open: set[Claim] = set()
        self._lock = threading.Lock()

    def begin(self, claim: Claim) -> None:
        """Spark is called now."""
        with self._lock:
            self._open.add(claim)

    def end(self, claim: Claim) -> None:
        """Nothing is left to claim."""
        with self._lock:
            self._open.discard(claim)

    def may_claim(self, execution: Execution) -> bool:
        """Whether an open claim fits an execution."""
        with self._lock:
            claims = tuple(self._open)
        return any(claim.fits(execution) for claim in claims)
