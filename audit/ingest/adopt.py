"""Ingests every spool of a root: those of running drivers, and those of dead ones.

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
from audit.core.errors import AuditError, IngestError
from audit.core.guard import attempt
from audit.ingest.folder import Ingested, ingest_folder
from audit.ingest.running import close_orphans, running_in
from audit.ingest.salvage import salvage
from audit.record.access_record import Ended, Finding, Started
from audit.record.redaction import Redaction
from audit.spark.catalog.session_catalog import SessionCatalog, StatementCatalog
from audit.spark.redaction_patterns import redaction_rules
from audit.spool import Entry, RecoveryReport, SpoolInfo, find_spools, ingest_lock, recover, retire
from audit.spool.home import claim_home, hash_key
from audit.store.commit_lock import commit_lock
from audit.store.error_translation import as_ingest_error
from lineage.model import Access

if TYPE_CHECKING:
    from audit.core.clock import Clock
    from audit.core.config import Config

_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of one spool: what was ingested, and for a dead driver's what its recovery found.

    `error` is the reason if it could not be ingested; nothing is lost then.
    """

    folder: Path
    ingested: Ingested = field(default_factory=Ingested)
    recovery: RecoveryReport | None = None
    error: AuditError | None = None


def adopt_dead_spools(catalog: SessionCatalog, config: Config, clock: Clock) -> list[Adopted]:
    """Recover, ingest and remove the spools of dead drivers; an error of one does not stop the others."""
    dead = [found for found in _spools(config) if not found.alive]
    return [done for found in dead for done in _guarded(found, catalog, config, clock)]


def ingest_spools(catalog: SessionCatalog, config: Config, clock: Clock) -> Iterator[Adopted]:
    """Ingest all spools, in the order of their drivers' start; running drivers keep unsealed segments."""
    for found in _spools(config):
        yield from _guarded(found, catalog, config, clock)


def _spools(config: Config) -> tuple[SpoolInfo, ...]:
    claim_home(config)
    with as_ingest_error(f"the spools of {config.root} could not be listed"):
        return find_spools(config.spool_home)


def _guarded(found: SpoolInfo, catalog: SessionCatalog, config: Config, clock: Clock) -> Iterator[Adopted]:
    def take_in() -> Adopted | None:
        with as_ingest_error(f"the spool {found.path} could not be taken into {config.root}"):
            return _live(found, catalog, config) if found.alive else _adopt(found, catalog, config, clock)

    def failed(error: Exception) -> Adopted | None:
        told = error if isinstance(error, AuditError) else _unforeseen(found, error)
        # Another process may have ingested and removed the spool meanwhile.
        return Adopted(found.path, error=told) if found.path.is_dir() else None

    done = attempt(take_in, failed)
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
    report = recover(found.path, _completion(catalog, config), clock=clock)
    if report is None:
        return None
    ingested = ingest_folder(catalog.spark, found.path, config.root)
    with ingest_lock(found.path, timeout=_LOCK_SECONDS), commit_lock(catalog.spark, config.root):
        close_orphans(catalog.spark, found.path, config.root)
    retire(found.path)
    return Adopted(found.path, ingested, report)


def _completion(catalog: SessionCatalog, config: Config) -> _Completion:
    """Starts are redacted on disk; those of an older version are redacted here."""
    rules = redaction_rules(catalog.spark, config)
    return _Completion(catalog, Redaction(rules, partial(hash_key, config.spool_home)))


@dataclass(frozen=True, slots=True)
class _Completion:
    """Makes the records that a dead driver did not write."""

    catalog: SessionCatalog
    redaction: Redaction

    def __call__(self, start: Entry, end: Entry | None, _facts: tuple[Entry, ...]) -> Mapping[str, Any]:
        started = Started.from_dict(start.payload)
        if end is None:
            return self.redaction.row(started, Ended("INCOMPLETE"), None)
        ended = Ended.from_dict(end.payload)
        finding = self._finding(started) if ended.status == "SUCCESS" else None
        return self.redaction.row(started, ended, finding)

    def _finding(self, started: Started) -> Finding:
        """Analyse the text with today's schemas; the plan of a DataFrame is gone with its driver."""
        if not started.is_sql:
            reason = "the driver died before it had read the plan"
            return Finding(Access(started.query_type, analysis="opaque", reason=reason), "plan")
        current = (started.database_name or "", started.schema_name or "")

        def trace() -> Access:
            statement = lineage.parse(started.query_text)
            return lineage.trace(statement, StatementCatalog(self.catalog.snapshot(), current))

        def failed(error: Exception) -> Access:
            return Access(started.query_type, analysis="opaque", reason=f"{type(error).__name__}: {error}")

        return Finding(attempt(trace, failed), "text")


def salvage_all(catalog: SessionCatalog, config: Config) -> dict[Path, int]:
    """See `audit.ingest.salvage`: the files in quarantine of drivers that are gone."""
    with as_ingest_error(f"the quarantine beside {config.spool_dir} could not be taken into {config.root}"):
        return salvage(catalog.spark, config.spool_home, config.root, _completion(catalog, config))
