"""What the libraries offer: the public methods of their classes, and the statements of their grammars.

In: the installed libraries. Out: names. A new version of a library has new names, which no way is placed for.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pyspark

from audit.spark.embedded.jars import resolve
from benchmarks.class_file import base_class

_STATEMENT = "SqlBaseParser$StatementContext"


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
        found = [one for one in names if base_class(archive.read(one)).endswith(_STATEMENT)]
    return [one.rpartition("$")[2].removesuffix("Context.class") for one in found]
