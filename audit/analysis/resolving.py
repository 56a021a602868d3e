"""The texts that Spark is resolving for the front door without a job tag.

In: a text before and after. Out: whether it is among them. Spark reports a query that it cannot resolve
as an execution that failed; without a tag only its text says that it is the front door's own.
"""

from __future__ import annotations

import threading
from collections import Counter


class Resolving:
    """Counts of texts, from any thread.

    >>> texts = Resolving()
    >>> texts.begin("SELECT 1")
    >>> "SELECT 1" in texts
    True
    >>> texts.end("SELECT 1")
    >>> "SELECT 1" in texts
    False
    """

    __slots__ = ("_counts", "_lock")

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def begin(self, text: str) -> None:
        """Spark gets the text now."""
        with self._lock:
            self._counts[text] += 1

    def end(self, text: str) -> None:
        """It is resolved; or its failure is on record, and Spark's report of it claimed."""
        with self._lock:
            self._counts[text] -= 1
            if not self._counts[text]:
                del self._counts[text]

    def __contains__(self, text: str | None) -> bool:
        return text in self._counts
