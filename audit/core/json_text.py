"""JSON of any Python string: as the spool and the record hash write it, and as people get it.

In: dicts, lists, strings, numbers, booleans, None, dates. Out: bytes, or a TypeError; text for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import orjson

from audit.core.plain_text import in_json


def to_json(value: object, *, sort_keys: bool = False) -> bytes:
    r"""JSON without whitespace and without raw newlines, in UTF-8.

    A Python string may hold lone surrogates (from `os.listdir`, or a mangled notebook), which UTF-8
    cannot: they are written as their escape, since a statement must be recordable whatever its text.

    Example:
        >>> to_json({"b": "a\nb", "a": 1}, sort_keys=True)
        b'{"a":1,"b":"a\\nb"}'
        >>> to_json("\udc80")
        b'"\\\\udc80"'

    Raises:
        TypeError: the value has no JSON form.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        # For a lone surrogate orjson raises JSONEncodeError, a TypeError. Other values are not copied.
        return orjson.dumps(value, option=option)
    except TypeError:
        return orjson.dumps(_without_surrogates(value), option=option)


def shown_json(value: object, text: Callable[[Any], str] | None = None) -> str:
    r"""JSON for people and their programs, with line breaks; what cannot be seen is an escape.

    Args:
        value: of any values.
        text: the text of what JSON does not have, of times too; None: ISO 8601 for times, `str` for others.

    >>> print(shown_json(["a" + chr(0x202E)]), end="")
    [
      "a\u202e"
    ]
    """
    say = text or _text
    try:
        options = orjson.OPT_INDENT_2 | orjson.OPT_PASSTHROUGH_DATETIME
        made = orjson.dumps(value, option=options, default=say).decode()
    except TypeError:
        # A lone surrogate, of a file's name, and a number of more than 64 bits: orjson (3.12) refuses both.
        made = json.dumps(value, indent=2, default=say)
    return in_json(made) + "\n"


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _without_surrogates(value: Any) -> Any:
    """`value` with every lone surrogate escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value
