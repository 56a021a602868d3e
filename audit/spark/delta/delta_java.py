"""This project's Java for Delta tables and the session catalog, in one JVM.

In: a SparkSession. Out: instances of `CommitLog`, `CatalogStore`, `TableFiles`, `PastRelations`,
`TableCloner`, `TableCopies`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit.spark import java_classes, jvm
from audit.spark.delta.values import NewCopy, TableSize

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Cloned = Callable[[NewCopy], None]
"""Called before a clone exists."""


@dataclass(slots=True, eq=False)
class DeltaJava:
    """Instances of this project's Java for Delta tables, in one JVM; every session of it may use them.

    Attributes:
        commits: of `CommitLog.java`: versions, times and properties.
        catalog: of `CatalogStore.java`: entries of the session catalog.
        logs: of `TableFiles.java`: files and folders.
        past: of `PastRelations.java`: tables and views at a version.
        copies: of `TableCopies.java`: versions as tables in other folders.
        cloned: called for each clone before it exists.
        sizes: cached sizes of tables, by Delta's id and version.
    """

    commits: Any
    catalog: Any
    logs: Any
    past: Any
    copies: Any
    cloned: Cloned
    sizes: dict[tuple[str, int], TableSize] = field(default_factory=dict)
    _cloner: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def load(cls, spark: SparkSession, cloned: Cloned) -> DeltaJava:
        """New instances in the JVM of a session."""
        view = jvm.view(spark.sparkContext)
        names = ("files.CommitLog", "CatalogStore", "files.TableFiles", "PastRelations", "files.TableCopies")
        commits, catalog, logs, past, copies = (
            java_classes.instance(view, f"timetravel.{name}") for name in names
        )
        return cls(commits, catalog, logs, past, copies, cloned)

    def clones(self, context: SparkContext) -> Any:
        """The instance of `TableCloner.java`, whose classes the executors load as well."""
        with self._lock:
            if self._cloner is None:
                self._cloner = java_classes.executor_instance(context, "timetravel.files.TableCloner")
            return self._cloner


class InSession:
    """Asks the JVM in one session.

    Args:
        spark: whose current schema and temporary views count.
        java: of its JVM.
    """

    def __init__(self, spark: SparkSession, java: DeltaJava) -> None:
        self.spark = spark
        self._java = java
        self._session: Any = spark._jsparkSession
