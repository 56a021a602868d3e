"""A thread that syncs when it is asked to, so that who asks goes on meanwhile.

In: a function that syncs. Out: its call, soon; many that ask at once get one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Syncer:
    """Begins its thread with the first that asks."""

    __slots__ = ("_asked", "_beginning", "_ended", "_sync", "_thread")

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._asked = threading.Event()
        self._beginning = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def ask(self) -> None:
        """Have it synced soon."""
        self._asked.set()
        if self._thread is None:
            self._begin()

    def _begin(self) -> None:
        with self._beginning:
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, name="audit-sync", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._ended:
                return
            self._sync()

    def close(self) -> None:
        """End the thread; what is not synced is up to the caller."""
        self._ended = True
        self._asked.set()
        if self._thread is not None:
            self._thread.join()
