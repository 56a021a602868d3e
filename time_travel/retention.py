"""How long the past is kept: DATA_RETENTION_TIME_IN_DAYS of a table, its schema, the account.

In: what is set where. Out: the period in force, in days, and Fail-safe's. "The effective minimum data
retention period for an object is determined by MAX(DATA_RETENTION_TIME_IN_DAYS,
MIN_DATA_RETENTION_TIME_IN_DAYS)" (Data retention period); where an object has none of its own, its
container's is inherited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RETENTION = "DATA_RETENTION_TIME_IN_DAYS"
MINIMUM = "MIN_DATA_RETENTION_TIME_IN_DAYS"
HOURS = "MAX_TIME_TRAVEL_HOURS"
TRANSIENT = "TRANSIENT"
PREFIX = "timeTravel."
"""Of the properties of tables and schemas that hold what is set on them."""

DELTAS_FILES = "delta.deletedFileRetentionDuration"
DELTAS_LOG = "delta.logRetentionDuration"
PINNED = "interval 36500 days"
"""Longer than any retention: a century."""

DEFAULT_DAYS = 1.0
FAIL_SAFE_DAYS = 7.0
LONGEST_DAYS = 90
LONGEST_TRANSIENT_DAYS = 1


@dataclass(frozen=True, slots=True)
class Retention:
    """The periods of an object, in days.

    Attributes:
        days: the past can be read, and what was dropped brought back.
        fail_safe: after that, only the administrator can.
        level: where `days` was set: TABLE, SCHEMA, ACCOUNT, or "" for the default.
    """

    days: float
    fail_safe: float
    level: str

    @property
    def seconds(self) -> float:
        """The time that can be read back, in seconds."""
        return self.days * 86_400


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
    Retention(days=10.0, fail_safe=7.0, level='SCHEMA')

    Args:
        table: its properties.
        schema: its properties.
        account: parameters by name.
    """
    transient = _is_transient(table) or _is_transient(schema)
    fail_safe = 0.0 if transient else FAIL_SAFE_DAYS
    hours = _number(schema, HOURS)
    if hours is not None:
        return Retention(hours / 24, fail_safe, "SCHEMA")
    for level, value in (("TABLE", _number(table, RETENTION)), ("SCHEMA", _number(schema, RETENTION))):
        if value is not None:
            return Retention(max(value, _least(account, transient)), fail_safe, level)
    given = account.get(RETENTION)
    days = DEFAULT_DAYS if given is None else given
    if transient:
        days = min(days, LONGEST_TRANSIENT_DAYS)
    return Retention(max(days, _least(account, transient)), fail_safe, "" if given is None else "ACCOUNT")


def delta_properties(periods: Retention) -> dict[str, str]:
    """What tells Delta to keep files and log for these periods, whoever calls VACUUM.

    >>> delta_properties(Retention(1.0, 7.0, ""))["delta.deletedFileRetentionDuration"]
    'interval 192 hours'
    """
    hours = round((periods.days + periods.fail_safe) * 24)
    log = max(hours, _DELTAS_LOG_HOURS)
    return {
        DELTAS_FILES: f"interval {hours} hours",
        DELTAS_LOG: f"interval {log} hours",
    }


def is_pinned(properties: Mapping[str, str]) -> bool:
    """Whether a Delta table keeps every file, since a clone reads them."""
    return properties.get(DELTAS_FILES) == PINNED


# Delta's default: 30 days.
_DELTAS_LOG_HOURS = 30 * 24


def _least(account: Mapping[str, float], transient: bool) -> float:  # noqa: FBT001  one fact of two
    least = account.get(MINIMUM, 0.0)
    return min(least, LONGEST_TRANSIENT_DAYS) if transient else least


def _is_transient(properties: Mapping[str, str]) -> bool:
    return properties.get(key(TRANSIENT), "").lower() == "true"


def _number(properties: Mapping[str, str], parameter: str) -> float | None:
    value = properties.get(key(parameter))
    return None if value in (None, "") else float(str(value))
