"""Evaluates the expression of an AT | BEFORE clause.

In: SQL text of a constant, the session's time zone, a function that evaluates SQL in Spark. Out: UTC
microseconds, an offset in seconds, a query id or a version. Plain literals are read here; Spark evaluates
everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite, prod
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot.tokenizer_core import Token, TokenType

from audit.core.clock import to_micros
from audit.time_travel.errors import BadMomentError, BadOffsetError
from lineage.sql.tokens import tokenize, word

if TYPE_CHECKING:
    from lineage.sql.commands.time_travel.at_before import VersionClause

Evaluate = Callable[[str], object]
"""Evaluates SQL text of one constant expression in the user's session; raises what Spark raises."""

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?))?\s*(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
# Spark (4.2) casts no text of this form to a timestamp.
_RFC_2822 = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\s*\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)?"
    # Of any other word Python (3.11) would drop the zone behind it: PM, too.
    r"\s*(?:[+-]\d{4}|Z|UTC?|GMT|[ECMP][SD]T)?"
)
_GLUED_ZONE = re.compile(r"(?<=\d{2}:\d{2}:\d{2})(?=[+-]\d{4}\Z)")
# Snowflake's names of types, as Spark calls them.
_TYPES = {"TIMESTAMP_TZ": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP"}
_PLURALS = frozenset({"YEARS", "MONTHS", "WEEKS", "DAYS", "HOURS", "MINUTES", "SECONDS"})
# Spark's units are singular (`datetimeUnit`), Snowflake takes both: DATEADD(days, -4, …).
_SHIFTS = frozenset({"DATEADD", "TIMESTAMPADD", "TIMEADD"})
# BigQuery's functions of a time and an interval; Spark has operators for them.
_OPERATORS = {
    "TIMESTAMP_SUB": "-", "TIMESTAMP_ADD": "+", "DATETIME_SUB": "-", "DATETIME_ADD": "+",
    "DATE_SUB": "-", "DATE_ADD": "+",
}  # fmt: skip
# Snowflake's functions, as Spark calls them.
_FUNCTIONS = {"TO_TIMESTAMP_TZ": "TO_TIMESTAMP", "TRY_TO_TIMESTAMP_TZ": "TRY_TO_TIMESTAMP"}


def timestamp_of(clause: VersionClause, zone: str, evaluate: Evaluate) -> int:
    """The moment of TIMESTAMP => …, in microseconds since the epoch.

    A time without a zone is in the session's zone, as in Spark. A local time that occurs twice, at the end of
    daylight saving, is the first.

    >>> from lineage.sql.parse import parse
    >>> sql = "SELECT * FROM t AT (TIMESTAMP => 'Wed, 26 Jun 2024 09:20:00 -0700'::timestamp_tz)"
    >>> timestamp_of(parse(sql).points[0], "UTC", None)
    1719418800000000

    Raises:
        BadMomentError: it is no timestamp.
    """
    tokens = tokenize(clause.expression) or []
    literal = _string(tokens)
    moment = _read(literal, zone) if literal is not None else None
    # Literals are the usual case: reading them here saves a Spark query of some milliseconds.
    if moment is not None:
        return to_micros(moment)
    # unix_micros gives an integer: collecting a TIMESTAMP would convert it into this process' zone.
    text = _in_sparks_words(clause.expression, tokens)
    value = _evaluated(clause, f"unix_micros(CAST(({text}) AS TIMESTAMP))", evaluate)
    if not isinstance(value, int):
        raise _not_a("timestamp", clause, value)
    return value


def offset_of(clause: VersionClause, evaluate: Evaluate) -> float:
    """The seconds of OFFSET => …, zero or negative.

    Raises:
        BadMomentError: no number.
        BadOffsetError: it is above zero.
    """
    value: object = _product(tokenize(clause.expression) or [])
    if value is None:
        value = _evaluated(clause, f"CAST(({clause.expression}) AS DOUBLE)", evaluate)
    # In Python a bool is an int.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _not_a("number of seconds", clause, value)
    if isinstance(value, float) and not isfinite(value):
        raise _not_a("number of seconds", clause, value)
    if value > 0:
        raise BadOffsetError(
            f"{clause} of {'.'.join(clause.table)} lies {value} seconds ahead",
            "an OFFSET counts back from now: write it below zero, -60*5 for five minutes ago",
        )
    return value


def text_of(clause: VersionClause, evaluate: Evaluate) -> str:
    """The query id of STATEMENT => ….

    Raises:
        BadMomentError: it is no text.
    """
    literal = _string(tokenize(clause.expression) or [])
    value = literal if literal is not None else _evaluated(clause, clause.expression, evaluate)
    if not isinstance(value, str) or not value.strip():
        raise _not_a("query id", clause, value)
    return value.strip()


def version_of(clause: VersionClause) -> int:
    """The number of VERSION AS OF ….

    Raises:
        BadMomentError: no number.
    """
    digits = clause.expression.strip("'\"")
    # `isdigit` takes a superscript two, which is no number.
    if not digits.isdecimal():
        raise _not_a("version", clause, clause.expression)
    return int(digits)


def _evaluated(clause: VersionClause, sql: str, evaluate: Evaluate) -> object:
    from pyspark.errors import PySparkException

    try:
        return evaluate(sql)
    except PySparkException as error:
        first = str(error).splitlines()[0]
        raise BadMomentError(
            f"{clause} of {'.'.join(clause.table)} is no constant that Spark can evaluate: {first}",
            "write a literal, or an expression of functions and session variables without columns",
        ) from error


def _not_a(what: str, clause: VersionClause, value: object) -> BadMomentError:
    return BadMomentError(
        f"{clause} of {'.'.join(clause.table)} is no {what} but {value!r}",
        "write a literal, or an expression of functions and session variables",
    )


def _product(tokens: list[Token]) -> int | None:
    """The value of a product of integers, with or without a minus; None for any other expression.

    >>> _product(tokenize("-60*5")), _product(tokenize("60 + 5"))
    (-300, None)
    """
    minus = word(tokens, 0) == "-"
    words = [token.text for token in tokens[minus:]]
    # The form of the document, -60*5: no Spark query is needed for it.
    if not words[::2] or not all(map(str.isdecimal, words[::2])) or set(words[1::2]) - {"*"}:
        return None
    return prod(map(int, words[::2])) * (-1 if minus else 1) if len(words) % 2 else None


def _string(tokens: list[Token]) -> str | None:
    """The text of a literal, alone, cast to a timestamp or typed as one."""
    strings = [token.text for token in tokens if token.token_type is TokenType.STRING]
    shape = [
        "'" if token.token_type is TokenType.STRING else word(tokens, at) for at, token in enumerate(tokens)
    ]
    plain = shape in (["'"], ["TIMESTAMP", "'"], ["TIMESTAMP_LTZ", "'"])
    cast = len(shape) == 3 and shape[:2] == ["'", "::"] and _TYPES.get(shape[2], shape[2]) == "TIMESTAMP"  # noqa: PLR2004
    return strings[0] if plain or cast else None


def _read(text: str, zone: str) -> datetime | None:
    """A time in ISO 8601 or RFC 2822, the two forms that Snowflake documents."""
    try:
        moment = _read_rfc_2822(text) or _read_iso(text)
        return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
    except (ValueError, ZoneInfoNotFoundError):
        return None  # Spark evaluates it: it knows more zone names, and its error tells what is wrong


def _read_rfc_2822(text: str) -> datetime | None:
    """A time in RFC 2822; without a zone where the text names none.

    Raises:
        ValueError: there is no such day or time.
    """
    if not _RFC_2822.fullmatch(text.strip()):
        return None
    moment = parsedate_to_datetime(_GLUED_ZONE.sub(" ", text.strip()))
    # Python reads -0000 as a time without a zone; RFC 2822 calls it UTC.
    return moment.replace(tzinfo=timezone.utc) if text.rstrip().endswith("-0000") else moment


def _read_iso(text: str) -> datetime | None:
    """A time in ISO 8601, as `_read_rfc_2822`."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    day, time, offset = found.groups()
    # Python 3.10 reads fractions of three or six digits and zones with a colon only.
    return datetime.fromisoformat(f"{day} {_six_digits(time or '00:00:00')}{_colon(offset)}")


def _rfc_2822_in_iso(text: str) -> str | None:
    try:
        moment = _read_rfc_2822(text)
    except ValueError:
        return None
    return None if moment is None else moment.isoformat(sep=" ")


def _six_digits(time: str) -> str:
    whole, _, fraction = time.partition(".")
    return f"{whole}.{fraction.ljust(6, '0')}"


def _colon(offset: str | None) -> str:
    if offset is None:
        return ""
    if offset in "zZ":
        return "+00:00"
    return offset if ":" in offset else f"{offset[:3]}:{offset[3:]}"


def _in_sparks_words(text: str, tokens: list[Token]) -> str:
    """The expression with Snowflake's and BigQuery's names, and RFC 2822 dates, in Spark's syntax."""
    pieces: list[tuple[int, int, str]] = []
    for at, token in enumerate(tokens):
        here = word(tokens, at)
        if here in _TYPES and word(tokens, at - 1) in ("::", "AS"):
            pieces.append((token.start, token.end, _TYPES[here]))
        elif here in _PLURALS and word(tokens, at - 1) == "(" and word(tokens, at - 2) in _SHIFTS:
            pieces.append((token.start, token.end, here[:-1]))
        elif here in _FUNCTIONS and word(tokens, at + 1) == "(":
            pieces.append((token.start, token.end, _FUNCTIONS[here]))
        elif here in _OPERATORS and (comma := _comma_before_interval(tokens, at + 1)):
            pieces.append((token.start, token.end, ""))
            pieces.append((tokens[comma].start, tokens[comma].end, f" {_OPERATORS[here]}"))
        elif token.token_type is TokenType.STRING and (moment := _rfc_2822_in_iso(token.text)):
            pieces.append((token.start, token.end, f"'{moment}'"))
    # From the end, so that earlier positions stay valid.
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end + 1 :]
    return text


def _comma_before_interval(tokens: list[Token], at: int) -> int:
    """Where `(time, INTERVAL …)` has its comma; 0 for other arguments, such as Spark's `date_sub(day, 3)`."""
    depth = 0
    for place in range(at, len(tokens)):
        here = word(tokens, place)
        depth += (here == "(") - (here == ")")
        if depth == 0:
            break
        if depth == 1 and here == "," and word(tokens, place + 1) == "INTERVAL":
            return place
    return 0
