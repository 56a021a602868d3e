"""DROP that UNDROP can reverse: the object leaves the catalog, its files and history stay.

In: a parsed DROP and a function that runs it in Spark. Out: Spark's own result; events in the registry for
UNDROP. A managed table is made external first, so Spark deletes no files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from audit.core.errors import UnreadableTableError
from audit.spark.delta.values import Table, View
from audit.time_travel.dropped.crash_repair import drop_on_its_way, is_there, missing_children
from audit.time_travel.dropped.drop_registry import IN_FORCE, MOVED_FROM, ObjectEvent
from audit.time_travel.dropped.recreate import MARK
from audit.time_travel.dropped.schema_folder import SchemaFolder
from audit.time_travel.retention.periods import LONGEST_TRANSIENT_DAYS
from lineage.names import SESSION_CATALOG, qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from audit.time_travel.retention.periods import Retention

T = TypeVar("T")
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Dropper:
    """Drops objects so that UNDROP can restore them.

    Attributes:
        catalog: the user's session.
        registry: takes the events.
        retention: the periods of a table by its own and its schema's properties; of a schema without a table.
        actor: who asks, and when.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    retention: Callable[[Table | str], Retention]
    actor: Actor

    def relation(self, parts: Sequence[str], run: Callable[[], T]) -> T:
        """DROP TABLE or DROP VIEW; other tables than Delta's are dropped by Spark alone."""
        entry = self.catalog.find(parts)
        if entry is None or (isinstance(entry, View) and entry.temporary):
            return run()
        event = self._event(entry)
        if event is None:
            return run()
        return self._dropped([event], run, [(event, entry)])

    def function(self, parts: Sequence[str], run: Callable[[], T]) -> T:
        """DROP FUNCTION; a temporary function is dropped by Spark alone."""
        name = qualify(tuple(parts), self.catalog.current)
        facts = self.catalog.function(name) if name[0].lower() == SESSION_CATALOG else None
        return run() if facts is None else self._dropped([self._function(name[1], facts)], run, [])

    def schema(self, name: str, run: Callable[[], Any], *, cascade: bool) -> Any:
        """DROP SCHEMA: its objects are dropped, and restored, with it.

        "When a schema is dropped, the data retention period for child tables, if explicitly set to be
        different from the retention of the schema, is not honored" (Dropped containers and object retention
        inheritance). For tables in the schema's own folder see `schema_folder`.

        Raises:
            SchemaHoldsFilesError: the folder holds Delta tables that cannot be moved, and this catalog cannot
                leave the folder; nothing has changed.
        """
        facts = self.catalog.schema_facts(name)
        # Spark never drops the schema `default`.
        if facts is None or name.lower() == _DEFAULT:
            return run()  # Spark refuses
        before = drop_on_its_way(facts, self.registry.state(self.catalog))
        whole = self._named("SCHEMA", (SESSION_CATALOG, name), self.retention(name), details=facts)
        children, relations = self._children(name, whole)
        if children and not cascade:
            return run()  # Spark refuses
        folder = SchemaFolder(self.catalog, self.actor, name, facts["location"])
        earlier = self._earlier(children)
        staying = folder.immovable([*children, *earlier]) | folder.held_for_others()
        if staying:
            folder.require_leavable()
        children = [self._placed(child, folder, staying) for child in children]
        children += self._left_by(before, whole)
        # The mark comes before any drop, so that the next statement can finish an interrupted DROP SCHEMA.
        self.catalog.set_schema_property(name, MARK, whole.event_id)
        self._move_out([(event, self._placed(event, folder, staying)) for event in earlier])
        beside = self._retracted([] if before is None else [before])
        drop = folder.drop_without_folder if staying else run
        return self._dropped([whole, *children], drop, list(zip(children, relations, strict=False)), beside)

    @staticmethod
    def _placed(event: ObjectEvent, folder: SchemaFolder, staying: frozenset[str]) -> ObjectEvent:
        return event if event.location in staying else folder.moved_out(event)

    def _move_out(self, earlier: Iterable[tuple[ObjectEvent, ObjectEvent]]) -> None:
        """Move tables that were dropped earlier and are still retained."""
        moved = [
            self._move(now)
            for before, now in earlier
            if now is not before and now.kept_until >= self.actor.time
        ]
        if moved:
            self.registry.append(self.catalog, moved)
            for event in moved:
                self._rename(event)

    def _left_by(self, before: ObjectEvent | None, whole: ObjectEvent) -> list[ObjectEvent]:
        """The objects that an unfinished drop of this schema has dropped already."""
        left = (
            []
            if before is None
            else missing_children(self.catalog, before, self.registry.state(self.catalog))
        )
        return [self._within(whole, replace(event, time=whole.time)) for event in left]

    def _children(self, schema: str, whole: ObjectEvent) -> tuple[list[ObjectEvent], list[Table | View]]:
        children, relations = [], []
        for relation in self.catalog.tables(schema):
            child = self._event(relation)
            if child is not None:
                children.append(self._within(whole, child))
                relations.append(relation)
        children += (
            self._within(whole, self._function(schema, one)) for one in self.catalog.functions(schema)
        )
        return children, relations

    def _earlier(self, children: Sequence[ObjectEvent]) -> list[ObjectEvent]:
        """Tables of the schema that were dropped earlier."""
        alive = {place for child in children for place in child.places}
        return [e for e in self.registry.state(self.catalog).dropped if alive.isdisjoint(e.places)]

    def _move(self, event: ObjectEvent) -> ObjectEvent:
        return replace(
            event, time=self.actor.time, event="MOVED", event_id=self.actor.new_id(), of_event=event.event_id,
            user=self.actor.user, query_id=self.actor.query_id,
        )  # fmt: skip

    def _dropped(
        self,
        events: list[ObjectEvent],
        run: Callable[[], T],
        entry: Sequence[tuple[ObjectEvent, Table | View]],
        beside: Iterable[ObjectEvent] = (),
    ) -> T:
        # First of all: a kill leaves an event without a drop, which is harmless, and never a drop without an
        # event.
        self.registry.append(self.catalog, [*events, *beside])
        try:
            for event, relation in entry:
                if isinstance(relation, Table):
                    self._keep_files(event, relation)
            return run()
        except Exception:
            self._correct(events)
            raise

    def _keep_files(self, event: ObjectEvent, table: Table) -> None:
        """Make a table external, and move its files out of the schema's folder."""
        if event.details.get(MOVED_FROM) is None:
            # Spark deletes the files of a managed table at its DROP, and leaves those of an external one.
            if table.managed:
                self.catalog.make_external(table)
            return
        renamed = self._rename(event)
        try:
            self.catalog.make_external(table, event.location)
        except Exception:
            if renamed:
                self.catalog.rename(event.location or "", event.details[MOVED_FROM])
            raise

    def _rename(self, event: ObjectEvent) -> bool:
        """Move the folder to the location in the event, unless that has been done."""
        if self.catalog.state(event.details[MOVED_FROM]) is None:
            return False
        self.catalog.rename(event.details[MOVED_FROM], event.location or "")
        return True

    def _correct(self, events: list[ObjectEvent]) -> None:
        """Correct the registry after an error of Spark: retract drops of objects that still exist."""
        # The schema is gone, although Spark has raised an error: the events are true.
        if events[0].domain == "SCHEMA" and self.catalog.schema_facts(events[0].name[-1]) is None:
            return
        there = [e for e in events if e.domain == "SCHEMA" or is_there(self.catalog, e)]
        # The schema stays, so what was dropped of it is restored by an UNDROP of its own.
        gone = [replace(e, container_event=None) for e in events if e not in there and e.container_event]
        self.registry.append(self.catalog, [*gone, *self._retracted(there)])

    def _retracted(self, events: Iterable[ObjectEvent]) -> Iterator[ObjectEvent]:
        for event in events:
            yield replace(
                event, time=self.actor.time, event="RETRACTED", event_id=self.actor.new_id(),
                of_event=event.event_id, details={},
            )  # fmt: skip

    def _event(self, relation: Table | View) -> ObjectEvent | None:
        """The event of a drop; None for other tables than Delta's."""
        if isinstance(relation, View):
            return self._named(
                "VIEW", relation.name, self.retention(relation.name[-2]), details=relation.facts
            )
        if relation.provider != "delta" or relation.location is None or relation.name[0] == "delta":
            return None
        try:
            state = self.catalog.state(relation.location)
        except UnreadableTableError:
            # A table with a damaged log can be dropped, repaired and restored.
            periods = self.retention(relation.name[-2])
            event = self._named("TABLE", relation.name, periods, details=relation.facts)
            return replace(event, location=relation.location)
        if state is None:
            return self._interrupted(relation.location)
        event = self._named("TABLE", relation.name, self.retention(relation), details=relation.facts)
        return replace(event, object_id=state.table_id, location=relation.location)

    def _interrupted(self, location: str) -> ObjectEvent | None:
        """The event of a table whose files an unfinished DROP SCHEMA has moved."""
        dropped = self.registry.state(self.catalog).dropped
        found = (event for event in dropped if location in event.places)
        before = next(found, None)
        return before and replace(before, time=self.actor.time, container_event=None)

    def _function(self, schema: str, facts: dict[str, Any]) -> ObjectEvent:
        name = (SESSION_CATALOG, schema, facts["name"])
        return self._named("FUNCTION", name, self.retention(schema), details=facts)

    @staticmethod
    def _within(whole: ObjectEvent, child: ObjectEvent) -> ObjectEvent:
        """The event of a child with the periods of its schema; a transient table keeps its shorter period."""
        days, fail_safe = whole.retention_days or 0.0, whole.fail_safe_days
        if child.domain == "TABLE" and not child.fail_safe_days:
            days, fail_safe = min(days, float(LONGEST_TRANSIENT_DAYS)), 0.0
        return replace(
            child,
            container_event=whole.event_id,
            retention_days=days,
            fail_safe_days=fail_safe,
            details={**child.details, IN_FORCE: child.retention_days},
        )

    def _named(self, domain: str, name: tuple[str, ...], periods: Retention, details: Any) -> ObjectEvent:
        return ObjectEvent(
            self.actor.time,
            "DROPPED",
            self.actor.new_id(),
            domain,
            name,
            retention_days=periods.days,
            fail_safe_days=periods.fail_safe,
            user=self.actor.user,
            query_id=self.actor.query_id,
            details=details,
        )
