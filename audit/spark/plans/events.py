"""Spark's SQL execution events, from the listener bus to Python.

In: a SparkContext. Out: starts, ends and markers, in the order in which Spark posted them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from audit.spark import java_classes
from audit.spark.jvm import class_loader, java_class, view
from audit.spark.plans.metrics import Metrics

if TYPE_CHECKING:
    from pyspark import SparkContext

# Class.forName's flag: with it the class is initialised, as Class.forName(name) does.
_INITIALIZE = True


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    """A SQL execution began. `root_id` differs from `execution_id` for Delta's and Spark's own inner ones."""

    execution_id: int
    root_id: int
    tags: tuple[str, ...]
    description: str
    time_us: int


@dataclass(frozen=True, slots=True)
class ExecutionEnd:
    """A SQL execution ended; `EventQueue.query_execution` gives Spark's own object, `plan_id` its id."""

    execution_id: int
    time_us: int
    error: str
    error_code: str
    name: str
    plan_id: int
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Marker:
    """All events posted before this marker have been delivered."""

    number: int


ExecutionEvent = ExecutionStart | ExecutionEnd | Marker


class EventQueue:
    """Spark's SQL execution events, queued inside the JVM and drained from Python when it suits.

    A `java.beans.EventHandler` turns `onOtherEvent(e)` into `queue.offer(e)`: the listener bus never
    calls into Python, so a busy or paused driver stalls nothing. `EventQueue.java` reads many in one call.
    """

    def __init__(self, context: SparkContext, name: str) -> None:
        self._marker = java_class(
            context, "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"
        )
        # SparkContext.addSparkListener puts a listener into the shared queue; `addToQueue` gives it a queue
        # and a thread of its own, so a slow one of another library does not delay it (Spark 4.2,
        # LiveListenerBus).
        self._bus = context._jsc.sc().listenerBus()
        self._events = java_classes.instance(view(context), "capture.EventQueue")
        # The context class loader: a jar of `spark.jars` is not on the system class path.
        interface = java_class(context, "java.lang.Class").forName(
            "org.apache.spark.scheduler.SparkListenerInterface", _INITIALIZE, class_loader(view(context))
        )
        handler = java_class(context, "java.beans.EventHandler")
        self._listener = handler.create(interface, self._events.queue(), "offer", "", "onOtherEvent")
        self._bus.addToQueue(self._listener, name)
        self._markers = 0
        self._none = getattr(java_class(context, "scala.collection.immutable.Nil$"), "MODULE$")

    def close(self) -> None:
        """Stop listening; what is queued is dropped."""
        # removeListener also stops the queue when it was its last listener.
        self._bus.removeListener(self._listener)
        self._events.close()

    def mark(self) -> int:
        """Post a marker behind everything posted so far; returns its number."""
        self._markers += 1
        # An accumulator update for an execution that no listener knows: every listener ignores it.
        self._bus.post(self._marker(-self._markers, self._none))
        return self._markers

    def drain(self) -> Iterator[ExecutionEvent]:
        """All events delivered so far, oldest first."""
        while read := orjson.loads(self._events.drain()):
            for kind, *values in read:
                yield _READERS[kind](*values)

    def query_execution(self, execution_id: int) -> Any:
        """Spark's own object of an execution that has ended (a JVM object); it can be asked for once."""
        return self._events.take(execution_id)

    def forget(self, execution_ids: Iterable[int]) -> None:
        """Release the executions that will not be asked for."""
        self._events.forget(",".join(map(str, execution_ids)))


def _read_start(execution_id: int, root_id: int, tags: str, description: str, time_ms: int) -> ExecutionStart:
    named = tuple(tag for tag in tags.split(",") if tag)
    return ExecutionStart(execution_id, root_id, named, description, time_ms * 1000)


def _read_end(
    execution_id: int, error: str, code: str, name: str, time_ms: int, plan_id: int, *counted: Any
) -> ExecutionEnd:
    return ExecutionEnd(execution_id, time_ms * 1000, error, code, name, plan_id, Metrics(*counted))


_READERS: dict[str, Callable[..., ExecutionEvent]] = {"S": _read_start, "E": _read_end, "M": Marker}
