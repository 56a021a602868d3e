"""`SHOW … ->> SELECT … FROM $1`: a query over the result of a SHOW.

In: the tokens of a SHOW or DESCRIBE. Out: a `StatementChain` with the statements of the chain; None for one
alone. Double quotes hold names in a later one, as in the document (Checking the data retention period for an
object).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import word

if TYPE_CHECKING:
    from lineage.sql.commands.command import Span


@dataclass(frozen=True, slots=True)
class ChainedStatement:
    """A statement of a chain, and the positions of `$1` in it."""

    text: str
    inputs: tuple[Span, ...] = field(default=(), compare=False)

    def reading_from(self, view: str) -> str:
        """The statement with `$1` as a view.

        >>> ChainedStatement("SELECT '$1' FROM $1 x", ((17, 19),)).reading_from("v")
        "SELECT '$1' FROM v x"
        """
        text = self.text
        for first, stop in reversed(self.inputs):
            text = text[:first] + view + text[stop:]
        return text


@dataclass(frozen=True, slots=True)
class StatementChain:
    """A chain: a SHOW or DESCRIBE, its `kind`, then queries, each over the result of the one before it."""

    parts: tuple[ChainedStatement, ...]
    kind: Literal["SHOW", "DESCRIBE"]


def read_chain(tokens: list[Token], text: str) -> StatementChain | None:
    """The statements of a chain.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "SHOW TABLES ->> SELECT name FROM $1"
    >>> [part.reading_from("v") for part in read_chain(tokenize(sql), sql).parts]
    ['SHOW TABLES', 'SELECT name FROM v']
    """
    # sqlglot's token is that of PostgreSQL's JSON operator; Spark (4.2) has no `->>`.
    arrows = [at for at, token in enumerate(tokens) if token.token_type is TokenType.DARROW]
    kind = _KINDS.get(word(tokens, 0))
    if not arrows or kind is None:
        return None
    begins, ends = [0, *(at + 1 for at in arrows)], [*arrows, len(tokens)]
    parts = tuple(_part(tokens[b:e], text) for b, e in zip(begins, ends, strict=True))
    return StatementChain(parts, kind)


_KINDS: dict[str, Literal["SHOW", "DESCRIBE"]] = {"SHOW": "SHOW", "DESCRIBE": "DESCRIBE", "DESC": "DESCRIBE"}


def _part(tokens: list[Token], text: str) -> ChainedStatement:
    if not tokens:
        return ChainedStatement("")
    first, stop = tokens[0].start, tokens[-1].end + 1
    inputs = [
        (tokens[at].start - first, tokens[at + 1].end + 1 - first)
        for at in range(len(tokens) - 1)
        if word(tokens, at) == "$"
        and tokens[at + 1].text == "1"
        # `$1` is two tokens; with a blank between them it is none of the document's.
        and tokens[at].end + 1 == tokens[at + 1].start
    ]
    return ChainedStatement(text[first:stop], tuple(inputs))
