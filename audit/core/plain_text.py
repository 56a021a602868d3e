"""Texts of records as people may see them: escapes in the place of what cannot be seen.

In: a text, hostile ones too. Out: one without a letter that steers a terminal or the direction of reading.
"""

from __future__ import annotations

import unicodedata

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
    return "".join(_escape(one) if one not in kept and is_hidden(one) else one for one in text)


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
    return "".join(_units(one) if one != "\n" and is_hidden(one) else one for one in text)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("a=1")
    ("'=1+1", 'a=1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"  # noqa: PLR2004 - as Python writes them


def _units(letter: str) -> str:
    """A letter as JSON escapes it: by its units of UTF-16."""
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
