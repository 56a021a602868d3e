"""Points in time as Python values: a moment, an age, a statement, a version.

In: an argument of the Python API. Out: the AT | BEFORE clause of SQL with the same meaning.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from numbers import Integral, Real
from typing import TypeAlias

from audit.time_travel.errors import BadMomentError, BadOffsetError
from lineage.names import sql_text

# A text is a query id where it has the form of a UUID; no time that is documented has that.
_QUERY_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Before:
    """The state just before a point."""

    point: Moment


Moment: TypeAlias = datetime | date | timedelta | str | int | float
Point: TypeAlias = Moment | Before
"""The types of the argument `at` of `time_travel.read`."""


def before(point: Moment) -> Before:
    """The state just before a point, for a function with positional points.

    `diff(spark, "t", before(query_id), query_id)` returns what a statement changed.

    Args:
        point: as `at` of `time_travel.read`.
    """
    return Before(point)


def clause_of(point: Point) -> str:
    """The AT | BEFORE clause of a point.

    >>> clause_of(3), clause_of(-300), clause_of(before("2026-11-20 09:00:00"))
    ('AT (VERSION => 3)', 'AT (OFFSET => -300)', "BEFORE (TIMESTAMP => '2026-11-20 09:00:00')")
    >>> clause_of(timedelta(minutes=-5)), clause_of(datetime(2026, 11, 20, 9, tzinfo=timezone.utc))
    ('AT (OFFSET => -300.000000)', "AT (TIMESTAMP => '2026-11-20 09:00:00+00:00')")

    Raises:
        BadMomentError: it is no point in time.
        BadOffsetError: the age is negative.
    """
    if isinstance(point, Before):
        return f"BEFORE ({_asked(point.point)})"
    return f"AT ({_asked(point)})"


def _asked(point: object) -> str:
    # In Python a datetime is a date, too, so it comes first.
    if isinstance(point, datetime):
        return f"TIMESTAMP => '{_utc(point)}'"
    if isinstance(point, date):
        return f"TIMESTAMP => '{point.isoformat()}'"
    if isinstance(point, str):
        kind = "STATEMENT" if _QUERY_ID.fullmatch(point.strip()) else "TIMESTAMP"
        return f"{kind} => {sql_text(point)}"
    if isinstance(point, timedelta):
        return f"OFFSET => {_seconds(point)}"
    return _number(point)


def _number(point: object) -> str:
    # In Python a bool is an Integral.
    if not isinstance(point, bool):
        if isinstance(point, Integral):
            return f"{'OFFSET' if int(point) < 0 else 'VERSION'} => {int(point)}"
        if isinstance(point, Real) and -math.inf < float(point) < 0:
            return f"OFFSET => {float(point):f}"
    raise _no_point(point)


def _no_point(point: object) -> BadMomentError:
    return BadMomentError(
        f"{point!r} is no point in time",
        "give a datetime, a text, a query id, a negative timedelta or number of seconds, or a version (int)",
    )


def _utc(moment: datetime) -> str:
    """A moment in UTC; one without a zone is in the zone that PySpark uses for its type.

    `collect` gives a `datetime` in the zone of the process, `toPandas` a `Timestamp` in the session's
    (PySpark 4.2), which is also that of a text.
    """
    # pandas' NaT is a datetime, and unequal to itself.
    if moment != moment:  # noqa: PLR0124
        raise _no_point(moment)
    of_pandas = getattr(moment, "to_pydatetime", None)
    if of_pandas is not None:
        # pandas would warn of nanoseconds, which no TIMESTAMP of Spark has.
        moment = of_pandas(warn=False)
    if moment.tzinfo is None and of_pandas is not None:
        return moment.isoformat(sep=" ")
    try:
        return moment.astimezone(timezone.utc).isoformat(sep=" ")
    # In UTC it is before the year 1 or after 9999 (Python raises either, by the zone).
    except (OverflowError, ValueError):
        raise _no_point(moment) from None


def _seconds(age: timedelta) -> str:
    if age > timedelta():
        raise BadOffsetError(
            f"{age!r} lies ahead", "an age counts back from now: timedelta(minutes=-5) for five minutes ago"
        )
    # As digits: Python would write a short age as 1e-06.
    return f"{age // timedelta(microseconds=1) / 1_000_000:.6f}"
