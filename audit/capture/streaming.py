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

from audit.analysis.work_items import StatementRequest, Stream, StreamRequest
from audit.core.identity import acting, child_of
from audit.spark.pyspark_api import frames

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
    streams = audited.recorder.streams
    # Py4J calls the function on a thread of its own, which has none of the caller's context variables.
    context = contextvars.copy_context()

    def bound(batch: Any, number: int) -> None:
        def run() -> None:
            with audited.services.enforcer.thread.in_callback(), child_of(streams.batch_id(stream, number)):
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
        enforcer = audited.services.enforcer
        enforcer.require_stream(audited.spark, frame)
        enforcer.require_sink(audited.spark, writer, path, target)
        return call()

    # PySpark (4.2) calls the first argument `path` in `start` and `tableName` in `toTable`.
    first = args[0] if args else kwargs.get("tableName" if name == "toTable" else "path")
    target, path = (str(first), None) if name == "toTable" else (None, first)
    request = StatementRequest(
        text=f"DataStreamWriter.{name}({', '.join(map(repr, args))})",
        query_type="STREAM",
        action=f"DataStreamWriter.{name}",
        query_execution=frames.query_execution_of(frame),
        stream=StreamRequest(stream, target),
    )
    return audited.run(request, permitted)
