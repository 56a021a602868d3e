"""Work on both cores of a small machine.

In: a function and what to call it with. Out: its results. For work that lets other threads run, as Arrow's
and DuckDB's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_THREADS = 2

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def at_once(work: Callable[[_In], _Out], given: Iterable[_In]) -> list[_Out]:
    """The results, in the order of what was given; on one thread where Python is ending.

    >>> at_once(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(given)
    if len(items) < _THREADS:
        return [work(item) for item in items]
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            waiting = [pool.submit(work, item) for item in items]
    except RuntimeError:
        # A driver ingests when it exits: Python starts no thread any more.
        return [work(item) for item in items]
    return [one.result() for one in waiting]
