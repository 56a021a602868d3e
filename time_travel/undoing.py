"""UNDROP: what was dropped comes back in place, with its history, its name and its location.

In: UNDROP TABLE | VIEW | FUNCTION | SCHEMA | DATABASE and who asks. Out: a sentence that says what was
restored. No bytes move: the object is registered again.

"Restoring a dropped object restores the object in place"; "If an object with the same name already exists,
UNDROP fails"; "Restoring tables and schemas is only supported in the current schema or current database, even
if a fully-qualified object name is specified" (Dropping and restoring objects).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.names import qualify, quote_name, sql_name, sql_text
from time_travel.errors import NothingDroppedError, ObjectExistsError
from time_travel.point import show
from time_travel.registry import Event
from time_travel.remaking import create_view, make_all, schema_clauses
from time_travel.unfinished import drop_on_its_way, is_there, missing, names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from audit.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Registry

_CANNOT_BE_RENAMED = {
    "SCHEMA": "clone it under another name (CREATE SCHEMA … CLONE {}), set its"
    " DATA_RETENTION_TIME_IN_DAYS = 0, drop it, then UNDROP",
    "FUNCTION": "Spark renames no functions: make it again under another name, drop {}, then UNDROP",
}
MayUndrop = Callable[[Event, "By"], None]
"""Refuses to bring back what somebody may not, by its drop, before anything has changed."""


@dataclass(frozen=True, slots=True)
class Undo:
    """Restores objects.

    Attributes:
        lake: the user's session.
        own: a session of the system's own, which is not audited.
        registry: what was dropped.
        by: who asks, and when.
        may: whether they may; by default they may everything.
    """

    lake: Lake
    own: SparkSession
    registry: Registry
    by: By
    may: MayUndrop = lambda _event, _by: None

    def relation(self, domain: str, parts: Sequence[str]) -> str:
        """UNDROP TABLE, VIEW or FUNCTION.

        Returns:
            What was done, in a sentence.

        Raises:
            ObjectExistsError: the name is taken.
            NothingDroppedError: nothing of that name was dropped, or it is past its retention.
        """
        name = self._in_current_schema(parts)
        if self.lake.schema_facts(name[1]) is None:
            raise NothingDroppedError(
                f"the schema {name[1]} of {domain.lower()} {name[2]} does not exist",
                f"what was dropped with its schema returns with it: UNDROP SCHEMA {name[1]}",
            )
        self._require_free(domain, name, self._there(domain, name))
        with _another_was_faster(lambda: self._require_free(domain, name, self._there(domain, name))):
            event = self._newest(domain, name)
        return self.bring_back(self._allowed(event))

    def bring_back(self, event: Event) -> str:
        """Register what a drop took away, under the name that the event has; a schema with what went with it.

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
        self.registry.append(self.lake, [self._undone(event)])
        return f"{event.domain.capitalize()} {event.name[-1]} successfully restored."

    def schema(self, parts: Sequence[str]) -> str:
        """UNDROP SCHEMA, which is UNDROP DATABASE: with all that was dropped with it.

        Where a drop of the schema, or the undoing of one, was interrupted, what is missing comes back. What
        cannot come back with it (a view over what is not there) can later, by itself.

        Raises as `relation`.
        """
        current = self.lake.current[0]
        name = tuple(parts) if len(parts) > 1 else (current, parts[-1])
        if name[0].lower() != current.lower():
            raise NothingDroppedError(
                f"{quote_name(name)} is not in the current catalog, {current}",
                f"UNDROP restores there only: UNDROP SCHEMA {name[-1]}",
            )
        facts = self.lake.schema_facts(name[-1])
        event = drop_on_its_way(facts, self.registry.objects(self.lake))
        if event is not None:
            return self._children_back(self._allowed(event))
        self._require_free("SCHEMA", name, facts)
        with _another_was_faster(lambda: self._require_free("SCHEMA", name, self._there("SCHEMA", name))):
            event = self._newest("SCHEMA", name)
        return self.bring_back(self._allowed(event))

    def _allowed(self, event: Event) -> Event:
        self.may(event, self.by)
        return event

    def _schema_back(self, event: Event) -> str:
        self._require_free_now(event)
        clauses = schema_clauses(event.details, event.details["location"], restored_from=event.event_id)
        with _another_was_faster(lambda: self._require_free_now(event)):
            self.own.sql(f"CREATE SCHEMA {sql_name(event.name)}{clauses}")
        return self._children_back(event)

    def _children_back(self, event: Event) -> str:
        objects = self.registry.objects(self.lake)
        children = [child for child in objects.dropped if child.container_event == event.event_id]
        lost = [replace(one, name=(*event.name, one.name[-1])) for one in missing(self.lake, event, objects)]
        refused = {one.event_id for one in make_all(lost, self._register) if not is_there(self.lake, one)}
        done = [child for child in children if child.event_id not in refused]
        waiting = [child for child in children if child.event_id in refused]
        alone = [replace(child, container_event=None) for child in waiting]
        self.registry.append(self.lake, [*alone, *map(self._undone, (event, *done))])
        said = f"Schema {event.name[-1]} successfully restored."
        return (
            f"{said} UNDROP by itself what Spark refused for now: {names_of(waiting)}." if waiting else said
        )

    def _require_free_now(self, event: Event) -> None:
        self._require_free(event.domain, event.name, self._there(event.domain, event.name))

    def _there(self, domain: str, name: tuple[str, ...]) -> object:
        """What has a name already; None where it is free."""
        if domain == "SCHEMA":
            return self.lake.schema_facts(name[-1])
        return self.lake.function(name) if domain == "FUNCTION" else self.lake.find(name)

    def _require_free(self, domain: str, name: tuple[str, ...], there: object) -> None:
        if there is not None:
            noun = "TABLE" if domain == "TABLE" else "VIEW"
            renamed = f"rename it first (ALTER {noun} {name[-1]} RENAME TO …), then UNDROP {noun} {name[-1]}"
            way_out = _CANNOT_BE_RENAMED.get(domain, renamed).format(name[-1])
            raise ObjectExistsError(f"{quote_name(name)} exists: UNDROP would take its place", way_out)

    def _in_current_schema(self, parts: Sequence[str]) -> tuple[str, ...]:
        current = self.lake.current
        name = qualify(tuple(parts), current)
        if tuple(part.lower() for part in name[:-1]) != tuple(part.lower() for part in current):
            raise NothingDroppedError(
                f"{quote_name(name)} is not in the current schema, {quote_name(current)}",
                f"UNDROP restores in the current schema only: USE {quote_name(name[1:-1])} first",
            )
        return name

    def _newest(self, domain: str, name: tuple[str, ...]) -> Event:
        dropped = [e for e in self.registry.objects(self.lake).dropped if _is_of(e, domain, name)]
        if domain == "TABLE" and dropped:
            alive = {getattr(table, "location", None) for table in self.lake.tables(name[1])}
            dropped = [event for event in dropped if alive.isdisjoint(event.places)]
        retained = [event for event in dropped if event.retained_until >= self.by.time]
        if retained:
            return retained[0]
        what = f"no {domain.lower()} {quote_name(name)} was dropped that could be brought back"
        if not dropped:
            way_out = f"SHOW {domain}S HISTORY lists what can"
            raise NothingDroppedError(what, "look at its spelling" if domain == "FUNCTION" else way_out)
        last = dropped[0]
        raise NothingDroppedError(
            f"{what}: it was dropped at {show(last.time)} and retained until {show(last.retained_until)}",
            f"in Fail-safe until {show(last.kept_until)} the administrator can: audit failsafe list",
        )

    def _register(self, event: Event) -> None:
        if event.domain == "TABLE":
            place = self.lake.place_of(event.places, event.location or "")
            self.own.sql(f"CREATE TABLE {sql_name(event.name)} USING delta LOCATION {sql_text(place)}")
        elif event.domain == "VIEW":
            create_view(self.own, event.name, event.details, event.details["view_current"])
        elif event.domain == "FUNCTION":
            self.lake.restore_function(event.name[-2], event.details)

    def _undone(self, event: Event) -> Event:
        return replace(
            event, time=self.by.time, event="UNDROPPED", event_id=self.by.new_id(), of_event=event.event_id,
            user=self.by.user, query_id=self.by.query_id, details={},
        )  # fmt: skip


@contextmanager
def _another_was_faster(check: Callable[[], None]) -> Iterator[None]:
    """Where Spark refuses, or nothing is left to bring back, a check has the first word on the reason."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except (AnalysisException, NothingDroppedError):
        check()
        raise


def _is_of(event: Event, domain: str, name: tuple[str, ...]) -> bool:
    """Whether an event dropped an object of a name by itself, not with its schema."""
    here = tuple(part.lower() for part in event.name)
    wanted = tuple(part.lower() for part in name)
    return event.domain == domain and event.container_event is None and here == wanted
