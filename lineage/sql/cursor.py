"""A place in the tokens of a statement, moved on by what is read there.

In: tokens and their text. Out: words, names, strings, types, as the readers of commands ask for them.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from lineage.model import Column
from lineage.sql.tokens import read_name, word

_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})


class Cursor:
    """Reads one statement from left to right; nothing raises, an answer is empty where nothing fits."""

    __slots__ = ("at", "text", "tokens")

    def __init__(self, tokens: list[Token], text: str, at: int = 0) -> None:
        self.tokens = tokens
        self.text = text
        self.at = at

    @property
    def done(self) -> bool:
        """Whether all is read."""
        return self.at >= len(self.tokens)

    def word(self, ahead: int = 0) -> str:
        """The upper-case word here, '' where it is quoted or past the end."""
        return word(self.tokens, self.at + ahead)

    def take(self, *words: str) -> bool:
        """Move past these words if they stand here, one after the other."""
        at = self.at
        for expected in words:
            if word(self.tokens, at) != expected:
                return False
            at += 1
        self.at = at
        return True

    def take_one(self, *words: str) -> str:
        """Move past the word here if it is one of these; '' where it is not."""
        here = self.word()
        if here and here in words:
            self.at += 1
            return here
        return ""

    def name(self) -> tuple[str, ...]:
        """A dotted name; () where there is none."""
        name, self.at = read_name(self.tokens, self.at)
        return name

    def names(self) -> tuple[str, ...]:
        """`(a, b)`: the last parts of the names in parentheses; () where there are none."""
        if not self.take("("):
            return ()
        found: list[str] = []
        while not self.done and not self.take(")"):
            name = self.name()
            if name:
                found.append(name[-1])
            elif not self.take(","):
                break
        return tuple(found)

    def string(self) -> str | None:
        """A string literal, None where there is none; Spark joins literals that follow each other."""
        pieces: list[str] = []
        while not self.done and self.tokens[self.at].token_type is TokenType.STRING:
            pieces.append(self.tokens[self.at].text)
            self.at += 1
        return "".join(pieces) if pieces else None

    def literal(self) -> str | None:
        """The value of an expression of string literals alone: `'a' || concat('b', ('c'))`; else None.

        >>> from lineage.sql.tokens import tokenize
        >>> Cursor(tokenize("'a' || concat('b', ('c'))"), "").literal()
        'abc'
        """
        value = self._operand()
        while value is not None and self.take("||"):
            following = self._operand()
            value = None if following is None else value + following
        return value

    def integer(self) -> int | None:
        """A number without a sign or a point, None where there is none."""
        token = None if self.done else self.tokens[self.at]
        if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdecimal():
            return None
        self.at += 1
        return int(token.text)

    def strings(self) -> tuple[str, ...]:
        """`'a', 'b'`: string literals parted by commas."""
        found: list[str] = []
        while (value := self.string()) is not None:
            found.append(value)
            if not self.take(","):
                break
        return tuple(found)

    def span(self, *stops: str) -> str:
        """The text of an expression: from here to one of these words outside brackets, or to the end."""
        return self._span(stops, lambda here: (here in _OPENING) - (here in _CLOSING))

    def type_span(self, *stops: str) -> str:
        """The text of a type, in which `<` and `>` are brackets."""
        return self._span(stops, _type_depth)

    def columns(self, *ends: str) -> tuple[Column, ...]:
        """`(a INT, b STRING)`, or () without a bracket. A type ends at one of the words `ends`."""
        found: list[Column] = []
        if not self.take("("):
            return ()
        while not self.done and not self.take(")"):
            name = self.name()
            if not name:
                break
            found.append(Column(name[0], self.type_span(",", ")", *ends)))
            # Behind a type: DEFAULT, COMMENT, NOT NULL, a constraint, in any order (Spark's `colDefinition`).
            self.span(",", ")")
            self.take(",")
        return tuple(found)

    def _operand(self) -> str | None:
        # To Spark `||` is concat by another name; brackets alone may hold one expression, concat several.
        several = self.take("CONCAT", "(")
        if not several and not self.take("("):
            return self.string()
        value = self.literal()
        while several and value is not None and self.take(","):
            following = self.literal()
            value = None if following is None else value + following
        return value if self.take(")") else None

    def _span(self, stops: tuple[str, ...], deeper: Callable[[str], int]) -> str:
        first, depth = self.at, 0
        while not self.done:
            here = self.word()
            if depth == 0 and here in stops:
                break
            depth += deeper(here)
            self.at += 1
        if first == self.at:
            return ""
        return self.text[self.tokens[first].start : self.tokens[self.at - 1].end + 1]


def _type_depth(here: str) -> int:
    # Counted, as `struct<>` ends in one token, `<>`; sqlglot (30.30) cuts `>>` into two.
    angles = here.count("<") - here.count(">") if not here.strip("<>") else 0
    return (here in _OPENING) - (here in _CLOSING) + angles
