"""Stopwatches on methods: what Spark takes inside a call, and each part of what the front door adds.

In: classes and method names, watched before `audit.attach` wraps them. Out: the seconds that the
caller's thread spent in each. The audit wraps the watched method like any other, so the time of the
whole call less the time inside is exactly what the audit added on that thread, whatever Spark took.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import lineage
from audit.spool import Spool

SPARK = "spark"
PARTS = ("parse", "spool", "tags")


class Timers:
    """Stopwatches for the thread that makes them; other threads pass unmeasured."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._replaced: list[tuple[Any, str, Any]] = []
        self._within: list[str] = []

    def watch(self, owner: Any, name: str, label: str) -> None:
        """Add the time of each call of a method or function to a label."""
        original: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(original)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread or self._within:
                return original(*args, **kwargs)
            self._within.append(label)
            began = time.perf_counter()
            try:
                return original(*args, **kwargs)
            finally:
                self._seconds[label] += time.perf_counter() - began
                self._within.pop()

        self._replaced.append((owner, name, original))
        setattr(owner, name, timed)

    def measure(self, call: Callable[[], Any]) -> dict[str, float]:
        """Run something; seconds by label, `total` and `added` (what is not Spark's) among them."""
        self._seconds.clear()
        began = time.perf_counter()
        call()
        total = time.perf_counter() - began
        return {**self._seconds, "total": total, "added": total - self._seconds[SPARK]}

    def restore(self) -> None:
        """Put the methods back; the audit must be detached."""
        while self._replaced:
            owner, name, original = self._replaced.pop()
            setattr(owner, name, original)


def on_the_way() -> Timers:
    """Stopwatches on what a statement passes: `spark.sql` and `collect`, and the audit's own steps."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.classic.dataframe import DataFrame

    timers = Timers()
    timers.watch(SparkSession, "sql", SPARK)
    timers.watch(DataFrame, "collect", SPARK)
    timers.watch(lineage, "parse", "parse")
    for name in ("append", "confirm"):
        timers.watch(Spool, name, "spool")
    for name in ("addJobTag", "removeJobTag"):
        timers.watch(SparkContext, name, "tags")
    return timers
