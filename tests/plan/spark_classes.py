"""The classes of Spark's jars with what they extend, read from the class files: no JVM is needed."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

_JARS = Path(pyspark.__file__).parent / "jars"
_PACKAGE = "org/apache/spark/sql/"
_ABSTRACT = 0x0400 | 0x0200
# Bytes after the tag of an entry of the constant pool (Java Virtual Machine Specification, 4.4).
_SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
_WIDE = (5, 6)  # long and double take two places
_UTF8, _CLASS = 1, 7


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class: its name, whether it can have instances, the names of what it extends and of its fields."""

    name: str
    concrete: bool
    above: tuple[str, ...]
    fields: frozenset[str]


def _read(data: bytes) -> JavaClass:
    (count,) = struct.unpack_from(">H", data, 8)
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    at, number = 10, 1
    while number < count:
        tag = data[at]
        if tag == _UTF8:
            (length,) = struct.unpack_from(">H", data, at + 1)
            texts[number] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == _CLASS:
                (classes[number],) = struct.unpack_from(">H", data, at + 1)
            at += 1 + _SIZES[tag]
        number += 2 if tag in _WIDE else 1
    flags, own, parent, interfaces = struct.unpack_from(">HHHH", data, at)
    ids = struct.unpack_from(f">{interfaces}H", data, at + 8)
    above = tuple(texts[classes[one]] for one in (parent, *ids) if one)
    at += 8 + 2 * interfaces
    return JavaClass(texts[classes[own]], not flags & _ABSTRACT, above, frozenset(_fields(data, at, texts)))


def _fields(data: bytes, at: int, texts: dict[int, str]) -> Iterator[str]:
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(count):
        _, name, _, attributes = struct.unpack_from(">HHHH", data, at)
        at += 8
        for _ in range(attributes):
            (length,) = struct.unpack_from(">I", data, at + 2)
            at += 6 + length
        yield texts[name]


@cache
def classes() -> dict[str, JavaClass]:
    """All classes of Spark SQL, by their internal names."""
    found = {}
    for pattern in ("spark-catalyst_*.jar", "spark-sql_*.jar", "spark-hive_*.jar", "spark-sql-api_*.jar"):
        for jar in _JARS.glob(pattern):
            with zipfile.ZipFile(jar) as files:
                for name in files.namelist():
                    if name.startswith(_PACKAGE) and name.endswith(".class"):
                        read = _read(files.read(name))
                        found[read.name] = read
    return found


def extends(name: str, *tops: str) -> bool:
    """Whether a class is, or extends, one of some classes."""
    if name in tops:
        return True
    known = classes().get(name)
    return known is not None and any(extends(above, *tops) for above in known.above)


def simple(name: str) -> str:
    """The name of a class as a plan's JSON has it."""
    return name.rpartition("/")[2].rpartition("$")[2] or name.rpartition("/")[2].rstrip("$")
