"""Policies and tags that a CREATE TABLE or CREATE VIEW sets at once, taken out of its tokens.

In: the tokens of a statement. Out: the same without `[WITH] MASKING POLICY p [USING (…)]`, `[WITH] ROW
ACCESS POLICY p ON (…)` and `[WITH] TAG (t = 'v', …)`, which no parser of Spark's knows, and what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import Token, TokenType

from lineage.cursor import Cursor
from lineage.model import Domain
from lineage.policy_commands import masking, row_access
from lineage.statement import Change
from lineage.tokens import word

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAKERS = frozenset({"CREATE", "REPLACE"})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


def without_protections(tokens: list[Token], text: str, upper: str) -> tuple[list[Token], tuple[Change, ...]]:
    """The statement without such clauses, and the clauses; untouched where there are none.

    Only the head is read: behind AS stands a query, in which these words are names.
    """
    if word(tokens, 0) not in _MAKERS or not ("POLICY" in upper or "TAG" in upper):
        return tokens, ()
    kept: list[Token] = []
    found: list[Change] = []
    at, level, angles, column = 0, 0, 0, None
    while at < len(tokens):
        if level == 0 and tokens[at].token_type is TokenType.ALIAS:
            break
        changes, end = _clause(tokens, text, at, column if level else None)
        if changes:
            found += changes
            at = end
            continue
        token = tokens[at]
        if level == 1 and not angles and kept[-1].token_type in (TokenType.L_PAREN, TokenType.COMMA):
            column = token.text
        # `array<array<int>>` ends in one token, `>>`.
        angles += 0 if token.text.strip("<>") else token.text.count("<") - token.text.count(">")
        level += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        kept.append(token)
        at += 1
    return ([*kept, *tokens[at:]], tuple(found)) if found else (tokens, ())


def _clause(tokens: list[Token], text: str, start: int, column: str | None) -> tuple[Sequence[Change], int]:
    """The clause that begins at a token and where it ends; () where none does."""
    at = Cursor(tokens, text, start)
    at.take("WITH")
    if column is not None and at.take("MASKING", "POLICY"):
        change = masking(at, column)
        return ([change] if change else []), at.at
    if column is None and at.take("ROW", "ACCESS", "POLICY"):
        change = row_access(at)
        return ([change] if change and change.columns else []), at.at
    return (_tags(at, column), at.at) if at.take("TAG", "(") else ((), start)


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
