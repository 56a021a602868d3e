"""How long the past is kept: DATA_RETENTION_TIME_IN_DAYS of a table, its schema, the account.

In: what is set where. Out: the period in force, in days, and Fail-safe's. "The effective minimum data
retention period for an object is determined by MAX(DATA_RETENTION_TIME_IN_DAYS,
MIN_DATA_RETENTION_TIME_IN_DAYS)" (Data retention period); where an object has none of its own, its
container's is inherited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

RETENTION = "DATA_RETENTION_TIME_IN_DAYS"
MINIMUM = "MIN_DATA_RETENTION_TIME_IN_DAYS"
HOURS = "MAX_TIME_TRAVEL_HOURS"
TRANSIENT = "TRANSIENT"
PREFIX = "timeTravel."
"""Of the properties of tables and schemas that hold what is set on them."""
ADOPTED = PREFIX + "adopted"
"""The property of a table that was there before and is kept as those that are made here."""
OWN = PREFIX + "own."
"""Before a property of Delta's: what the owner of an adopted table had set for longer than is in force."""

DELTAS_FILES = "delta.deletedFileRetentionDuration"
DELTAS_LOG = "delta.logRetentionDuration"
PINNED = "interval 36500 days"
"""Longer than any retention: a century."""

CLONE_GROUP = PREFIX + "cloneGroup"
"""Holds the id of the oldest table that a clone goes back to."""
EARLIER = PREFIX + "earlierRetention"
"""Holds the periods that were in force before, as `Retention.earlier`: "until:days,until:days"."""

DEFAULT_DAYS = 1.0
FAIL_SAFE_DAYS = 7.0
DAY = 86_400_000_000
"""In microseconds."""
LONGEST_DAYS = 90
LONGEST_TRANSIENT_DAYS = 1
_REMEMBERED = 100 * DAY


@dataclass(frozen=True, slots=True)
class Retention:
    """The periods of an object, in days.

    Attributes:
        days: the past can be read, and what was dropped brought back.
        fail_safe: after that, only the administrator can.
        level: where `days` was set: TABLE, SCHEMA, ACCOUNT, or "" for the default.
        earlier: the periods in force before, oldest first: until when, UTC microseconds, and how many days.
        given: what is set, before the least of the account and the most of what is transient.
    """

    days: float
    fail_safe: float
    level: str
    earlier: tuple[tuple[int, float], ...] = ()
    given: float | None = field(default=None, repr=False, compare=False)

    def horizon(self, at: int) -> int:
        """What was replaced by this moment has left Time Travel: it cannot be read, nor brought back.

        A longer period does not bring back what had left under a shorter one ("this doesn't apply to any
        data that is older than 10 days and has already moved into Fail-safe"); under a shorter one it leaves
        at once, and not before.

        >>> Retention(20, 7, "TABLE", ((30 * DAY, 10),)).horizon(31 * DAY) // DAY
        20

        Args:
            at: the time, UTC microseconds.
        """
        begins = (-1, *(until for until, _ in self.earlier))
        periods = (*self.earlier, (at, self.days))
        begun = (one for begin, one in zip(begins, periods, strict=True) if begin <= at)
        return max(min(until, at) - round(days * DAY) for until, days in begun)

    def kept_horizon(self, at: int) -> int:
        """What was replaced by this moment has left Fail-safe, too, and may go for good.

        >>> Retention(1, 7, "TABLE", ((30 * DAY, 10),)).kept_horizon(30 * DAY) // DAY
        13
        """
        return self.horizon(at - round(self.fail_safe * DAY))

    def longest(self, at: int) -> float:
        """For how many days Delta must keep files so that none goes before its Fail-safe ends."""
        recent = [days for until, days in self.earlier if until + round(self.fail_safe * DAY) > at]
        return max([self.days, *recent]) + self.fail_safe

    def after(self, before: Retention, at: int) -> Retention:
        """This period where another one was in force until now."""
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
    """The periods of a table by what is set on it, its schema and the account.

    A schema with MAX_TIME_TRAVEL_HOURS follows the other document: the window is set there alone.

    >>> in_force({}, {"timeTravel.dataRetentionTimeInDays": "5"}, {"MIN_DATA_RETENTION_TIME_IN_DAYS": 10.0})
    Retention(days=10.0, fail_safe=7.0, level='SCHEMA', earlier=())

    Args:
        table: its properties.
        schema: its properties.
        account: parameters by name.
    """
    transient = is_transient(table) or is_transient(schema)
    fail_safe = 0.0 if transient else FAIL_SAFE_DAYS
    given, level = _given(table, schema, account)
    days = given
    if transient:
        days = min(days, float(LONGEST_TRANSIENT_DAYS))
    if _number(schema, HOURS) is None:
        days = max(days, _least(account, transient))
    own = table.get(OWN + DELTAS_FILES)
    if own is not None:
        fail_safe = max(fail_safe, days_of(own) - days)
    return Retention(days, fail_safe, level, _earlier(table.get(EARLIER, "")), given)


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
    """The property that remembers what was in force before; none where nothing was.

    >>> earlier_property(Retention(1, 7, "", ((86400000000, 10.0),)))
    {'timeTravel.earlierRetention': '86400000000:10'}
    """
    text = ",".join(f"{until}:{days:g}" for until, days in periods.earlier)
    return {EARLIER: text} if text else {}


