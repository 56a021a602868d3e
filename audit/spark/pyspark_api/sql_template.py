"""The {…} templates of `spark.sql`, filled in as PySpark fills them in: a DataFrame by a temporary view.

In: a session, and the values of a call. Out: texts without templates. PySpark makes the views when it fills
in the text and drops them when the text has run; here they are there before a clone of the session is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql.sql_formatter import SQLStringFormatter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SqlTemplate:
    """The values of one call of `spark.sql`.

    Args:
        spark: the session of the call.
        values: by name.
    """

    def __init__(self, spark: SparkSession, values: Mapping[str, Any]) -> None:
        self._formatter = SQLStringFormatter(spark)
        self._values = values

    def filled(self, text: str) -> str:
        """A text with the values in it."""
        return self._formatter.format(text, **self._values)

    @contextmanager
    def views_for(self, text: str) -> Iterator[None]:
        """A block in which the DataFrames of a text are temporary views of the session."""
        try:
            self.filled(text)  # a DataFrame keeps the name of its view (PySpark 4.2)
            yield
        finally:
            self._formatter.clear()
