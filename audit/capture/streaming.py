"""Records the start of a streaming write, and runs foreachBatch functions as children of their micro-batch.

In: `writeStream.start()`, `toTable()` and `foreachBatch(function)`. Out: a record of the start; statements of
the function are children of the micro-batch, which `audit.analysis.streams` records.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from audit.analysis.execution_claims import StreamStartClaim
from audit.analysis.running_statements import RunningStatement
from audit.analysis.work_items import StatementRequest, Stream, StreamRequest
from audit.core.identity import Ancestry, acting, child_of, current_identity
from audit.core.job_tags import STATEMENT_TAG
from audit.spark.pyspark_api import frames, job_tags

if TYPE_CHECKING:
    from audit.capture.audited_session import AuditedSession


InCallback = Callable[[], AbstractContextManager[None]]
"""Gives a block for what the JVM calls for, see `ThreadIdentity.in_callback`."""
_CALLBACKS = ("onQueryStarted", "onQueryProgress", "onQueryIdle", "onQueryTerminated")


def bind_batches(
    audited: AuditedSession, writer: Any, function: Callable[[Any, int], None]
) -> Callable[[Any, int], None]:
    """Wrap a foreachBatch function: its statements are children of the micro-batch, of the starting user."""
    stream = writer.__dict__.setdefault("_audit_stream", Stream())
    recorder, services = audited.recorder, audited.services
    # Py4J calls the function on a thread of its own, which has none of the caller's context variables.
    context = contextvars.copy_context()

    def bound(batch: Any, number: int) -> None:
        def run() -> None:
            batch_id = recorder.streams.batch_id(stream, number)
            inside = Ancestry(batch_id, stream.root_query_id or batch_id)
            identity = current_identity(audited.identity)
            itself = RunningStatement(audited, identity, inside, handled=False)
            with (
                # The stream's thread of the JVM has the starter's identity, whoever this thread ran for last.
                services.enforcer.thread.in_callback(),
                recorder.running.entered(batch_id, itself),
                child_of(inside.parent_query_id, inside.root_query_id),
                # What the function runs past PySpark's methods is known by this tag.
                job_tags.tagged(audited.spark.sparkContext, STATEMENT_TAG + batch_id),
            ):
                services.failures.guard(lambda: services.rdd_origins.remember_batch(batch), None)
                function(batch, number)

        # A context can be entered once at a time, and two queries may share the function.
        context.copy().run(run)

    return bound


def bind_listener(listener: Any, in_callback: InCallback) -> None:
    """Let the callbacks of a StreamingQueryListener run as whoever adds it inside of `as_user`."""
    if acting() is None:
        return
    context = contextvars.copy_context()

    def bound(callback: Callable[[Any], None], event: Any) -> None:
        with in_callback():
            context.copy().run(callback, event)

    for name in _CALLBACKS:
        setattr(listener, name, functools.partial(bound, getattr(listener, name)))


def start_stream(
    audited: AuditedSession,
    writer: Any,
    name: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    call: Callable[[], Any],
) -> Any:
    """Record `start` and `toTable`; micro-batches are recorded when they end."""
    # Taken away: the writer may start a second stream, which has micro-batches of its own.
    stream = writer.__dict__.pop("_audit_stream", None) or Stream()

    frame = frames.frame_of(writer)

    def permitted() -> Any:
        stream.root_query_id = audited.root_query_id()
        enforcer = audited.services.enforcer
        enforcer.require_stream(audited.spark, frame)
        enforcer.require_sink(audited.spark, writer, path, target)
        # The stream's thread inherits the tags; of the start of a stream with any tag PySpark (4.2) tells no
        # listener, since it cannot read it.
        with job_tags.untagged(audited.spark.sparkContext):
            return call()

    # PySpark (4.2) calls the first argument `path` in `start` and `tableName` in `toTable`.
    first = args[0] if args else kwargs.get("tableName" if name == "toTable" else "path")
    target, path = (str(first), None) if name == "toTable" else (None, first)
    request = StatementRequest(
        text=f"DataStreamWriter.{name}({', '.join(map(repr, args))})",
        query_type="STREAM",
        action=f"DataStreamWriter.{name}",
        query_execution=frames.query_execution_of(frame),
        claim=StreamStartClaim(audited.jvm_id),
        stream=StreamRequest(stream, target),
    )
    return audited.run(request, permitted)
