"""Moments: whole microseconds since 1970-01-01 in UTC, and the datetimes that Spark and people take.

In: one. Out: the other.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment_of(micros: int) -> datetime:
    """The aware datetime of microseconds.

    >>> moment_of(1719418800000000).isoformat()
    '2024-06-26T16:20:00+00:00'
    """
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(moment: datetime) -> int:
    """The microseconds of an aware datetime.

    >>> micros_of(moment_of(1719418800000001))
    1719418800000001
    """
    return (moment - _EPOCH) // timedelta(microseconds=1)
