"""Which Delta tables there are, and which were dropped and still lie on disk.

In: the catalog, the registry. Out: `Holding`s, each location once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from time_travel.errors import UnreadableTableError
from time_travel.lake import Table
from time_travel.retention import DELTAS_FILES, Retention, days_of, in_force
from time_travel.storage import Holding

if TYPE_CHECKING:
    from time_travel.lake import Lake
    from time_travel.registry import Event, Objects, Registry

_Described = Callable[[str, "Event | None"], "dict[str, Any] | None"]
# Delta's own, where a table says nothing else.
_DELTAS_DAYS = 7.0


def holdings(
    lake: Lake,
    registry: Registry,
    is_under_rule: Callable[[str, Mapping[str, str]], bool],
    on_unreadable: Callable[[UnreadableTableError, Event | None], None],
) -> list[Holding]:
    """All tables of the session catalog that are Delta's, then what was dropped and is not purged.

    Args:
        lake: look-ups.
        registry: what was dropped.
        is_under_rule: whether a table at a location, with these properties, is kept by this system.
        on_unreadable: is told of a table whose log is damaged, and how it was dropped; None for one that is
            there. It is left out.
    """

    def described(location: str, gone: Event | None) -> dict[str, Any] | None:
        try:
            return lake.described(location)
        except UnreadableTableError as error:
            on_unreadable(error, gone)
            return None

    objects = registry.objects(lake)
    found: dict[str, Holding] = {}
    for schema in lake.schemas():
        for one in _there(lake, schema, objects, is_under_rule, described):
            found.setdefault(one.root, one)
    for event in objects.dropped:
        gone = _dropped(lake, event, objects, described)
        if gone is not None:
            found.setdefault(gone.root, gone)
    return list(found.values())


def _there(
    lake: Lake,
    schema: str,
    objects: Objects,
    is_under_rule: Callable[[str, Mapping[str, str]], bool],
    described: _Described,
) -> Iterator[Holding]:
    facts = lake.schema_facts(schema)
    properties = {} if facts is None else facts["properties"]
    for table in lake.tables(schema):
        if not isinstance(table, Table) or table.provider != "delta" or table.location is None:
            continue
        log = described(table.location, None)
        if log is None:
            continue
        ruled = is_under_rule(table.location, log["properties"])
        periods = (
            in_force(log["properties"], properties, objects.parameters)
            if ruled
            else Retention(_deltas_days(log["properties"]), 0.0, "")
        )
        yield Holding(
            table.name, table.location, periods, log, table.facts,
            is_under_rule=ruled, purged=objects.purged.get(log["id"], (-1, -1)),
        )  # fmt: skip


def _dropped(lake: Lake, event: Event, objects: Objects, described: _Described) -> Holding | None:
    if event.domain != "TABLE" or event.location is None:
        return None
    place = lake.place_of(event.places, event.location)
    log = described(place, event)
    # A log that was damaged at the drop had no id.
    if log is None or event.object_id not in (None, log["id"]):
        return None  # purged, or somebody has made another table in its place
    periods = Retention(event.retention_days or 0.0, event.fail_safe_days or 0.0, "")
    purged = objects.purged.get(log["id"], (-1, -1))
    return Holding(event.name, place, periods, log, event.details, event, purged=purged)


def _deltas_days(properties: Mapping[str, Any]) -> float:
    """For how many days Delta keeps what was replaced.

    >>> _deltas_days({"delta.deletedFileRetentionDuration": "interval 1 week 12 hours"})
    7.5
    """
    text = properties.get(DELTAS_FILES)
    return _DELTAS_DAYS if text is None else days_of(text)
