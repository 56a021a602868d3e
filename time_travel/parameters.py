"""ALTER … SET | UNSET of retention, and SHOW PARAMETERS.

In: the text of a statement. Out: a `Change` or a `Question`; None where it is neither. What a value may be is
checked here: 0 to 90 days, 0 or 1 for what is transient, 48 to 168 hours by days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lineage.cursor import Cursor
from lineage.tokens import tokenize
from time_travel.errors import BadParameterError
from time_travel.retention import (
    HOURS,
    LONGEST_DAYS,
    LONGEST_TRANSIENT_DAYS,
    MINIMUM,
    RETENTION,
)

Level = Literal["ACCOUNT", "SCHEMA", "TABLE"]
_NOUNS: dict[str, Level] = {
    "ACCOUNT": "ACCOUNT", "SCHEMA": "SCHEMA", "DATABASE": "SCHEMA", "NAMESPACE": "SCHEMA", "TABLE": "TABLE",
}  # fmt: skip
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
"""Of a window: "between 2 days and 7 days", in multiples of 24 (Configure the time travel window)."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an ALTER sets; a value of None is unset.

    Attributes:
        level: ACCOUNT, SCHEMA or TABLE.
        name: of the schema or table, () for the account.
        values: by parameter.
        if_exists: nothing happens where there is no such object.
    """

    level: Level
    name: tuple[str, ...]
    values: Mapping[str, int | None] = field(default_factory=dict)
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """SHOW PARAMETERS: a pattern, and of what."""

    like: str
    level: Level
    name: tuple[str, ...]


def read_change(text: str) -> Change | None:
    """What a text sets; None where it is no ALTER of these parameters.

    >>> read_change("ALTER TABLE mytable SET DATA_RETENTION_TIME_IN_DAYS=30").values
    {'DATA_RETENTION_TIME_IN_DAYS': 30}

    Raises:
        BadParameterError: a value that it cannot have, or a level at which it cannot be set.
    """
    at = Cursor(tokenize(text) or [], text)
    if not at.take("ALTER"):
        return None
    level = _NOUNS.get(at.take_one(*_NOUNS))
    if level is None:
        return None
    if_exists = at.take("IF", "EXISTS")
    name = () if level == "ACCOUNT" else at.name()
    verb = at.take_one("SET", "UNSET")
    bracket = at.take("OPTIONS", "(")
    if not verb or at.word() not in KNOWN:
        return None
    values: dict[str, int | None] = {}
    while at.word() in KNOWN:
        parameter = at.take_one(*KNOWN)
        values[parameter] = _value(at, parameter) if verb == "SET" else None
        if level not in KNOWN[parameter]:
            where = " or ".join(sorted(KNOWN[parameter]))
            problem = f"{parameter} cannot be set on a {level.lower()}"
            raise BadParameterError(problem, f"it is set on {where}")
        at.take(",")
    if bracket:
        at.take(")")
    if not at.done:
        raise BadParameterError(
            f"ALTER {level} cannot go on with {at.span()!r}",
            f"set {', '.join(KNOWN)} in a statement of their own",
        )
    return Change(level, name, values, if_exists)


def _value(at: Cursor, parameter: str) -> int:
    at.take("=")
    text = at.span(",", ")", *KNOWN)
    if not text.strip("'").isdigit():
        raise BadParameterError(f"{parameter} = {text or 'nothing'} is no whole number", allowed(parameter))
    value = int(text.strip("'"))
    fits = value in HOURS_ALLOWED if parameter == HOURS else 0 <= value <= LONGEST_DAYS
    if not fits:
        raise BadParameterError(f"{parameter} = {value} is out of bounds", allowed(parameter))
    return value


def allowed(parameter: str) -> str:
    """The values of a parameter, in words."""
    if parameter == HOURS:
        return f"one of {', '.join(map(str, HOURS_ALLOWED))} hours"
    return f"0 to {LONGEST_DAYS} days, for what is transient 0 or {LONGEST_TRANSIENT_DAYS}"


def require_transient(name: tuple[str, ...], days: int | None, *, transient: bool) -> None:
    """What is transient is retained for a day at most; so is what a transient schema holds.

    Raises:
        BadParameterError: longer.
    """
    if transient and days is not None and days > LONGEST_TRANSIENT_DAYS:
        raise BadParameterError(
            f"{RETENTION} = {days} is too long for {'.'.join(name)}, which is transient",
            f"0 or {LONGEST_TRANSIENT_DAYS}",
        )


def read_question(text: str) -> Question | None:
    """SHOW PARAMETERS [LIKE 'pattern'] [IN | FOR ACCOUNT | SCHEMA s | TABLE t]; None for anything else.

    >>> read_question("SHOW PARAMETERS LIKE 'DATA%' IN TABLE s.t")
    Question(like='DATA%', level='TABLE', name=('s', 't'))
    """
    at = Cursor(tokenize(text) or [], text)
    if not at.take("SHOW", "PARAMETERS"):
        return None
    like = (at.string() or "") if at.take("LIKE") else ""
    level: Level = "ACCOUNT"
    name: tuple[str, ...] = ()
    if at.take_one("IN", "FOR"):
        level = _NOUNS.get(at.take_one(*_NOUNS), "ACCOUNT")
        name = at.name()
    if not at.done or (level != "ACCOUNT" and not name):
        raise BadParameterError(
            "SHOW PARAMETERS needs to know of what",
            "write SHOW PARAMETERS [LIKE 'pattern'] IN ACCOUNT | SCHEMA name | TABLE name",
        )
    return Question(like, level, name)
