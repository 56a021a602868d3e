"""What is known of objects beside the records: columns with types, owner, files, tags.

In: the measured tables of a root, where a session has measured them; the events of governance. Out:
`CatalogFacts`. Columns, owner and place are as measured last; tags as of any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from audit.exchange.names import STAGE, NamedObject
from audit.policies.model.events import NAME as EVENTS
from audit.query.answer import Source
from audit.store.measured.names import CATALOG, GOVERNANCE
from audit.store.tables import TABLE_LINEAGE
from lineage.names import quote_name


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column, as the catalog shows it."""

    name: str
    data_type: str
    comment: str | None


@dataclass(frozen=True, slots=True)
class CatalogObject:
    """A table or view, as it was measured last."""

    name: str
    domain: str
    provider: str | None
    owner: str | None
    comment: str | None
    location: str | None
    columns: tuple[CatalogColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class TagUse:
    """A tag on an object, or on a column of it, and when it was there (UTC, without a zone)."""

    tag: str
    value: str
    column: str | None
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class CatalogFacts:
    """What is known of objects, by their ids.

    Attributes:
        objects: as measured last.
        tags: all uses, former ones included.
    """

    objects: Mapping[int, CatalogObject] = field(default_factory=dict)
    tags: Mapping[int, tuple[TagUse, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, source: Source) -> CatalogFacts:
        """What the tables of a root say; nothing of what was never measured."""
        return cls(_objects(source), _tags(source))

    def object(self, object_id: int | None) -> CatalogObject | None:
        """An object; None for one that is not known."""
        return None if object_id is None else self.objects.get(object_id)

    def tags_of(self, object_id: int | None, at: datetime) -> tuple[TagUse, ...]:
        """The tags that were there at a moment."""
        uses = () if object_id is None else self.tags.get(object_id, ())
        return tuple(use for use in uses if use.since <= at and (use.until is None or at < use.until))


def places(source: Source) -> dict[str, NamedObject]:
    """The objects on record by the location of their files: tables that were measured, and files."""
    found: dict[str, NamedObject] = {}
    if source.types(TABLE_LINEAGE.name):
        table = f"{source.schema}.{TABLE_LINEAGE.name}"
        text = f"""
SELECT source_object_name AS name FROM {table} WHERE source_object_domain = '{STAGE}'
UNION SELECT target_object_name FROM {table} WHERE target_object_domain = '{STAGE}'
"""  # noqa: S608 - our own names
        found |= {name: NamedObject(name, STAGE) for (name,) in source.ask(text, {}).rows}
    # A table's own name counts more than that of its files.
    known = _objects(source).values()
    found |= {one.location: NamedObject(one.name, one.domain) for one in known if one.location is not None}
    return found


def _objects(source: Source) -> dict[int, CatalogObject]:
    if not source.types(CATALOG):
        return {}
    schema = source.schema
    columns: dict[int, list[CatalogColumn]] = {}
    text = f"""
SELECT table_id, column_name, data_type, comment FROM {schema}.columns ORDER BY table_id, ordinal_position
"""  # noqa: S608 - our own names
    for table_id, name, data_type, comment in source.ask(text, {}).rows:
        columns.setdefault(table_id, []).append(CatalogColumn(name, data_type, comment))
    text = f"""
SELECT object_id, object_name, object_domain, provider, owner, comment, location FROM {schema}.catalog_tables
"""  # noqa: S608 - our own names
    found = {}
    for object_id, name, domain, provider, owner, comment, location in source.ask(text, {}).rows:
        of_object = tuple(columns.get(object_id, ()))
        found[object_id] = CatalogObject(name, domain, provider, owner, comment, location, of_object)
    return found


def _tags(source: Source) -> dict[int, tuple[TagUse, ...]]:
    # DuckDB works the table out from the events; in Spark it is there where a session has measured it.
    if not (source.types(EVENTS) or source.types(GOVERNANCE)):
        return {}
    text = f"""
SELECT object_id, tag_database, tag_schema, tag_name, tag_value, column_name, created_on, deleted_on
FROM {source.schema}.tag_references WHERE domain <> 'SCHEMA' ORDER BY created_on
"""  # noqa: S608 - our own names
    found: dict[int, list[TagUse]] = {}
    for object_id, database, schema, name, *of_use in source.ask(text, {}).rows:
        found.setdefault(object_id, []).append(_use(quote_name((database, schema, name)), *of_use))
    return {object_id: tuple(uses) for object_id, uses in found.items()}


def _use(tag: str, value: Any, column: Any, since: Any, until: Any) -> TagUse:
    return TagUse(tag, value or "", column, since, until)
