"""Retention periods: DATA_RETENTION_TIME_IN_DAYS of a table, its schema, the account.

In: the parameters of each level. Out: the period in force, in days, and that of Fail-safe. "The effective
minimum data retention period for an object is determined by MAX(DATA_RETENTION_TIME_IN_DAYS,
MIN_DATA_RETENTION_TIME_IN_DAYS)" (Data retention period); an object without one of its own inherits its
container's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from lineage.sql.commands.time_travel.retention import HOURS, MINIMUM, RETENTION

TRANSIENT = "TRANSIENT"
PREFIX = "timeTravel."
"""The prefix of properties of tables and schemas that hold their parameters."""
OWN = PREFIX + "own."
"""The prefix of the values that a table's owner has given to properties which retention sets."""
DELTAS_FILES = "delta.deletedFileRetentionDuration"
DELTAS_LOG = "delta.logRetentionDuration"
EARLIER = PREFIX + "earlierRetention"
"""The property with `Retention.earlier`, as "until:days,until:days"."""

# Snowflake's standard retention period is 1 day, of 0 to 90; BigQuery's Fail-safe is seven days, and not
# configurable.
DEFAULT_DAYS = 1.0
FAIL_SAFE_DAYS = 7.0
DAY = 86_400_000_000
"""In microseconds."""
LONGEST_DAYS = 90
LONGEST_TRANSIENT_DAYS = 1
# 90 days of retention and 7 of Fail-safe: older periods have no effect any more.
_REMEMBERED = 100 * DAY


@dataclass(frozen=True, slots=True)
class Retention:
    """The periods of an object, in days.

    Attributes:
        days: of Time Travel: old versions can be read, drops restored.
        fail_safe: of Fail-safe, which follows: only the administrator can recover.
        level: where `days` was set: TABLE, SCHEMA, ACCOUNT, or "" for the default.
        earlier: former periods, oldest first: their end, UTC microseconds, and their days.
        given: the parameter as set, before the account's minimum and the maximum for transient objects.
    """

    days: float
    fail_safe: float
    level: str
    earlier: tuple[tuple[int, float], ...] = ()
    given: float | None = field(default=None, repr=False, compare=False)

    def horizon(self, at: int) -> int:
        """Versions replaced before this moment have left Time Travel: they cannot be read or restored.

        A longer period does not restore data that had left under a shorter one ("this doesn't apply to any
        data that is older than 10 days and has already moved into Fail-safe"). A shorter period takes effect
        at once.

        >>> Retention(20, 7, "TABLE", ((30 * DAY, 10),)).horizon(31 * DAY) // DAY
        20

        Args:
            at: the time, UTC microseconds.
        """
        begins = (-inf, *(until for until, _ in self.earlier))
        periods = (*self.earlier, (at, self.days))
        begun = (one for begin, one in zip(begins, periods, strict=True) if begin <= at)
        # The latest horizon counts: what has once left Time Travel does not come back.
        return max(min(until, at) - round(days * DAY) for until, days in begun)

    def in_turn(self) -> list[tuple[int, int | None, float]]:
        """All periods, oldest first: their beginning, their end (None for the present one), their days.

        A version that was replaced at a time leaves Time Travel by the first period that is in force, or was,
        so many days after: the beginning of that period, or that day, whichever is later.

        >>> Retention(1, 7, "TABLE", ((30 * DAY, 10),)).in_turn() == [(0, 30 * DAY, 10), (30 * DAY, None, 1)]
        True
        """
        ends = [until for until, _ in self.earlier]
        days = [*(one for _, one in self.earlier), self.days]
        return list(zip([0, *ends], [*ends, None], days, strict=True))

    def kept_horizon(self, at: int) -> int:
        """Versions replaced before this moment have left Fail-safe, too, and can be purged.

        >>> Retention(1, 7, "TABLE", ((30 * DAY, 10),)).kept_horizon(30 * DAY) // DAY
        13
        """
        return self.horizon(at - round(self.fail_safe * DAY))

    def longest(self, at: int) -> float:
        """The days for which Delta must keep replaced files, so that none is deleted within Fail-safe."""
        recent = [days for until, days in self.earlier if until + round(self.fail_safe * DAY) > at]
        return max([self.days, *recent]) + self.fail_safe

    def after(self, before: Retention, at: int) -> Retention:
        """This period, with another one as the former."""
        if before.days == self.days:
            return replace(self, earlier=before.earlier)
        known = (one for one in (*before.earlier, (at, before.days)) if one[0] > at - _REMEMBERED)
        return replace(self, earlier=tuple(known))


def key(parameter: str) -> str:
    """The property that holds a parameter.

    >>> key("DATA_RETENTION_TIME_IN_DAYS")
    'timeTravel.dataRetentionTimeInDays'
    """
    first, *rest = parameter.lower().split("_")
    return PREFIX + first + "".join(word.capitalize() for word in rest)


