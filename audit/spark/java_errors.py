"""What the JVM throws, told apart by its Java class and message.

In: an error that Python has caught. Out: the Java exceptions behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

JVM_ERRORS = (Py4JJavaError, PySparkException)
"""What a call into the JVM may raise while the JVM lives."""
CALL_ERRORS = (Py4JError, PySparkException)
"""The same, and what Py4J raises when the JVM is gone."""
_REFUSED = "java.lang.SecurityException"


def java_message(error: BaseException) -> str:
    """The message of the Java exception behind an error, or the error's own."""
    return str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)


def java_text(error: BaseException) -> str:
    """Class and message of the Java exception behind an error, or the error's own text."""
    return str(error.java_exception if isinstance(error, Py4JJavaError) else error)


def java_messages(error: BaseException) -> list[str]:
    """The messages of the Java exception behind an error and of its causes, the outermost first."""
    return [str(one.getMessage()) for one in _causes(error)]


def java_class_name(error: BaseException) -> str:
    """The full name of the Java exception's class; "" for an error of Python's."""
    return str(error.java_exception.getClass().getName()) if isinstance(error, Py4JJavaError) else ""


def java_exception(error: BaseException) -> Any | None:
    """The Java exception that an error stands for; None for one of Python's own."""
    # PySpark keeps the Java exception behind an error that it has translated in `_origin` (4.2).
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def refusal_message(error: BaseException) -> str | None:
    """The message of the SecurityException behind an error; None where there is none."""
    for exception in _causes(error):
        if exception.getClass().getName() == _REFUSED:
            return str(exception.getMessage())
    return None


def is_refusal(error: BaseException) -> bool:
    """Whether the JVM has thrown a SecurityException itself, not as the cause of something else."""
    return java_class_name(error) == _REFUSED


def _causes(error: BaseException) -> Iterator[Any]:
    java = java_exception(error)
    while java is not None:
        yield java
        java = java.getCause()
