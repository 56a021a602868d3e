"""Policies and tags that a CREATE TABLE or CREATE VIEW sets at once, taken out of it.

In: the tokens of a statement. Out: the same without `[WITH] MASKING POLICY p [USING (…)]`,
`[WITH] ROW ACCESS POLICY p ON (…)`, `[WITH] TAG (t = 'v', …)`, `MASK f [USING COLUMNS (…)]` and `[WITH] ROW
FILTER f ON (…)`, which no parser of Spark's knows, and what they say. A clause that is not read to its end
stays where it is, so that Spark refuses the statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.command import Change
from lineage.sql.commands.governance.policy import (
    read_mask_clause,
    read_masking_clause,
    row_access,
    row_filter,
)
from lineage.sql.cursor import Cursor
from lineage.sql.tokens import read_name, word

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

_MAKERS = frozenset({"CREATE", "REPLACE"})
_SPEAKS = ("POLICY", "TAG", "MASK", "FILTER")
_NOUNS = frozenset({"TABLE", "VIEW", *SCHEMA_NOUNS})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_QUERY = frozenset({"AS", "SELECT", "FROM", "VALUES", "TABLE", "WITH", "MAP", "REDUCE"})
_SETTINGS = frozenset({"DBPROPERTIES", "PROPERTIES", "SCHEMA", "METRICS"})
"""WITH before one of these begins no query (Spark 4.2: createDatabase, createView)."""
_FURTHEST = 6
"""CREATE OR REPLACE GLOBAL TEMPORARY: the words that stand before the noun."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause by its tokens, the last one excluded, and what it says."""

    first: int
    stop: int
    changes: Sequence[Change]


def inline_policies(tokens: list[Token], text: str, upper: str) -> list[Clause]:
    """The clauses of a statement, in order; most have none."""
    if word(tokens, 0) not in _MAKERS or not any(map(upper.__contains__, _SPEAKS)):
        return []
    return list(_clauses(tokens, text))


def without_clauses(tokens: list[Token], clauses: list[Clause]) -> list[Token]:
    """The tokens of a statement without those of its clauses."""
    kept: list[Token] = []
    at = 0
    for clause in clauses:
        kept += tokens[at : clause.first]
        at = clause.stop
    return [*kept, *tokens[at:]]


def blank_clauses(text: str, tokens: list[Token], clauses: list[Clause]) -> str:
    """The text with blanks in the place of its clauses: errors of Spark's point to the right place."""
    for clause in clauses:
        first, stop = tokens[clause.first].start, tokens[clause.stop - 1].end + 1
        blanks = "".join(c if c in "\r\n" else " " for c in text[first:stop])
        text = text[:first] + blanks + text[stop:]
    return text


def _clauses(tokens: list[Token], text: str) -> Iterator[Clause]:
    """The clauses of the head: the query behind it has the same words as names."""
    noun = next((n for n in range(1, _FURTHEST) if word(tokens, n) in _NOUNS), None)
    if noun is None:
        return
    at = noun + 1
    if word(tokens, at) == "IF":
        at += 3
    name, at = read_name(tokens, at)
    if not name:
        return
    if word(tokens, at) == "(" and word(tokens, at + 1) not in _QUERY:
        at = yield from _of_columns(tokens, text, at + 1)
    level = 0
    while at < len(tokens):
        clause = None if level else _clause(tokens, text, at, None)
        if clause is not None:
            yield clause
            at = clause.stop
            continue
        is_setting = word(tokens, at) == "WITH" and word(tokens, at + 1) in _SETTINGS
        if level == 0 and word(tokens, at) in _QUERY and not is_setting:
            return
        level += _step(tokens[at])
        at += 1


def _of_columns(tokens: list[Token], text: str, at: int) -> Generator[Clause, None, int]:
    """The clauses of a list of columns, from behind its bracket; where the list ends."""
    level, column = 1, None
    while at < len(tokens) and level:
        if column is None:
            column = tokens[at].text
            at = _behind_angles(tokens, at + 2) if word(tokens, at + 2) == "<" else at + 1
            continue
        clause = _clause(tokens, text, at, column) if level == 1 else None
        if clause is not None:
            yield clause
            at = clause.stop
            continue
        level += _step(tokens[at])
        if level == 1 and tokens[at].token_type is TokenType.COMMA:
            column = None
        at += 1
    return at


def _behind_angles(tokens: list[Token], at: int) -> int:
    """Where a nested type ends; elsewhere `<` compares. `>>` may be one token."""
    depth = 0
    for place in range(at, len(tokens)):
        text = word(tokens, place)
        depth += 0 if text.strip("<>") else text.count("<") - text.count(">")
        if depth <= 0:
            return place + 1
    return len(tokens)


def _step(token: Token) -> int:
    return (token.token_type in _OPENING) - (token.token_type in _CLOSING)


def _clause(tokens: list[Token], text: str, start: int, column: str | None) -> Clause | None:
    """The clause that begins at a token."""
    at = Cursor(tokens, text, start)
    if column is not None and at.take("MASK"):
        change = read_mask_clause(at, column)
    else:
        at.take("WITH")
        if at.take("TAG", "("):
            changes = _tags(at, column)
            return Clause(start, at.at, changes) if changes else None
        if column is not None:
            change = read_masking_clause(at, column) if at.take("MASKING", "POLICY") else None
        elif at.take("ROW", "FILTER"):
            change = row_filter(at)
        else:
            change = row_access(at) if at.take("ROW", "ACCESS", "POLICY") else None
            change = change if change is not None and change.columns else None
    is_whole = change is not None and (not change.columns or word(tokens, at.at - 1) == ")")
    return Clause(start, at.at, [change]) if change is not None and is_whole else None


def _tags(at: Cursor, column: str | None) -> list[Change]:
    """`a = 'x', b = 'y')`; [] where it is something else."""
    found: list[Change] = []
    while name := at.name():
        if not at.take("="):
            return []
        found.append(Change("ADD", Domain.TAG, name, column, value=at.string()))
        if not at.take(","):
            break
    return found if at.take(")") else []
