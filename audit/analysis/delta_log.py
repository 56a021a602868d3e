"""The one module that knows Delta's log: which commit a statement made.

In: what a statement modified and when Spark ran it. Out: versions written, with the rows and bytes that
Delta counted. A commit is the statement's if it is the only one on its table, of a fitting operation,
within the statement's own executions; where two fit, neither is claimed. Where none does, it is the only one
that carries the statement's id: what Spark has not executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit import jvm
from audit.record import ObjectVersion

if TYPE_CHECKING:
    from pyspark import SparkContext

    from audit.analysis.executions import Execution
    from audit.analysis.spark_catalog import SessionCatalog
    from lineage.model import Access

_DELTA = "org.apache.spark.sql.delta."
_LOOK_BACK = 20
_ROWS = ("numOutputRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass(frozen=True, slots=True)
class Written:
    """Versions written, and what Delta counted."""

    versions: tuple[ObjectVersion, ...] = ()
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of a Delta table's history; `time_ms` since the epoch, `by` the statement that it names."""

    version: int
    time_ms: int
    operation: str
    metrics: dict[str, str]
    by: str | None = None


def written_versions(
    catalog: SessionCatalog,
    access: Access,
    executions: Sequence[Execution],
    places: Mapping[str, str],
    query_id: str,
) -> Written:
    """The commits of a statement on the Delta tables that it modified.

    `places` gives the locations of those that its plan knows, by lower-case qualified name.
    """
    if not executions or not access.objects_modified:
        return Written()
    since = min(e.start_time for e in executions) // 1000
    until = max(e.end_time for e in executions) // 1000
    versions: list[ObjectVersion] = []
    rows: int | None = None
    size: int | None = None
    for modified in access.objects_modified:
        log = _log_of(catalog, modified.name, modified.location or places.get(modified.name.casefold()))
        if log is None:
            continue
        commits = _commits_since(catalog.spark.sparkContext, log, since)
        fitting = [c for c in commits if c.time_ms <= until] or [c for c in commits if c.by == query_id]
        if len(fitting) != 1:
            continue
        versions.append(ObjectVersion(modified.name, "write", fitting[0].version, modified.object_id))
        rows, size = _rows(fitting[0]), _size(fitting[0])
    return Written(tuple(versions), rows, size)


def _log_of(catalog: SessionCatalog, name: str, location: str | None) -> Any | None:
    if location is None:
        location = catalog.delta_location(name)
        if location is None:
            return None
    log = jvm.delta_log(catalog.spark, location)
    return log if log.tableExists() else None


def _commits_since(context: SparkContext, log: Any, since_ms: int) -> list[Commit]:
    """The newest commits, from their own files: Delta's history would start a Spark job for each look."""
    names = jvm.java_class(context, _DELTA + "util.FileNames")
    history = jvm.java_class(context, _DELTA + "DeltaHistoryManager")
    store, folder, conf = log.store(), log.logPath(), log.newDeltaHadoopConf()
    newest = log.unsafeVolatileSnapshot().version()
    found: list[Commit] = []
    for version in range(newest, max(-1, newest - _LOOK_BACK), -1):
        path = names.unsafeDeltaFile(folder, version)
        info = jvm.option(history.getCommitInfoOpt(store, path, conf))
        if info is None or info.getTimestamp() < since_ms:
            break
        metrics = jvm.option(info.operationMetrics())
        counted = {} if metrics is None else dict(_pairs(metrics))
        by = jvm.option(info.userMetadata())
        found.append(Commit(version, info.getTimestamp(), info.operation(), counted, by))
    return found


def _pairs(values: Any) -> list[tuple[str, str]]:
    return [(pair._1(), pair._2()) for pair in jvm.sequence(values.toSeq())]


def _rows(commit: Commit) -> int | None:
    known = [int(commit.metrics[name]) for name in _ROWS if name in commit.metrics]
    if commit.operation == "MERGE":
        known = known[1:] if "numOutputRows" in commit.metrics else known
    for name in ("numDeletedRows", "numUpdatedRows"):
        if name in commit.metrics:
            return int(commit.metrics[name])
    return sum(known) if known else None


def _size(commit: Commit) -> int | None:
    value = commit.metrics.get("numOutputBytes") or commit.metrics.get("numAddedBytes")
    return int(value) if value is not None else None
