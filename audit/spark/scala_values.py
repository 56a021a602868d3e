"""Scala's Option and Seq as Python values.

In: JVM objects. Out: values, None and lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.spark.jvm import java_class

if TYPE_CHECKING:
    from pyspark import SparkContext


def option(value: Any) -> Any | None:
    """A Scala Option as a value or None."""
    # Py4J passes Scala's None as an object, not as Python's None.
    return value.get() if value.isDefined() else None


def some(context: SparkContext, value: Any) -> Any:
    """A Scala Option of a value; None gives Scala's None."""
    return java_class(context, "scala.Option").apply(value)


def sequence(values: Any) -> list[Any]:
    """A Scala Seq as a list."""
    # Py4J makes Java collections iterable, Scala's not.
    return [values.apply(i) for i in range(values.size())]
