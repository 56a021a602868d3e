"""Maintenance of stored data: measuring storage, purging, Fail-safe.

In: a session of the system's own, the root. Out: the answers of `audit storage`, `audit purge` and
`audit failsafe`, and the tables below the storage views.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from audit.time_travel.dropped.undrop import Undropper
from audit.time_travel.retention.failsafe import FailSafe
from audit.time_travel.retention.periods import DAY, in_force
from audit.time_travel.retention.purge import Purge, PurgedObject
from audit.time_travel.retention.retention_rule import RetentionRule
from audit.time_travel.retention.storage import StorageBytes, StoredTable, bytes_at, measure
from audit.time_travel.retention.storage_names import SCHEMATA, TABLES
from audit.time_travel.retention.storage_views import StorageMeasurement
from audit.time_travel.retention.tables_on_disk import stored_tables

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.core.errors import UnreadableTableError
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.measured_tables import MeasuredTables
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent
    from audit.time_travel.retention.failsafe import Recoverable
    from audit.time_travel.retention.periods import Retention


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Measures, purges and recovers stored tables.

    Attributes:
        catalog: a session of the system's own.
        registry: what was dropped.
        tables: what is measured is written there.
        has_retention: whether a table at a location, with these properties, is kept by this system.
        running_since: when the oldest running statement began, UTC microseconds; None for none.
        owner_of: the role or user that was granted OWNERSHIP, by the key of an object; None for none.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    tables: MeasuredTables
    has_retention: Callable[[str, Mapping[str, str]], bool]
    running_since: Callable[[], int | None]
    owner_of: Callable[[str], str | None]

    def stored_tables(self) -> list[StoredTable]:
        """All Delta tables of the session catalog, and dropped ones that are not purged.

        Warns:
            UserWarning: a table has a damaged log; it is left out.
        """
        return stored_tables(self.catalog, self.registry, self.has_retention, lambda error, _: _warn(error))

    def measure(self, at: int) -> None:
        """Update the tables that the storage views read.

        Args:
            at: the time, UTC microseconds.
        """
        # The two tables of this measurement change with each run, so they are left out.
        found = [
            one for one in self.stored_tables() if one.location.rpartition("/")[2] not in (TABLES, SCHEMATA)
        ]
        look = StorageMeasurement(self.tables, self.registry, self._of_schema, self.owner_of, at)
        look.write(found, *measure(self.catalog.spark, found))

    def _of_schema(self, name: str) -> Retention:
        facts = self.catalog.schema_facts(name) or {}
        return in_force({}, facts.get("properties", {}), self.registry.state(self.catalog).parameters)

    def by_day(
        self, begin: int, days: int, now: int, wanted: Callable[[StoredTable], bool] = lambda _: True
    ) -> list[tuple[int, StorageBytes]]:
        """The bytes of tables, day by day.

        For days before a purge the purged bytes are missing. Future days are forecast as if nothing were
        written or purged until then.

        Args:
            begin: the first moment, UTC microseconds.
            days: the number of days after it.
            now: UTC microseconds.
            wanted: selects the tables.

        Returns:
            `days` + 1 pairs: the moment, and the sum over the tables.
        """
        found = self.stored_tables()
        spans, _ = measure(self.catalog.spark, found)
        chosen = [(one, spans[number]) for number, one in enumerate(found) if wanted(one)]
        moments = [begin + day * DAY for day in range(days + 1)]
        return [
            (at, _sum([bytes_at(one, own, at, is_past=at < now) for one, own in chosen])) for at in moments
        ]

    def purge(
        self, actor: Actor, *, dry: bool, progress: Callable[[int, int], None] = lambda _done, _of: None
    ) -> Iterator[PurgedObject]:
        """Delete files and dropped objects past Fail-safe, or list them.

        Args:
            actor: who asks, and when.
            dry: change nothing.
            progress: told how many tables are done, and of how many.

        Raises:
            UnreadableTableError: a table has a damaged log: it could be a clone that needs any of the files.
        """
        unreadable: set[str] = set()

        def told(error: UnreadableTableError, gone: ObjectEvent | None) -> None:
            # An existing table, or one that can be restored, may be a clone that needs any of the files.
            if gone is None or gone.kept_until > actor.time:
                raise error
            unreadable.add(gone.event_id)
            _warn(error)

        since = self.running_since()
        found = stored_tables(self.catalog, self.registry, self.has_retention, told)
        purge = Purge(self.catalog, self.registry, found, actor, since, self._owns, frozenset(unreadable))
        return purge.run(dry=dry, progress=progress)

    def fail_safe(self, actor: Actor) -> FailSafe:
        """The Fail-safe of all tables."""
        periods = partial(RetentionRule(self.registry, lambda: actor.time).periods, self.catalog)
        undo = Undropper(self.catalog, self.catalog.spark, self.registry, actor, periods)
        return FailSafe(self.catalog, self.registry, self.stored_tables(), undo, actor.time)

    def recoverable(self, actor: Actor) -> list[Recoverable]:
        """All objects in Fail-safe."""
        fail_safe = self.fail_safe(actor)
        return list(fail_safe.recoverable(measure(self.catalog.spark, fail_safe.stored_tables)[0]))

    def _owns(self, event: ObjectEvent) -> bool:
        """Whether a purge may delete the files: the table was managed, or this system chose its location."""
        if event.details.get("kind") == "MANAGED":
            return True
        return any(self.has_retention(place, {}) for place in event.places)


def _warn(error: UnreadableTableError) -> None:
    warnings.warn(str(error), stacklevel=2)


def _sum(found: Sequence[StorageBytes]) -> StorageBytes:
    return StorageBytes(
        sum(one.active for one in found),
        sum(one.time_travel for one in found),
        sum(one.fail_safe for one in found),
        sum(one.retained_for_clone for one in found),
        sum(one.purgeable for one in found),
    )
