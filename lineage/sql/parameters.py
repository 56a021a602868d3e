"""Binds values in points in time: parameters, `:name` and `?`, and the time of a recorded statement.

In: a statement and what `spark.sql(…, args=…)` was given. Out: the statement with literals in the clauses
that are taken out of the text before Spark sees it, and what is left for Spark to bind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot.tokenizer_core import TokenType

from lineage.names import sql_text
from lineage.sql.commands.time_travel.at_before import Point, VersionClause
from lineage.sql.commands.time_travel.clone import CloneSchema, CloneTable
from lineage.sql.commands.time_travel.restore import Restore
from lineage.sql.statement import Statement
from lineage.sql.tokens import tokenize, word

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

Arguments = Mapping[str, Any] | Sequence[Any]
# None is a value, NULL, so a missing one needs another mark.
_NONE = object()
_ENDS = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_BRACKET, TokenType.R_PAREN})


class SqlLiteral(str):
    """A value that is SQL text already: what Spark hands to a parser is."""

    __slots__ = ()


def with_literals(text: str, values: Arguments) -> str:
    """A text with the parameters replaced that have a value.

    >>> with_literals("SELECT :a, ':a' FROM t WHERE b = :b", {"a": 1})
    "SELECT 1, ':a' FROM t WHERE b = :b"
    >>> with_literals("SELECT ?, ?", [1])
    'SELECT 1, ?'
    """
    tokens = tokenize(text) or []
    by_place = {} if isinstance(values, Mapping) else dict(zip(_places(text), values, strict=False))
    by_name = values if isinstance(values, Mapping) else {}
    # From the end, so that the positions of earlier parameters stay valid.
    for at in range(len(tokens) - 1, -1, -1):
        key, stop = _parameter(tokens, at, 0)
        value = by_place.get(key, _NONE) if isinstance(key, int) else by_name.get(key or "", _NONE)
        said = literal_sql(value)
        if said is not None:
            text = text[: tokens[at].start] + said + text[stop:]
    return text


def by_marker(text: str, names: Sequence[str], values: Sequence[Any]) -> Arguments:
    """Values that have names and places, as the markers of a text ask for them.

    >>> by_marker("SELECT ?, ?", ["a", "a"], [1, 1])
    [1, 1]
    >>> by_marker("SELECT :a", ["a"], [1])
    {'a': 1}
    """
    return list(values) if _places(text) else dict(zip(names, values, strict=True))


def bind_arguments(statement: Statement, arguments: Arguments | None) -> Statement:
    """A statement with the parameters of its points in time bound.

    A clause whose parameter is not among the arguments stays as it is: Spark says so when it evaluates it.

    >>> from lineage.sql.parse import parse
    >>> asked = bind_arguments(parse("SELECT ? FROM t AT (OFFSET => ?) WHERE a = ?"), [1, -60, 2])
    >>> str(asked.points[0])
    'AT (OFFSET => -60)'

    Args:
        statement: as it was parsed.
        arguments: by name, or by place.
    """
    if not arguments or not points_of(statement):
        return statement
    values: Mapping[str | int, Any]
    if isinstance(arguments, Mapping):
        values = {str(name): value for name, value in arguments.items()}
    else:
        # Not strict: too few or too many arguments are Spark's error, which it raises itself.
        values = dict(zip(_places(statement.text), arguments, strict=False))
    typed = statement.typed
    if isinstance(typed, (CloneSchema, CloneTable, Restore)) and typed.point:
        statement = replace(statement, typed=replace(typed, point=_bind(typed.point, values)))
    return replace(statement, points=tuple(_bind(point, values) for point in statement.points))


def unbound_arguments(statement: Statement, sent: str, arguments: Arguments | None) -> Arguments | None:
    """The arguments for a text that Spark gets in the place of a statement.

    Those by place go where a `?` has gone; a text that still has them all gets them all.

    >>> from lineage.sql.parse import parse
    >>> asked = parse("SELECT ? FROM t AT (OFFSET => ?) WHERE a = ?")
    >>> unbound_arguments(asked, "SELECT ? FROM t VERSION AS OF 3 WHERE a = ?", [1, -60, 2])
    [1, 2]
    """
    points = points_of(statement)
    if not arguments or not points or isinstance(arguments, Mapping):
        return arguments
    places = _places(statement.text)
    # A RESTORE of a table of another catalog goes to Spark as it was, with its point and its markers.
    if sent == statement.text or len(_places(sent)) == len(places):
        return arguments
    gone = [n for n, start in enumerate(places) if any(_holds(point, start) for point in points)]
    return [value for n, value in enumerate(arguments) if n not in gone]


def at_time(clause: VersionClause, moment: str) -> VersionClause:
    """A clause that asks for now, as of another moment, an expression of SQL.

    >>> from lineage.sql.parse import parse
    >>> (clause,) = parse("SELECT * FROM t AT (TIMESTAMP => current_timestamp() - f('now()'))").points
    >>> at_time(clause, "m").expression
    "m - f('now()')"
    """
    text, tokens = clause.expression, tokenize(clause.expression) or []
    for at in range(len(tokens) - 1, -1, -1):
        is_called = word(tokens, at + 1) == "(" and word(tokens, at + 2) == ")"
        # Spark takes CURRENT_TIMESTAMP without brackets, NOW only as a call.
        named = word(tokens, at) in ("CURRENT_TIMESTAMP", "NOW") and word(tokens, at - 1) != "."
        if named and (is_called or word(tokens, at) != "NOW"):
            stop = tokens[at + 2 if is_called else at].end + 1
            text = text[: tokens[at].start] + moment + text[stop:]
    return replace(clause, expression=text)


def literal_sql(value: object) -> str | None:  # noqa: C901, PLR0911  one return a type
    r"""A value as Spark's SQL, of the type that PySpark 4.2 gives its literal; None for what has none here.

    >>> literal_sql("it's"), literal_sql(-60), literal_sql(datetime(2024, 1, 1, tzinfo=timezone.utc))
    ("'it\\'s'", '-60', "TIMESTAMP '2024-01-01 00:00:00+00:00'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, SqlLiteral):
        return str(value)
    # In Python a bool is an int, and a datetime is a date: each comes before the wider type.
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return sql_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # Spark reads `1.5` as a DECIMAL, and has no literals for NaN and infinity.
        return f"CAST({sql_text(repr(value))} AS DOUBLE)"
    if isinstance(value, Decimal):
        # BD makes a DECIMAL of a number without a point as well, which would be an INT.
        return f"{value:f}BD" if value.is_finite() else None
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, timedelta):
        return f"INTERVAL '{_interval(value)}' DAY TO SECOND"
    return None


