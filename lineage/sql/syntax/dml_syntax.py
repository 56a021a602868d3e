"""What sqlglot lacks of Spark's INSERT, UPDATE and of the items of a FROM, as tokens that it knows.

In: the tokens of a statement. Out: tokens of the same meaning for lineage. Each rule is one function, chosen
by a word that its text must hold.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from lineage.sql.syntax.pipe_syntax import REPLACING
from lineage.sql.tokens import closing_bracket, made_tokens, new_token, word

QUERY_WORDS = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "WITH", "MAP", "REDUCE"})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
# What a bracket with a query stands behind where it is part of a condition.
_ASKING = frozenset({"IN", "EXISTS", "AND", "OR", "NOT", "ON", "ANY", "ALL", "SOME", "LIKE", "BETWEEN", "("})


def _options(tokens: list[Token]) -> list[Token]:
    # t WITH ('k' = 'v'): options of a source, for reading and for writing. A CTE has a name behind WITH.
    kinds = [token.token_type for token in tokens]
    if (TokenType.WITH, TokenType.L_PAREN) not in pairwise(kinds):
        return tokens
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        if word(tokens, at) == "WITH" and word(tokens, at + 1) == "(" and found:
            at = closing_bracket(tokens, at + 1) + 1
        else:
            found.append(tokens[at])
            at += 1
    return found


def _existing_partitions(tokens: list[Token]) -> list[Token]:
    # INSERT OVERWRITE t PARTITION (a = 1) IF NOT EXISTS: whether it writes, not what.
    for at in range(len(tokens) - 3):
        if word(tokens, at) == "PARTITION" and word(tokens, at + 1) == "(":
            end = closing_bracket(tokens, at + 1) + 1
            if [word(tokens, end + n) for n in range(3)] == ["IF", "NOT", "EXISTS"]:
                return tokens[:end] + _existing_partitions(tokens[end + 3 :])
    return tokens


def _replace_on(tokens: list[Token]) -> list[Token]:
    # INSERT INTO t REPLACE ON c q: of c both the table and the query's columns are in sight (Spark 4.2).
    at = next((n for n in range(len(tokens)) if _words(tokens, n, "REPLACE", "ON")), None)
    start = None if at is None else _query_behind(tokens, at + 2)
    if at is None or start is None:
        return tokens
    condition, query = tokens[at + 2 : start], tokens[start:]
    near = tokens[at]
    if word(query, 0) == "TABLE":
        query = [*made_tokens("SELECT * FROM", near), *query[1:]]
    if word(query, 0) == "(" and closing_bracket(query, 0) < len(query) - 1:
        query = [*made_tokens("SELECT * FROM", near), *query]  # (SELECT …) AS s
    opening, closing = made_tokens("( )", near)
    around = [opening, *query, closing, *made_tokens(f"AS {REPLACING}", near)]
    return [
        *tokens[: at + 1],
        *made_tokens("WHERE", near),
        opening,
        *condition,
        closing,
        *made_tokens("SELECT * FROM", near),
        *around,
    ]


def _query_behind(tokens: list[Token], at: int) -> int | None:
    """Where the query begins that a condition stands before."""
    first = at
    while at < len(tokens):
        if word(tokens, at) in QUERY_WORDS:
            return at
        if word(tokens, at) == "(":
            before = tokens[at - 1]
            is_part = at == first or word(tokens, at - 1) in _ASKING or before.token_type in _OPERATORS
            if not is_part and word(tokens, at + 1) in QUERY_WORDS:
                return at
            at = closing_bracket(tokens, at)
        at += 1
    return None


_OPERATORS = frozenset(
    {TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE, TokenType.PLUS,
     TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.NULLSAFE_EQ}
)  # fmt: skip


def _words(tokens: list[Token], at: int, *words: str) -> bool:
    return all(word(tokens, at + n) == text for n, text in enumerate(words))


def _update_aliases(tokens: list[Token]) -> list[Token]:
    # SET and AS are no reserved words: UPDATE t set SET a = 1, UPDATE t AS SET a = 1 (its alias is `AS`).
    if word(tokens, 0) != "UPDATE":
        return tokens
    at = next((n for n in range(len(tokens)) if word(tokens, n) == "SET"), 0)
    alias = at
    if word(tokens, at + 1) != "SET":
        alias = at - 1
        if word(tokens, alias) != "AS":
            return tokens
    named = new_token(TokenType.IDENTIFIER, tokens[alias].text, tokens[alias])
    return [*tokens[:alias], named, *tokens[alias + 1 :]]


def _system_versions(tokens: list[Token]) -> list[Token]:
    # FOR SYSTEM_VERSION AS OF 1 is VERSION AS OF 1.
    found: list[Token] = []
    for at, token in enumerate(tokens):
        if _words(tokens, at, "SYSTEM_VERSION", "AS", "OF"):
            if word(found, len(found) - 1) == "FOR":
                found.pop()
            found.append(new_token(TokenType.VAR, "VERSION", token))
        else:
            found.append(token)
    return found


_UNITS = frozenset({"MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"})


def _watermarks(tokens: list[Token]) -> list[Token]:
    # t WATERMARK ts DELAY OF INTERVAL 10 MINUTES: how late rows may come, not what they hold (Spark 4.1).
    at = next((n for n in range(len(tokens)) if word(tokens, n) == "WATERMARK"), None)
    if at is None:
        return tokens
    end = next((n for n in range(at, len(tokens)) if _words(tokens, n, "DELAY", "OF", "INTERVAL")), None)
    if end is None:
        return tokens
    end += 3
    while word(tokens, end + 1).removesuffix("S") in _UNITS:
        end += 2
    return [*tokens[:at], *_watermarks(tokens[end:])]


def _streams(tokens: list[Token]) -> list[Token]:
    # FROM STREAM t and FROM STREAM(t) read t; sqlglot takes STREAM for the table, or for a function.
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        is_stream = word(tokens, at) == "STREAM" and word(tokens, at - 1) in ("FROM", "JOIN", ",")
        if is_stream and word(tokens, at + 1) == "(":
            end = closing_bracket(tokens, at + 1)
            found += tokens[at + 2 : end]
            at = end + 1
            continue
        if not (is_stream and at + 1 < len(tokens) and tokens[at + 1].token_type in _NAMES):
            found.append(tokens[at])
        at += 1
    return found


def _window_calls(tokens: list[Token]) -> list[Token]:
    # GROUP BY window(ts, '10 minutes'): sqlglot takes WINDOW for the clause, which has a name behind it.
    return [
        new_token(TokenType.VAR, token.text, token)
        if token.token_type is TokenType.WINDOW and word(tokens, at + 1) == "("
        else token
        for at, token in enumerate(tokens)
    ]


def _clustered_windows(tokens: list[Token]) -> list[Token]:
    # OVER (CLUSTER BY a) partitions by a, and sorts by it.
    return [
        new_token(TokenType.PARTITION_BY, "PARTITION BY", token)
        if token.token_type is TokenType.CLUSTER_BY
        and word(tokens, at - 1) == "("
        and word(tokens, at - 2) in ("OVER", "AS")
        else token
        for at, token in enumerate(tokens)
    ]


def _altered_views(tokens: list[Token]) -> list[Token]:
    # ALTER VIEW v [AS] SELECT …
    if word(tokens, 0) != "ALTER" or word(tokens, 1) != "VIEW":
        return tokens
    at = next((n for n in range(3, len(tokens)) if word(tokens, n) in (*QUERY_WORDS, "(", "AS")), None)
    if at is None or word(tokens, at) == "AS" or _words(tokens, at, "WITH", "SCHEMA"):
        return tokens
    return [*tokens[:at], *made_tokens("AS", tokens[at]), *tokens[at:]]


DML_RULES: tuple[tuple[str, Callable[[list[Token]], list[Token]]], ...] = (
    ("WITH", _options),
    ("EXISTS", _existing_partitions),
    ("REPLACE", _replace_on),
    ("UPDATE", _update_aliases),
    ("SYSTEM_VERSION", _system_versions),
    ("WATERMARK", _watermarks),
    ("STREAM", _streams),
    ("WINDOW", _window_calls),
    ("CLUSTER", _clustered_windows),
    ("ALTER", _altered_views),
)
"""Rules, each with a word that a text must hold (in upper case) for it to apply."""
