"""Query ids: UUIDs of version 7, rising within a process.

In: a clock and a source of random bytes. Out: ids that sort by the time they were made, so that a
Delta table ordered by id is ordered by time. RFC 9562, section 6.2, method 3: the 12 bits after the
millisecond hold its fraction (about 0.24 microseconds a step), the last 62 bits are random.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING
from uuid import UUID

from audit.core.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

# The 12 bits behind the version (`rand_a` of RFC 9562) count 4,096ths of a millisecond.
_STEPS = 4096
_RANDOM_MASK = (1 << 62) - 1


class IdGenerator:
    """Makes UUIDv7s that strictly rise, across threads and when the clock stands or goes back.

    Two processes, a forked child among them, differ by their 62 random bits.

    Args:
        clock: tells the time; the machine's own by default.
        random: gives that many random bytes; `os.urandom` by default.

    Example:
        >>> from audit.core.clock import ManualClock
        >>> ids = IdGenerator(ManualClock(1_643_127_467_388_000), lambda n: bytes(n))
        >>> ids.new()
        '017e9207-6d7c-7000-8000-000000000000'
        >>> ids.new()
        '017e9207-6d7c-7001-8000-000000000000'
    """

    __slots__ = ("_clock", "_last", "_lock", "_random")

    def __init__(self, clock: Clock | None = None, random: Callable[[int], bytes] = os.urandom) -> None:
        self._clock = clock or SystemClock()
        self._random = random
        self._last = -1
        self._lock = threading.Lock()

    def new(self) -> str:
        """The next id, as 36 lower-case characters."""
        noise = int.from_bytes(self._random(8), "big") & _RANDOM_MASK
        with self._lock:
            # Rises by one where the clock stands or goes back.
            self._last = step = max(self._last + 1, self._clock.now() * _STEPS // 1000)
        millis, fraction = divmod(step, _STEPS)
        # Version 7 in bits 76 to 79, the variant 10 in bits 62 and 63 (RFC 9562, section 5.7).
        return str(UUID(int=millis << 80 | 7 << 76 | fraction << 64 | 2 << 62 | noise))


def id_micros(query_id: str) -> int:
    """When an id was made: microseconds since the epoch, UTC (to the millisecond's 1/4096, rounded up).

    Example:
        >>> id_micros("017e9207-6d7c-7001-8000-000000000000")
        1643127467388001
    """
    number = UUID(query_id).int
    steps = (number >> 80) * _STEPS + (number >> 64 & 0xFFF)
    # Rounded up, since `new` rounds down: so the clock's own microsecond comes back.
    return -(-steps * 1000 // _STEPS)


def is_id(text: str) -> bool:
    """Whether a text is a query id, as `IdGenerator` makes them.

    >>> is_id("017e9207-6d7c-7001-8000-000000000000"), is_id("nightly run")
    (True, False)
    """
    return _ID.fullmatch(text) is not None


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