def _timestamp(value: datetime) -> str | None:
    # Without a zone it is in that of the process, as in a DataFrame's rows (PySpark 4.2).
    try:
        return f"TIMESTAMP '{value.astimezone(timezone.utc).isoformat(sep=' ')}'"
    except (OverflowError, ValueError):  # in UTC outside the years 1 to 9999
        return None


def _interval(value: timedelta) -> str:
    size, sign = abs(value), "-" if value < timedelta() else ""
    hours, seconds = divmod(size.seconds, 3600)
    return f"{sign}{size.days} {hours:02}:{seconds // 60:02}:{seconds % 60:02}.{size.microseconds:06}"


def points_of(statement: Statement) -> list[Point]:
    """All points in time of a statement: those of its tables, and that of a RESTORE or CLONE."""
    typed = statement.typed
    own = [typed.point] if isinstance(typed, (CloneSchema, CloneTable, Restore)) and typed.point else []
    return [*statement.points, *own]


def _places(text: str) -> list[int]:
    """The characters of all `?`, in their order."""
    tokens = tokenize(text) or []
    return [token.start for at, token in enumerate(tokens) if word(tokens, at) == "?"]


def _holds(point: Point, start: int) -> bool:
    """Whether a character stands in the expression of a clause; a name's own point has none."""
    return isinstance(point, VersionClause) and 0 < point.inside <= start < point.stop


def _bind(point: Point, values: Mapping[str | int, Any]) -> Point:
    if not isinstance(point, VersionClause):
        return point
    text, tokens = point.expression, tokenize(point.expression) or []
    for at in range(len(tokens) - 1, -1, -1):
        key, stop = _parameter(tokens, at, point.inside)
        value = values.get(key, _NONE) if key is not None else _NONE
        if point.kind == "OFFSET" and isinstance(value, timedelta):
            value = value.total_seconds()  # an OFFSET counts seconds
        literal_text = literal_sql(value)
        if literal_text is not None:
            text = text[: tokens[at].start] + literal_text + text[stop:]
    return point if text == point.expression else replace(point, expression=text)


def _parameter(tokens: list[Token], at: int, inside: int) -> tuple[str | int | None, int]:
    """The parameter that begins at a token, by its name or its place in the statement, and where it ends."""
    if word(tokens, at) == "?":
        return tokens[at].start + inside, tokens[at].end + 1
    is_name = word(tokens, at) == ":" and at + 1 < len(tokens) and tokens[at].end + 1 == tokens[at + 1].start
    if not is_name or _is_path(tokens, at):
        return None, 0
    return tokens[at + 1].text, tokens[at + 1].end + 1


def _is_path(tokens: list[Token], colon: int) -> bool:
    """Whether a colon goes on with what it touches: `v:a`, a field of a VARIANT, or `STRUCT<a:INT>`."""
    before = tokens[colon - 1] if colon else None
    return before is not None and before.token_type in _ENDS and before.end + 1 == tokens[colon].start
