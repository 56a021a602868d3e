"""What the libraries offer: the public methods of their classes, and the statements of their grammars.

In: the installed libraries. Out: names. A new version of a library has new names, which no way is placed for.
"""

from __future__ import annotations

import importlib
import os
import struct
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pyspark

from audit.spark.embedded.jars import resolve

_STATEMENT = "SqlBaseParser$StatementContext"
# Sizes of the entries of a class file's constant pool by their tags, JVM specification 4.4; 1 is a text.
_SIZES = {
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
_WIDE = (5, 6)


def public_methods(owner: str) -> set[str]:
    """The public names of a class, by its full name."""
    module, name = owner.rsplit(".", 1)
    return {one for one in dir(getattr(importlib.import_module(module), name)) if not one.startswith("_")}


@cache
def statement_alternatives() -> frozenset[str]:
    """The alternatives of `statement` in Spark's and Delta's grammars, as their parsers name them."""
    spark = next((Path(pyspark.__file__).parent / "jars").glob("spark-sql-api_*.jar"))
    delta = next(one for one in resolve(os.environ) if "/delta-spark_" in str(one))
    return frozenset(
        f"{library}.{name}" for library, jar in (("spark", spark), ("delta", delta)) for name in _of(jar)
    )


def _of(jar: Path) -> list[str]:
    with ZipFile(jar) as archive:
        names = [
            one for one in archive.namelist() if "SqlBaseParser$" in one and one.endswith("Context.class")
        ]
        found = [one for one in names if _parent(archive.read(one)).endswith(_STATEMENT)]
    return [one.rpartition("$")[2].removesuffix("Context.class") for one in found]


def _parent(data: bytes) -> str:
    """The class that a class extends, by the bytes of its file."""
    count, at, number = struct.unpack(">H", data[8:10])[0], 10, 1
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    while number < count:
        tag = data[at]
        if tag == 1:
            size = struct.unpack(">H", data[at + 1 : at + 3])[0]
            texts[number] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            classes[number] = struct.unpack(">H", data[at + 1 : at + 3])[0]
            at += _SIZES[tag]
        number += 2 if tag in _WIDE else 1
    return texts[classes[struct.unpack(">H", data[at + 4 : at + 6])[0]]]
