"""The point in time that a clause asks for: its expression evaluated.

In: SQL text of a constant, the session's time zone, a way to have Spark evaluate. Out: UTC microseconds, an
offset in seconds, a query id or a version. Plain literals are read here; Spark evaluates everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlglot.tokenizer_core import Token, TokenType

from lineage.tokens import tokenize, word
from time_travel.clause import Clause
from time_travel.errors import BadMomentError, BadOffsetError
from time_travel.times import micros_of

Evaluate = Callable[[str], object]
"""Evaluates SQL text of one constant expression in the user's session; raises what Spark raises."""

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?))?\s*(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_RFC_2822 = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\s*\d{1,2} [A-Z][a-z]{2} \d{4} ")
_GLUED_ZONE = re.compile(r"(?<=\d{2}:\d{2}:\d{2})(?=[+-]\d{4}\Z)")
_PRODUCT = re.compile(r"-?\s*\d+(?:\s*\*\s*\d+)*")
# What Snowflake calls types that Spark has by other names.
_TYPES = {"TIMESTAMP_TZ": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP", "DATETIME": "TIMESTAMP"}
_PLURALS = frozenset({"YEARS", "MONTHS", "WEEKS", "DAYS", "HOURS", "MINUTES", "SECONDS"})
_SHIFTS = frozenset({"DATEADD", "TIMESTAMPADD", "TIMEADD"})


def timestamp_of(clause: Clause, zone: str, evaluate: Evaluate) -> int:
    """The moment of TIMESTAMP => …, in microseconds since the epoch.

    A time without a zone is in the session's, as everywhere in Spark; one that a change of clocks repeats is
    its first.

    >>> from lineage.tokens import tokenize
    >>> from time_travel.clause import clauses
    >>> sql = "SELECT * FROM t AT (TIMESTAMP => 'Wed, 26 Jun 2024 09:20:00 -0700'::timestamp_tz)"
    >>> timestamp_of(clauses(tokenize(sql), sql)[0], "UTC", None)
    1719418800000000

    Raises:
        BadMomentError: no timestamp.
    """
    tokens = tokenize(clause.expression) or []
    literal = _string(tokens)
    moment = _read(literal, zone) if literal is not None else None
    if moment is not None:
        return micros_of(moment)
    text = _in_sparks_words(clause.expression, tokens)
    value = _evaluated(clause, f"unix_micros(CAST(({text}) AS TIMESTAMP))", evaluate)
    if not isinstance(value, int):
        raise _not_a("timestamp", clause, value)
    return value


def offset_of(clause: Clause, evaluate: Evaluate) -> float:
    """The seconds of OFFSET => …, none above zero.

    Raises:
        BadMomentError: no number.
        BadOffsetError: it leads into the future.
    """
    if _PRODUCT.fullmatch(clause.expression):
        value: object = 1
        for factor in clause.expression.replace(" ", "").split("*"):
            value = int(factor) * int(str(value))
    else:
        value = _evaluated(clause, f"CAST(({clause.expression}) AS DOUBLE)", evaluate)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124  NaN
        raise _not_a("number of seconds", clause, value)
    if value > 0:
        raise BadOffsetError(
            f"{clause} of {'.'.join(clause.table)} lies {value:g} seconds ahead",
            "an OFFSET counts back from now: write it below zero, -60*5 for five minutes ago",
        )
    return value


def text_of(clause: Clause, evaluate: Evaluate) -> str:
    """The query id of STATEMENT => ….

    Raises:
        BadMomentError: no text.
    """
    literal = _string(tokenize(clause.expression) or [])
    value = literal if literal is not None else _evaluated(clause, clause.expression, evaluate)
    if not isinstance(value, str) or not value.strip():
        raise _not_a("query id", clause, value)
    return value.strip()


def version_of(clause: Clause) -> int:
    """The number of VERSION AS OF ….

    Raises:
        BadMomentError: no number.
    """
    digits = clause.expression.strip("'\"")
    if not digits.isdigit():
        raise _not_a("version", clause, clause.expression)
    return int(digits)


def _evaluated(clause: Clause, sql: str, evaluate: Evaluate) -> object:
    from pyspark.errors import PySparkException

    try:
        return evaluate(sql)
    except PySparkException as error:
        first = str(error).splitlines()[0]
        raise BadMomentError(
            f"{clause} of {'.'.join(clause.table)} is no constant that Spark can evaluate: {first}",
            "write a literal, or an expression of functions and session variables without columns",
        ) from error


def _not_a(what: str, clause: Clause, value: object) -> BadMomentError:
    return BadMomentError(
        f"{clause} of {'.'.join(clause.table)} is no {what} but {value!r}",
        "write a literal, or an expression of functions and session variables",
    )


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
    """A time in one of the two forms of the document: ISO 8601, or that of e-mail (RFC 2822)."""
    if _RFC_2822.match(text):
        try:
            return parsedate_to_datetime(_GLUED_ZONE.sub(" ", text))
        except ValueError:
            return None
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    day, time, offset = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day} {_six_digits(time or '00:00:00')}{_colon(offset)}")
        return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
    except (ValueError, ZoneInfoNotFoundError):
        return None  # Spark says what is wrong with it, and knows other names of zones


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
    """Snowflake's names of types and units, and dates of e-mail, as Spark writes them."""
    pieces: list[tuple[int, int, str]] = []
    for at, token in enumerate(tokens):
        here = word(tokens, at)
        if here in _TYPES and word(tokens, at - 1) in ("::", "AS"):
            pieces.append((token.start, token.end, _TYPES[here]))
        elif here in _PLURALS and word(tokens, at - 1) == "(" and word(tokens, at - 2) in _SHIFTS:
            pieces.append((token.start, token.end, here[:-1]))
        elif token.token_type is TokenType.STRING and _RFC_2822.match(token.text):
            moment = _read(token.text, "UTC")
            if moment is not None:
                pieces.append((token.start, token.end, f"'{moment.isoformat(sep=' ')}'"))
    for start, end, new in reversed(pieces):
        text = text[:start] + new + text[end + 1 :]
    return text
