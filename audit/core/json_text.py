"""JSON as the spool and the record hash write it: UTF-8 bytes, no whitespace, any Python string.

In: dicts, lists, strings, numbers, booleans, None, dates. Out: bytes, or a TypeError.
"""

from __future__ import annotations

from typing import Any

import orjson


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


def _without_surrogates(value: Any) -> Any:
    """`value` with every lone surrogate escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value
