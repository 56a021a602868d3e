"""Every spool of a root taken in: those of living drivers, and those that dead ones left behind.

In: the spools under a root. Out: rows in the audit tables, exactly one a statement. A dead driver's spool
is recovered first (its statements analysed again from their text where the driver had no time to,
INCOMPLETE where they were running) and removed when nothing is left in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lineage
from audit.analysis.spark_catalog import SessionCatalog, StatementCatalog
from audit.errors import AuditError, IngestError
from audit.ingest.folder import Ingested, ingest_folder
from audit.ingest.running import close_orphans, running_in
from audit.ingest.salvage import salvage
from audit.record import Ended, Finding, Started, build_row
from audit.spool import Entry, RecoveryReport, SpoolInfo, find_spools, ingest_lock, recover, retire
from audit.store.commit_lock import commit_lock
from audit.store.naming import naming
from lineage.model import Access

if TYPE_CHECKING:
    from audit.clock import Clock
    from audit.config import Config

_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """One spool: what was taken in, and for a dead driver's what its recovery found.

    `error` says why it could not be taken in; then everything is still there.
    """

    folder: Path
    ingested: Ingested = field(default_factory=Ingested)
    recovery: RecoveryReport | None = None
    error: AuditError | None = None


def adopt_dead_spools(catalog: SessionCatalog, config: Config, clock: Clock) -> list[Adopted]:
    """Recover, take in and remove every spool whose driver is dead; one that refuses holds up no other."""
    dead = [found for found in _spools(config) if not found.alive]
    return [done for found in dead for done in _guarded(found, catalog, config, clock)]


def ingest_spools(catalog: SessionCatalog, config: Config, clock: Clock) -> Iterator[Adopted]:
    """The same for all spools, in the order of their drivers' start; living ones keep what is not sealed."""
    for found in _spools(config):
        yield from _guarded(found, catalog, config, clock)


def _spools(config: Config) -> tuple[SpoolInfo, ...]:
    with naming(f"the spools of {config.root} could not be listed"):
        return find_spools(config.spool_home)


def _guarded(found: SpoolInfo, catalog: SessionCatalog, config: Config, clock: Clock) -> Iterator[Adopted]:
    try:
        with naming(f"the spool {found.path} could not be taken into {config.root}"):
            done = _live(found, catalog, config) if found.alive else _adopt(found, catalog, config, clock)
    except Exception as error:  # noqa: BLE001 - what is wrong with one spool holds up no other
        told = error if isinstance(error, AuditError) else _unforeseen(found, error)
        # Another process may have adopted and removed it since it was found.
        done = Adopted(found.path, error=told) if found.path.is_dir() else None
    if done is not None:
        yield done


def _unforeseen(found: SpoolInfo, error: Exception) -> AuditError:
    return IngestError(
        f"the spool {found.path} could not be read ({type(error).__name__}: {error})",
        "its records are safe there; ingest it with the version that wrote it",
    )


def _live(found: SpoolInfo, catalog: SessionCatalog, config: Config) -> Adopted:
    running = partial(running_in, found.path)
    return Adopted(found.path, ingest_folder(catalog.spark, found.path, config.root, running))


def _adopt(found: SpoolInfo, catalog: SessionCatalog, config: Config, clock: Clock) -> Adopted | None:
    report = recover(found.path, _Completion(catalog), clock=clock)
    if report is None:
        return None
    ingested = ingest_folder(catalog.spark, found.path, config.root)
    with ingest_lock(found.path, timeout=_LOCK_SECONDS), commit_lock(catalog.spark, config.root):
        close_orphans(catalog.spark, found.path, config.root)
    retire(found.path)
    return Adopted(found.path, ingested, report)


@dataclass(frozen=True, slots=True)
class _Completion:
    """Makes the record that a dead driver did not get to."""

    catalog: SessionCatalog

    def __call__(self, start: Entry, end: Entry | None, _facts: tuple[Entry, ...]) -> Mapping[str, Any]:
        started = Started.from_dict(start.payload)
        if end is None:
            return build_row(started, Ended("INCOMPLETE"), None)
        ended = Ended.from_dict(end.payload)
        return build_row(started, ended, self._finding(started) if ended.status == "SUCCESS" else None)

    def _finding(self, started: Started) -> Finding:
        """The text again, with the schemas of today; a DataFrame's plan died with its driver."""
        if not started.is_sql:
            reason = "the driver died before it had read the plan"
            return Finding(Access(started.query_type, analysis="opaque", reason=reason), "plan")
        current = (started.database_name or "", started.schema_name or "")
        try:
            statement = lineage.parse(started.query_text)
            access = lineage.trace(statement, StatementCatalog(self.catalog.snapshot(), current))
        except Exception as error:  # noqa: BLE001 - the guard of the analysis, as in the worker
            access = Access(started.query_type, analysis="opaque", reason=f"{type(error).__name__}: {error}")
        return Finding(access, "text")


def salvage_all(catalog: SessionCatalog, config: Config) -> dict[Path, int]:
    """See `audit.ingest.salvage`: the files in quarantine of drivers that are gone."""
    with naming(f"the quarantine beside {config.spool_dir} could not be taken into {config.root}"):
        return salvage(catalog.spark, config.spool_home, config.root, _Completion(catalog))
