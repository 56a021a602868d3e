"""Fingerprints of a statement's text, from its tokens, so that text that does not parse has them too.

In: text. Out: 32 hex digits. Comments, white space and the case of what is not quoted do not count.
"""

from __future__ import annotations

import hashlib

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.tokens import tokenize

_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.RAW_STRING,
                       TokenType.BIT_STRING, TokenType.BYTE_STRING, TokenType.NATIONAL_STRING})  # fmt: skip


def text_hash(text: str) -> str:
    """Hash over the canonical text.

    >>> text_hash("select  A from t -- c") == text_hash("SELECT a FROM T;")
    True
    """
    return _digest(_canonical(text, literals=True))


def parameterized_hash(text: str) -> str:
    """Hash over the canonical text, literals replaced.

    >>> parameterized_hash("SELECT 1") == parameterized_hash("select 'x'")
    True
    """
    return _digest(_canonical(text, literals=False))


def _canonical(text: str, *, literals: bool) -> str:
    tokens = tokenize(text)
    if tokens is None:
        # A text with an open quote has no tokens: its case and its comments count.
        return " ".join(text.split())
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    # A control character, so that the tokens `a b` and the token `ab` do not give the same text.
    return "\x1f".join([_piece(token, literals=literals) for token in tokens])


def _piece(token: Token, *, literals: bool) -> str:
    kind = token.token_type
    if kind in _LITERALS and not literals:
        return "?"
    if kind is TokenType.STRING:
        return f"'{token.text}'"
    if kind in _LITERALS and kind is not TokenType.NUMBER:  # X'1F' is another value than '1F'
        return f"{kind.name}'{token.text}'"
    # Names are case-insensitive in Spark, quoted ones too, but a path in back-ticks is not.
    return f"`{token.text}`" if kind is TokenType.IDENTIFIER else token.text.upper()


def _digest(text: str) -> str:
    # A Python text may hold half of a surrogate pair, which strict UTF-8 refuses.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
