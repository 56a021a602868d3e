"""The constants of a compiled class, read out of its file: no class runs.

In: the bytes of a class file. Out: its constant pool (JVM specification, 4.4), and where it ends.
"""

from __future__ import annotations

from dataclasses import dataclass

_UTF8 = 1
# Bytes of an entry with its tag; of a string, those before its characters (table 4.4-A).
_SIZES = {
    1: 3,
    3: 5,
    4: 5,
    5: 9,
    6: 9,
    7: 3,
    8: 3,
    9: 5,
    10: 5,
    11: 5,
    12: 5,
    15: 4,
    16: 3,
    17: 5,
    18: 5,
    19: 3,
    20: 3,
}
_TWO_ENTRIES = (5, 6)


@dataclass(frozen=True, slots=True)
class ConstantPool:
    """The constants of a class, by their numbers, in the order of the file.

    Attributes:
        texts: strings, as they stand there.
        references: of every other entry its first two bytes: of a class, the number of its name.
        end: where the file goes on.
    """

    texts: dict[int, str]
    references: dict[int, int]
    end: int


def constant_pool(data: bytes) -> ConstantPool:
    """The constants of a class file."""
    texts: dict[int, str] = {}
    references: dict[int, int] = {}
    at, number = 10, 1
    while number < _two_bytes(data, 8):
        tag, said = data[at], _two_bytes(data, at + 1)
        if tag == _UTF8:
            texts[number] = data[at + 3 : at + 3 + said].decode("utf-8", "replace")
            at += said
        else:
            references[number] = said
        at += _SIZES[tag]
        number += 2 if tag in _TWO_ENTRIES else 1
    return ConstantPool(texts, references, at)


def base_class(data: bytes) -> str:
    """The class that a class extends, as `org/apache/spark/sql/Dataset`."""
    pool = constant_pool(data)
    # Behind the constants: access flags, the class itself, its base (4.1).
    return pool.texts[pool.references[_two_bytes(data, pool.end + 4)]]


def _two_bytes(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")
