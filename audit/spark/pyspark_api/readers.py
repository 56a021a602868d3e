"""The options that a DataFrameReader of PySpark holds in the JVM.

In: a DataFrameReader. Out: its options and format, or the reader set to a version.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from audit.spark.scala_values import option, sequence

_WHICH = ("timestampAsOf", "versionAsOf", "path")


def reader_option(reader: Any, name: str) -> str | None:
    """An option of a DataFrameReader, whatever the case of its name."""
    found = option(reader._jreader.extraOptions().get(name))
    return None if found is None else str(found)


def reader_format(reader: Any) -> str:
    """The format of a DataFrameReader in lower case: its own, or the session's default."""
    return str(reader._jreader.source()).lower()


def options_at_version(reader: Any) -> dict[str, str]:
    """The options of a DataFrameReader but for those that say which version of what."""
    java = reader._jreader.extraOptions()
    # Scala's CaseInsensitiveMap: the keys are removed in any spelling.
    for name in _WHICH:
        java = java.removed(name)
    return {str(pair._1()): str(pair._2()) for pair in sequence(java.toSeq())}


@contextmanager
def at_version(reader: Any, version: int) -> Iterator[None]:
    """A DataFrameReader reads a version of what it is given inside, whatever its options name."""
    java = reader._jreader
    before = java.extraOptions()
    # Scala's CaseInsensitiveMap: the keys are removed in any spelling.
    options = before
    for name in _WHICH:
        options = options.removed(name)
    options = options.updated("versionAsOf", str(version))
    # The setter of a Scala var; DataFrameReader.option can add options and remove none (Spark 4.2).
    getattr(java, "extraOptions_$eq")(options)
    try:
        yield
    finally:
        getattr(java, "extraOptions_$eq")(before)


def read_table(reader: Any, name: str) -> Any:
    """`reader.table(name)` past the wrapper around it, as a DataFrame."""
    # `_df` gives the frame the reader's session, as PySpark's own methods do.
    return reader._df(reader._jreader.table(name))
