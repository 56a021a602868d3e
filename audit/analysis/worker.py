"""The worker thread: analyses finished statements and writes their records.

In: a `Job` for each finished statement, and Spark's executions. Out: one RECORD entry a statement in the
spool. A failed analysis does not reach the user's query: its record is opaque, with the reason.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.analysis.analyst import PARENTS, opaque
from audit.analysis.work_items import Job
from audit.core.errors import SpoolUnavailableError
from audit.core.guard import attempt
from audit.core.job_tags import SUPPRESS_TAG

if TYPE_CHECKING:
    from pyspark import SparkContext

    from audit.analysis.analyst import Analyst
    from audit.analysis.child_statements import ExecutionRows
    from audit.analysis.execution_claims import ExecutionClaim, ExecutionClaims
    from audit.analysis.streams import Streams
    from audit.analysis.tag_propagation import TagPropagation
    from audit.analysis.work_items import RecordCompletion
    from audit.core.guard import Failures
    from audit.record.access_record import Finding, Started
    from audit.record.aggregation import Aggregation
    from audit.record.redaction import Redaction
    from audit.spark.plans.executions import Execution, Executions
    from audit.spool import Spool

_IDLE_SECONDS = 0.2
_REMEMBERED = 10_000
# Each statement that waits holds a plan of Spark's, of some 50 KB to a megabyte.
_ROOM = 500
_PATIENCE_SECONDS = 1.0
_TOO_MANY = ("too many records wait for a spool that cannot be written", "see the spool's own error")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A statement that waits; one for which there was no room is taken all the same."""

    job: Job
    has_room: bool


