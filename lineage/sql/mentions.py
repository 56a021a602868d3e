"""The objects of a schema that a text names, whatever kind of statement it is.

In: a text and the name of a schema. Out: whether it is named, and what behind it. A text that no tree can be
had of, a script or a view's, counts as well.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import tokenize, word


def mentions(text: str, schema: str) -> bool:
    """Whether a schema's name is a word of a text, outside strings and comments.

    >>> mentions("USE `Account_Usage`", "account_usage"), mentions("SELECT 'account_usage'", "account_usage")
    (True, False)
    """
    return any(_is(token, schema.lower()) for token in _tokens(text, schema))


def named_in(text: str, schema: str) -> frozenset[str]:
    """The words that stand behind the schema and a dot, in lower case.

    >>> sorted(named_in("SELECT * FROM a.`tables` JOIN A . x -- a.y", "a"))
    ['tables', 'x']
    """
    tokens, wanted = _tokens(text, schema), schema.lower()
    return frozenset(
        tokens[at + 2].text.lower()
        for at in range(len(tokens) - 2)
        if _is(tokens[at], wanted) and word(tokens, at + 1) == "."
    )


def _tokens(text: str, schema: str) -> list[Token]:
    """The tokens of a text that may name a schema; most texts need none."""
    return (tokenize(text) or []) if schema.lower() in text.lower() else []


def _is(token: Token, name: str) -> bool:
    # sqlglot's tokens of a text hold no comments, and in Spark double quotes, too, hold a text by default.
    return token.token_type is not TokenType.STRING and token.text.lower() == name
