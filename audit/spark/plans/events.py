"""Spark's SQL execution events, from the listener bus to Python.

In: a SparkContext. Out: starts, ends and markers, in the order in which Spark posted them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from audit.spark import java_classes
from audit.spark.jvm import view
from audit.spark.plans.metrics import Metrics

if TYPE_CHECKING:
    from pyspark import SparkContext

# The JVM waits so long in one call. `close` waits for it.
_WAIT_MS = 100


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

    The listener only adds to a queue of its own: the bus never calls into Python, so a busy or paused driver
    stalls nothing. `EventQueue.java` reads many in one call.
    """

    def __init__(self, context: SparkContext, name: str) -> None:
        # SparkContext.addSparkListener puts a listener into the shared queue; `addToQueue` gives it a queue
        # and a thread of its own, so a slow one of another library does not delay it (Spark 4.2,
        # LiveListenerBus).
        self._bus = context._jsc.sc().listenerBus()
        self._events = java_classes.instance(view(context), "capture.EventQueue")
        self._listener = self._events.listener()
        self._bus.addToQueue(self._listener, name)
        self._markers = 0
        self._forgotten: list[int] = []

    def close(self) -> None:
        """Stop listening; what is queued is dropped."""
        # removeListener also stops the queue when it was its last listener.
        self._bus.removeListener(self._listener)
        self._events.close()

    @property
    def newest_marker(self) -> int:
        """The number of the last one that was posted."""
        return self._markers

    def mark(self) -> int:
        """Post a marker behind everything posted so far; returns its number."""
        self._markers += 1
        self._events.mark(self._bus, self._markers)
        return self._markers

    def drain(self) -> Iterator[ExecutionEvent]:
        """All events delivered so far, oldest first."""
        while read := _events_of(self._events.drain(self._take_forgotten())):
            yield from read

    def delivered(self, timeout: float) -> Iterator[ExecutionEvent]:
        """All events posted so far, oldest first; the marker behind them is the last, if the bus is in time.

        Mostly one call: the JVM waits for the marker.
        """
        self._markers += 1
        deadline = time.monotonic() + timeout
        forgotten = self._take_forgotten()
        read = _events_of(self._events.markAndAwait(forgotten, self._bus, self._markers, _WAIT_MS))
        while True:
            yield from read
            if (read and read[-1] == Marker(self._markers)) or time.monotonic() > deadline:
                return
            read = _events_of(self._events.until(self._markers, _WAIT_MS))

    def query_execution(self, execution_id: int) -> Any:
        """Spark's own object of an execution that has ended (a JVM object); it can be asked for once."""
        return self._events.take(execution_id)

    def forget(self, execution_id: int) -> None:
        """Release an execution that will not be asked for, with the next call: it may hold megabytes."""
        self._forgotten.append(execution_id)

    def _take_forgotten(self) -> str:
        forgotten, self._forgotten = self._forgotten, []
        return ",".join(map(str, forgotten))


def _events_of(reply: str) -> list[ExecutionEvent]:
    return [_READERS[kind](*values) for kind, *values in orjson.loads(reply)]


def _read_start(execution_id: int, root_id: int, tags: str, description: str, time_ms: int) -> ExecutionStart:
    named = tuple(tag for tag in tags.split(",") if tag)
    return ExecutionStart(execution_id, root_id, named, description, time_ms * 1000)


def _read_end(
    execution_id: int, error: str, code: str, name: str, time_ms: int, plan_id: int, *counted: Any
) -> ExecutionEnd:
    return ExecutionEnd(execution_id, time_ms * 1000, error, code, name, plan_id, Metrics(*counted))


_READERS: dict[str, Callable[..., ExecutionEvent]] = {"S": _read_start, "E": _read_end, "M": Marker}
