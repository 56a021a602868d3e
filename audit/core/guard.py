"""Guards: an error of the audit must not break the user's statement. Only this module catches all errors.

In: a piece of work of the audit's own. Out: its value or a fallback; the failure is counted, kept for
`audit.coverage`, and logged once for each type of error and place in the code.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception, walk_tb
from typing import TypeVar

T = TypeVar("T")
# A library never configures logging: who uses it decides what is shown.
_LOG = logging.getLogger("audit")
# A driver may run for months: what is kept of its failures is bounded.
_KEPT = 100
_PLACES = 1_000


def attempt(work: Callable[[], T], on_failure: Callable[[Exception], T]) -> T:
    """Call `work`; on an error return the result of `on_failure`.

    >>> attempt(lambda: 1 // 0, lambda error: -1)
    -1

    Args:
        work: may fail.
        on_failure: gets the error; it may raise another one.
    """
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the one guard: everything else calls this
        return on_failure(error)


class Failures:
    """The guarded failures of one application.

    Args:
        redact: takes secrets out of a message, which may quote a statement.
        kept: the number of newest failures that are kept; all are counted.
    """

    def __init__(self, redact: Callable[[str], str] = str, kept: int = _KEPT) -> None:
        self._redact = redact
        self._recent: deque[tuple[str, str]] = deque(maxlen=kept)
        self._logged: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self.count = 0

    @property
    def recent(self) -> tuple[tuple[str, str], ...]:
        """The newest failures, the oldest of them first: query id ("" for none), and the error as text."""
        with self._lock:
            return tuple(self._recent)

    def note(self, error: Exception, query_id: str = "") -> None:
        """Count a failure; log it with its traceback if none of its type came from this place before."""
        place = place_of(error)
        with self._lock:
            self.count += 1
            self._recent.append((query_id, self._redact(f"{type(error).__name__}: {error}")))
            key = (type(error).__name__, place)
            is_new = key not in self._logged and len(self._logged) < _PLACES
            if is_new:
                self._logged.add(key)
        if is_new:
            # Outside the lock: a handler may take long, or call into the audit again.
            _LOG.warning(
                "the audit failed beside a statement, at %s (statement %s); logged once for this place\n%s",
                place,
                query_id or "unknown",
                # Not `exc_info`: the logger would print the messages as they are.
                self._redact("".join(format_exception(error))),
            )

    def guard(self, ask: Callable[[], T], otherwise: T, query_id: str = "") -> T:
        """Call an optional look-up; on an error note it and return the fallback.

        >>> failures = Failures()
        >>> failures.guard(lambda: {}["a"], 0), failures.recent
        (0, (('', "KeyError: 'a'"),))
        """

        def failed(error: Exception) -> T:
            self.note(error, query_id)
            return otherwise

        return attempt(ask, failed)


def place_of(error: BaseException) -> str:
    """Where an error was raised: file and line of the innermost frame; "?" for one that was not raised."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    return f"{Path(lines[-1][0]).name}:{lines[-1][1]}" if lines else "?"
