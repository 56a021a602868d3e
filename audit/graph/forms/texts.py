"""Names made safe to show: whatever is in them, they stay one line of what can be seen.

In: names from statements, hostile ones too. Out: text for a terminal, for XML, of a known width.
"""

from __future__ import annotations

import unicodedata
from html import escape

from audit.core.plain_text import is_hidden

_BLANK = "\ufffd"


def visible(text: str) -> str:
    """The text without what steers a terminal, a parser or the direction of reading.

    >>> visible("a" + chr(27) + "[31m") == "a" + chr(0xFFFD) + "[31m"
    True
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_BLANK if is_hidden(letter) else letter for letter in text)


def xml(text: str) -> str:
    """The text for an element or an attribute of XML.

    >>> xml('<script a="b">')
    '&lt;script a=&quot;b&quot;&gt;'
    """
    return escape(visible(text))


def width(text: str) -> int:
    """Columns that a text takes in a fixed-width font; letters of East Asia take two.

    >>> width("表t")
    3
    """
    if text.isascii():
        return len(text)
    # Wide and fullwidth letters take two columns (UAX #11), combining marks none.
    wide, none = ("W", "F"), ("Mn", "Me")
    return sum(
        0 if unicodedata.category(c) in none else 2 if unicodedata.east_asian_width(c) in wide else 1
        for c in text
    )


def cut(text: str, columns: int) -> str:
    """The text, its middle left out where it is too long: ends tell names apart.

    >>> cut("customer_address_history_v2", 12)
    'custom…ry_v2'
    """
    if width(text) <= columns:
        return text
    tail = text[::-1]
    return _head(text, (columns - 1 + 1) // 2) + "…" + _head(tail, (columns - 1) // 2)[::-1]


def _head(text: str, columns: int) -> str:
    at = used = 0
    while at < len(text) and used + width(text[at]) <= columns:
        used += width(text[at])
        at += 1
    return text[:at]
