"""AT | BEFORE and Spark's own forms in the text of a statement: where they stand and what they ask.

In: the tokens of a statement and its text. Out: a `Clause` each, by characters of the text, so that the
rest of the text stays as it was written. Nothing is looked up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot.tokenizer_core import Token, TokenType

from lineage.tokens import closing, word
from time_travel.errors import BadClauseError

Kind = Literal["TIMESTAMP", "OFFSET", "STATEMENT", "VERSION"]

# VERSION is no word of the document: it is a version in today's columns, what VERSION AS OF is not.
_KINDS: dict[str, Kind] = {
    "TIMESTAMP": "TIMESTAMP", "OFFSET": "OFFSET", "STATEMENT": "STATEMENT", "VERSION": "VERSION",
}  # fmt: skip
_AS_OF: dict[str, Kind] = {
    "VERSION": "VERSION", "SYSTEM_VERSION": "VERSION", "TIMESTAMP": "TIMESTAMP", "SYSTEM_TIME": "TIMESTAMP",
}  # fmt: skip
_BEFORE_TABLE = frozenset({"FROM", "JOIN", ",", "(", "USING", "TABLE", "CLONE", "LATERAL"})
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "||", "DIV", "::"})
_AT_VERSION = re.compile(r"v(\d+)\Z", re.IGNORECASE)
_AT_TIME = re.compile(r"\d{17}\Z")  # yyyyMMddHHmmssSSS


@dataclass(frozen=True, slots=True)
class Clause:
    """A table and the point in time at which it is asked for.

    Attributes:
        table: the parts of its name, as written.
        kind: what the point is given by.
        before: the state just before it, not at it.
        expression: SQL text of the point.
        own: in the form of the document, AT | BEFORE (… => …): today's columns. Spark's forms give those of
            then.
        first: the first character of the name.
        start: the first character after the name; `stop` where the name holds the point (``delta.`/t@v3` ``).
        stop: the first character after the clause.
    """

    table: tuple[str, ...]
    kind: Kind
    before: bool
    expression: str
    own: bool
    first: int
    start: int
    stop: int

    def __str__(self) -> str:
        if not self.own:
            return f"{self.kind} AS OF {self.expression}"
        return f"{'BEFORE' if self.before else 'AT'} ({self.kind} => {self.expression})"


def clauses(tokens: list[Token], text: str) -> tuple[Clause, ...]:
    """All clauses of a statement, in order.

    >>> from lineage.tokens import tokenize
    >>> sql = "SELECT * FROM s.t AT (OFFSET => -60) a JOIN u@v3"
    >>> [(c.table, str(c), sql[c.start : c.stop]) for c in clauses(tokenize(sql), sql)]
    [(('s', 't'), 'AT (OFFSET => -60)', ' AT (OFFSET => -60)'), (('u',), 'VERSION AS OF 3', '@v3')]

    Raises:
        BadClauseError: AT or BEFORE that follows no table, or holds something else than one point.
    """
    return tuple(_clauses(tokens, text))


def _clauses(tokens: list[Token], text: str) -> Iterator[Clause]:
    for at in range(1, len(tokens)):
        here = word(tokens, at)
        if here in ("AT", "BEFORE") and word(tokens, at + 1) == "(":
            found = _document_clause(tokens, text, at)
        elif here in _AS_OF and word(tokens, at + 1) == "AS" and word(tokens, at + 2) == "OF":
            found = _spark_clause(tokens, text, at)
        elif here == "@":
            found = _delta_clause(tokens, at)
        elif "@" in tokens[at].text and tokens[at].token_type is TokenType.IDENTIFIER:
            found = _path_clause(tokens, at)
        else:
            continue
        if found is not None:
            yield found


def _document_clause(tokens: list[Token], text: str, at: int) -> Clause | None:
    kind = _KINDS.get(word(tokens, at + 2))
    arrow = at + 3 < len(tokens) and tokens[at + 3].token_type is TokenType.FARROW
    named = _name_before(tokens, at)
    if named is None:
        if kind and arrow and word(tokens, at - 1) == ")":
            raise BadClauseError(
                f"{word(tokens, at)} follows no table or view",
                "write it right behind the name of a table, before its alias",
            )
        return None
    close = closing(tokens, at + 1)
    inside = text[tokens[at].start : tokens[close].end + 1]
    if kind is None or not arrow or close == at + 4 or _has_comma(tokens, at + 4, close):
        raise BadClauseError(
            f"`{inside}` of {'.'.join(named[0])} does not name one point in time",
            "write AT | BEFORE (TIMESTAMP => … | OFFSET => -seconds | STATEMENT => 'query id')",
        )
    return Clause(
        named[0],
        kind,
        word(tokens, at) == "BEFORE",
        text[tokens[at + 4].start : tokens[close - 1].end + 1],
        own=True,
        first=named[1],
        start=tokens[at - 1].end + 1,
        stop=tokens[close].end + 1,
    )


def _spark_clause(tokens: list[Token], text: str, at: int) -> Clause | None:
    end_of_name = at - 1 if word(tokens, at - 1) == "FOR" else at
    named = _name_before(tokens, end_of_name)
    if named is None:
        return None
    stop = _expression_end(tokens, at + 3)
    if stop == at + 3:
        return None
    return Clause(
        named[0],
        _AS_OF[word(tokens, at)],
        before=False,
        expression=text[tokens[at + 3].start : tokens[stop - 1].end + 1],
        own=False,
        first=named[1],
        start=tokens[end_of_name - 1].end + 1,
        stop=tokens[stop - 1].end + 1,
    )


def _delta_clause(tokens: list[Token], at: int) -> Clause | None:
    """`t@v3` and `t@20240101000000000`, without a blank."""
    if at + 1 >= len(tokens):
        return None
    before, after = tokens[at - 1], tokens[at + 1]
    if before.end + 1 != tokens[at].start or tokens[at].end + 1 != after.start:
        return None
    named = _name_before(tokens, at)
    if named is None:
        return None
    return _suffix(named[0], after.text, named[1], tokens[at].start, after.end + 1)


def _path_clause(tokens: list[Token], at: int) -> Clause | None:
    """``delta.`/path@v3` ``, which Delta reads so unless a folder has that name."""
    path, _, point = tokens[at].text.rpartition("@")
    named = _name_before(tokens, at + 1)
    if named is None or len(named[0]) != 2 or named[0][0].lower() != "delta" or "/" not in path:  # noqa: PLR2004
        return None
    stop = tokens[at].end + 1
    return _suffix((named[0][0], path), point, named[1], stop, stop)


def _suffix(table: tuple[str, ...], point: str, first: int, start: int, stop: int) -> Clause | None:
    version, time = _AT_VERSION.match(point), _AT_TIME.match(point)
    if not (version or time):
        return None
    kind: Kind = "VERSION" if version else "TIMESTAMP"
    expression = version[1] if version else f"'{_spelled_out(point)}'"
    return Clause(table, kind, False, expression, own=False, first=first, start=start, stop=stop)  # noqa: FBT003


def _spelled_out(digits: str) -> str:
    y, m, d, hour, minute, second, milli = (
        digits[a:b] for a, b in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14), (14, 17))
    )
    return f"{y}-{m}-{d} {hour}:{minute}:{second}.{milli}"


def _name_before(tokens: list[Token], end: int) -> tuple[tuple[str, ...], int] | None:
    """The name that ends before a token, with its first character; None where no table stands there."""
    parts: list[str] = []
    at = end - 1
    while at >= 0 and _is_part(tokens[at]):
        parts.insert(0, tokens[at].text)
        if at < 2 or tokens[at - 1].token_type is not TokenType.DOT:  # noqa: PLR2004  a part and its dot
            break
        at -= 2
    if not parts or at < 1 or word(tokens, at - 1) not in _BEFORE_TABLE:
        return None
    return tuple(parts), tokens[at].start


def _is_part(token: Token) -> bool:
    if token.token_type is TokenType.IDENTIFIER:
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


def _operand_end(tokens: list[Token], at: int) -> int:  # noqa: PLR0911  one return a kind of operand
    here = word(tokens, at)
    if at >= len(tokens):
        return at
    if here in ("-", "+"):
        return _operand_end(tokens, at + 1)
    if here == "(":
        return closing(tokens, at) + 1
    if tokens[at].token_type in (TokenType.STRING, TokenType.NUMBER):
        return at + 1
    if here == "INTERVAL":
        return _interval_end(tokens, at + 1)
    if here == "CASE":
        return next((n + 1 for n in range(at, len(tokens)) if word(tokens, n) == "END"), at)
    if here in ("TIMESTAMP", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ") and _is_string(tokens, at + 1):
        return at + 2
    if not _is_part(tokens[at]):
        return at
    end = at + 1
    while word(tokens, end) == "." and end + 1 < len(tokens) and _is_part(tokens[end + 1]):
        end += 2
    return closing(tokens, end) + 1 if word(tokens, end) == "(" else end


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
