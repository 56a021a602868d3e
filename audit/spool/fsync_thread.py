"""A thread that calls fsync on request, so that the caller need not wait.

In: a function that syncs. Out: its call, soon; many that ask at once get one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class FsyncThread:
    """Starts its thread at the first request."""

    __slots__ = ("_ended", "_requested", "_start_lock", "_sync", "_thread")

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._requested = threading.Event()
        self._start_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def request(self) -> None:
        """Request a sync."""
        self._requested.set()
        if self._thread is None:
            self._begin()

    def _begin(self) -> None:
        with self._start_lock:
            if self._thread is None and not self._ended:
                # A daemon: a spool that nobody closes must not keep the interpreter from ending.
                self._thread = threading.Thread(target=self._run, name="audit-sync", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._requested.wait()
            # Cleared before the sync: a request that comes during it gets another one.
            self._requested.clear()
            if self._ended:
                return
            self._sync()

    def close(self) -> None:
        """End the thread; the caller syncs the rest."""
        self._ended = True
        self._requested.set()
        if self._thread is not None:
            self._thread.join()
