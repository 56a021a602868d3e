"""A Delta table whose log cannot be read: one error for it, wherever it shows.

In: what the JVM said. Out: `UnreadableTableError`, which names the table or its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lineage.names import quote_name
from time_travel.errors import UnreadableTableError

JVM_ERRORS = (Py4JJavaError, PySparkException)


def unreadable(location: str, error: Exception, name: tuple[str, ...] = ()) -> UnreadableTableError:
    """What to say about a table with a damaged log."""
    said = str(error.java_exception if isinstance(error, Py4JJavaError) else error)
    table = f"{quote_name(name)} at {location}" if name else location
    return UnreadableTableError(
        f"the Delta log of {table} cannot be read: {said.splitlines()[0]}",
        "mend its _delta_log, or drop the table: its files stay as they are",
    )


@contextmanager
def reading(location: str) -> Iterator[None]:
    """While the log of a table is read.

    Raises:
        UnreadableTableError: it cannot be.
    """
    try:
        yield
    except JVM_ERRORS as error:
        raise unreadable(location, error) from error
