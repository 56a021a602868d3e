"""Statements of Spark's own tests, with the schemas that they are asked over; fetched, never committed.

In: the jar of Spark 4.2's SQL tests on Maven Central. Out: texts by name, columns by table. The schemas
and the Python table functions are constants of compiled classes, read out of the class files: no class runs.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from audit.spark.embedded.jars import Jar, resolve
from benchmarks.class_file import constant_pool
from benchmarks.result import Say

_JAR = Jar(
    "org.apache.spark",
    "spark-sql_2.13",
    "4.2.0",
    "810bef6fd568e1626aad7354a1161e9e5ac629fbc55ba0a9a4e3cec8c06376eb",
    53_001_432,
    "tests",
)

_FUNCTIONS = "org/apache/spark/sql/IntegratedUDFTestUtils$"
# Where a Scala string takes a value (StringConcatFactory's recipe).
_OPEN = "\x01"

Tables = dict[str, dict[str, str]]
"""Columns and their types, by table."""


class Corpus:
    """The jar, opened; fetched into the cache of Delta's jars where it is missing (53 MB).

    Args:
        say: told of the fetch.

    Raises:
        JarUnavailable: not on this machine and not to be fetched.
        JarCorrupt: another file than the one that was measured with.
    """

    def __init__(self, say: Say = print) -> None:
        (path,) = resolve(os.environ, (_JAR,), say)
        self._jar = zipfile.ZipFile(path)

    def tpch(self) -> dict[str, str]:
        """The texts of TPC-H, `q1` to `q22`."""
        return self._texts("tpch/")

    def tpcds(self) -> dict[str, str]:
        """The texts of TPC-DS, `q1` to `q99` with its variants `q14a`, `q14b` ….

        103: those of version 1.4.
        """
        return self._texts("tpcds/")

    def tpch_tables(self) -> Tables:
        """The eight tables of TPC-H."""
        found = {}
        for text in self._constants("org/apache/spark/sql/TPCHBase.class"):
            if made := re.search(r"CREATE TABLE `(\w+)`", text):
                found[made[1]] = _columns(text[made.end() :])
        return found

    def tpcds_tables(self) -> Tables:
        """The 24 tables of TPC-DS; the class has each one's name before its columns."""
        found, name = {}, ""
        for text in self._constants("org/apache/spark/sql/TPCDSSchema.class"):
            if re.fullmatch(r"[a-z_]+", text):
                name = text
            elif text.lstrip().startswith("|`"):
                found[name] = _columns(text)
        return found

    def sql_inputs(self) -> dict[str, str]:
        """The SQL files of Spark's tests, by their path below `sql-tests/inputs`."""
        return self._below("sql-tests/inputs/", ".sql")

    def sql_results(self) -> dict[str, str]:
        """What Spark answers to each of them, by the same path."""
        return self._below("sql-tests/results/", ".sql.out", cut=".out")

    def table_functions(self) -> dict[str, str]:
        """The Python sources of the tests' table functions, by name; each defines one class of that name."""
        scripts = {}
        for path in sorted(self._jar.namelist()):
            found = re.fullmatch(re.escape(_FUNCTIONS) + r"(Invalid\w+|UDTF\w+)\$\.class", path)
            if found:
                scripts[found[1]] = self._script(path, found[1])
        (simple,) = self._scripts(_FUNCTIONS + "TestPythonUDTF.class")
        return {"udtf": simple.replace("class TestUDTF:", "class udtf:"), **scripts}

    def _script(self, path: str, name: str) -> str:
        """A class has its script, or the three lists that its base's script leaves open."""
        script, parts = next(self._scripts(path), None), [name]
        if script is None:
            (script,) = self._scripts(_FUNCTIONS + "TestPythonUDTFPartitionByOrderByBase.class")
            constants = list(self._constants(path))
            # What the constructor gives its base: partitions, order, columns.
            at = constants.index("<init>") + 1
            parts += constants[at : at + 3]
        for part in parts:
            script = script.replace(_OPEN, part, 1)
        return script

    def _scripts(self, path: str) -> Iterator[str]:
        for text in self._constants(path):
            if "def eval(" in text:
                yield re.sub(r"^\s*\|", "", text, flags=re.MULTILINE)

    def data(self, name: str) -> str:
        """A file of data that the tests load, by its path in the jar."""
        return self._jar.read(name).decode()

    def _below(self, folder: str, end: str, cut: str = "") -> dict[str, str]:
        names = sorted(n for n in self._jar.namelist() if n.startswith(folder) and n.endswith(end))
        return {n.removeprefix(folder).removesuffix(cut): self._jar.read(n).decode() for n in names}

    def _texts(self, folder: str) -> dict[str, str]:
        names = [n for n in self._jar.namelist() if n.startswith(folder) and n.endswith(".sql")]
        texts = {Path(name).stem: self._jar.read(name).decode() for name in names}
        return dict(sorted(texts.items(), key=lambda item: _in_order(item[0])))

    def _constants(self, name: str) -> Iterator[str]:
        """The strings in a class file, in their order."""
        yield from constant_pool(self._jar.read(name)).texts.values()


def _columns(text: str) -> dict[str, str]:
    r"""Names and types. CHAR and VARCHAR are read as STRING: Spark pads each scan of a CHAR with a Project.

    >>> _columns("|`a` INT, |`b` CHAR(16),\n |`c` DECIMAL(7,2)")
    {'a': 'INT', 'b': 'STRING', 'c': 'DECIMAL(7,2)'}
    """
    found = re.findall(r"`(\w+)` (\w+(?:\([\d,]+\))?)", text)
    return {name: "STRING" if "CHAR" in kind else kind for name, kind in found}


def _in_order(name: str) -> tuple[int, str]:
    number = re.search(r"\d+", name)
    return (int(number[0]) if number else 0, name)
