"""Fail-safe: data past its retention period is kept for seven more days, for the administrator alone.

In: dropped objects, all tables. Out: the recoverable objects, and their recovery. No SQL statement reaches
them: "You can't query or directly recover data in fail-safe storage" (Fail-safe). "Data is recoverable at the
table level": a dropped table is restored; an old version of an existing table becomes a new table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table
from audit.time_travel.clones.clone import Cloner
from audit.time_travel.clones.clone_table import share
from audit.time_travel.clones.create import place_in
from audit.time_travel.errors import (
    NothingDroppedError,
    ObjectExistsError,
    OutsideRetentionError,
    UnknownObjectError,
)
from audit.time_travel.retention.storage import bytes_at
from audit.time_travel.versions.version_lookup import time_text
from lineage.names import quote_name

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent
    from audit.time_travel.dropped.undrop import Undropper
    from audit.time_travel.retention.storage import FileSpans, StoredTable


@dataclass(frozen=True, slots=True)
class Recoverable:
    """An object in Fail-safe; times in UTC microseconds.

    Attributes:
        object_name: in full.
        kind: TABLE, VIEW, FUNCTION or SCHEMA that was dropped; VERSIONS of an existing table.
        dropped: when; None for VERSIONS.
        since: when it entered Fail-safe; for VERSIONS the oldest moment that can be recovered.
        until: when it can be purged; None for VERSIONS, which are purged one by one.
        bytes: of its files.
        event_id: of the drop.
    """

    object_name: str
    kind: str
    dropped: int | None
    since: int
    until: int | None
    bytes: int
    event_id: str | None


@dataclass(frozen=True, slots=True)
class FailSafe:
    """Lists and recovers objects in Fail-safe.

    Attributes:
        catalog: a session of the system's own.
        registry: what was dropped.
        stored_tables: all tables.
        undo: restores drops.
        at: the time, UTC microseconds.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    stored_tables: Sequence[StoredTable]
    undo: Undropper
    at: int

    def recoverable(self, spans: FileSpans) -> Iterator[Recoverable]:
        """All objects in Fail-safe: drops, newest first, then tables with versions in Fail-safe."""
        sizes = [bytes_at(one, spans[number], self.at) for number, one in enumerate(self.stored_tables)]
        of_drop = {
            one.dropped.event_id: sizes[number].total
            for number, one in enumerate(self.stored_tables)
            if one.dropped is not None
        }
        for event in self._dropped():
            yield Recoverable(
                ".".join(event.name), event.domain, event.time, event.retained_until, event.kept_until,
                of_drop.get(event.event_id, 0), event.event_id,
            )  # fmt: skip
        for number, one in enumerate(self.stored_tables):
            if one.dropped is None and one.has_retention and sizes[number].fail_safe:
                oldest = max(one.horizons(self.at)[1], (one.log["created"] or 0) * 1000)
                yield Recoverable(
                    ".".join(one.name), "VERSIONS", None, oldest, None, sizes[number].fail_safe, None
                )

    def restore(self, name: tuple[str, ...], new: tuple[str, ...] | None = None) -> str:
        """Restore the newest drop of a name in Fail-safe.

        Args:
            name: schema and object, or a schema alone.
            new: another name for the restored object; by default its own.

        Returns:
            A message for the user.

        Raises:
            NothingDroppedError: nothing of that name is in Fail-safe.
            ObjectExistsError: the name exists.
        """
        wanted = tuple(part.lower() for part in name)
        found = [
            event
            for event in self._dropped()
            if tuple(part.lower() for part in event.name[-len(wanted) :]) == wanted
            and (event.domain == "SCHEMA") == (len(wanted) == 1)
        ]
        if not found:
            raise NothingDroppedError(
                f"no {'schema' if len(wanted) == 1 else 'object'} {quote_name(name)} is in Fail-safe",
                "audit failsafe list shows what is",
            )
        event = found[0] if new is None else replace(found[0], name=(*found[0].name[: -len(new)], *new))
        return self.undo.restore_drop(event)

    def restore_version(self, name: tuple[str, ...], micros: int, new: tuple[str, ...]) -> str:
        """Recover an old version of an existing table as a new table.

        Args:
            name: schema and table.
            micros: the moment, UTC microseconds.
            new: schema and name of the new table.

        Returns:
            A message for the user.

        Raises:
            NothingDroppedError: there is no such table.
            ObjectExistsError: the new name exists.
            OutsideRetentionError: the moment is past Fail-safe, or before the table was created.
        """
        table = self.catalog.find(name)
        holding = next(
            (one for one in self.stored_tables if isinstance(table, Table) and one.name == table.name), None
        )
        if holding is None or not isinstance(table, Table):
            raise NothingDroppedError(
                f"there is no table {quote_name(name)}", "what was dropped comes back without a moment"
            )
        if self.catalog.find(new) is not None:
            raise ObjectExistsError(f"{quote_name(new)} exists", "choose another name")
        state = self.catalog.state(holding.location)
        kept = holding.horizons(self.at)[1]
        version = -1 if state is None else self.catalog.version_at(holding.location, state, micros // 1000)
        # Fail-safe of a version counts from its replacement, not from its commit.
        if state is None or version < state.earliest or self._replaced_at(holding, version) <= kept:
            raise OutsideRetentionError(
                f"{quote_name(name)} at {time_text(micros)} is past Fail-safe",
                f"what was replaced after {time_text(kept)} can be recovered",
            )
        self._clone(table, version, new)
        return f"Table {new[-1]} successfully made of {name[-1]} at {time_text(micros)}."

    def _clone(self, table: Table, version: int, new: tuple[str, ...]) -> None:
        schema = self.catalog.schema_facts(new[-2])
        if schema is None:
            raise UnknownObjectError(f"there is no schema for {quote_name(new)}", "create it first")
        place = place_in(schema["location"], self.catalog.warehouse, new[-1])
        # The properties of the version are those of its time; the new table has the period of its schema.
        cloner = Cloner(self.catalog, self.catalog.spark, self.registry, lambda: self.at)
        share(self.catalog, table, version, new, place, cloner.properties(new[-2], table, place))

    def _replaced_at(self, holding: StoredTable, version: int) -> int:
        """When a version was replaced, UTC microseconds."""
        state = self.catalog.state(holding.location)
        if state is None or version >= state.latest:
            return self.at
        return self.catalog.committed_at(holding.location, state, version + 1) * 1000

    def _dropped(self) -> list[ObjectEvent]:
        # A location that has a table again is no longer that of the drop.
        alive = {one.location for one in self.stored_tables if one.dropped is None}
        return [
            event
            for event in self.registry.state(self.catalog).dropped
            if event.retained_until <= self.at < event.kept_until and alive.isdisjoint(event.places)
        ]
