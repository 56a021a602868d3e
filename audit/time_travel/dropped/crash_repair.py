"""Finishes DROP and UNDROP statements of drivers that were killed.

In: the registry and the catalog. Out: tables registered where their files lie; the unfinished drop of a
schema. Whether the other driver is dead or slow is unknown, so nothing is rolled back: each step here is the
step that the other driver would take next.

Steps of DROP TABLE: the event, `make_external`, Spark's drop; until that drop the table is registered, and
counts as existing. Of DROP SCHEMA: a mark on the schema, the events, each table moved out of the schema's
folder, Spark's drop of one table after the other. Of UNDROP SCHEMA: the schema with a mark, its objects, the
events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table
from audit.time_travel.dropped.drop_registry import MOVED_FROM, ObjectEvent, RegistryState
from audit.time_travel.dropped.recreate import MARK

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog


def finish_interrupted_moves(catalog: DeltaCatalog, objects: RegistryState) -> None:
    """Correct the location of tables whose files were moved for a DROP SCHEMA that did not end."""
    for event in objects.dropped:
        before = event.details.get(MOVED_FROM)
        if before is None or event.location is None or event.domain != "TABLE":
            continue
        table = catalog.find(event.name)
        if not isinstance(table, Table) or table.location != before:
            continue
        # The folder has been moved, and the catalog still has its old location.
        if catalog.state(before) is None and catalog.state(event.location) is not None:
            catalog.make_external(table, event.location)


def drop_on_its_way(facts: Mapping[str, Any] | None, objects: RegistryState) -> ObjectEvent | None:
    """The unfinished DROP or UNDROP of a schema that exists; None for none.

    >>> drop = ObjectEvent(1, "DROPPED", "a", "SCHEMA", ("spark_catalog", "s"))
    >>> facts = {"name": "s", "properties": {"timeTravel.drop": "a"}}
    >>> drop_on_its_way(facts, RegistryState((drop,))) == drop
    True
    >>> drop_on_its_way(facts, RegistryState()) is None
    True
    """
    if facts is None:
        return None
    marked = facts["properties"].get(MARK)
    found = (event for event in objects.dropped if event.event_id == marked)
    return next((event for event in found if event.name[-1].lower() == facts["name"].lower()), None)


def missing_children(catalog: DeltaCatalog, whole: ObjectEvent, objects: RegistryState) -> list[ObjectEvent]:
    """The objects of a dropped schema that are not registered: dropped already, or not yet restored."""
    there = _Registered.of(catalog, whole.name[-1])
    children = (event for event in objects.dropped if event.container_event == whole.event_id)
    return [child for child in children if not there.has(child)]


class _Registered:
    """The registered objects of a schema, by name and location."""

    def __init__(self, places: set[str], names: set[tuple[str, str]]) -> None:
        self.places = places
        self.names = names

    @classmethod
    def of(cls, catalog: DeltaCatalog, schema: str) -> _Registered:
        if catalog.schema_facts(schema) is None:
            return cls(set(), set())
        relations = catalog.tables(schema)
        places = {one.location for one in relations if isinstance(one, Table) and one.location}
        names = {("VIEW", one.name[-1].lower()) for one in relations if not isinstance(one, Table)}
        names |= {("FUNCTION", one["name"].lower()) for one in catalog.functions(schema)}
        return cls(places, names)

    def has(self, event: ObjectEvent) -> bool:
        if event.domain == "TABLE":
            # By location: a table that was renamed since is registered under another name.
            return not self.places.isdisjoint(event.places)
        return (event.domain, event.name[-1].lower()) in self.names


def is_there(catalog: DeltaCatalog, event: ObjectEvent) -> bool:
    """Whether the object of a drop is registered: the same files, or a view or function of that name."""
    return _Registered.of(catalog, event.name[-2]).has(event)


def names_of(events: Sequence[ObjectEvent]) -> str:
    """For a sentence.

    >>> names_of([ObjectEvent(1, "DROPPED", "a", "VIEW", ("spark_catalog", "s", "v"))])
    'view v'
    """
    return ", ".join(f"{event.domain.lower()} {event.name[-1]}" for event in events)
