"""The statements of a SQL script, by their place in its text.

In: a script (BEGIN … END) and a span of characters. Out: the one statement around that span.
"""

from __future__ import annotations

from sqlglot import TokenError, Tokenizer, TokenType

_OPENERS = frozenset({"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC"})


def statement_at(script: str, first: int, last: int) -> str:
    """The statement of a script that holds the characters `first` to `last` (both included).

    >>> statement_at("BEGIN INSERT INTO t VALUES (1); SELECT 2; END", 35, 36)
    'SELECT 2'
    """
    try:
        tokens = Tokenizer(dialect="spark").tokenize(script)
    except TokenError:
        return script[first : last + 1]
    start, end = 0, len(script)
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if token.start > last:
                end = token.start
                break
            start = token.end + 1
        elif token.end < first and token.text.upper() in _OPENERS:
            start = token.end + 1
    return script[start:end].strip()
