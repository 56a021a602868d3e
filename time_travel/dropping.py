"""DROP keeps: an object goes from the catalog, its files and its history stay.

In: DROP TABLE | VIEW | SCHEMA and how Spark runs it. Out: Spark's own result; events in the registry that
UNDROP finds. A table whose files Spark would delete is made external first, so that nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from lineage.names import quote_name
from time_travel.creating import FOLDER
from time_travel.errors import SchemaHoldsFilesError
from time_travel.lake import SESSION_CATALOG, Table, View
from time_travel.registry import MOVED_FROM, Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from time_travel.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Registry
    from time_travel.retention import Retention

T = TypeVar("T")
# Stores on which to rename a folder is one step.
_RENAMING = frozenset({"file", "hdfs", "viewfs", "abfs", "abfss", "ofs", "o3fs"})


@dataclass(frozen=True, slots=True)
class Drop:
    """Drops objects so that they can be brought back.

    Attributes:
        lake: the user's session.
        registry: takes note.
        retention: the periods of a table by its own and its schema's properties; of a schema without a table.
        by: who asks, and when.
    """

    lake: Lake
    registry: Registry
    retention: Callable[[Table | str], Retention]
    by: By

    def relation(self, parts: Sequence[str], run: Callable[[], T]) -> T:
        """DROP TABLE or DROP VIEW; what is neither a Delta table nor a view is dropped as Spark drops it."""
        meant = self.lake.find(parts)
        event = self._event(meant) if meant is not None and len(meant.name) > 1 else None
        if event is None:
            return run()
        return self._dropped([event], run, [meant])

    def schema(self, name: str, run: Callable[[], T], *, cascade: bool) -> T:
        """DROP SCHEMA: what is in it goes, and comes back, with it.

        "When a schema is dropped, the data retention period for child tables, if explicitly set to be
        different from the retention of the schema, is not honored" (Dropped containers and object retention
        inheritance). Spark deletes the folder of the schema, whatever lies in it (Hive's metastore and
        InMemoryCatalog): Delta tables in there move out first, by a rename.

        Raises:
            SchemaHoldsFilesError: they are on a store that cannot rename; nothing has happened.
        """
        facts = self.lake.schema_facts(name)
        if facts is None:
            return run()
        periods = self.retention(name)
        whole = self._named("SCHEMA", (SESSION_CATALOG, name), periods, details=facts)
        children, meant = self._children(name, whole)
        if children and not cascade:
            return run()  # Spark refuses
        inside = facts["location"].rstrip("/") + "/"
        children = [self._out_of(inside, child) for child in children]
        dropped = self._earlier(children)
        known = {event.location for event in dropped}
        earlier = [self._out_of(inside, event) for event in dropped]
        moved = [self._move(event) for event in earlier if (event.location or "") not in known]
        if moved:
            self.registry.append(self.lake, moved)
            self._rename(moved)
        return self._dropped([whole, *children], run, meant)

    def _children(self, schema: str, whole: Event) -> tuple[list[Event], list[Table | View]]:
        children, meant = [], []
        for relation in self.lake.tables(schema):
            child = self._event(relation)
            if child is not None:
                children.append(self._within(whole, child))
                meant.append(relation)
        children += (self._within(whole, self._function(schema, one)) for one in self.lake.functions(schema))
        return children, meant

    def _earlier(self, children: Sequence[Event]) -> list[Event]:
        """What was dropped before, and is still kept."""
        alive = {place for child in children for place in child.places}
        dropped = self.registry.objects(self.lake).dropped
        return [e for e in dropped if alive.isdisjoint(e.places) and e.kept_until >= self.by.time]

    def _out_of(self, inside: str, event: Event) -> Event:
        """The same drop with a place outside a folder, where it lies in there; nothing has moved yet."""
        if event.location is None or not event.location.startswith(inside):
            return event
        if event.location.partition(":")[0] not in _RENAMING and ":/" in event.location:
            raise SchemaHoldsFilesError(
                f"the folder {inside} goes with its schema and holds the files of {quote_name(event.name)},"
                " which this store cannot rename",
                "clone the table into another schema first (CREATE TABLE … CLONE), or keep the schema",
            )
        name = re.sub(r"[^A-Za-z0-9_-]", "_", event.name[-1])[:80]
        place = f"{inside.rstrip('/').rpartition('/')[0]}/{FOLDER}/{name}-{self.by.new_id()}"
        return replace(event, location=place, details={**event.details, MOVED_FROM: event.location})

    def _move(self, event: Event) -> Event:
        return replace(
            event, time=self.by.time, event="MOVED", event_id=self.by.new_id(), of_event=event.event_id,
            user=self.by.user, query_id=self.by.query_id,
        )  # fmt: skip

    def _dropped(self, events: list[Event], run: Callable[[], T], meant: Sequence[Any]) -> T:
        self.registry.append(self.lake, events)
        renamed: list[Event] = []
        try:
            renamed = self._rename(events)
            for relation in meant:
                if isinstance(relation, Table) and relation.managed:
                    self.lake.make_external(relation)
            return run()
        except Exception:
            # It is still there; what the registry says of it must not outlive a rename.
            for event in renamed:
                self.lake.rename(event.location or "", event.details[MOVED_FROM])
            self.registry.append(self.lake, list(self._retracted(events)))
            raise

    def _rename(self, events: Sequence[Event]) -> list[Event]:
        """Move the folders that are to move and have not moved yet; on record already where to."""
        waiting = [
            event
            for event in events
            if MOVED_FROM in event.details and self.lake.state(event.details[MOVED_FROM]) is not None
        ]
        for event in waiting:
            self.lake.rename(event.details[MOVED_FROM], event.location or "")
        return waiting

    def _retracted(self, events: list[Event]) -> Iterator[Event]:
        for event in events:
            yield replace(
                event, time=event.time + 1, event="RETRACTED", event_id=self.by.new_id(),
                of_event=event.event_id, details={},
            )  # fmt: skip

    def _event(self, relation: Table | View) -> Event | None:
        """The drop of a relation; None for what is no Delta table and no view of a catalog."""
        if isinstance(relation, View):
            return self._named(
                "VIEW", relation.name, self.retention(relation.name[-2]), details=relation.facts
            )
        if relation.provider != "delta" or relation.location is None or relation.name[0] == "delta":
            return None
        state = self.lake.state(relation.location)
        if state is None:
            return self._interrupted(relation.location)
        event = self._named("TABLE", relation.name, self.retention(relation), details=relation.facts)
        return replace(event, object_id=state.table_id, location=relation.location)

    def _interrupted(self, location: str) -> Event | None:
        """The drop of a table whose files had moved when its driver was killed."""
        dropped = self.registry.objects(self.lake).dropped
        found = (event for event in dropped if location in event.places)
        return next(found, None)

    def _function(self, schema: str, facts: dict[str, Any]) -> Event:
        name = (SESSION_CATALOG, schema, facts["name"])
        return self._named("FUNCTION", name, self.retention(schema), details=facts)

    @staticmethod
    def _within(whole: Event, child: Event) -> Event:
        return replace(
            child,
            container_event=whole.event_id,
            retention_days=whole.retention_days,
            fail_safe_days=whole.fail_safe_days,
        )

    def _named(self, domain: str, name: tuple[str, ...], periods: Retention, details: Any) -> Event:
        return Event(
            self.by.time,
            "DROPPED",
            self.by.new_id(),
            domain,
            name,
            retention_days=periods.days,
            fail_safe_days=periods.fail_safe,
            user=self.by.user,
            query_id=self.by.query_id,
            details=details,
        )
