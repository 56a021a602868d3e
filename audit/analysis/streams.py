"""The streams of an application: one record a micro-batch, each the child of the statement that started it.

In: the start of a stream, and Spark's executions. Out: a row for each micro-batch as Spark ends it. Batches
are known by the run id of their stream.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from audit.record.access_record import Ended, Finding, Started, Status
from audit.spark.catalog.session_catalog import StatementCatalog
from audit.spark.plans import query_executions
from audit.spark.pyspark_api import frames
from lineage.catalog.identify import identify
from lineage.model import Access, Domain, ModifiedObject, Relation
from lineage.names import split_recorded

if TYPE_CHECKING:
    from audit.analysis.analyst import Analyst
    from audit.analysis.tag_propagation import TagPropagation
    from audit.analysis.work_items import Job, Stream, StreamRequest
    from audit.policies.service import Policies
    from audit.record.redaction import Redaction
    from audit.spark.plans.executions import Execution, Executions

_REMEMBERED = 10_000
_BATCH = re.compile(r"batch = (\d+)")
Write = Callable[[str, dict[str, Any]], None]


class Streams:
    """The streams of an application, by their run id."""

    def __init__(
        self,
        analyst: Analyst,
        tags: TagPropagation,
        policies: Policies,
        redaction: Redaction,
        new_id: Callable[[], str],
    ) -> None:
        self._analyst = analyst
        self._tags = tags
        self._policies = policies
        self._redaction = redaction
        self._new_id = new_id
        self._streams: dict[str, Stream] = {}
        self._batches: OrderedDict[str, Stream] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, job: Job) -> None:
        """Add a started stream, to record its micro-batches."""
        request = job.request.stream
        assert request is not None  # noqa: S101
        stream = request.stream
        stream.started, stream.target, stream.catalog = job.started, _target(job, request), job.catalog
        stream.token = job.token
        self._streams[frames.run_id_of(request.query)] = stream

    def batch_id(self, stream: Stream, number: int) -> str:
        """The query id of a micro-batch, created by its function or its record, whichever comes first."""
        with self._lock:
            # The function and the record of a batch ask from different threads.
            batch_id = stream.batch_ids.setdefault(number, self._new_id())
            self._batches[batch_id] = stream
            # Late executions come within seconds; the oldest batches can be forgotten.
            while len(self._batches) > _REMEMBERED:
                self._batches.popitem(last=False)
            return batch_id

    def take_batches(self, executions: Executions, write: Write) -> None:
        """Write a row for each micro-batch that has ended."""
        for run_id in executions.ended_runs():
            stream = self._streams.get(run_id)
            if stream is not None:
                for execution in executions.of(run_id):
                    # MicroBatchExecution describes its jobs with name, query id, run id and "batch = n"
                    # (Spark 4.2).
                    number = _BATCH.search(execution.description)
                    # Others are Delta's or the source's own reads on the stream's thread.
                    if number is not None and query_executions.is_micro_batch(execution.query_execution):
                        self._analyst.counts.of_their_own += 1
                        self._write_batch(stream, int(number.group(1)), execution, write)
                    else:
                        self._analyst.counts.of_delta += 1

    def take_statements(self, executions: Executions) -> Iterator[tuple[Execution, Started, str | None]]:
        """What foreachBatch functions ran past PySpark's methods; its micro-batch, and its user's token."""
        for query_id in executions.ended_ids():
            stream = self._batches.get(query_id)
            # Before the worker has the stream's start, they wait.
            if stream is not None and stream.started is not None:
                batch = self._batch_started(stream, query_id)
                yield from ((execution, batch, stream.token) for execution in executions.of(query_id))

    @staticmethod
    def _batch_started(stream: Stream, query_id: str) -> Started:
        assert stream.started is not None  # noqa: S101
        return replace(
            stream.started,
            query_id=query_id,
            query_type="STREAM_BATCH",
            parent_query_id=stream.started.query_id,
            root_query_id=stream.started.root_query_id or stream.started.query_id,
        )

    def _write_batch(self, stream: Stream, number: int, execution: Execution, write: Write) -> None:
        query_id = self.batch_id(stream, number)
        started = replace(self._batch_started(stream, query_id), start_time=execution.start_time)
        status: Status = "FAIL" if execution.error else "SUCCESS"
        ended = Ended(status, execution.end_time, execution.error_code or None, execution.error or None)
        finding = None if execution.error else self._finding(stream, execution, started)
        write(query_id, self._redaction.row(started, ended, finding))

    def _finding(self, stream: Stream, execution: Execution, started: Started) -> Finding:
        """What a micro-batch read, by its own plan, written into the stream's target."""
        assert stream.catalog is not None  # noqa: S101
        attachments = self._policies.attachments_at(execution.start_time, stream.token)
        finding = self._analyst.guarded_plan(
            stream.catalog,
            execution,
            started,
            "plan",
            attachments,
            lambda access: batch_access(access, stream.target),
        )
        # A thread of Spark writes it: no caller waits, so problems go to the record alone.
        return self._tags.propagated(stream.catalog, started, finding, [])


def _target(job: Job, request: StreamRequest) -> Relation | None:
    current = (job.started.database_name or "", job.started.schema_name or "")
    if request.table is not None:
        return job.catalog.relation(split_recorded(request.table), current)
    location = request.location
    return None if location is None else StatementCatalog(job.catalog, current).path("", location)


def batch_access(batch: Access, target: Relation | None) -> Access:
    """The access of a micro-batch, with the name of the table at the location that its plan writes.

    Args:
        batch: the access by the plan of the batch, which knows its sink as a location.
        target: the table or location that the sink writes, None where it has none.
    """
    access = replace(batch, statement_type="STREAM_BATCH")
    if target is None:
        return access
    written = tuple(column for modified in batch.objects_modified for column in modified.columns)
    # The plan's ids are those of the location; `identify` fills in the table's.
    columns = tuple(replace(column, column_id=None) for column in written)
    is_stage = target.domain is Domain.STAGE
    modified = ModifiedObject(
        target.name,
        target.domain,
        target.object_id,
        columns,
        target.location if is_stage else None,
        "External Named" if is_stage else None,
        base_indirect=tuple(ref for one in batch.objects_modified for ref in one.base_indirect),
        direct_indirect=tuple(ref for one in batch.objects_modified for ref in one.direct_indirect),
    )
    known = {target.name.casefold(): target}
    return identify(replace(access, objects_modified=(modified,)), known)
