"""Texts of records as people may see them: escapes in the place of what cannot be seen.

In: a text, hostile ones too. Out: one without a letter that steers a terminal or the direction of reading.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache

# Controls, formats (marks of direction among them), surrogates, private use, unassigned, separators of lines
# and paragraphs (categories of Unicode).
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# What a spreadsheet takes for a formula, at the beginning of a cell (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def is_hidden(letter: str) -> bool:
    """Whether a letter cannot be seen, or steers what is around it.

    >>> is_hidden("a"), is_hidden(chr(0x202E))
    (False, True)
    """
    return unicodedata.category(letter) in _HIDDEN


def escaped(text: str, kept: str = "") -> str:
    r"""The text with escapes in the place of what cannot be seen.

    Args:
        text: from a record, hostile ones too.
        kept: letters that stay as they are.

    >>> print(escaped("a" + chr(0x202E) + "b" + chr(10)))
    a\u202eb\u000a
    """
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_escapes(_escape, kept))


def in_json(text: str) -> str:
    r"""JSON with escapes of its own for what cannot be seen: it says the same, and steers no terminal.

    Args:
        text: whole JSON; its line breaks stay.

    >>> print(in_json('"' + chr(0x202E) + chr(0xE0001) + '"'))
    "\u202e\udb40\udc01"
    """
    if text.isascii() and (text.isprintable() or "\x7f" not in text):
        return text  # below the space JSON has escapes anyway
    # Outside of its strings JSON has none of these letters.
    return text.translate(_escapes(_units, "\n"))


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


class _Escapes(dict[int, str]):
    """What stands for each letter, by its number; it is filled as letters are met."""

    def __init__(self, escape: Callable[[str], str], kept: str) -> None:
        super().__init__()
        self.escape, self.kept = escape, kept

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        shown = self.escape(letter) if letter not in self.kept and is_hidden(letter) else letter
        self[number] = shown
        return shown


@cache
def _escapes(escape: Callable[[str], str], kept: str) -> _Escapes:
    return _Escapes(escape, kept)


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"  # noqa: PLR2004 - as Python writes them


def _units(letter: str) -> str:
    """A letter as JSON escapes it: by its units of UTF-16."""
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
