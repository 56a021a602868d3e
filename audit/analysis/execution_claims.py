"""Matches executions without a job tag to statements; setting a tag would cost two Py4J calls.

In: a claim before and after a call. Out: whether an execution belongs to an open claim. Two kinds of call
have at most one execution, which can be recognised: a query that Spark cannot resolve is reported as a failed
execution of its text, and a `collect` runs the plan of its own DataFrame. A stream inherits the tags of its
start, so its start has none.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.spark.plans import query_executions

if TYPE_CHECKING:
    from audit.spark.plans.executions import Execution


class ExecutionClaim(ABC):
    """A statement's claim to the one execution that it may have."""

    @abstractmethod
    def fits(self, execution: Execution) -> bool:
        """Whether an execution may be the claimed one; several claims may fit one execution."""


class AnalysisFailureClaim(ExecutionClaim):
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
            and query_executions.sql_text(of) == self._text
            and query_executions.session_of(of) == self._session_id
        )


class PlanRunClaim(ExecutionClaim):
    """The execution of a DataFrame's own plan.

    Args:
        query_execution: gives Spark's QueryExecution of the DataFrame; called by the worker.
    """

    def __init__(self, query_execution: Callable[[], Any]) -> None:
        self._query_execution = query_execution

    @cached_property
    def _plan_id(self) -> int:
        return query_executions.plan_id(self._query_execution())

    def fits(self, execution: Execution) -> bool:
        """A run of that plan."""
        return execution.plan_id == self._plan_id


class StreamStartClaim(ExecutionClaim):
    """The command that makes the target of a stream.

    Args:
        session_id: where the stream is started.
    """

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id

    def fits(self, execution: Execution) -> bool:
        """A CREATE TABLE, as `DataStreamWriter.toTable` runs it (Spark 4.2)."""
        return (
            execution.name == "command"
            and query_executions.makes_table(execution.query_execution)
            and query_executions.session_of(execution.query_execution) == self._session_id
        )


class ExecutionClaims:
    """The claims that are open, from any thread."""

    def __init__(self) -> None:
        self._open: set[ExecutionClaim] = set()
        self._lock = threading.Lock()

    def begin(self, claim: ExecutionClaim) -> None:
        """Adds a claim, before Spark is called."""
        with self._lock:
            self._open.add(claim)

    def end(self, claim: ExecutionClaim) -> None:
        """Withdraws the claim."""
        with self._lock:
            self._open.discard(claim)

    def is_stream_starting(self) -> bool:
        """Whether a stream may run whose start the worker does not know yet."""
        with self._lock:
            return any(isinstance(claim, StreamStartClaim) for claim in self._open)

    def may_claim(self, execution: Execution) -> bool:
        """Whether an open claim fits an execution."""
        with self._lock:
            # `fits` may call the JVM, so it runs without the lock.
            claims = tuple(self._open)
        return any(claim.fits(execution) for claim in claims)
