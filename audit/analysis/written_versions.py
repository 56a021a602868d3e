"""The versions that a statement wrote, and that a CLONE read: which commits of Delta's logs are its own.

In: what a statement modified and when Spark ran it. Out: versions written, with the rows and bytes that
Delta counted. A commit is the statement's if it carries its id. Where none does, it is the only one on its
table within the statement's own executions; where two are, neither is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.record.access_record import ObjectVersion
from audit.spark.delta.delta_log import LOOK_BACK, LoggedCommit, commits_since
from lineage.model import Domain

if TYPE_CHECKING:
    from audit.record.access_record import Started
    from audit.spark.catalog.session_catalog import SessionCatalog
    from audit.spark.plans.executions import Execution
    from lineage.model import Access

_ROWS = ("numOutputRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_DML = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
_BYTES = ("numOutputBytes", "numAddedBytes", "numTargetBytesAdded")


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
    started: Started,
) -> WrittenVersions:
    """The commits of a statement on the Delta tables that it modified.

    Args:
        catalog: finds a table.
        access: what it modified.
        executions: of the statement.
        places: the locations of tables that its plan knows, by lower-case qualified name.
        started: its id, which its commits carry, and when it began: a clone is committed before Spark runs
            anything for it.
    """
    if not access.objects_modified:
        return WrittenVersions()
    # Delta's commit times are in milliseconds. Without an execution only commits with its id are its own.
    began = started.start_time // 1000
    since = min((e.start_time // 1000 for e in executions), default=began)
    until = max((e.end_time // 1000 for e in executions), default=0)
    began = min(began, since)
    versions: list[ObjectVersion] = []
    counted: list[LoggedCommit | None] = []
    quiet = False
    for modified in {one.name: one for one in access.objects_modified}.values():
        if modified.domain is Domain.STAGE and modified.location is None:
            continue  # a table behind JDBC, a topic of Kafka
        location = modified.location or places.get(modified.name.casefold())
        location = catalog.delta_location(modified.name) if location is None else location
        commits = None if location is None else commits_since(catalog.spark, location, began)
        if commits is None:
            continue
        mine = [c for c in commits if c.query_id == started.query_id]
        mine = mine or [c for c in commits if since <= c.time_ms <= until]
        # Of several commits in that time some may be of other writers, so none is named. Where there is none,
        # there was nothing to write, unless others have committed so much since that it is out of sight.
        if (len(mine) > 1 and mine[0].query_id != started.query_id) or (
            not mine and len(commits) >= LOOK_BACK
        ):
            counted.append(None)
            continue
        # Without an execution nobody knows whether there was something to write.
        quiet |= bool(executions) and not mine and access.statement_type in _DML
        versions += (ObjectVersion(modified.name, "write", c.version, modified.object_id) for c in mine)
        versions += _cloned(access, mine)
        counted += mine
    if not counted and not quiet:
        return WrittenVersions()
    return WrittenVersions(tuple(versions), _sum(_rows, counted), _sum(_size, counted))


def _cloned(access: Access, commits: Sequence[LoggedCommit]) -> list[ObjectVersion]:
    """The version that a CLONE read: its commit says it, and no plan of Spark's does."""
    sources = {one.name: one for one in access.base_objects_accessed}
    if len(sources) != 1:
        return []
    (source,) = sources.values()
    taken = [commit.cloned for commit in commits if commit.cloned is not None]
    return [ObjectVersion(source.name, "read", version, source.object_id) for version in taken]


def _sum(what: Callable[[LoggedCommit], int | None], commits: list[LoggedCommit | None]) -> int | None:
    """The sum over all commits of a statement; None where one of them is not known."""
    found = [None if commit is None else what(commit) for commit in commits]
    return None if None in found else sum(one for one in found if one is not None)


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
    known = [int(commit.metrics[name]) for name in _BYTES if name in commit.metrics]
    return max(known, default=None)
