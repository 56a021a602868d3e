"""The versions that a statement wrote: which commits of Delta's logs are its own.

In: what a statement modified and when Spark ran it. Out: versions written, with the rows and bytes that
Delta counted. A commit is the statement's if it is the only one on its table, of a fitting operation,
within the statement's own executions; where two fit, neither is claimed. Where none does, it is the only one
that carries the statement's id: what Spark has not executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.record.access_record import ObjectVersion
from audit.spark.delta.delta_log import LoggedCommit, commits_since

if TYPE_CHECKING:
    from audit.spark.catalog.session_catalog import SessionCatalog
    from audit.spark.plans.executions import Execution
    from lineage.model import Access

_ROWS = ("numOutputRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass(frozen=True, slots=True)
class WrittenVersions:
    """Versions written, and what Delta counted."""

    versions: tuple[ObjectVersion, ...] = ()
    rows: int | None = None
    bytes: int | None = None


def written_versions(
    catalog: SessionCatalog,
    access: Access,
    executions: Sequence[Execution],
    places: Mapping[str, str],
    query_id: str,
) -> WrittenVersions:
    """The commits of a statement on the Delta tables that it modified.

    `places` gives the locations of those that its plan knows, by lower-case qualified name.
    """
    if not executions or not access.objects_modified:
        return WrittenVersions()
    # Delta's commit times are in milliseconds.
    since = min(e.start_time for e in executions) // 1000
    until = max(e.end_time for e in executions) // 1000
    versions: list[ObjectVersion] = []
    rows: int | None = None
    size: int | None = None
    for modified in access.objects_modified:
        location = modified.location or places.get(modified.name.casefold())
        location = catalog.delta_location(modified.name) if location is None else location
        commits = None if location is None else commits_since(catalog.spark, location, since)
        if commits is None:
            continue
        fitting = [c for c in commits if c.time_ms <= until] or [c for c in commits if c.query_id == query_id]
        # Of several commits in that time some may be of other writers, so none is named.
        if len(fitting) != 1:
            continue
        versions.append(ObjectVersion(modified.name, "write", fitting[0].version, modified.object_id))
        rows, size = _rows(fitting[0]), _size(fitting[0])
    return WrittenVersions(tuple(versions), rows, size)


def _rows(commit: LoggedCommit) -> int | None:
    known = [int(commit.metrics[name]) for name in _ROWS if name in commit.metrics]
    # A MERGE's numOutputRows counts copied rows as well (Delta 4.4).
    if commit.operation == "MERGE":
        known = known[1:] if "numOutputRows" in commit.metrics else known
    for name in ("numDeletedRows", "numUpdatedRows"):
        if name in commit.metrics:
            return int(commit.metrics[name])
    return sum(known) if known else None


def _size(commit: LoggedCommit) -> int | None:
    value = commit.metrics.get("numOutputBytes") or commit.metrics.get("numAddedBytes")
    return int(value) if value is not None else None