def in_force(table: Mapping[str, str], schema: Mapping[str, str], account: Mapping[str, float]) -> Retention:
    """The periods of a table by the parameters of table, schema and account.

    A schema with MAX_TIME_TRAVEL_HOURS follows BigQuery's rules: its tables have no setting of their own.

    >>> in_force({}, {"timeTravel.dataRetentionTimeInDays": "5"}, {"MIN_DATA_RETENTION_TIME_IN_DAYS": 10.0})
    Retention(days=10.0, fail_safe=7.0, level='SCHEMA', earlier=())

    Args:
        table: its properties.
        schema: its properties.
        account: parameters by name.
    """
    transient = is_transient(table) or is_transient(schema)
    # Transient tables have no Fail-safe (Snowflake).
    fail_safe = 0.0 if transient else FAIL_SAFE_DAYS
    given, level = _given(table, schema, account)
    days = given
    if transient:
        days = min(days, float(LONGEST_TRANSIENT_DAYS))
    # MAX(DATA_RETENTION_TIME_IN_DAYS, MIN_DATA_RETENTION_TIME_IN_DAYS) (Snowflake, Data retention period);
    # the minimum does not count for a window in hours.
    if _number(schema, HOURS) is None:
        days = max(days, _least(account, transient))
    own = table.get(OWN + DELTAS_FILES)
    # The owner's longer period becomes a longer Fail-safe: the retention that users see is unchanged.
    if own:
        fail_safe = max(fail_safe, days_of(own) - days)
    return Retention(days, fail_safe, level, _earlier(table.get(EARLIER, "")), given)


def days_of(interval: str) -> float:
    """The days of an interval in a Delta property.

    >>> days_of("interval 1 week 12 hours"), days_of("36 Days")
    (7.5, 36.0)
    """
    return sum(int(number) * _HOURS[unit.lower()] for number, unit in _PIECE.findall(interval)) / 24


def is_interval(text: str) -> bool:
    """Whether a text is an interval as Delta's properties take it: of whole numbers, without months.

    >>> is_interval("interval 1 week 12 hours"), is_interval("1 month"), is_interval("interval -1 days")
    (True, False, False)
    """
    return _INTERVAL.fullmatch(text.strip()) is not None


_HOURS = {
    "hour": 1.0, "day": 24.0, "week": 168.0, "minute": 1 / 60, "second": 1 / 3600,
    "millisecond": 0.0, "microsecond": 0.0,
}  # fmt: skip
_UNITS = "hour|day|week|minute|second|millisecond|microsecond"
_PIECE = re.compile(rf"(\d+)\s+({_UNITS})s?\b", re.IGNORECASE)
_INTERVAL = re.compile(rf"(?:interval\s+)?\d+\s+(?:{_UNITS})s?(?:\s+\d+\s+(?:{_UNITS})s?)*", re.IGNORECASE)


def _given(
    table: Mapping[str, str], schema: Mapping[str, str], account: Mapping[str, float]
) -> tuple[float, str]:
    """The nearest setting, and its level; "" for the default of the system."""
    hours = _number(schema, HOURS)
    if hours is not None:
        return hours / 24, "SCHEMA"
    for level, value in (("TABLE", _number(table, RETENTION)), ("SCHEMA", _number(schema, RETENTION))):
        if value is not None:
            return value, level
    given = account.get(RETENTION)
    return (DEFAULT_DAYS, "") if given is None else (given, "ACCOUNT")


def _earlier(text: str) -> tuple[tuple[int, float], ...]:
    pairs = (one.split(":") for one in text.split(",") if one)
    return tuple((int(until), float(days)) for until, days in pairs)


def earlier_property(periods: Retention) -> dict[str, str]:
    """The property that keeps former periods; {} for none.

    >>> earlier_property(Retention(1, 7, "", ((86400000000, 10.0),)))
    {'timeTravel.earlierRetention': '86400000000:10'}
    """
    text = ",".join(f"{until}:{days:g}" for until, days in periods.earlier)
    return {EARLIER: text} if text else {}


def _least(account: Mapping[str, float], transient: bool) -> float:  # noqa: FBT001  one fact of two
    least = account.get(MINIMUM, 0.0)
    return min(least, float(LONGEST_TRANSIENT_DAYS)) if transient else least


def is_transient(properties: Mapping[str, str]) -> bool:
    """Whether a table or schema is transient, by its properties."""
    return properties.get(key(TRANSIENT), "").lower() == "true"


def _number(properties: Mapping[str, str], parameter: str) -> float | None:
    value = properties.get(key(parameter))
    return None if value in (None, "") else float(str(value))
