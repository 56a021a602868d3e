"""Redacts SQL text: option values, what is compared with a password, keys of functions, or all literals.

In: the text of a statement. Out: `RedactedSql`. A string gives way to a string, a number to a number, so that
what remains parses, and lineage is traced from it as from the original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from sqlglot.tokenizer_core import Token, TokenType

from lineage.names import sql_text
from lineage.sql.redaction.any_text import redact_text
from lineage.sql.redaction.places import (
    argument_places,
    column_places,
    kept_places,
    named_places,
    option_places,
    setting_places,
)
from lineage.sql.redaction.redacted import RedactedSql
from lineage.sql.redaction.rules import PLACEHOLDER, RedactionRules
from lineage.sql.tokens import tokenize, word

_CACHE = 1024
_PIECE = 4
_CACHED_LENGTH = 32 * 1024
_BINARY = frozenset({TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.BYTE_STRING})
_LITERALS = _BINARY | {TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING, TokenType.NATIONAL_STRING}
_AS_STRING = f"'{PLACEHOLDER}'"


def redact_sql(text: str, rules: RedactionRules) -> RedactedSql:
    """A statement's text without its secrets.

    >>> redact_sql("CREATE TABLE t USING jdbc OPTIONS (password 'hunter2')", RedactionRules()).text
    "CREATE TABLE t USING jdbc OPTIONS (password '*********(redacted)')"
    >>> redact_sql("SELECT a FROM t WHERE b = 'x' LIMIT 5", RedactionRules(literals=True)).text
    "SELECT a FROM t WHERE b = '*********(redacted)' LIMIT 0"
    """
    if not rules.may_hold_secrets(text):
        return RedactedSql(text, text)
    return _remembered(text, rules) if len(text) <= _CACHED_LENGTH else _redacted(text, rules)


@lru_cache(maxsize=_CACHE)
def _remembered(text: str, rules: RedactionRules) -> RedactedSql:
    return _redacted(text, rules)


def _redacted(text: str, rules: RedactionRules) -> RedactedSql:
    tokens = tokenize(text)
    if tokens is None:
        return _uncut(text, rules)
    return _Redactor(text, tokens, rules).result()


def _uncut(text: str, rules: RedactionRules) -> RedactedSql:
    """A text with an open quote: nobody knows where its literals end."""
    if not rules.literals:
        return RedactedSql(text, redact_text(text, rules))
    # Up to its first literal or comment.
    told = text.removesuffix(PLACEHOLDER)
    places = (told.find(one) for one in ("'", '"', "--", "/*", *"0123456789"))
    first = min((at for at in places if at >= 0), default=len(told))
    rest = text[first:]
    return RedactedSql(
        text, text[:first] + PLACEHOLDER if rest else text, frozenset({rest} - {"", PLACEHOLDER})
    )


class _Redactor:
    """One text on its way."""

    def __init__(self, text: str, tokens: list[Token], rules: RedactionRules) -> None:
        self._text = text
        self._tokens = tokens
        self._rules = rules
        self._edits: dict[int, tuple[int, str]] = {}
        self._hidden: set[str] = set()
        self._settings: list[tuple[int, int]] = []

    def result(self) -> RedactedSql:
        """The text without its secrets."""
        tokens, rules = self._tokens, self._rules
        for first, stop in setting_places(tokens, self._text, rules):
            self._settings.append((first, stop))
            self._replace(first, stop, self._text[first:stop].strip())
            # Nobody knows which piece of it an error quotes.
            pieces = {token.text for token in tokens if first <= token.start < stop}
            self._hidden |= {piece for piece in pieces if len(piece) >= _PIECE}
        for place in (*option_places(tokens, rules), *argument_places(tokens), *column_places(tokens, rules),
                      *named_places(tokens, rules)):  # fmt: skip
            self._hide(place)
        kept = kept_places(tokens) if rules.literals else frozenset()
        for at, token in enumerate(tokens):
            if token.start not in self._edits and not self._is_replaced(token):
                self._look(at, token, kept)
        self._comments()
        found = rules.without_forms(self._edited())
        return RedactedSql(self._text, found, frozenset(self._hidden))

    def _look(self, at: int, token: Token, kept: Iterable[int]) -> None:
        """A literal, or a name in back-ticks, that no key has made a secret."""
        is_text = token.token_type not in _BINARY and token.token_type is not TokenType.NUMBER
        if word(self._tokens, at - 1) == "IMMEDIATE" and token.token_type is TokenType.STRING:
            inner = redact_sql(token.text, self._rules)
            self._hidden |= inner.hidden
            if inner.text != token.text:
                self._edits[token.start] = (token.end + 1, sql_text(inner.text))
        elif self._rules.literals and token.token_type in _LITERALS and at not in kept:
            self._hide(at)
        elif token.token_type in _LITERALS and is_text:
            plain = redact_text(token.text, self._rules, self._hidden)
            if plain != token.text:
                self._edits[token.start] = (token.end + 1, sql_text(plain))
        elif token.token_type is TokenType.IDENTIFIER:
            source = self._text[token.start : token.end + 1]
            self._edits[token.start] = (token.end + 1, self._rules.without_forms(source, self._hidden))

    def _hide(self, at: int) -> None:
        """Put a literal of the same kind in the place of one."""
        token = self._tokens[at]
        kind = token.token_type
        if kind in _LITERALS and token.text != PLACEHOLDER:
            by = "0" if kind is TokenType.NUMBER else "X'00'" if kind in _BINARY else _AS_STRING
            self._replace(token.start, token.end + 1, by=by, told=token.text)

    def _replace(self, first: int, stop: int, told: str, by: str = _AS_STRING) -> None:
        source = self._text[first:stop]
        self._edits[first] = (stop, by)
        self._hidden |= {told, source.strip("'\"")} - {"", PLACEHOLDER, by}

    def _is_replaced(self, token: Token) -> bool:
        return any(first <= token.start < stop for first, stop in self._settings)

    def _comments(self) -> None:
        """Comments are no tokens; they stand between them."""
        at = 0
        for start, stop in [*sorted((t.start, t.end + 1) for t in self._tokens), (len(self._text),) * 2]:
            gap = self._text[at:start]
            if gap.strip():
                self._edits[at] = (start, self._comment(gap))
            at = max(at, stop)

    def _comment(self, gap: str) -> str:
        if not self._rules.literals:
            return redact_text(gap, self._rules, self._hidden)
        return "".join(line if not line.strip() else "\n" if line.endswith("\n") else " "
                       for line in gap.splitlines(keepends=True))  # fmt: skip

    def _edited(self) -> str:
        def pieces() -> Iterator[str]:
            done = 0
            for first, (stop, by) in sorted(self._edits.items()):
                if first >= done:
                    yield self._text[done:first]
                    yield by
                    done = stop
            yield self._text[done:]

        found = ""
        for piece in pieces():
            # Of 'a'"b" two strings stay two: '' inside of one is a quote.
            found += " " + piece if found[-1:] == piece[:1] == "'" else piece
        return found
