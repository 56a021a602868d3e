"""The way from Spark's parser to Python: texts that may hold statements of this project, of any caller.

In: a function that answers questions, the sessions to watch. Out: Spark's parser asks it
(`StatementGateway.java`), from the thread that parses or runs the statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.java_gateway import ensure_callback_server_started

from audit.spark import java_classes
from audit.spark.jvm import view
from audit.spark.sessions import EXEMPT, SECRET, is_running

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Answer = Callable[[str, Any], Any]
"""A question as JSON and the JVM's session; the answer as JSON, or a Dataset of the JVM."""


class _Driver:
    """What the JVM calls. Py4J finds the interface in `Java`, and calls its method by its name."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def apply(self, question: str, session: Any) -> Any:
        """Answer a question."""
        return self._answer(question, session)

    class Java:
        """Of the JDK: Py4J looks for interfaces in the loader of Spark's jars alone."""

        implements = ("java.util.function.BiFunction",)


class StatementGateway:
    """Opened with the first attach in a JVM, closed with the last detach.

    Args:
        context: of the JVM.
        answer: answers its questions.
        words: a regular expression; a text that it finds nothing in is Spark's.
    """

    def __init__(self, context: SparkContext, answer: Answer, words: str) -> None:
        gateway: Any = context._gateway
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        self._context = context
        self._driver = _Driver(answer)  # the JVM holds no reference that keeps it alive
        self._java: Any = java_classes.instance(view(context), "statements.StatementParsers")
        self._java.open(self._driver, words, EXEMPT, SECRET)

    def install(self, spark: SparkSession) -> None:
        """Watch a session, and those derived from it later."""
        self._java.install(spark._jsparkSession)

    def close(self) -> None:
        """Put the parsers back."""
        if is_running(self._context):
            self._java.close()


def java_dataset(frame: Any) -> Any:
    """The Dataset of the JVM behind a DataFrame."""
    return frame._jdf
