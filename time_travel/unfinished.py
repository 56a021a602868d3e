"""What a driver that was killed has left half done, and how the next statement finishes it.

In: the registry and the catalog. Out: tables registered where their files lie; which drop of a schema is on
its way. Nobody can see whether the other driver is dead or slow, so nothing here is taken back: what is done
is what that driver would do next.

DROP TABLE: the event, `make_external`, Spark's drop; until that the table is registered at its place, and
counts as alive. DROP SCHEMA: a mark on the schema, the events, each table out of the schema's folder, Spark's
drop, one table after the other. UNDROP SCHEMA: the schema with a mark, what was in it, the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from time_travel.lake import Table
from time_travel.registry import MOVED_FROM, Event, Objects
from time_travel.remaking import MARK

if TYPE_CHECKING:
    from time_travel.lake import Lake


def follow_files(lake: Lake, objects: Objects) -> None:
    """Register tables where their files lie by now, if those were moved and Spark did not drop the table."""
    for event in objects.dropped:
        before = event.details.get(MOVED_FROM)
        if before is None or event.location is None or event.domain != "TABLE":
            continue
        table = lake.find(event.name)
        if not isinstance(table, Table) or table.location != before:
            continue
        if lake.state(before) is None and lake.state(event.location) is not None:
            lake.make_external(table, event.location)


def drop_on_its_way(facts: Mapping[str, Any] | None, objects: Objects) -> Event | None:
    """The drop of a schema that has begun, or whose undoing has, while the schema is there; None for none.

    >>> drop = Event(1, "DROPPED", "a", "SCHEMA", ("spark_catalog", "s"))
    >>> facts = {"name": "s", "properties": {"timeTravel.drop": "a"}}
    >>> drop_on_its_way(facts, Objects((drop,))) == drop, drop_on_its_way(facts, Objects()) is None
    (True, True)
    """
    if facts is None:
        return None
    marked = facts["properties"].get(MARK)
    found = (event for event in objects.dropped if event.event_id == marked)
    return next((event for event in found if event.name[-1].lower() == facts["name"].lower()), None)


def missing(lake: Lake, whole: Event, objects: Objects) -> list[Event]:
    """What went with a schema and is not in its catalog entry any more, or not again."""
    there = _Registered.of(lake, whole.name[-1])
    children = (event for event in objects.dropped if event.container_event == whole.event_id)
    return [child for child in children if not there.has(child)]


class _Registered:
    """What a schema holds, by name and place."""

    def __init__(self, places: set[str], names: set[tuple[str, str]]) -> None:
        self.places = places
        self.names = names

    @classmethod
    def of(cls, lake: Lake, schema: str) -> _Registered:
        if lake.schema_facts(schema) is None:
            return cls(set(), set())
        relations = lake.tables(schema)
        places = {one.location for one in relations if isinstance(one, Table) and one.location}
        names = {("VIEW", one.name[-1].lower()) for one in relations if not isinstance(one, Table)}
        names |= {("FUNCTION", one["name"].lower()) for one in lake.functions(schema)}
        return cls(places, names)

    def has(self, event: Event) -> bool:
        if event.domain == "TABLE":
            return not self.places.isdisjoint(event.places)
        return (event.domain, event.name[-1].lower()) in self.names


def is_there(lake: Lake, event: Event) -> bool:
    """Whether what a drop is about is registered: the same files, or a view or function of that name."""
    return _Registered.of(lake, event.name[-2]).has(event)


def names_of(events: Sequence[Event]) -> str:
    """For a sentence.

    >>> names_of([Event(1, "DROPPED", "a", "VIEW", ("spark_catalog", "s", "v"))])
    'view v'
    """
    return ", ".join(f"{event.domain.lower()} {event.name[-1]}" for event in events)
