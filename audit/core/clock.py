"""Time as the audit system sees it: whole microseconds since 1970-01-01, in UTC.

In: nothing. Out: a `Clock` that every part takes as an argument, so that a year of retention is
tested in seconds.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta, timezone
from typing import Protocol, runtime_checkable

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@runtime_checkable
class Clock(Protocol):
    """What tells the time."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""


class SystemClock:
    """The machine's own clock."""

    __slots__ = ()

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""
        # Whole nanoseconds: `time.time()` is a float, whose steps are a quarter of a microsecond today.
        return time.time_ns() // 1000


class ManualClock:
    """A clock that moves only when told, for tests of whatever depends on time.

    Args:
        start: first answer, in microseconds since the epoch, UTC.
        tick: microseconds that each answer moves it on.

    Example:
        >>> clock = ManualClock(start=1_000_000)
        >>> clock.advance(days=1)
        >>> clock.now()
        86401000000
    """

    __slots__ = ("_lock", "_now", "_tick")

    def __init__(self, start: int = 0, *, tick: int = 0) -> None:
        self._now = start
        self._tick = tick
        self._lock = threading.Lock()

    def now(self) -> int:
        """The microseconds set last, UTC; then moves on by `tick`."""
        with self._lock:
            current = self._now
            self._now += self._tick
            return current

    def set(self, micros: int) -> None:
        """Puts the clock to `micros` since the epoch, backwards too."""
        with self._lock:
            self._now = micros

    def advance(self, *, days: float = 0, seconds: float = 0, micros: int = 0) -> None:
        """Moves the clock on."""
        with self._lock:
            self._now += timedelta(days=days, seconds=seconds, microseconds=micros) // timedelta(
                microseconds=1
            )


def to_datetime(micros: int) -> datetime:
    """The aware UTC datetime of `micros`.

    Example:
        >>> to_datetime(1_643_127_467_388_000).isoformat()
        '2022-01-25T16:17:47.388000+00:00'
    """
    # Exact, also before 1970; `fromtimestamp` takes a float of seconds.
    return _EPOCH + timedelta(microseconds=micros)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch of an aware datetime.

    Example:
        >>> to_micros(to_datetime(1_643_127_467_388_001))
        1643127467388001
    """
    # Integer division of timedeltas is exact; `total_seconds()` is a float.
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_iso(micros: int) -> str:
    """ISO 8601 in UTC with six digits and Z, the form of every time in the spool.

    Example:
        >>> to_iso(1_643_127_467_388_000)
        '2022-01-25T16:17:47.388000Z'
    """
    # `strftime` writes the year 999 with three digits on Linux.
    return to_datetime(micros).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_iso(text: str) -> int:
    """What `to_iso` has written: UTC microseconds.

    >>> from_iso("2022-01-25T16:17:47.388000Z")
    1643127467388000

    Raises:
        ValueError: it is none of that form.
    """
    return to_micros(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc))
