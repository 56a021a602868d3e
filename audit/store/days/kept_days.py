"""Which days of an audit table are kept: the rule alone, for who must know it without Spark.

In: a time, a number of days. Out: a day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from audit.core.clock import to_datetime


def oldest_kept(now: int, days: int) -> date:
    """The first day (UTC) that is kept: a day goes when its last microsecond is more than `days` days old.

    Args:
        now: microseconds since the epoch, UTC.
        days: how long records are kept, in days.

    >>> from datetime import datetime, timezone
    >>> from audit.core.clock import to_micros
    >>> midnight = to_micros(datetime(2026, 1, 1, tzinfo=timezone.utc))
    >>> oldest_kept(midnight, 365).isoformat(), oldest_kept(midnight - 1, 365).isoformat()
    ('2025-01-01', '2024-12-31')
    """
    today = to_datetime(now).date()
    # Whoever keeps records for ever sets a number of days that goes back beyond the calendar of Python.
    return date.min if days >= today.toordinal() else today - timedelta(days=days)


def all_kept_since(now: int, days: Iterable[int]) -> date | None:
    """The first day that all tables keep, where some are kept longer; None: they keep the same days.

    Args:
        now: microseconds since the epoch, UTC.
        days: how long each table is kept, in days.

    >>> all_kept_since(0, [365, 365]), all_kept_since(0, [365, 1]).isoformat()
    (None, '1969-12-31')
    """
    kept = {*days}
    return oldest_kept(now, min(kept)) if len(kept) > 1 else None
