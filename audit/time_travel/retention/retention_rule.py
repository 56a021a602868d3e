"""The periods that are in force for a table or schema, and whether this system keeps a table's past.

In: the catalog of a session and a table. Out: `Retention`, and the `VersionLimits` by which old versions can
be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table
from audit.time_travel.clones.create import is_place
from audit.time_travel.retention.periods import OWN, PREFIX, Retention, in_force
from audit.time_travel.versions.version_lookup import VersionLimits

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """The retention of tables and schemas.

    Attributes:
        registry: holds the parameters of the account.
        clock: UTC microseconds.
    """

    registry: DropRegistry
    clock: Callable[[], int]

    def periods(
        self, catalog: DeltaCatalog, of: Table | str, changed: Mapping[str, str] | None = None
    ) -> Retention:
        """The periods of a table, or of a schema by its name.

        Args:
            catalog: look-ups.
            of: the table or schema.
            changed: properties of the table that are about to be set.
        """
        if isinstance(of, Table) and of.name[0] == "delta":
            # A table that is read by its path has the periods of the name that is registered there.
            of = catalog.registered(of.location or "") or of
        own = catalog.properties(of.location or "", PREFIX) if isinstance(of, Table) else {}
        name = of if isinstance(of, str) else of.name[-2]
        schema = catalog.schema_facts(name) if name != "delta" else None
        own = {**own, **(changed or {})}
        return in_force(own, (schema or {}).get("properties", {}), self.registry.state(catalog).parameters)

    def version_limits(self, catalog: DeltaCatalog, table: Table) -> VersionLimits:
        """How far back versions of a table can be read; no limit for tables that are not adopted."""
        if not self.applies(catalog, table):
            return VersionLimits()
        periods = self.periods(catalog, table)
        return VersionLimits(periods.horizon(self.clock()), periods.days)

    def applies(self, catalog: DeltaCatalog, table: Table) -> bool:
        """Whether this system retains a table: it was created here or adopted."""
        return has_retention(table.location or "", catalog.properties(table.location or "", PREFIX))


def has_retention(location: str, properties: Mapping[str, str]) -> bool:
    """Whether a table was created here or adopted, by its location and properties.

    >>> has_retention("file:/w/_tables/t-1", {}), has_retention("file:/w/s.db/t", {})
    (True, False)
    """
    # An owner's own values are saved for a table that is pinned alone, too.
    return is_place(location) or any(
        name.startswith(PREFIX) and not name.startswith(OWN) for name in properties
    )
