"""The parameters of retention: valid values of ALTER … SET | UNSET, and of SHOW PARAMETERS.

In: an `AlterRetention` or a `ShowParameters`. Out: a `ParameterChange`, or an error: a value is 0 to 90 days,
0 or 1 for transient objects, 48 to 168 hours in steps of a day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.time_travel.errors import BadParameterError
from audit.time_travel.retention.periods import LONGEST_DAYS, LONGEST_TRANSIENT_DAYS
from lineage.sql.commands.time_travel.retention import (
    HOURS,
    MINIMUM,
    RETENTION,
    AlterRetention,
    Level,
    ShowParameters,
)

KNOWN: Mapping[str, frozenset[Level]] = {
    RETENTION: frozenset({"ACCOUNT", "SCHEMA", "TABLE"}),
    MINIMUM: frozenset({"ACCOUNT"}),
    HOURS: frozenset({"SCHEMA"}),
}
"""The parameters, and the levels at which each can be set."""

DESCRIPTIONS = {
    RETENTION: "number of days to retain the old version of deleted/updated data",
    MINIMUM: "minimum number of days that the account retains data, whatever is set below it",
    HOURS: "time travel window of a schema in hours, in place of its days",
}
HOURS_ALLOWED = tuple(range(48, 169, 24))
"""Hours of a window: "between 2 days and 7 days", in multiples of 24 (Configure the time travel window)."""


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """The parameters that an ALTER sets; None unsets one.

    Attributes:
        level: ACCOUNT, SCHEMA or TABLE.
        name: of the schema or table, () for the account.
        values: by parameter.
        if_exists: a missing object is no error.
    """

    level: Level
    name: tuple[str, ...]
    values: Mapping[str, int | None] = field(default_factory=dict)
    if_exists: bool = False


def parameter_change_of(alter: AlterRetention) -> ParameterChange:
    """The parameters that an ALTER sets, with valid values.

    >>> parameter_change_of(AlterRetention("TABLE", ("t",), ((RETENTION, "30"),))).values
    {'DATA_RETENTION_TIME_IN_DAYS': 30}

    Raises:
        BadParameterError: an invalid value, or a level at which the parameter cannot be set.
    """
    values: dict[str, int | None] = {}
    for parameter, text in alter.values:
        values[parameter] = None if text is None else _value(parameter, text)
        if alter.level not in KNOWN[parameter]:
            where = " or ".join(sorted(KNOWN[parameter]))
            problem = f"{parameter} cannot be set on a {alter.level.lower()}"
            raise BadParameterError(problem, f"it is set on {where}")
    if alter.rest:
        raise BadParameterError(
            f"ALTER {alter.level} cannot go on with {alter.rest!r}",
            f"set {', '.join(KNOWN)} in a statement of their own",
        )
    return ParameterChange(alter.level, alter.name, values, alter.if_exists)


def _value(parameter: str, text: str) -> int:
    # `isdigit` takes a superscript two, which is no number.
    if not text.strip("'").isdecimal():
        raise BadParameterError(
            f"{parameter} = {text or 'nothing'} is no whole number", allowed_values(parameter)
        )
    value = int(text.strip("'"))
    fits = value in HOURS_ALLOWED if parameter == HOURS else 0 <= value <= LONGEST_DAYS
    if not fits:
        raise BadParameterError(f"{parameter} = {value} is out of bounds", allowed_values(parameter))
    return value


def allowed_values(parameter: str) -> str:
    """The values of a parameter, in words."""
    if parameter == HOURS:
        return f"one of {', '.join(map(str, HOURS_ALLOWED))} hours"
    return f"0 to {LONGEST_DAYS} days, for what is transient 0 or {LONGEST_TRANSIENT_DAYS}"


def require_transient(name: tuple[str, ...], days: int | None, *, transient: bool) -> None:
    """Refuse more than a day of retention for a transient table, or a table of a transient schema.

    Raises:
        BadParameterError: it is longer.
    """
    if transient and days is not None and days > LONGEST_TRANSIENT_DAYS:
        raise BadParameterError(
            f"{RETENTION} = {days} is too long for {'.'.join(name)}, which is transient",
            f"0 or {LONGEST_TRANSIENT_DAYS}",
        )


def require_object(question: ShowParameters) -> ShowParameters:
    """A SHOW PARAMETERS that names its object.

    Raises:
        BadParameterError: it names none, or one without saying what it is.
    """
    if question.rest or bool(question.name) != (question.level != "ACCOUNT"):
        raise BadParameterError(
            "SHOW PARAMETERS names no object",
            "write SHOW PARAMETERS [LIKE 'pattern'] IN ACCOUNT | SCHEMA name | TABLE name",
        )
    return question
