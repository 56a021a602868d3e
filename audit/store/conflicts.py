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


def is_conflict(error: Exception) -> bool:
    """Whether an error of Spark says that another commit came in between.

    >>> is_conflict(RuntimeError("[DELTA_CONCURRENT_APPEND] Files were added ..."))
    True
    >>> is_conflict(RuntimeError("No space left on device"))
    False
    """
    text = f"{type(error).__name__} {error}"
    return any(name in text for name in _NAMES)


def retried(write: Callable[[], T], tries: int = TRIES, sleep: Callable[[float], None] = time.sleep) -> T:
    """Call again after each conflict, with pauses that grow from 0.1 to a few seconds.

    Raises:
        PySparkException: another error, or a conflict at the last try.
    """
    from pyspark.errors import PySparkException

    for attempt in range(tries - 1):
        try:
            return write()
        except PySparkException as error:  # noqa: PERF203 - a write takes seconds, a try nothing
            if not is_conflict(error):
                raise
            # Random: writers that collided would collide again after equal pauses.
            sleep(random.uniform(0.05, 0.1) * 2**attempt)  # noqa: S311 - spreads writers, no secret
    return write()
