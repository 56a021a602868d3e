"""Recognises commit conflicts with other drivers, and retries.

In: a write to a Delta table. Out: its result. Appends never conflict with each other in Delta; what
replaces rows, optimizes or changes metadata may, and Delta then asks for another try. Other errors
are raised unchanged.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TRIES = 8
# Error classes and exceptions of Delta (4.4).
_NAMES = (
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "MetadataChangedException",
    "ProtocolChangedException",
    "DeltaConcurrentModificationException",
)
# Delta refuses a folder that another has made and not yet committed to, and a table that another has just
# made with the session's default properties, which a statement does not name. The second try finds the table.
_OF_CREATION = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY")


def is_conflict(error: Exception) -> bool:
    """Whether an error of Spark says that another commit came in between.

    The text tells, since the class does not: Delta's exceptions arrive as `Py4JJavaError`, or as classes of
    their own where somebody has imported `delta.exceptions`.

    >>> is_conflict(RuntimeError("[DELTA_CONCURRENT_APPEND] Files were added ..."))
    True
    >>> is_conflict(RuntimeError("No space left on device"))
    False
    """
    return _tells(error, _NAMES)


def is_creation_conflict(error: Exception) -> bool:
    """Whether another makes the same table at the same time.

    >>> is_creation_conflict(RuntimeError("[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create ..."))
    True
    """
    return _tells(error, _NAMES + _OF_CREATION)


def retried(
    write: Callable[[], T],
    tries: int = TRIES,
    sleep: Callable[[float], None] = time.sleep,
    conflict: Callable[[Exception], bool] = is_conflict,
) -> T:
    """Call again after each conflict, with pauses that grow from 0.1 to a few seconds.

    Raises:
        PySparkException, Py4JJavaError: another error, or a conflict at the last try.
    """
    # The command line reads the tables' names from modules that import this one; PySpark takes 0.2 s.
    from audit.spark.java_errors import JVM_ERRORS

    for attempt in range(tries - 1):
        try:
            return write()
        except JVM_ERRORS as error:  # noqa: PERF203 - a write takes seconds, a try nothing
            if not conflict(error):
                raise
            # Random: writers that collided would collide again after equal pauses.
            sleep(random.uniform(0.05, 0.1) * 2**attempt)  # noqa: S311 - spreads writers, no secret
    return write()


def _tells(error: Exception, names: tuple[str, ...]) -> bool:
    text = f"{type(error).__name__} {error}"
    return any(name in text for name in names)
