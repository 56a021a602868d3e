"""Delta's log of a table: the commits that it holds.

In: a session, a location. Out: Delta's own log, or the newest commits with what Delta counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from audit.spark import java_classes
from audit.spark.jvm import java_class, view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def known_snapshot(spark: SparkSession, location: str) -> Any:
    """The newest snapshot that Delta has in memory, this JVM's own commits at least. No log is listed."""
    return delta_log(spark, location).unsafeVolatileSnapshot()  # Delta 4.4


def change_metadata(spark: SparkSession, location: str, metadata: str) -> None:
    """Commit other metadata of a table, where no statement of Delta's changes it.

    Args:
        spark: a session of the audit's own.
        location: of the table.
        metadata: the whole action of the log, as JSON.
    """
    java_classes.instance(view(spark.sparkContext), "capture.EventTable").change(
        spark._jsparkSession, location, metadata
    )


def commits_since(spark: SparkSession, location: str, since_ms: int) -> list[LoggedCommit] | None:
    """The newest commits of a Delta table, the newest first; None where no Delta table lies.

    `LoggedCommits.java` reads them in one call.
    """
    java = java_classes.shared(view(spark.sparkContext), "capture.LoggedCommits")
    found = orjson.loads(java.since(spark._jsparkSession, location, since_ms, LOOK_BACK))
    return None if found is None else [_commit(*one) for one in found]


def _commit(
    version: int,
    time_ms: int,
    operation: str,
    metrics: dict[str, str],
    query_id: str | None,
    cloned: str | None,
) -> LoggedCommit:
    # `query_id`: the text of `spark.databricks.delta.commitInfo.userMetadata` in the committing session.
    source = None if cloned is None else int(cloned)
    return LoggedCommit(version, time_ms, operation, metrics, query_id, source)