class Worker:
    """One thread for all sessions of an application.

    Args:
        context: of Spark.
        spool: takes the records.
        executions: seen by the listener; None if it is switched off.
        claims: of statements without a job tag.
        analyst: makes findings.
        tags: propagates tags before a record is written.
        rows: makes rows of executions without a work item.
        streams: makes rows of micro-batches.
        redaction: takes secrets out of records.
        aggregation: marks records that may become one row.
        failures: notes errors.
    """

    def __init__(
        self,
        context: SparkContext,
        spool: Spool,
        executions: Executions | None,
        claims: ExecutionClaims,
        analyst: Analyst,
        tags: TagPropagation,
        rows: ExecutionRows,
        streams: Streams,
        redaction: Redaction,
        aggregation: Aggregation,
        failures: Failures,
    ) -> None:
        self._context = context
        self._spool = spool
        self._executions = executions
        self._claims = claims
        self._analyst = analyst
        self._tags = tags
        self._rows = rows
        self._streams = streams
        self._redaction = redaction
        self._aggregation = aggregation
        self._failures = failures
        # Recorded statements: an execution that still runs under their tag gets a record of its own.
        self._done: OrderedDict[str, None] = OrderedDict()
        self._unseen: list[Execution] = []
        self._refused: deque[tuple[str, dict[str, Any]]] = deque()
        self._jobs: queue.SimpleQueue[_Waiting | threading.Event | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_ROOM)
        # A daemon thread does not keep the process alive; `close` waits for it.
        self._thread = threading.Thread(target=self._loop, name="audit-worker", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Take a statement that has ended. It returns at once, but where the worker is far behind.

        A loop of short statements may run faster than they are recorded, and what waits would fill the
        driver's memory. So where hundreds wait the caller does, too, for a second at most.
        """
        has_room = self._room.acquire(timeout=_PATIENCE_SECONDS if self._thread.is_alive() else 0)
        self._jobs.put(_Waiting(job, has_room))

    def wait(self, completion: RecordCompletion) -> None:
        """Return when a submitted statement has its record, or the worker has stopped."""
        while not completion.done.wait(_IDLE_SECONDS) and self._thread.is_alive():
            pass

    @property
    def refused(self) -> int:
        """Records that the spool refused; they are tried again."""
        return len(self._refused)

    def drain(self, timeout: float = 60.0) -> bool:
        """Wait until everything submitted so far has its record; False when time ran out."""
        done = threading.Event()
        self._jobs.put(done)
        return done.wait(timeout)

    def stop(self) -> None:
        """Let the thread end when it has done what is queued."""
        self._jobs.put(None)

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self.stop()
        self._thread.join(timeout=60.0)

    def _loop(self) -> None:
        # Executions of this thread, such as reading a view's definition, are no user's statements.
        self._context.addJobTag(SUPPRESS_TAG)
        while True:
            items = self._next()
            if items:
                # Spark (4.2) posts the end of an execution before the call returns and delivers it later:
                # once waited for, all that ran inside these statements is here, however much each of them
                # ran.
                self._guarded(self._await_events)
            else:
                self._guarded(self._record_stray_executions)
            for item in items:
                if isinstance(item, _Waiting):
                    self._guarded(partial(self._finish, item.job), item.job.started.query_id)
                    if item.job.completion is not None:
                        item.job.completion.done.set()
                    if item.has_room:
                        self._room.release()
                    continue
                self._guarded(self._record_stray_executions)
                if item is None:
                    return
                item.set()

    def _next(self) -> list[_Waiting | threading.Event | None]:
        """Waiting work items in order; () after a timeout."""
        items: list[_Waiting | threading.Event | None] = []
        with suppress(queue.Empty):
            items.append(self._jobs.get(timeout=_IDLE_SECONDS))
            while True:
                items.append(self._jobs.get_nowait())
        return items

    def _guarded(self, work: Callable[[], None], query_id: str = "") -> None:
        """Do one piece of work; a failure is noted, and its statement stays in the spool for recovery."""
        self._failures.guard(work, None, query_id)

    def _finish(self, job: Job) -> None:
        """Write the records of one statement and of the statements inside it."""
        query_id = job.started.query_id
        executions: list[Execution] = []
        job, finding = attempt(partial(self._examine, job, executions), partial(self._not_examined, job))
        problems: list[str] = []
        if finding is not None:
            finding = self._tags.propagated(job.catalog, job.started, finding, problems)
        if job.started.query_type not in PARENTS:  # those of a parent are told below, one by one
            self._analyst.counts.of_statements += len(executions)
        request = job.request
        row = self._redaction.row(job.started, job.ended, finding, request.statement, request.text)
        self._write(query_id, self._aggregation.marked(row))
        if job.request.stream is None:
            self._done[query_id] = None
            # Late executions come within seconds; the oldest ids can be forgotten.
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        for child_id, child in self._rows.children(job, executions, problems):
            self._write(child_id, child)
        if job.completion is not None:
            job.completion.problem = "; ".join(problems) or None

    def _examine(self, job: Job, executions: list[Execution]) -> tuple[Job, Finding | None]:
        """The access of a statement; `executions` takes its executions."""
        executions += self._executions_of(job)
        if job.ended.status != "SUCCESS":
            return self._analyst.tried(job), None
        if job.request.stream is None:
            return job, self._analyst.analyse(job, executions)
        self._streams.begin(job)
        # A stream's access is that of its micro-batches, not of the command that makes its target.
        return job, self._analyst.analyse(job, ())

    def _not_examined(self, job: Job, error: Exception) -> tuple[Job, Finding | None]:
        """The opaque finding of a failed analysis, with the reason."""
        self._failures.note(error, job.started.query_id)
        reason = f"{type(error).__name__}: {error}"
        return job, opaque(job, reason) if job.ended.status == "SUCCESS" else None

    def _executions_of(self, job: Job) -> list[Execution]:
        if job.request.claim is not None:
            return self._claimed(job.request.claim, job.started.user_name)
        executions = self._executions
        return [] if executions is None else executions.of(job.started.query_id)

    def _claimed(self, claim: ExecutionClaim, user: str) -> list[Execution]:
        """The execution of an untagged statement, so that it is not recorded as another statement."""
        try:
            self._unseen += self._executions.unseen() if self._executions is not None else ()
            fitting = [execution for execution in self._unseen if claim.fits(execution)]
            # Two users may run the same plan: the execution of the statement's own user comes first.
            claimed = [execution for execution in fitting if execution.user == user][:1] or fitting[:1]
            self._unseen = [execution for execution in self._unseen if execution not in claimed]
            return claimed
        finally:
            self._claims.end(claim)

    def _unclaimed(self, executions: Executions) -> list[Execution]:
        """Executions of no statement; one that an open claim fits waits."""
        self._unseen += executions.unseen()
        if not self._claims.is_stream_starting():
            # Of streams that no audited call has started.
            self._unseen += [e for run_id in executions.ended_runs() for e in executions.of(run_id)]
        waiting = [execution for execution in self._unseen if self._claims.may_claim(execution)]
        unclaimed = [execution for execution in self._unseen if execution not in waiting]
        self._unseen = waiting
        return unclaimed

    def _await_events(self) -> None:
        if self._executions is not None:
            self._executions.await_delivery()

    def _record_stray_executions(self) -> None:
        self._write_refused()
        executions = self._executions
        if executions is None:
            return
        executions.take_delivered()
        self._streams.take_batches(executions, self._write)
        for inside in self._streams.take_statements(executions):
            self._record_alone(*inside)
        late = [
            e
            for query_id in executions.ended_ids()
            if query_id in self._done
            for e in executions.of(query_id)
        ]
        for execution in (*self._unclaimed(executions), *late):
            self._record_alone(execution)

    def _record_alone(
        self, execution: Execution, parent: Started | None = None, token: str | None = None
    ) -> None:
        """Write the record of an execution that no audited call caused; a failure loses no other one."""
        made = self._failures.guard(lambda: self._rows.unseen(execution, parent, token), None)
        if made is not None:
            self._write(*made)

    def _write(self, query_id: str, row: dict[str, Any]) -> None:
        """Write a record to the spool; a refused one waits here and is written before all others."""
        # Bounded, as the disk may stay full: the oldest record is lost and counted.
        if len(self._refused) == _REMEMBERED:
            self._failures.note(SpoolUnavailableError(*_TOO_MANY), self._refused.popleft()[0])
        self._refused.append((query_id, row))
        self._write_refused()

    def _write_refused(self) -> None:
        while self._refused:
            try:
                written = self._spool.record(*self._refused[0])
            except SpoolUnavailableError:
                return
            except BaseException:
                self._refused.popleft()  # it would be refused again, and all others wait behind it
                raise
            _, row = self._refused.popleft()
            if written:
                self._analyst.counts.add(row)
