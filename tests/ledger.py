"""The ledger: what Spark ran, what is on record, and what `audit.coverage` says of both are the same.

In: an audited session, and what runs meanwhile. Out: the records made, and the open items: () where all
is well. Spark is asked by a listener of the ledger's own.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

import audit
from audit import attached_sessions
from audit.core.job_tags import QUIET_TAGS, STATEMENT_TAG
from audit.spark.plans.events import EventQueue, ExecutionStart, Marker
from audit.spool import read_segment
from audit.spool.layout import Layout
from audit.testing import Record, records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HOW = ("text", "plan", "listener", "partial", "opaque", "unsuccessful")
"""The counts of `audit.Coverage` by which each record is counted once."""


class Ledger:
    """Of all that runs from now on.

    Args:
        session: audited, with `ingest="external"`: else a record may be taken in meanwhile.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._known = {record.query.query_id for record in records(session)}
        self._queue = EventQueue(session.sparkContext, "ledger")
        self._before = audit.coverage(session)

    def close(self) -> None:
        """Stop listening."""
        self._queue.close()

    def new_records(self) -> list[Record]:
        """The records made meanwhile."""
        return [record for record in records(self._session) if record.query.query_id not in self._known]

    def open_items(self) -> tuple[str, ...]:
        """What does not balance; () when all does. Asked for once."""
        found, now = self.new_records(), audit.coverage(self._session)
        executed = _started(self._queue)
        counts = {
            one.name: getattr(now, one.name) - getattr(self._before, one.name)
            for one in fields(now)
            if one.name != "failures"
        }
        counted = Counter(map(_how, found))
        ids = {record.query.query_id for record in found}
        checks = {
            "executions by Spark": (len(executed), counts["executions"]),
            "executions of the audit": (sum(map(_is_quiet, executed)), counts["internal"]),
            "executions that are open": (0, now.open - self._before.open),
            "entries lost": (0, counts["lost"]),
            "guarded errors": (0, counts["failed"]),
            # A call has its START before anything runs.
            "records of no call": (len(ids - _calls(self._session)), counts["of_their_own"]),
            **{f"records by {how}": (counted[how], counts[how]) for how in HOW},
        }
        differ = [f"{what}: {one}, by coverage {two}" for what, (one, two) in checks.items() if one != two]
        lost = [one.description for one in executed if not (_is_quiet(one) or ids.issuperset(_owners(one)))]
        return *differ, *(f"not on record: {one}" for one in lost)


@contextmanager
def balanced(session: SparkSession) -> Iterator[Ledger]:
    """A block after which the ledger of a session balances."""
    ledger = Ledger(session)
    try:
        yield ledger
        assert ledger.open_items() == ()
    finally:
        ledger.close()


def _started(queue: EventQueue) -> list[ExecutionStart]:
    """The executions that Spark has begun so far."""
    number, events = queue.mark(), []
    while Marker(number) not in events:
        events += queue.drain()
        time.sleep(0.002)
    return [event for event in events if isinstance(event, ExecutionStart)]


def _is_quiet(event: ExecutionStart) -> bool:
    return not QUIET_TAGS.isdisjoint(event.tags)


def _owners(event: ExecutionStart) -> list[str]:
    """The statements that an execution is a part of, by its tags."""
    return [tag.removeprefix(STATEMENT_TAG) for tag in event.tags if tag.startswith(STATEMENT_TAG)]


def _how(record: Record) -> str:
    """By which count of `audit.Coverage` a record is counted."""
    if not record.access:
        return "unsuccessful"
    (access, *_) = record.access
    return str(access.captured_by if access.analysis == "full" else access.analysis)


def _calls(session: SparkSession) -> set[str]:
    """The query ids of all audited calls."""
    audited = attached_sessions.find(session)
    assert audited is not None
    layout = Layout(audited.recorder.spool.path)
    segments = (*layout.sealed_segments(), *layout.open_segments())
    return {entry.query_id for path in segments for entry in read_segment(path).entries if entry.kind == "S"}
