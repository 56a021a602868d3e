"""DROP keeps: an object goes from the catalog, its files and its history stay.

In: DROP TABLE | VIEW | FUNCTION | SCHEMA and how Spark runs it. Out: Spark's own result; events in the
registry that UNDROP finds. A table whose files Spark would delete is made external first: nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from lineage.names import qualify
from time_travel.errors import UnreadableTableError
from time_travel.lake import SESSION_CATALOG, Table, View
from time_travel.registry import MOVED_FROM, Event
from time_travel.remaking import MARK
from time_travel.retention import LONGEST_TRANSIENT_DAYS
from time_travel.schema_folder import SchemaFolder
from time_travel.unfinished import drop_on_its_way, is_there, missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from audit.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Registry
    from time_travel.retention import Retention

T = TypeVar("T")
_DEFAULT = "default"


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
        if event is None or meant is None:
            return run()
        return self._dropped([event], run, [(event, meant)])

    def function(self, parts: Sequence[str], run: Callable[[], T]) -> T:
        """DROP FUNCTION, of one that the catalog keeps."""
        name = qualify(tuple(parts), self.lake.current)
        facts = self.lake.function(name) if name[0].lower() == SESSION_CATALOG else None
        return run() if facts is None else self._dropped([self._function(name[1], facts)], run, [])

    def schema(self, name: str, run: Callable[[], Any], *, cascade: bool) -> Any:
        """DROP SCHEMA: what is in it goes, and comes back, with it.

        "When a schema is dropped, the data retention period for child tables, if explicitly set to be
        different from the retention of the schema, is not honored" (Dropped containers and object retention
        inheritance). What lies in its own folder: see `schema_folder`.

        Raises:
            SchemaHoldsFilesError: its folder cannot go without a loss, nor stay; nothing has happened.
        """
        facts = self.lake.schema_facts(name)
        if facts is None or name.lower() == _DEFAULT:
            return run()  # Spark refuses
        before = drop_on_its_way(facts, self.registry.objects(self.lake))
        whole = self._named("SCHEMA", (SESSION_CATALOG, name), self.retention(name), details=facts)
        children, meant = self._children(name, whole)
        if children and not cascade:
            return run()  # Spark refuses
        folder = SchemaFolder(self.lake, self.by, name, facts["location"])
        earlier = self._earlier(children)
        staying = folder.staying([*children, *earlier])
        if staying:
            folder.require_leavable()
        children = [self._placed(child, folder, staying) for child in children]
        children += self._left_by(before, whole)
        self.lake.set_schema_property(name, MARK, whole.event_id)
        self._move_out([(event, self._placed(event, folder, staying)) for event in earlier])
        beside = self._retracted([] if before is None else [before])
        drop = folder.left if staying else run
        return self._dropped([whole, *children], drop, list(zip(children, meant, strict=False)), beside)

    @staticmethod
    def _placed(event: Event, folder: SchemaFolder, staying: frozenset[str]) -> Event:
        return event if event.location in staying else folder.out_of(event)

    def _move_out(self, earlier: Iterable[tuple[Event, Event]]) -> None:
        """Move what was dropped before, and is still kept."""
        moved = [
            self._move(now) for before, now in earlier if now is not before and now.kept_until >= self.by.time
        ]
        if moved:
            self.registry.append(self.lake, moved)
            for event in moved:
                self._rename(event)

    def _left_by(self, before: Event | None, whole: Event) -> list[Event]:
        """What an earlier drop of this schema took from it before its driver was killed."""
        left = [] if before is None else missing(self.lake, before, self.registry.objects(self.lake))
        return [self._within(whole, replace(event, time=whole.time)) for event in left]

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
        """What was dropped before."""
        alive = {place for child in children for place in child.places}
        return [e for e in self.registry.objects(self.lake).dropped if alive.isdisjoint(e.places)]

    def _move(self, event: Event) -> Event:
        return replace(
            event, time=self.by.time, event="MOVED", event_id=self.by.new_id(), of_event=event.event_id,
            user=self.by.user, query_id=self.by.query_id,
        )  # fmt: skip

    def _dropped(
        self,
        events: list[Event],
        run: Callable[[], T],
        meant: Sequence[tuple[Event, Table | View]],
        beside: Iterable[Event] = (),
    ) -> T:
        self.registry.append(self.lake, [*events, *beside])
        try:
            for event, relation in meant:
                if isinstance(relation, Table):
                    self._keep_files(event, relation)
            return run()
        except Exception:
            self._correct(events)
            raise

    def _keep_files(self, event: Event, table: Table) -> None:
        """Have Spark leave the files alone, out of the schema's folder where they lie in there."""
        if event.details.get(MOVED_FROM) is None:
            if table.managed:
                self.lake.make_external(table)
            return
        renamed = self._rename(event)
        try:
            self.lake.make_external(table, event.location)
        except Exception:
            if renamed:
                self.lake.rename(event.location or "", event.details[MOVED_FROM])
            raise

    def _rename(self, event: Event) -> bool:
        """Move the folder where the registry says already that it lies, if it has not moved yet."""
        if self.lake.state(event.details[MOVED_FROM]) is None:
            return False
        self.lake.rename(event.details[MOVED_FROM], event.location or "")
        return True

    def _correct(self, events: list[Event]) -> None:
        """Spark has failed: what is still there was not dropped; what is gone was, by itself."""
        if events[0].domain == "SCHEMA" and self.lake.schema_facts(events[0].name[-1]) is None:
            return
        there = [e for e in events if e.domain == "SCHEMA" or is_there(self.lake, e)]
        gone = [replace(e, container_event=None) for e in events if e not in there and e.container_event]
        self.registry.append(self.lake, [*gone, *self._retracted(there)])

    def _retracted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            yield replace(
                event, time=self.by.time, event="RETRACTED", event_id=self.by.new_id(),
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
        try:
            state = self.lake.state(relation.location)
        except UnreadableTableError:
            # What is damaged can be dropped, mended and brought back.
            periods = self.retention(relation.name[-2])
            event = self._named("TABLE", relation.name, periods, details=relation.facts)
            return replace(event, location=relation.location)
        if state is None:
            return self._interrupted(relation.location)
        event = self._named("TABLE", relation.name, self.retention(relation), details=relation.facts)
        return replace(event, object_id=state.table_id, location=relation.location)

    def _interrupted(self, location: str) -> Event | None:
        """The drop of a table whose files had moved when its driver was killed."""
        dropped = self.registry.objects(self.lake).dropped
        found = (event for event in dropped if location in event.places)
        before = next(found, None)
        return before and replace(before, time=self.by.time, container_event=None)

    def _function(self, schema: str, facts: dict[str, Any]) -> Event:
        name = (SESSION_CATALOG, schema, facts["name"])
        return self._named("FUNCTION", name, self.retention(schema), details=facts)

    @staticmethod
    def _within(whole: Event, child: Event) -> Event:
        """A child with the periods of its schema; what is transient is not kept for longer by that."""
        days, fail_safe = whole.retention_days or 0.0, whole.fail_safe_days
        if child.domain == "TABLE" and not child.fail_safe_days:
            days, fail_safe = min(days, float(LONGEST_TRANSIENT_DAYS)), 0.0
        return replace(child, container_event=whole.event_id, retention_days=days, fail_safe_days=fail_safe)

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
