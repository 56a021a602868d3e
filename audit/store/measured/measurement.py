"""Keeps the measured tables up to date: storage, governance, backups, and what the catalog holds.

In: a text that names views over them, or the wish to have all. Out: the tables, written anew where they have
changed. Statements that name none of these views wait for nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from audit.core.clock import to_datetime
from audit.core.gc_pause import collector_paused
from audit.policies.history import columns as of_governance
from audit.policies.history.rows import governance_rows
from audit.store.measured import catalog_columns as of_catalog
from audit.store.measured.catalog import CatalogMeasurement
from audit.store.measured.names import BACKUPS, CATALOG, GOVERNANCE, STANDS_ON
from audit.store.views import with_those_below
from audit.time_travel.backups import history as of_backups
from audit.time_travel.retention.storage_names import SCHEMATA, TABLES
from lineage.sql.mentions import named_in

if TYPE_CHECKING:
    from audit.core.guard import Failures
    from audit.policies.service import Policies
    from audit.time_travel.backups.backup_log import BackupLog
    from audit.time_travel.service import TimeTravel


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measured tables of one root.

    Attributes:
        travel: measures storage, and knows the catalog and what was dropped.
        policies: know the events of governance, and the owners.
        backups: the events of backups.
        schema: of the audit tables.
        clock: UTC microseconds.
        failures: counts updates that have failed.
    """

    travel: TimeTravel
    policies: Policies
    backups: BackupLog
    schema: str
    clock: Callable[[], int]
    failures: Failures

    def measure(self) -> None:
        """Update all measured tables."""
        for update in self._updates().values():
            update()

    def measure_for(self, text: str) -> None:
        """Update the tables below the views that a text names, or that it names itself.

        Warns:
            UserWarning: an update has failed; the views show an earlier state.
        """
        named = named_in(text, self.schema)
        wanted = {STANDS_ON.get(name, name) for name in (*named, *with_those_below(named))}
        for tables, update in self._updates().items():
            if not wanted.isdisjoint(tables):
                self.failures.guard(partial(_told, update), None)

    def _updates(self) -> Mapping[tuple[str, ...], Callable[[], None]]:
        """What updates which tables."""
        return {
            (TABLES, SCHEMATA): self.travel.measure,
            (GOVERNANCE,): self._governance,
            (CATALOG,): self._catalog,
            (BACKUPS,): self._backups,
        }

    def _governance(self) -> None:
        version = self.policies.version()

        def rows() -> list[tuple[object, ...]]:
            # Building many rows makes many objects and no garbage.
            with collector_paused():
                return governance_rows(self.policies.events(version))

        # The rows follow from the events alone.
        self.travel.maintenance.tables.write(GOVERNANCE, of_governance.COLUMNS, version, rows)

    def _backups(self) -> None:
        version = self.backups.version()
        # The rows follow from the events alone.
        self.travel.maintenance.tables.write(
            BACKUPS,
            of_backups.COLUMNS,
            version,
            lambda: of_backups.backup_rows(self.backups.events(version)),
        )

    def _catalog(self) -> None:
        care = self.travel.maintenance
        look = CatalogMeasurement(care.catalog, care.registry, care.owner_of, self.schema)
        found, at = look.rows(), to_datetime(self.clock())
        care.tables.write(CATALOG, of_catalog.COLUMNS, found, lambda: [(*row, at) for row in found])


def _told(update: Callable[[], None]) -> None:
    try:
        update()
    except Exception as error:
        # The caller is told here; the guard counts the error, and the query runs.
        warnings.warn(f"views of what is measured show an earlier state: {error!r}", stacklevel=2)
        raise