def delta_properties(periods: Retention, at: int = 0) -> dict[str, str]:
    """What tells Delta to keep files and log for these periods, whoever calls VACUUM.

    >>> delta_properties(Retention(1.0, 7.0, ""))["delta.deletedFileRetentionDuration"]
    'interval 192 hours'

    Args:
        periods: of a table.
        at: the time, UTC microseconds; what a longer period has kept until now stays for its Fail-safe.
    """
    hours = round(periods.longest(at) * 24)
    log = max(hours, _DELTAS_LOG_HOURS)
    return {
        DELTAS_FILES: f"interval {hours} hours",
        DELTAS_LOG: f"interval {log} hours",
    }


def days_of(interval: str) -> float:
    """An interval as Delta's properties hold it, in days.

    >>> days_of("interval 1 week 12 hours"), days_of("36 Days")
    (7.5, 36.0)
    """
    return sum(int(number) * _HOURS[unit.lower()] for number, unit in _PIECE.findall(interval)) / 24


def lasting(wanted: Mapping[str, str], table: Mapping[str, str]) -> dict[str, str]:
    """Properties of Delta as they are wanted, or as the owner of an adopted table wants them for longer.

    >>> lasting({"a": "interval 192 hours"}, {"timeTravel.own.a": "5 weeks"})
    {'a': '5 weeks'}
    """
    return {name: _longer(value, table.get(OWN + name)) for name, value in wanted.items()}


def of_owner(wanted: Mapping[str, str], table: Mapping[str, str]) -> dict[str, str]:
    """The properties that remember what a table's owner keeps for longer than is wanted.

    >>> of_owner({"a": "interval 192 hours"}, {"a": "5 weeks"})
    {'timeTravel.own.a': '5 weeks'}
    """
    return {
        OWN + name: table[name]
        for name, value in wanted.items()
        if name in table and days_of(table[name]) > days_of(value)
    }


def is_pinned(properties: Mapping[str, str]) -> bool:
    """Whether a Delta table keeps every file, since a clone reads them."""
    return properties.get(DELTAS_FILES) == PINNED


def pins(properties: Mapping[str, str]) -> dict[str, str]:
    """What has a Delta table keep every file, and whose files it shares."""
    names = (CLONE_GROUP, *((DELTAS_FILES, DELTAS_LOG) if is_pinned(properties) else ()))
    return {name: properties[name] for name in names if name in properties}


_HOURS = {"hour": 1.0, "day": 24.0, "week": 168.0, "minute": 1 / 60, "second": 1 / 3600}
_PIECE = re.compile(r"(\d+)\s+(hour|day|week|minute|second)s?", re.IGNORECASE)
# Delta's default: 30 days.
_DELTAS_LOG_HOURS = 30 * 24


def _longer(one: str, other: str | None) -> str:
    return one if other is None or days_of(one) > days_of(other) else other


def _least(account: Mapping[str, float], transient: bool) -> float:  # noqa: FBT001  one fact of two
    least = account.get(MINIMUM, 0.0)
    return min(least, float(LONGEST_TRANSIENT_DAYS)) if transient else least


def is_transient(properties: Mapping[str, str]) -> bool:
    """Whether a table or schema is; what is in a transient schema is, too."""
    return properties.get(key(TRANSIENT), "").lower() == "true"


def _number(properties: Mapping[str, str], parameter: str) -> float | None:
    value = properties.get(key(parameter))
    return None if value in (None, "") else float(str(value))
