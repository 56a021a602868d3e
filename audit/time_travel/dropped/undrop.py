"""UNDROP: registers a dropped object again, with its name, location and history.

In: UNDROP TABLE | VIEW | FUNCTION | SCHEMA | DATABASE and its actor. Out: a message. No files are moved.

"Restoring a dropped object restores the object in place"; "If an object with the same name already exists,
UNDROP fails"; "Restoring tables and schemas is only supported in the current schema or current database, even
if a fully-qualified object name is specified" (Dropping and restoring objects).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table
from audit.time_travel.dropped.crash_repair import drop_on_its_way, is_there, missing_children, names_of
from audit.time_travel.dropped.drop_registry import IN_FORCE, ObjectEvent
from audit.time_travel.dropped.recreate import create_view, make_all, schema_clauses
from audit.time_travel.errors import NothingDroppedError, ObjectExistsError
from audit.time_travel.retention.periods import PREFIX, key
from audit.time_travel.retention.retention_rule import has_retention
from audit.time_travel.retention.set_retention import apply_retention
from audit.time_travel.versions.version_lookup import time_text
from lineage.names import qualify, quote_name, sql_name, sql_text
from lineage.sql.commands.time_travel.retention import RETENTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from audit.time_travel.retention.periods import Retention

_CANNOT_BE_RENAMED = {
    "SCHEMA": "clone it under another name (CREATE SCHEMA … CLONE {}), set its"
    " DATA_RETENTION_TIME_IN_DAYS = 0, drop it, then UNDROP",
    "FUNCTION": "Spark renames no functions: make it again under another name, drop {}, then UNDROP",
}
MayUndrop = Callable[[ObjectEvent, "Actor"], None]
"""Refuses an UNDROP without privileges, before anything has changed."""


@dataclass(frozen=True, slots=True)
class Undropper:
    """Restores objects.

    Attributes:
        catalog: the user's session.
        own: a session of the system's own, which is not audited.
        registry: what was dropped.
        actor: who asks, and when.
        periods: of a table that exists.
        may: checks privileges; by default there is no check.
    """

    catalog: DeltaCatalog
    own: SparkSession
    registry: DropRegistry
    actor: Actor
    periods: Callable[[Table], Retention]
    may: MayUndrop = lambda _event, _actor: None

    def relation(self, domain: str, parts: Sequence[str]) -> str:
        """UNDROP TABLE, VIEW or FUNCTION.

        Returns:
            A message for the user.

        Raises:
            ObjectExistsError: the name exists.
            NothingDroppedError: nothing of that name was dropped within its retention period.
        """
        name = self._in_current_schema(parts)
        if self.catalog.schema_facts(name[1]) is None:
            raise NothingDroppedError(
                f"the schema {name[1]} of {domain.lower()} {name[2]} does not exist",
                f"what was dropped with its schema returns with it: UNDROP SCHEMA {name[1]}",
            )
        self._require_free(domain, name, self._holder_of(domain, name))
        with _another_was_faster(lambda: self._require_free(domain, name, self._holder_of(domain, name))):
            event = self._newest(domain, name)
        return self.restore_drop(self._allowed(event))

    def restore_drop(self, event: ObjectEvent) -> str:
        """Register a dropped object under the name in its event; a schema with the objects dropped with it.

        Returns:
            What was done, in a sentence.

        Raises:
            ObjectExistsError: the name is taken.
        """
        if event.domain == "SCHEMA":
            return self._schema_back(event)
        self._require_free_now(event)
        with _another_was_faster(lambda: self._require_free_now(event)):
            self._register(event)
        self._follow(event)
        self.registry.append(self.catalog, [self._undrop_event(event)])
        return f"{event.domain.capitalize()} {event.name[-1]} successfully restored."

    def schema(self, parts: Sequence[str]) -> str:
        """UNDROP SCHEMA, also called UNDROP DATABASE, with all objects that were dropped with it.

        After an interrupted DROP or UNDROP of the schema the missing objects are restored. A view over
        missing objects is not restored; it can be restored later by UNDROP VIEW.

        Raises as `relation`.
        """
        current = self.catalog.current[0]
        name = tuple(parts) if len(parts) > 1 else (current, parts[-1])
        if name[0].lower() != current.lower():
            raise NothingDroppedError(
                f"{quote_name(name)} is not in the current catalog, {current}",
                f"UNDROP restores there only: UNDROP SCHEMA {name[-1]}",
            )
        facts = self.catalog.schema_facts(name[-1])
        event = drop_on_its_way(facts, self.registry.state(self.catalog))
        if event is not None:
            return self._children_back(self._allowed(event))
        self._require_free("SCHEMA", name, facts)
        with _another_was_faster(lambda: self._require_free("SCHEMA", name, self._holder_of("SCHEMA", name))):
            event = self._newest("SCHEMA", name)
        return self.restore_drop(self._allowed(event))

    def _allowed(self, event: ObjectEvent) -> ObjectEvent:
        self.may(event, self.actor)
        return event

    def _schema_back(self, event: ObjectEvent) -> str:
        self._require_free_now(event)
        clauses = schema_clauses(event.details, event.details["location"], restored_from=event.event_id)
        with _another_was_faster(lambda: self._require_free_now(event)):
            self.own.sql(f"CREATE SCHEMA {sql_name(event.name)}{clauses}")
        return self._children_back(event)

    def _children_back(self, event: ObjectEvent) -> str:
        objects = self.registry.state(self.catalog)
        children = [child for child in objects.dropped if child.container_event == event.event_id]
        lost = [
            # `audit failsafe restore` may give the schema another name.
            replace(one, name=(*event.name, one.name[-1]))
            for one in missing_children(self.catalog, event, objects)
        ]
        refused = {one.event_id for one in make_all(lost, self._register) if not is_there(self.catalog, one)}
        done = [child for child in children if child.event_id not in refused]
        for child in done:
            self._follow(child)
        waiting = [child for child in children if child.event_id in refused]
        # Without the schema as its container, UNDROP VIEW finds the drop later.
        alone = [replace(child, container_event=None) for child in waiting]
        self.registry.append(self.catalog, [*alone, *map(self._undrop_event, (event, *done))])
        message = f"Schema {event.name[-1]} successfully restored."
        return (
            f"{message} UNDROP by itself what Spark refused for now: {names_of(waiting)}."
            if waiting
            else message
        )

    def _require_free_now(self, event: ObjectEvent) -> None:
        self._require_free(event.domain, event.name, self._holder_of(event.domain, event.name))

    def _holder_of(self, domain: str, name: tuple[str, ...]) -> object:
        """The object that has a name; None if the name is free."""
        if domain == "SCHEMA":
            return self.catalog.schema_facts(name[-1])
        return self.catalog.function(name) if domain == "FUNCTION" else self.catalog.find(name)

    def _require_free(self, domain: str, name: tuple[str, ...], there: object) -> None:
        if there is not None:
            noun = "TABLE" if domain == "TABLE" else "VIEW"
            renamed = f"rename it first (ALTER {noun} {name[-1]} RENAME TO …), then UNDROP {noun} {name[-1]}"
            way_out = _CANNOT_BE_RENAMED.get(domain, renamed).format(name[-1])
            raise ObjectExistsError(f"{quote_name(name)} exists: UNDROP would take its place", way_out)

    def _in_current_schema(self, parts: Sequence[str]) -> tuple[str, ...]:
        current = self.catalog.current
        name = qualify(tuple(parts), current)
        # Restoring is only supported in the current schema, even with a fully qualified name (Snowflake, Time
        # Travel: Access control requirements and name resolution).
        if tuple(part.lower() for part in name[:-1]) != tuple(part.lower() for part in current):
            raise NothingDroppedError(
                f"{quote_name(name)} is not in the current schema, {quote_name(current)}",
                f"UNDROP restores in the current schema only: USE {quote_name(name[1:-1])} first",
            )
        return name

    def _newest(self, domain: str, name: tuple[str, ...]) -> ObjectEvent:
        dropped = [e for e in self.registry.state(self.catalog).dropped if _is_of(e, domain, name)]
        if domain == "TABLE" and dropped:
            # A drop whose location has a table again was restored already, by CREATE TABLE … LOCATION.
            alive = {getattr(table, "location", None) for table in self.catalog.tables(name[1])}
            dropped = [event for event in dropped if alive.isdisjoint(event.places)]
        retained = [event for event in dropped if event.retained_until >= self.actor.time]
        if retained:
            return retained[0]
        what = f"no {domain.lower()} {quote_name(name)} was dropped that could be brought back"
        if not dropped:
            way_out = f"SHOW {domain}S HISTORY lists what can"
            raise NothingDroppedError(what, "look at its spelling" if domain == "FUNCTION" else way_out)
        last = dropped[0]
        raise NothingDroppedError(
            f"{what}: it was dropped at {time_text(last.time)} and retained until"
            f" {time_text(last.retained_until)}",
            f"in Fail-safe until {time_text(last.kept_until)} the administrator can: audit failsafe list",
        )

    def _register(self, event: ObjectEvent) -> None:
        if event.domain == "TABLE":
            place = self.catalog.place_of(event.places, event.location or "")
            self.own.sql(f"CREATE TABLE {sql_name(event.name)} USING delta LOCATION {sql_text(place)}")
        elif event.domain == "VIEW":
            create_view(self.own, event.name, event.details, event.details["view_current"])
        elif event.domain == "FUNCTION":
            self.catalog.restore_function(event.name[-2], event.details)

    def _follow(self, event: ObjectEvent) -> None:
        """Let a table follow its schema and the account again, whose periods may have changed meanwhile.

        "To change the retention period of a dropped object, you must undrop the object, then change its
        retention period" (Changing the data retention period for an object): until now the period of the drop
        was in force, and what has left Time Travel under it does not come back.
        """
        table = self.catalog.find(event.name) if event.domain == "TABLE" else None
        # Without an id the log was damaged at the drop: the table must be repaired first.
        if not isinstance(table, Table) or event.object_id is None or event.retention_days is None:
            return
        # Another driver may have changed the table: Delta's cached snapshot is refreshed first.
        self.catalog.state(table.location or "")
        own = self.catalog.properties(table.location or "", PREFIX)
        if not has_retention(table.location or "", own):
            return
        now, days = self.periods(table), event.retention_days
        if event.container_event and key(RETENTION) in own:
            # The event of a child has the period of its schema; one of the table's own has stayed in force.
            days = event.details.get(IN_FORCE, now.days)
        if now.days != days:
            then = replace(now, days=days)
            apply_retention(self.own, self.catalog, table, now.after(then, self.actor.time), self.actor.time)

    def _undrop_event(self, event: ObjectEvent) -> ObjectEvent:
        actor = self.actor
        return replace(
            event, time=actor.time, event="UNDROPPED", event_id=actor.new_id(), of_event=event.event_id,
            user=actor.user, query_id=actor.query_id, details={},
        )  # fmt: skip


@contextmanager
def _another_was_faster(check: Callable[[], None]) -> Iterator[None]:
    """After a failure, run a check first: if another driver was faster, its error tells the reason."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except (AnalysisException, NothingDroppedError):
        check()
        raise


def _is_of(event: ObjectEvent, domain: str, name: tuple[str, ...]) -> bool:
    """Whether an event dropped an object of that name directly, not with its schema."""
    here = tuple(part.lower() for part in event.name)
    wanted = tuple(part.lower() for part in name)
    return event.domain == domain and event.container_event is None and here == wanted
