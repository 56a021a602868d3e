"""The worker: from facts that are on record to the record itself, off the caller's thread.

In: a `Job` for each statement that ended, and Spark's executions. Out: one RECORD entry a statement in
the spool. An analysis that fails never reaches the user's query: the record says so.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.analysis.analyst import Analyst, opaque
from audit.analysis.children import child_rows, unseen_row
from audit.analysis.job import Job
from audit.analysis.propagating import propagated
from audit.errors import SpoolUnavailableError
from audit.record import build_row

if TYPE_CHECKING:
    from audit.analysis.executions import Execution, Executions
    from audit.analysis.job import Waited
    from audit.analysis.untagged import Claim
    from audit.driver import Driver

_IDLE_SECONDS = 0.2
_REMEMBERED = 10_000
_TOO_MANY = ("too many records wait for a spool that cannot be written", "see the spool's own error")


class Worker:
    """One thread for all sessions of a driver."""

    def __init__(self, driver: Driver, analyst: Analyst) -> None:
        self._driver = driver
        self._analyst = analyst
        # Statements that have their records: what still runs under their tag is on record by itself.
        self._done: OrderedDict[str, None] = OrderedDict()
        self._unseen: list[Execution] = []
        self._refused: deque[tuple[str, dict[str, Any]]] = deque()
        self._jobs: queue.SimpleQueue[Job | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="audit-worker", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Take a statement that has ended; returns at once."""
        self._jobs.put(job)

    def wait(self, waited: Waited) -> None:
        """Return when a statement that was submitted has its record, or nobody will make it any more."""
        while not waited.done.wait(_IDLE_SECONDS) and self._thread.is_alive():
            pass

    @property
    def refused(self) -> int:
        """Records that the spool has refused so far; they are tried again."""
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
        # What this thread asks of Spark (a view's definition, say) is no statement of a user.
        self._driver.spark.sparkContext.addJobTag(self._driver.quiet_tag)
        while True:
            items = self._next()
            if items:
                # Spark posts the end of an execution before the call returns and delivers it later: once
                # waited for, all that ran inside these statements is here, however much each of them ran.
                self._guarded(self._settle)
            else:
                self._guarded(self._pump)
            for item in items:
                if isinstance(item, Job):
                    self._guarded(partial(self._finish, item), item.started.query_id)
                    if item.waited is not None:
                        item.waited.done.set()
                    continue
                self._guarded(self._pump)
                if item is None:
                    return
                item.set()

    def _next(self) -> list[Job | threading.Event | None]:
        """What waits, in order; nothing when nothing came for a while."""
        items: list[Job | threading.Event | None] = []
        with suppress(queue.Empty):
            items.append(self._jobs.get(timeout=_IDLE_SECONDS))
            while True:
                items.append(self._jobs.get_nowait())
        return items

    def _guarded(self, work: Callable[[], None], query_id: str = "") -> None:
        """Do one piece of work; a failure is noted, and its statement stays in the spool for recovery."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the thread of all records must not end with one of them
            self._driver.note_failure(query_id, error)

    def _finish(self, job: Job) -> None:
        """Write the record of one statement, and of what it ran inside."""
        executions: list[Execution] = []
        finding = None
        try:
            executions = self._executions(job)
            if job.ended.status == "SUCCESS":
                if job.intent.stream is not None:
                    self._driver.streams.begin(job)
                finding = self._analyst.analyse(job, executions)
            else:
                job = self._analyst.tried(job)
        except Exception as error:  # noqa: BLE001 - the one guard: an analysis never breaks a user's query
            if job.ended.status == "SUCCESS":
                finding = opaque(job, f"{type(error).__name__}: {error}")
            self._driver.note_failure(job.started.query_id, error)
        problems: list[str] = []
        if finding is not None:
            finding = propagated(self._driver, job.catalog, job.started, finding, problems)
        row = build_row(job.started, job.ended, finding, job.intent.statement)
        self._write(job.started.query_id, row)
        if job.intent.stream is None:
            self._done[job.started.query_id] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        for query_id, row in child_rows(self._driver, self._analyst, job, executions, problems):
            self._write(query_id, row)
        if job.waited is not None:
            job.waited.problem = "; ".join(problems) or None

    def _executions(self, job: Job) -> list[Execution]:
        if job.intent.claim is not None:
            return self._claimed(job.intent.claim, job.started.user_name)
        executions = self._driver.executions
        if executions is None or job.intent.stream is not None:
            return []  # what a stream's start has under its tag are its micro-batches
        return executions.of(job.started.query_id)

    def _claimed(self, claim: Claim, user: str) -> list[Execution]:
        """The one execution of a user's statement without a tag, which is no statement beside that one."""
        try:
            self._unseen += self._driver.executions.unseen() if self._driver.executions is not None else ()
            fitting = [execution for execution in self._unseen if claim.fits(execution)]
            # Of executions that differ in nothing else, nobody gets another's.
            claimed = [execution for execution in fitting if execution.user == user][:1] or fitting[:1]
            self._unseen = [execution for execution in self._unseen if execution not in claimed]
            return claimed
        finally:
            self._driver.untagged.end(claim)

    def _unclaimed(self, executions: Executions) -> list[Execution]:
        """What no statement caused; an execution waits as long as the front door may claim it."""
        self._unseen += executions.unseen()
        waiting = [execution for execution in self._unseen if self._driver.untagged.may_claim(execution)]
        unclaimed = [execution for execution in self._unseen if execution not in waiting]
        self._unseen = waiting
        return unclaimed

    def _settle(self) -> None:
        if self._driver.executions is not None:
            self._driver.executions.settle()

    def _pump(self) -> None:
        self._write_refused()
        executions = self._driver.executions
        if executions is None:
            return
        executions.pump()
        self._driver.streams.take_batches(executions, self._write)
        late = [
            e
            for query_id in executions.ended_ids()
            if query_id in self._done
            for e in executions.of(query_id)
        ]
        for execution in (*self._unclaimed(executions), *late):
            made = unseen_row(self._driver, self._analyst, execution)
            if made is not None:
                self._write(*made)

    def _write(self, query_id: str, row: dict[str, Any]) -> None:
        """Put a record into the spool; one that the disk refuses waits here, and goes before all others."""
        if len(self._refused) == _REMEMBERED:
            self._driver.note_failure(self._refused.popleft()[0], SpoolUnavailableError(*_TOO_MANY))
        self._refused.append((query_id, row))
        self._write_refused()

    def _write_refused(self) -> None:
        while self._refused:
            try:
                self._driver.spool.record(*self._refused[0])
            except SpoolUnavailableError:
                return
            except BaseException:
                self._refused.popleft()  # no later try would help, and the others wait behind it
                raise
            self._refused.popleft()
