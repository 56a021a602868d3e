"""A thread that hashes the large files of new backups, once ADD BACKUP has answered.

In: what hashes one backup. Out: nothing; a file that was written to meanwhile is a warning. The thread ends
when nothing is left. What a driver that ends has not read is left to `audit backup run`.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable

from audit.core.guard import attempt
from audit.spark.unrecorded import unrecorded

Done = Callable[[int], None]
_CLOSE_SECONDS = 5.0


class _ClosedError(Exception):
    """The driver ends."""


class HashingThread:
    """Hashes one backup after the other."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[Done], str]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def add(self, hash_one: Callable[[Done], str]) -> None:
        """Hash a backup, too.

        Args:
            hash_one: hashes one, and calls its argument after each file; returns what went wrong, or "".
        """
        with self._changed:
            if self._is_closed:
                return
            self._waiting.append(hash_one)
            if self._thread is None:
                # A daemon: a process that ends does not wait for gigabytes.
                self._thread = threading.Thread(target=self._run, name="audit-backup-hashes", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Return when nothing is left to hash; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, seconds)

    def close(self) -> None:
        """End after the file that is being read; later backups are left to `audit backup run`."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
        self.wait(_CLOSE_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    self._changed.notify_all()
                    return
                hash_one = self._waiting.popleft()
            problem = attempt(lambda: self._hash(hash_one), self._problem)  # noqa: B023  called at once
            if problem:
                warnings.warn(problem, stacklevel=2)

    def _hash(self, hash_one: Callable[[Done], str]) -> str:
        with unrecorded():
            return hash_one(self._go_on)

    def _go_on(self, _: int) -> None:
        if self._is_closed:
            raise _ClosedError

    def _problem(self, error: Exception) -> str:
        if self._is_closed:
            return ""
        return f"the files of a backup were not hashed, `audit backup run` tries again: {error!r}"
