"""Works on many files with two threads, in memory that does not grow with their number.

In: items and a function. Out: nothing but what the function does. Reading, hashing and linking release
Python's lock, so that two threads keep two cores busy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
WORKERS = 2


def each(items: Iterable[T], work: Callable[[T], None], workers: int = WORKERS) -> None:
    """Call `work` with each item; the first error ends it and is raised.

    >>> found = []
    >>> each(range(5), found.append)
    >>> sorted(found)
    [0, 1, 2, 3, 4]

    Args:
        items: are taken one by one, so that no more than `workers` of them wait.
        work: is called by several threads at once.
        workers: threads; 1 is the caller's own.
    """
    waiting = iter(items)
    lock, failed = threading.Lock(), threading.Event()

    def run() -> None:
        while not failed.is_set():
            try:
                with lock:
                    item = next(waiting)
            except StopIteration:
                return
            try:
                work(item)
            except BaseException:
                failed.set()
                raise

    if workers == 1:
        # A process that ends waits for the threads of pools, but not for a daemon that calls this.
        run()
        return
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(run) for _ in range(workers)]:
            future.result()
