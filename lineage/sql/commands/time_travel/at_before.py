"""Points in time: AT | BEFORE (…) of the document, VERSION | TIMESTAMP AS OF, `t@v3`.

In: the tokens of a statement and its text. Out: a `VersionClause` each, by characters of the text, so that
the rest of the text stays as it was written; a `BadClause` for one that begins as such and goes on as
nothing that can be read. No table is looked up here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import closing_bracket, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineage.sql.commands.command import Name

Kind = Literal["TIMESTAMP", "OFFSET", "STATEMENT", "VERSION"]

# VERSION is no word of the document: it is a version in today's columns, what VERSION AS OF is not.
_KINDS: dict[str, Kind] = {
    "TIMESTAMP": "TIMESTAMP", "OFFSET": "OFFSET", "STATEMENT": "STATEMENT", "VERSION": "VERSION",
}  # fmt: skip
# SYSTEM_VERSION and SYSTEM_TIME are the SQL standard's words (Spark's `temporalClause`).
_AS_OF: dict[str, Kind] = {
    "VERSION": "VERSION", "SYSTEM_VERSION": "VERSION", "TIMESTAMP": "TIMESTAMP", "SYSTEM_TIME": "TIMESTAMP",
}  # fmt: skip
# A name is a table's only behind one of these: `at (x)` may also be a column and a function's argument.
_BEFORE_TABLE = frozenset({"FROM", "JOIN", ",", "(", "USING", "TABLE", "CLONE", "LATERAL"})
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "||", "DIV", "::"})
_AT_VERSION = re.compile(r"v(\d+)\Z", re.IGNORECASE)
_AT_TIME = re.compile(r"\d{17}\Z")  # yyyyMMddHHmmssSSS
# What may follow a table that has no alias; any other word is one (Spark 4.2's grammar, strictIdentifier).
_NO_ALIAS = frozenset(
    {"WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "LATERAL", "ON", "USING", "GROUP",
     "ORDER", "SORT", "DISTRIBUTE", "CLUSTER", "HAVING", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT",
     "MINUS", "WINDOW", "PIVOT", "UNPIVOT", "TABLESAMPLE", "SEMI", "ANTI", "WHEN", "SELECT", "END", "QUALIFY",
     "|>", ",", ")", ";"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VersionClause:
    """A table and the point in time at which it is asked for.

    Attributes:
        table: the parts of its name, as written.
        kind: TIMESTAMP, OFFSET, STATEMENT or VERSION.
        before: BEFORE: the state just before the point.
        expression: SQL text of the point.
        own: in Snowflake's form AT | BEFORE (… => …), which reads today's columns. Spark's forms read the
            columns
            of the version.
        after: the word before the name: FROM, JOIN, USING, CLONE, …
        aliased: an alias follows.
        path: the path with its suffix where the name holds the point (``delta.`/t@v3` ``), else "".
        first: the first character of the name.
        start: the first character after the name; `stop` where the name holds the point.
        stop: the first character after the clause.
        inside: the first character of the expression.
    """

    table: Name
    kind: Kind
    before: bool
    expression: str
    own: bool
    after: str = ""
    aliased: bool = False
    path: str = ""
    # Positions: clauses that say the same are equal, however their texts are laid out.
    first: int = field(default=0, compare=False)
    start: int = field(default=0, compare=False)
    stop: int = field(default=0, compare=False)
    inside: int = field(default=0, compare=False)

    def __str__(self) -> str:
        if not self.own:
            return f"{self.kind} AS OF {self.expression}"
        return f"{'BEFORE' if self.before else 'AT'} ({self.kind} => {self.expression})"


@dataclass(frozen=True, slots=True)
class BadClause:
    """A clause with a syntax error: the problem and the way out."""

    problem: str
    way_out: str


Point = VersionClause | BadClause


def read_points(tokens: list[Token], text: str) -> tuple[Point, ...]:
    """All clauses of a statement, in order.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "SELECT * FROM s.t AT (OFFSET => -60) a JOIN u@v3"
    >>> [(c.table, str(c), sql[c.start : c.stop]) for c in read_points(tokenize(sql), sql)]
    [(('s', 't'), 'AT (OFFSET => -60)', ' AT (OFFSET => -60)'), (('u',), 'VERSION AS OF 3', '@v3')]
    """
    return tuple(_points(tokens, text)) if _may_hold_points(text) else ()


def point_at(tokens: list[Token], text: str, at: int, table: Name) -> tuple[Point | None, int]:
    """The point of a table that begins at a token, and where it ends; None where none does.

    For the statements that name the table elsewhere: RESTORE TABLE t TO AT (…).
    """
    begin = at + (word(tokens, at) == "FOR")
    if word(tokens, at) in ("AT", "BEFORE") and word(tokens, at + 1) == "(":
        return _document_point(tokens, text, at, table)
    if not _is_as_of(tokens, begin):
        return None, at
    point, stop = _spark_point(tokens, text, begin, table)
    return point, at if point is None else stop


def _may_hold_points(text: str) -> bool:
    """Whether a text has a word of a clause: most statements hold none."""
    return "@" in text or _MARK.search(text) is not None


_MARK = re.compile(r"\b(?:AT|BEFORE|OF)\b", re.IGNORECASE)


def _points(tokens: list[Token], text: str) -> Iterator[Point]:
    # From the second token on: a name stands before each form.
    for at in range(1, len(tokens)):
        here = word(tokens, at)
        if here in ("AT", "BEFORE") and word(tokens, at + 1) == "(":
            found = _document_clause(tokens, text, at)
        elif here in _AS_OF and _is_as_of(tokens, at):
            found = _spark_clause(tokens, text, at)
        elif here == "@":
            found = _delta_clause(tokens, at)
        # ``delta.`/t@v3` ``: Delta (4.4, DeltaTimeTravelSpec) reads the suffix of a path.
        elif "@" in tokens[at].text and tokens[at].token_type is TokenType.IDENTIFIER:
            found = _path_clause(tokens, at)
        else:
            continue
        if found is not None:
            yield found


def _is_as_of(tokens: list[Token], at: int) -> bool:
    return word(tokens, at) in _AS_OF and word(tokens, at + 1) == "AS" and word(tokens, at + 2) == "OF"


def _document_clause(tokens: list[Token], text: str, at: int) -> Point | None:
    named = _name_before(tokens, at)
    if named is not None and _is_column_list(tokens, at + 1):
        return None  # an alias with names of columns: FROM t AT (a, b)
    if named is None:
        arrow = at + 3 < len(tokens) and tokens[at + 3].token_type is TokenType.FARROW
        # Behind a subquery: the user means a point, so silence would give today's rows.
        if word(tokens, at + 2) in _KINDS and arrow and word(tokens, at - 1) == ")":
            return BadClause(
                f"{word(tokens, at)} follows no table or view",
                "write it right behind the name of a table, before its alias",
            )
        return None
    point, stop = _document_point(tokens, text, at, named[0])
    return _placed(point, tokens, named[1], at, stop)


def _document_point(tokens: list[Token], text: str, at: int, table: Name) -> tuple[Point, int]:
    kind = _KINDS.get(word(tokens, at + 2))
    arrow = at + 3 < len(tokens) and tokens[at + 3].token_type is TokenType.FARROW
    close = closing_bracket(tokens, at + 1)
    stop = close + 1
    words = [word(tokens, n) for n in range(at + 1, stop)]
    is_open = words.count("(") != words.count(")")
    # One point a clause: the document names TIMESTAMP, OFFSET and STATEMENT as alternatives.
    if kind is None or not arrow or is_open or close == at + 4 or _has_comma(tokens, at + 4, close):
        inside = text[tokens[at].start : tokens[close].end + 1]
        return BadClause(
            f"`{inside}` of {'.'.join(table)} does not name one point in time",
            "write AT | BEFORE (TIMESTAMP => … | OFFSET => -seconds | STATEMENT => 'query id')",
        ), stop
    expression = text[tokens[at + 4].start : tokens[close - 1].end + 1]
    before = word(tokens, at) == "BEFORE"
    return VersionClause(
        table, kind, before, expression, own=True, first=tokens[at].start, start=tokens[at].start,
        stop=tokens[close].end + 1, inside=tokens[at + 4].start,
    ), stop  # fmt: skip


def _is_column_list(tokens: list[Token], at: int) -> bool:
    """Whether a bracket holds names alone, two or more: no point in time has a comma."""
    inside = tokens[at + 1 : closing_bracket(tokens, at)]
    names, commas = inside[::2], inside[1::2]
    is_list = len(names) > 1 and len(names) == len(commas) + 1
    return is_list and all(map(_is_part, names)) and all(one.text == "," for one in commas)


def _spark_clause(tokens: list[Token], text: str, at: int) -> Point | None:
    # FOR SYSTEM_TIME AS OF, the SQL standard's form, which Spark takes as well.
    end_of_name = at - 1 if word(tokens, at - 1) == "FOR" else at
    named = _name_before(tokens, end_of_name)
    if named is None:
        return None
    point, stop = _spark_point(tokens, text, at, named[0])
    return None if point is None else _placed(point, tokens, named[1], end_of_name, stop)


def _spark_point(tokens: list[Token], text: str, at: int, table: Name) -> tuple[VersionClause | None, int]:
    stop = _expression_end(tokens, at + 3)
    if stop == at + 3:
        return None, at
    last = tokens[stop - 1].end + 1
    first, inside = tokens[at].start, tokens[at + 3].start
    return VersionClause(
        table, _AS_OF[word(tokens, at)], before=False, expression=text[inside:last], own=False,
        first=first, start=first, stop=last, inside=inside,
    ), stop  # fmt: skip


def _placed(point: Point, tokens: list[Token], name: int, end_of_name: int, stop: int) -> Point:
    """A clause behind the name that begins at a token, with what stands around the two."""
    if isinstance(point, BadClause):
        return point
    return VersionClause(
        point.table, point.kind, point.before, point.expression, point.own, word(tokens, name - 1),
        is_aliased(tokens, stop), first=tokens[name].start, start=tokens[end_of_name - 1].end + 1,
        stop=point.stop, inside=point.inside,
    )  # fmt: skip


def _delta_clause(tokens: list[Token], at: int) -> VersionClause | None:
    """`t@v3` and `t@20240101000000000`, without a blank."""
    if at + 1 >= len(tokens):
        return None
    before, after = tokens[at - 1], tokens[at + 1]
    # With a blank, `@` is no part of a name.
    if before.end + 1 != tokens[at].start or tokens[at].end + 1 != after.start:
        return None
    named = _name_before(tokens, at)
    if named is None:
        return None
    found = _suffix(named[0], after.text)
    return found and VersionClause(
        *found, word(tokens, named[1] - 1), is_aliased(tokens, at + 2),
        first=tokens[named[1]].start, start=tokens[at].start, stop=after.end + 1,
    )  # fmt: skip


def _path_clause(tokens: list[Token], at: int) -> VersionClause | None:
    """``delta.`/path@v3` ``, which Delta reads so unless a folder has that name."""
    path, _, point = tokens[at].text.rpartition("@")
    named = _name_before(tokens, at + 1)
    if named is None or len(named[0]) != 2 or named[0][0].lower() != "delta" or "/" not in path:  # noqa: PLR2004
        return None
    found, stop = _suffix((named[0][0], path), point), tokens[at].end + 1
    return found and VersionClause(
        *found, word(tokens, named[1] - 1), is_aliased(tokens, at + 1), tokens[at].text,
        first=tokens[named[1]].start, start=stop, stop=stop,
    )  # fmt: skip


def _suffix(table: Name, point: str) -> tuple[Name, Kind, bool, str, bool] | None:
    """What a version clause says, of the suffix of a name."""
    version, time = _AT_VERSION.match(point), _AT_TIME.match(point)
    if not (version or time):
        return None
    kind: Kind = "VERSION" if version else "TIMESTAMP"
    return table, kind, False, version[1] if version else f"'{_spelled_out(point)}'", False


def _spelled_out(digits: str) -> str:
    # Delta's pattern, yyyyMMddHHmmssSSS, is no text that Spark casts to a timestamp.
    y, m, d, hour, minute, second, milli = (
        digits[a:b] for a, b in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 17))
    )
    return f"{y}-{m}-{d} {hour}:{minute}:{second}.{milli}"


def is_aliased(tokens: list[Token], at: int) -> bool:
    """Whether the token at a place, behind a table, is its alias or the AS before it."""
    if at >= len(tokens):
        return False
    if tokens[at].token_type is TokenType.IDENTIFIER:
        return True
    here = word(tokens, at)
    # An operator or a bracket is no alias either, so a letter must begin it.
    return here == "AS" or (here not in _NO_ALIAS and (here[:1].isalpha() or here[:1] == "_"))


def _name_before(tokens: list[Token], end: int) -> tuple[Name, int] | None:
    """The name that ends before a token, and its first token; None where no table stands there."""
    parts: list[str] = []
    at = end - 1
    while at >= 0 and _is_part(tokens[at]):
        parts.insert(0, tokens[at].text)
        # Read from its end: where a dotted name begins is not known before.
        if at < 2 or tokens[at - 1].token_type is not TokenType.DOT:  # noqa: PLR2004  a part and its dot
            break
        at -= 2
    if not parts or at < 1 or word(tokens, at - 1) not in _BEFORE_TABLE:
        return None
    return tuple(parts), at


def _is_part(token: Token) -> bool:
    if token.token_type in (TokenType.IDENTIFIER, TokenType.VAR):  # 2024_sales is a name, too
        return True
    plain = token.token_type not in (TokenType.STRING, TokenType.NUMBER)
    return plain and (token.text[:1].isalpha() or token.text[:1] == "_")


def _has_comma(tokens: list[Token], start: int, stop: int) -> bool:
    depth = 0
    for place in range(start, stop):
        here = word(tokens, place)
        depth += (here == "(") - (here == ")")
        if depth == 0 and here == ",":
            return True
    return False


def _expression_end(tokens: list[Token], at: int) -> int:
    """Where the expression that begins at a place ends: operands joined by operators.

    As Spark's valueExpression.
    """
    end = _operand_end(tokens, at)
    while end > at and word(tokens, end) in _OPERATORS:
        following = _operand_end(tokens, end + 1)
        if following == end + 1:
            break
        end = following
    return end


def _operand_end(tokens: list[Token], at: int) -> int:
    """Where an operand with its fields and elements ends: `f(a).b[0]`."""
    if word(tokens, at) in ("-", "+"):
        return _operand_end(tokens, at + 1)
    end = _primary_end(tokens, at)
    while end > at:
        if word(tokens, end) == "[":
            end = closing_bracket(tokens, end) + 1
        elif word(tokens, end) == "." and end + 1 < len(tokens) and _is_part(tokens[end + 1]):
            end += 2
        else:
            break
    return end


def _primary_end(tokens: list[Token], at: int) -> int:  # noqa: PLR0911  one return a kind of operand
    here = word(tokens, at)
    if at >= len(tokens):
        return at
    if here == "(":
        return closing_bracket(tokens, at) + 1
    if here == "?" or tokens[at].token_type in (TokenType.STRING, TokenType.NUMBER):
        return at + 1
    # A named parameter is two tokens, the colon and the name.
    if here == ":" and at + 1 < len(tokens):
        return at + 2
    if here == "INTERVAL":
        return _interval_end(tokens, at + 1)
    if here == "CASE":
        return _case_end(tokens, at)
    if here in _TYPES_OF_LITERALS and _is_string(tokens, at + 1):
        return at + 2
    if not _is_part(tokens[at]):
        return at
    end = at + 1
    while word(tokens, end) == "." and end + 1 < len(tokens) and _is_part(tokens[end + 1]):
        end += 2
    return closing_bracket(tokens, end) + 1 if word(tokens, end) == "(" else end


_TYPES_OF_LITERALS = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"})


def _case_end(tokens: list[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += (word(tokens, place) == "CASE") - (word(tokens, place) == "END")
        if depth == 0:
            return place + 1
    return at


def _interval_end(tokens: list[Token], at: int) -> int:
    """`INTERVAL '1' DAY`, `INTERVAL 1 DAY 2 HOURS`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 day'`."""
    end = at
    while end < len(tokens):
        value = _operand_end(tokens, end)
        if value == end or tokens[value - 1].token_type is TokenType.VAR:
            break
        end = value
        if word(tokens, end) not in _UNITS:
            break
        end += 3 if word(tokens, end + 1) == "TO" else 1
        if not (end < len(tokens) and tokens[end].token_type in (TokenType.STRING, TokenType.NUMBER)):
            break
    return end


_UNITS = frozenset(
    unit + ending
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
    for ending in ("", "S")
)


def _is_string(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].token_type is TokenType.STRING
