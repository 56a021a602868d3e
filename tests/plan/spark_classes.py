"""The classes of Spark's and Delta's jars with what they extend, read from the class files without a JVM."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

from audit.spark.embedded.jars import resolve
from benchmarks.class_file import ConstantPool, constant_pool

_JARS = Path(pyspark.__file__).parent / "jars"
_OF_SPARK = ("spark-catalyst_*.jar", "spark-sql_*.jar", "spark-hive_*.jar", "spark-sql-api_*.jar")
_PACKAGE = "org/apache/spark/sql/"
_ABSTRACT = 0x0400 | 0x0200


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class: its name, whether it can have instances, the names of what it extends and of its fields."""

    name: str
    concrete: bool
    above: tuple[str, ...]
    fields: frozenset[str]


def _read(data: bytes) -> JavaClass:
    pool = constant_pool(data)
    # Behind the constants (Java Virtual Machine Specification, 4.1).
    flags, own, parent, interfaces = struct.unpack_from(">HHHH", data, pool.end)
    ids = struct.unpack_from(f">{interfaces}H", data, pool.end + 8)
    above = tuple(pool.texts[pool.references[one]] for one in (parent, *ids) if one)
    fields = frozenset(_fields(data, pool.end + 8 + 2 * interfaces, pool))
    return JavaClass(pool.texts[pool.references[own]], not flags & _ABSTRACT, above, fields)


def _fields(data: bytes, at: int, pool: ConstantPool) -> Iterator[str]:
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(count):
        _, name, _, attributes = struct.unpack_from(">HHHH", data, at)
        at += 8
        for _ in range(attributes):
            (length,) = struct.unpack_from(">I", data, at + 2)
            at += 6 + length
        yield pool.texts[name]


@cache
def classes() -> dict[str, JavaClass]:
    """All classes of Spark SQL and of Delta, by their internal names."""
    of_spark = (jar for pattern in _OF_SPARK for jar in _JARS.glob(pattern))
    found = {}
    for jar in (*of_spark, *resolve(os.environ)):
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
