"""The days that a report is about.

In: two days as people write them. Out: a `Period`. Days are UTC, the first and the last one are a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from audit.report.binding import Value
from audit.report.errors import ReportPeriodInvalid

_USUAL = 30  # days
_BY_DAY, _BY_WEEK = 92, 731
"""The most days of a period of which a chart has a bar for each day, for each week."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `first` to `last`, both included."""

    first: date
    last: date

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"

    @property
    def days(self) -> int:
        """How many there are.

        >>> Period(date(2026, 1, 1), date(2026, 1, 31)).days
        31
        """
        return (self.last - self.first).days + 1

    @property
    def step(self) -> str:
        """What a bar of a chart over this period stands for, as date_trunc calls it.

        >>> Period(date(2026, 1, 1), date(2026, 1, 31)).step
        'DAY'
        """
        return "DAY" if self.days <= _BY_DAY else "WEEK" if self.days <= _BY_WEEK else "MONTH"

    @property
    def values(self) -> dict[str, Value]:
        """The parameters that stand for it in SQL."""
        return {"from_day": self.first, "to_day": self.last, "step": self.step}


def period_of(first: str | None, last: str | None, today: date) -> Period:
    """The period between two days.

    Args:
        first: its first day, as 2026-01-31; None: 30 days up to the last one.
        last: its last day; None: today.
        today: UTC.

    Raises:
        ReportPeriodInvalid: a text is no day, or the period is turned round.

    >>> print(period_of(None, "2026-01-30", date(2026, 11, 1)))
    2026-01-01 to 2026-01-30
    """
    until = today if last is None else _day(last, "--to")
    since = max(until, date.min + timedelta(days=_USUAL)) - timedelta(days=_USUAL - 1)
    since = since if first is None else _day(first, "--from")
    if since > until:
        raise ReportPeriodInvalid(
            f"the period begins on {since} and ends on {until}, before that",
            f"turn it round: --from {until} --to {since}",
        )
    return Period(since, until)


def _day(text: str, option: str) -> date:
    try:
        # Only this form: Python 3.11 also reads 20260131 and 2026-W05-6, Python 3.10 does not.
        year, month, day = text.strip().split("-")
        return date(int(year), int(month), int(day))
    except ValueError:
        raise ReportPeriodInvalid(
            f"{option} {text} is no day", "write year, month and day (UTC), as 2026-01-31"
        ) from None
