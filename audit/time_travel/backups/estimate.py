"""What daily backups will bind under a retention lock: it cannot be taken off, so this is asked before.

In: stored tables with the times of their files. Out: bytes now, bytes that change a day, bytes that are bound
when the first backup expires. What changed in the last 30 days is taken to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.time_travel.errors import UnknownObjectError
from audit.time_travel.retention.storage import FileSpan, measure

if TYPE_CHECKING:
    from audit.time_travel.retention.maintenance import Maintenance
    from audit.time_travel.retention.storage import StoredTable

_DAY = 86_400_000_000
_LOOKED_AT = 30
"""Days."""


@dataclass(frozen=True, slots=True)
class LockEstimate:
    """What a retention lock will bind.

    Attributes:
        bytes_now: of the newest version.
        bytes_a_day: of the files that were added in the last 30 days, a day; of a younger table since it has
            been there.
        days: EXPIRE_AFTER_DAYS.
    """

    bytes_now: int
    bytes_a_day: int
    days: int

    @property
    def bytes_bound(self) -> int:
        """What the first backup has, and what each later day adds.

        >>> LockEstimate(1000, 10, 365).bytes_bound
        4650
        """
        return self.bytes_now + self.bytes_a_day * self.days


def estimate_of(spans: Iterable[FileSpan], now: int, days: int) -> LockEstimate:
    """The estimate for the files of a table, or of several.

    >>> day = 86_400_000_000
    >>> old, gone = FileSpan(day, None, 0, 100), FileSpan(9 * day, 10 * day, 0, 50)
    >>> spans = [old, gone, FileSpan(11 * day, None, 0, 70)]
    >>> estimate_of(spans, 11 * day, 365)
    LockEstimate(bytes_now=170, bytes_a_day=12, days=365)

    Args:
        spans: of their files.
        now: UTC microseconds.
        days: EXPIRE_AFTER_DAYS.
    """
    every = list(spans)
    begun = min((one.came for one in every), default=now)
    since = max(begun, now - _LOOKED_AT * _DAY)
    # The files of the first day are the table, not a change of it.
    changed = sum(one.size for one in every if one.came > since)
    length = max(1.0, (now - since) / _DAY)
    return LockEstimate(sum(one.size for one in every if one.went is None), round(changed / length), days)


def estimate_lock(
    care: Maintenance, wanted: Callable[[StoredTable], bool], now: int, days: int, name: str
) -> LockEstimate:
    """The estimate for all tables that are wanted: one Spark job over their logs.

    Args:
        care: knows all tables.
        wanted: which of them.
        now: UTC microseconds.
        days: EXPIRE_AFTER_DAYS.
        name: what they are, for the message.

    Raises:
        UnknownObjectError: there is no such table.
    """
    tables: Sequence[StoredTable] = [
        one for one in care.stored_tables() if one.dropped is None and wanted(one)
    ]
    if not tables:
        raise UnknownObjectError(
            f"no Delta table is called {name}, or is in a schema of that name", "check its spelling"
        )
    spans, _ = measure(care.catalog.spark, tables)
    return estimate_of((span for found in spans.values() for span in found), now, days)
