"""Points in time as Python has them: a moment, an age, a statement, a version.

In: what a caller gives. Out: the AT | BEFORE clause of SQL that asks for it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from numbers import Integral, Real
from typing import TypeAlias

from lineage.names import sql_text
from time_travel.errors import BadMomentError, BadOffsetError

_QUERY_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Before:
    """The state just before a point."""

    point: Moment


Moment: TypeAlias = datetime | date | timedelta | str | int | float
Point: TypeAlias = Moment | Before
"""What `time_travel.read` says of its argument `at`."""


def before(point: Moment) -> Before:
    """The state just before a point, for a function that takes points by place.

    `diff(spark, "t", before(query_id), query_id)` is what a statement has changed.

    Args:
        point: as `at` of `time_travel.read`.
    """
    return Before(point)


def clause_of(point: Point) -> str:
    """The clause of SQL that asks for a point.

    >>> clause_of(3), clause_of(-300), clause_of(before("2026-11-20 09:00:00"))
    ('AT (VERSION => 3)', 'AT (OFFSET => -300)', "BEFORE (TIMESTAMP => '2026-11-20 09:00:00')")
    >>> clause_of(timedelta(minutes=-5)), clause_of(datetime(2026, 11, 20, 9, tzinfo=timezone.utc))
    ('AT (OFFSET => -300.000000)', "AT (TIMESTAMP => '2026-11-20 09:00:00+00:00')")

    Raises:
        BadMomentError: no point in time.
        BadOffsetError: an age that leads into the future.
    """
    if isinstance(point, Before):
        return f"BEFORE ({_asked(point.point)})"
    return f"AT ({_asked(point)})"


def _asked(point: object) -> str:
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
    if not isinstance(point, bool):
        if isinstance(point, Integral):
            return f"{'OFFSET' if int(point) < 0 else 'VERSION'} => {int(point)}"
        if isinstance(point, Real) and -math.inf < float(point) < 0:
            return f"OFFSET => {float(point):f}"
    raise BadMomentError(
        f"{point!r} is no point in time",
        "give a datetime, a text, a query id, a negative timedelta or number of seconds, or a version (int)",
    )


def _utc(moment: datetime) -> str:
    """A moment in UTC; without a zone it is in that of whatever gives such values.

    `collect` gives a `datetime` in the zone of the process, `toPandas` a `Timestamp` in the session's
    (PySpark 4.2), which is also that of a text.
    """
    of_pandas = getattr(moment, "to_pydatetime", None)
    if of_pandas is not None:
        moment = of_pandas(warn=False)
    if moment.tzinfo is None and of_pandas is not None:
        return moment.isoformat(sep=" ")
    return moment.astimezone(timezone.utc).isoformat(sep=" ")


def _seconds(age: timedelta) -> str:
    if age > timedelta():
        raise BadOffsetError(
            f"{age!r} lies ahead", "an age counts back from now: timedelta(minutes=-5) for five minutes ago"
        )
    return f"{age // timedelta(microseconds=1) / 1_000_000:.6f}"
