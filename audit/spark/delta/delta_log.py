"""Delta's log of a table: the commits that it holds.

In: a session, a location. Out: Delta's own log, or the newest commits with what Delta counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.jvm import java_class
from audit.spark.scala_values import option, sequence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DELTA = "org.apache.spark.sql.delta."
LOOK_BACK = 20
"""Files opened at most: a statement makes a few commits, and others may commit between them."""


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """One entry of a Delta table's log.

    Attributes:
        version: that it made.
        time_ms: since the epoch.
        operation: WRITE, MERGE …, as Delta calls it.
        metrics: what Delta counted.
        query_id: the statement that the commit names in its userMetadata, None for none.
        cloned: the version of its source that a CLONE took; None for anything else.
    """

    version: int
    time_ms: int
    operation: str
    metrics: dict[str, str]
    query_id: str | None = None
    cloned: int | None = None


def delta_log(spark: SparkSession, location: str) -> Any:
    """Delta's own log of a path, as this JVM knows it; of a path without a table, one without a commit."""
    log = java_class(spark.sparkContext, "org.apache.spark.sql.delta.DeltaLog")
    return log.forTable(spark._jsparkSession, location)


def commits_since(spark: SparkSession, location: str, since_ms: int) -> list[LoggedCommit] | None:
    """The newest commits of a Delta table, the newest first; None where no Delta table lies.

    They are read from their own files: Delta's history would start a Spark job for each look.
    """
    log = delta_log(spark, location)
    if not log.tableExists():
        return None
    names = java_class(spark.sparkContext, _DELTA + "util.FileNames")
    history = java_class(spark.sparkContext, _DELTA + "DeltaHistoryManager")
    store, folder, conf = log.store(), log.logPath(), log.newDeltaHadoopConf()
    # The state that this JVM has cached: `update()` would list the log's folder, and the statement's own
    # commits have updated the cache already (Delta 4.4), unless another object of Delta's has made them.
    newest, files = log.unsafeVolatileSnapshot().version(), folder.getFileSystem(conf)
    if newest >= 0 and not files.exists(names.unsafeDeltaFile(folder, newest)):
        return None  # somebody has deleted the table's files, and the cache does not know
    while files.exists(names.unsafeDeltaFile(folder, newest + 1)):
        newest += 1
    found: list[LoggedCommit] = []
    for version in range(newest, max(-1, newest - LOOK_BACK), -1):
        path = names.unsafeDeltaFile(folder, version)
        # A checkpoint may have replaced older commits, and a DROP may be deleting them.
        if not files.exists(path):
            break
        # Delta reads the commit's file up to its CommitInfo.
        info = option(history.getCommitInfoOpt(store, path, conf))
        if info is None or info.getTimestamp() < since_ms:
            break
        metrics = option(info.operationMetrics())
        counted = {} if metrics is None else dict(_pairs(metrics))
        # The text of `spark.databricks.delta.commitInfo.userMetadata` in the committing session.
        query_id = option(info.userMetadata())
        operation, cloned = info.operation(), None
        if operation == "CLONE":
            # Delta keeps the parameters of an operation as JSON: a number as its digits.
            cloned = int(dict(_pairs(info.operationParameters()))["sourceVersion"])
        found.append(LoggedCommit(version, info.getTimestamp(), operation, counted, query_id, cloned))
    return found


def _pairs(values: Any) -> list[tuple[str, str]]:
    return [(pair._1(), pair._2()) for pair in sequence(values.toSeq())]
