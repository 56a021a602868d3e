"""What dead drivers left behind: their spools are recovered, taken in and removed.

In: the spools under a root. Out: rows in the audit tables, exactly one a statement: analysed again from
its text where the driver had no time to, INCOMPLETE where it was running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lineage
from audit.ingest import Ingested, ingest_folder
from audit.record import Ended, Finding, Started, build_row
from audit.spark_catalog import SessionCatalog, StatementCatalog
from audit.spool import Entry, RecoveryReport, find_spools, recover, retire
from lineage.model import Access

if TYPE_CHECKING:
    from audit.clock import Clock
    from audit.config import Config


@dataclass(frozen=True, slots=True)
class Adopted:
    """A dead driver's spool: what its recovery found and what was taken in."""

    folder: Path
    recovery: RecoveryReport
    ingested: Ingested


def adopt_dead_spools(catalog: SessionCatalog, config: Config, clock: Clock) -> list[Adopted]:
    """Recover, take in and remove every spool whose driver is dead.

    Raises:
        SpoolVersionError: a spool was written by another version of this package.
        IngestError: Spark or Delta refused; nothing is lost.
    """
    adopted = []
    for found in find_spools(Path(config.spool_dir).parent):
        if found.alive:
            continue
        report = recover(found.path, _Completion(catalog), clock=clock)
        if report is None:
            continue
        ingested = ingest_folder(catalog.spark, found.path, config.root)
        retire(found.path)
        adopted.append(Adopted(found.path, report, ingested))
    return adopted


@dataclass(frozen=True, slots=True)
class _Completion:
    """Makes the record that a dead driver did not get to."""

    catalog: SessionCatalog

    def __call__(self, start: Entry, end: Entry | None, facts: tuple[Entry, ...]) -> Mapping[str, Any]:
        started = Started.from_dict(start.payload)
        if end is None:
            return build_row(started, Ended("INCOMPLETE"), None)
        ended = Ended.from_dict(end.payload)
        return build_row(started, ended, self._finding(started) if ended.status == "SUCCESS" else None)

    def _finding(self, started: Started) -> Finding:
        """The text again, with the schemas of today; a DataFrame's plan died with its driver."""
        if not started.action.startswith("SparkSession.") and started.query_hash is None:
            reason = "the driver died before it had read the plan"
            return Finding(Access(started.query_type, analysis="opaque", reason=reason), "plan")
        statement = lineage.parse(started.query_text)
        current = (started.database_name or "", started.schema_name or "")
        try:
            access = lineage.trace(statement, StatementCatalog(self.catalog.snapshot(), current))
        except Exception as error:  # the guard of the analysis, as in the worker
            access = Access(started.query_type, analysis="opaque", reason=f"{type(error).__name__}: {error}")
        return Finding(access, "text")
