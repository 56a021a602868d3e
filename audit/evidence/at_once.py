"""Work on both cores of a small machine.

In: a function and what to call it with. Out: its results. For work that lets other threads run, as Arrow's
and DuckDB's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

_THREADS = 2

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def at_once(work: Callable[[_In], _Out], given: Iterable[_In]) -> list[_Out]:
    """The results, in the order of what was given; on one thread where Python is ending.

    What is given may take its time: work on the first ones begins before the last is there. One alone needs
    no thread.

    >>> at_once(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    rest = iter(given)
    first = list(islice(rest, _THREADS))
    if len(first) < _THREADS:
        return [work(item) for item in first]
    rest = chain(first, rest)
    waiting: list[Future[_Out]] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        for item in rest:
            begun = started(pool, work, item)
            if begun is None:
                left = [work(one) for one in chain([item], rest)]
                return [*(one.result() for one in waiting), *left]
            waiting.append(begun)
    return [one.result() for one in waiting]


def started(pool: ThreadPoolExecutor, work: Callable[..., _Out], *given: object) -> Future[_Out] | None:
    """What a thread works at; None where a driver ingests when it exits: Python starts no thread any more."""
    try:
        return pool.submit(work, *given)
    except RuntimeError:
        return None
