"""Classes of the driver's JVM by their names; `java_classes` has those of this project.

In: a SparkContext or a JVM view of Py4J. Out: JVM classes. A call costs about 40 µs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext


def java_class(context: SparkContext, name: str) -> Any:
    """A class of the JVM by its full name, which is looked up once.

    Not by `jvm.java.util.ArrayList`: Py4J asks for each part of such a chain whether it is a class, and the
    JVM looks through all its jars for it (3 to 4 ms). A full name takes 0.2 ms, since Py4J 0.10 tries it
    under `java.lang` first.
    """
    jvm = view(context)
    # In the connection to the JVM, so that it ends with it.
    classes = vars(jvm._gateway_client).setdefault("audit_classes", {})
    if name not in classes:
        classes[name] = getattr(jvm, name)
    return classes[name]


def view(context: SparkContext) -> Any:
    """The JVM of a running SparkContext."""
    jvm = context._jvm
    assert jvm is not None, "the SparkContext has been stopped"  # noqa: S101
    return jvm


def class_loader(jvm: Any) -> Any:
    """The class loader of the JVM's side of this thread, which knows Delta's jars."""
    return getattr(jvm, "java.lang.Thread").currentThread().getContextClassLoader()
