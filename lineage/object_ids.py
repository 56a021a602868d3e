"""The identity of objects and columns: 63-bit integers made from what survives a rename.

In: Delta's metadata id of a table, a column-mapping id; else a name. Out: the objectId and columnId of
a record. The same object has the same id in every session and every driver, without a registry.
"""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 63) - 1


def object_id(kind: str, key: str) -> int:
    """The id of an object: of a Delta table from its metadata id, of others from the qualified name.

    >>> object_id("TABLE", "a") == object_id("TABLE", "a") != object_id("TABLE", "b")
    True
    """
    return _number(f"{kind.upper()}\x00{key.casefold()}")


def column_id(of_object: int, key: int | str) -> int:
    """The id of a column: from Delta's column-mapping id where the table has one, else from its name.

    >>> column_id(1, "A") == column_id(1, "a") != column_id(2, "a")
    True
    """
    return _number(f"{of_object}\x00{key.casefold() if isinstance(key, str) else key}")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") & _MASK
