"""Streaming writes: one record a micro-batch, each the child of the statement that started the stream.

In: `writeStream.start()` and `toTable()`. Out: a record of the start, and a row for each micro-batch as
Spark ends it. A stream's thread inherits the job tag of its start, so its batches are known by it.
"""

from __future__ import annotations

import contextvars
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from audit import jvm
from audit.analysis.job import Intent, Job, Stream, StreamIntent
from audit.analysis.propagating import propagated
from audit.analysis.spark_catalog import StatementCatalog, parts_of
from audit.identity import child_of
from audit.record import Ended, Finding, Started, Status, build_row
from lineage.identify import identify
from lineage.model import Access, Domain, ModifiedObject, Relation

if TYPE_CHECKING:
    from audit.analysis.executions import Execution, Executions
    from audit.capture.interceptor import Interceptor
    from audit.driver import Driver

_BATCH = re.compile(r"batch = (\d+)")
Write = Callable[[str, dict[str, Any]], None]


class Streams:
    """The streams of a driver, by the query id of their start."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._streams: dict[str, Stream] = {}
        self._lock = threading.Lock()

    def known(self, query_id: str) -> Stream | None:
        """The stream that a statement started, if it started one."""
        return self._streams.get(query_id)

    def begin(self, job: Job) -> None:
        """A stream has been started: from now on its batches get their records."""
        intent = job.intent.stream
        assert intent is not None  # noqa: S101
        stream = intent.stream
        stream.started, stream.target, stream.catalog = job.started, _target(job, intent), job.catalog
        stream.token = job.token
        self._streams[job.started.query_id] = stream

    def batch_id(self, stream: Stream, number: int) -> str:
        """The query id of a micro-batch, the same whoever asks first: its function or its record."""
        with self._lock:
            return stream.batch_ids.setdefault(number, self._driver.new_id())

    def take_batches(self, executions: Executions, write: Write) -> None:
        """Write a row for each micro-batch that has ended."""
        for query_id in executions.ended_ids():
            stream = self._streams.get(query_id)
            if stream is not None:
                for execution in executions.of(query_id):
                    number = _BATCH.search(execution.description)
                    # Else Delta's or the source's own bookkeeping on the stream's thread.
                    if number is not None and jvm.is_micro_batch(execution.query_execution):
                        self._write_batch(stream, int(number.group(1)), execution, write)

    def _write_batch(self, stream: Stream, number: int, execution: Execution, write: Write) -> None:
        assert stream.started is not None  # noqa: S101
        query_id = self.batch_id(stream, number)
        started = replace(
            stream.started,
            query_id=query_id,
            start_time=execution.start_time,
            query_type="STREAM_BATCH",
            parent_query_id=stream.started.query_id,
            root_query_id=stream.started.root_query_id or stream.started.query_id,
        )
        status: Status = "FAIL" if execution.error else "SUCCESS"
        ended = Ended(status, execution.end_time, None, execution.error or None)
        finding = None if execution.error else self._finding(stream, execution, started)
        write(query_id, build_row(started, ended, finding))

    def _finding(self, stream: Stream, execution: Execution, started: Started) -> Finding:
        """What a micro-batch read, by its own plan, written into the stream's target."""
        assert stream.catalog is not None  # noqa: S101
        attachments = partial(self._driver.policies.attachments_now, token=stream.token)
        finding = self._driver.analyst.guarded_plan(
            stream.catalog, execution, "STREAM_BATCH", "plan", attachments
        )
        finding = replace(finding, access=batch_access(finding.access, stream.target))
        # Its writer is a thread of Spark's, to which nothing returns.
        return propagated(self._driver, stream.catalog, started, finding, [])


def _target(job: Job, intent: StreamIntent) -> Relation | None:
    current = (job.started.database_name or "", job.started.schema_name or "")
    if intent.table is not None:
        return job.catalog.relation(parts_of(intent.table), current)
    location = intent.location
    return None if location is None else StatementCatalog(job.catalog, current).path("", location)


def bind_batches(
    interceptor: Interceptor, writer: Any, function: Callable[[Any, int], None]
) -> Callable[[Any, int], None]:
    """What a foreachBatch function runs points at its micro-batch, under the user who started it."""
    stream = writer.__dict__.setdefault("_audit_stream", Stream())
    context = contextvars.copy_context()

    def bound(batch: Any, number: int) -> None:
        def run() -> None:
            with child_of(interceptor.driver.streams.batch_id(stream, number)):
                function(batch, number)

        context.copy().run(run)

    return bound


def start_stream(
    interceptor: Interceptor,
    writer: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    call: Callable[[], Any],
) -> Any:
    """`start` and `toTable` on the record; the stream's batches get theirs as they end."""
    stream = writer.__dict__.pop("_audit_stream", None) or Stream()
    started: list[Any] = []

    def call_and_keep() -> Any:
        governor = interceptor.driver.policies.governor
        governor.require_stream(interceptor.spark, writer._df)
        governor.require_sink(interceptor.spark, writer, path, target)
        query = call()
        started.append(query)
        return query

    first = args[0] if args else kwargs.get("tableName" if name == "toTable" else "path")
    target, path = (str(first), None) if name == "toTable" else (None, first)
    intent = Intent(
        text=f"DataStreamWriter.{name}({', '.join(map(repr, args))})",
        query_type="STREAM",
        action=f"DataStreamWriter.{name}",
        query_execution=writer._df._jdf.queryExecution,
        stream=StreamIntent(stream, target, started),
    )
    return interceptor.run(intent, call_and_keep)


def _location(target: Relation) -> str | None:
    return target.location if target.domain is Domain.STAGE else None


def batch_access(batch: Access, target: Relation | None) -> Access:
    """The access of a micro-batch, with the name of the table behind the location that its plan writes.

    Args:
        batch: the access by the plan of the batch, which knows its sink as a location.
        target: the table or location that the sink writes, None where it has none.
    """
    access = replace(batch, statement_type="STREAM_BATCH")
    if target is None:
        return access
    written = tuple(column for modified in batch.objects_modified for column in modified.columns)
    columns = tuple(replace(column, column_id=None) for column in written)
    modified = ModifiedObject(
        target.name,
        target.domain,
        target.object_id,
        columns,
        _location(target),
        base_indirect=tuple(ref for one in batch.objects_modified for ref in one.base_indirect),
        direct_indirect=tuple(ref for one in batch.objects_modified for ref in one.direct_indirect),
    )
    known = {target.name.casefold(): target}
    return identify(replace(access, objects_modified=(modified,)), known)
