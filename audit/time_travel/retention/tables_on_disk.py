"""Lists the Delta tables that exist, and the dropped ones that are still on disk.

In: the catalog, the registry. Out: `StoredTable`s, each location once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from audit.core.errors import UnreadableTableError
from audit.spark.delta.values import Table
from audit.time_travel.retention.periods import DELTAS_FILES, Retention, days_of, in_force
from audit.time_travel.retention.storage import StoredTable
from audit.time_travel.retention.table_properties import DELTAS_DAYS

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent, RegistryState

_Described = Callable[[str, "ObjectEvent | None"], "dict[str, Any] | None"]


def stored_tables(
    catalog: DeltaCatalog,
    registry: DropRegistry,
    has_retention: Callable[[str, Mapping[str, str]], bool],
    on_unreadable: Callable[[UnreadableTableError, ObjectEvent | None], None],
) -> list[StoredTable]:
    """All Delta tables of the session catalog, then the dropped ones that are not purged.

    Args:
        catalog: look-ups.
        registry: what was dropped.
        has_retention: whether a table at a location, with these properties, is kept by this system.
        on_unreadable: called for a table with a damaged log, with the event of its drop; None for an existing
            one. The table is left out.
    """

    def described(location: str, gone: ObjectEvent | None) -> dict[str, Any] | None:
        try:
            return catalog.described(location)
        except UnreadableTableError as error:
            on_unreadable(error, gone)
            return None

    objects = registry.state(catalog)
    found: dict[str, StoredTable] = {}
    for schema in catalog.schemas():
        for one in _there(catalog, schema, objects, has_retention, described):
            # Two names may be registered at one location; its files count once.
            found.setdefault(one.root, one)
    for event in objects.dropped:
        gone = _dropped(catalog, event, objects, described)
        if gone is not None:
            # A table that lies there now has the files, and the drop has none.
            found.setdefault(gone.root, gone)
    return list(found.values())


def _there(
    catalog: DeltaCatalog,
    schema: str,
    objects: RegistryState,
    has_retention: Callable[[str, Mapping[str, str]], bool],
    described: _Described,
) -> Iterator[StoredTable]:
    facts = catalog.schema_facts(schema)
    properties = {} if facts is None else facts["properties"]
    for table in catalog.tables(schema):
        if not isinstance(table, Table) or table.provider != "delta" or table.location is None:
            continue
        log = described(table.location, None)
        if log is None:
            continue
        is_retained = has_retention(table.location, log["properties"])
        periods = (
            in_force(log["properties"], properties, objects.parameters)
            if is_retained
            # Without adoption Delta alone decides how long removed files stay.
            else Retention(_deltas_days(log["properties"]), 0.0, "")
        )
        yield StoredTable(
            table.name, table.location, periods, log, table.facts,
            has_retention=is_retained, purged=objects.purged.get(log["id"], (-1, -1)),
        )  # fmt: skip


def _dropped(
    catalog: DeltaCatalog, event: ObjectEvent, objects: RegistryState, described: _Described
) -> StoredTable | None:
    if event.domain != "TABLE" or event.location is None:
        return None
    place = catalog.place_of(event.places, event.location)
    log = described(place, event)
    # If the log was damaged at the drop, the event has no table id.
    if log is None or event.object_id not in (None, log["id"]):
        return None  # purged, or another table was created at its location
    periods = Retention(event.retention_days or 0.0, event.fail_safe_days or 0.0, "")
    purged = objects.purged.get(log["id"], (-1, -1))
    return StoredTable(event.name, place, periods, log, event.details, event, purged=purged)


def _deltas_days(properties: Mapping[str, Any]) -> float:
    """The days for which Delta keeps removed files.

    >>> _deltas_days({"delta.deletedFileRetentionDuration": "interval 1 week 12 hours"})
    7.5
    """
    text = properties.get(DELTAS_FILES)
    return DELTAS_DAYS if text is None else days_of(text)
