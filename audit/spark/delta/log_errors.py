"""A Delta table whose log cannot be read: one error for it, wherever it shows.

In: what the JVM has thrown. Out: `UnreadableTableError`, which names the table or its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from audit.core.errors import UnreadableTableError
from audit.spark.java_errors import JVM_ERRORS, java_text
from lineage.names import quote_name


def unreadable(location: str, error: Exception, name: tuple[str, ...] = ()) -> UnreadableTableError:
    """The error that names a table whose log is damaged."""
    table = f"{quote_name(name)} at {location}" if name else location
    return UnreadableTableError(
        f"the Delta log of {table} cannot be read: {java_text(error).splitlines()[0]}",
        "mend its _delta_log, or drop the table: its files stay as they are",
    )


@contextmanager
def readable_log(location: str) -> Iterator[None]:
    """While the log of a table is read.

    Raises:
        UnreadableTableError: it cannot be.
    """
    try:
        yield
    except JVM_ERRORS as error:
        raise unreadable(location, error) from error
