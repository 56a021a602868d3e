"""`SHOW … ->> SELECT … FROM $1`: what one statement shows, another asks.

In: the text of such a chain. Out: its statements, and each later one with `$1` as the name of a view. Names
in double quotes are names, as in the document (Checking the data retention period for an object).
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from lineage.tokens import tokenize, word


def statements_of(text: str) -> tuple[str, ...]:
    """The statements of a chain; one alone is no chain.

    >>> statements_of("SHOW TABLES ->> SELECT name FROM $1")
    ('SHOW TABLES', 'SELECT name FROM $1')
    """
    pieces, begin = [], 0
    for token in tokenize(text) or []:
        if token.token_type is TokenType.DARROW:
            pieces.append(text[begin : token.start].strip())
            begin = token.end + 1
    return (*pieces, text[begin:].strip())


def over(view: str, text: str) -> str:
    """A statement with `$1` as a view.

    >>> over("v", "SELECT '$1' FROM $1 x")
    "SELECT '$1' FROM v x"
    """
    tokens = tokenize(text) or []
    for at in range(len(tokens) - 2, -1, -1):
        if (
            word(tokens, at) == "$"
            and tokens[at + 1].text == "1"
            and tokens[at].end + 1 == tokens[at + 1].start
        ):
            text = text[: tokens[at].start] + view + text[tokens[at + 1].end + 1 :]
    return text
