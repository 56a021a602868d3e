"""What the catalog holds: the rows of `object_catalog`.

In: the session catalog, the registry of what was dropped, the owners of governance. Out: a row for each
table, view, column, function and dependency of a view, whatever the provider. Dropped tables, views and
functions that can be brought back have a row, too; times are UTC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.core.errors import UnreadableTableError
from audit.spark.catalog.functions import FunctionFacts, function_facts, language_of
from audit.spark.delta.values import Table, View
from audit.store.measured.catalog_columns import COLUMNS
from audit.store.measured.dependencies import dependency_rows
from lineage.catalog.object_ids import column_id, object_id
from lineage.model import Domain
from lineage.names import SESSION_CATALOG, quote_name

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent

Row = tuple[Any, ...]
_PLACES = {name: place for place, (name, _, _) in enumerate(COLUMNS)}
_MAPPED = "delta.columnMapping.id"
_DEFAULT = "CURRENT_DEFAULT"
"""Where Spark (4.2) keeps the DEFAULT of a column."""
_TEXT_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark (4.2) keeps that a STRING is a VARCHAR(10)."""


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """A table or view, with what its log says.

    Attributes:
        entry: as the catalog has it.
        key: as of `policies.privileges.Securable`.
        identity: its objectId.
        schema_json: its columns; "" where nobody knows them.
    """

    entry: Table | View
    key: str
    identity: int
    schema_json: str

    @property
    def domain(self) -> Domain:
        """A table or a view."""
        return Domain.VIEW if isinstance(self.entry, View) else Domain.TABLE


@dataclass(frozen=True, slots=True)
class CatalogMeasurement:
    """One look at the session catalog.

    Attributes:
        catalog: look-ups in a session of the system's own.
        registry: what was dropped.
        owner_of: who was granted OWNERSHIP, by the key of an object; None for nobody.
        without: the schema of the audit tables, which is left out.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    owner_of: Callable[[str], str | None]
    without: str

    def rows(self) -> list[Row]:
        """All rows, without the time."""
        schemas = [name for name in self.catalog.schemas() if name.lower() != self.without.lower()]
        relations = [self._found(entry) for name in schemas for entry in self._entries(name)]
        dropped = self.registry.state(self.catalog).dropped
        known = {quote_name(one.entry.name).casefold(): (one.domain, one.identity) for one in relations}
        views = [one.entry for one in relations if isinstance(one.entry, View)]
        return [
            *(_row("relation", self._relation(one)) for one in relations),
            *(_row("relation", self._gone(one)) for one in dropped if one.domain in ("TABLE", "VIEW")),
            *(_row("attribute", row) for one in relations for row in column_rows(one)),
            *(_row("routine", row) for name in schemas for row in self._routines(name)),
            *(_row("routine", self._gone_routine(one)) for one in dropped if one.domain == "FUNCTION"),
            *(_row("dependency", row) for row in dependency_rows(views, known)),
        ]

    def _entries(self, schema: str) -> list[Table | View]:
        return self.catalog.tables(schema, columns=True)

    def _found(self, entry: Table | View) -> FoundRelation:
        name, schema_json = quote_name(entry.name), str(entry.facts["schema_json"])
        domain = Domain.VIEW if isinstance(entry, View) else Domain.TABLE
        plain = FoundRelation(entry, f"name:{name.casefold()}", object_id(domain.value, name), schema_json)
        if not isinstance(entry, Table) or entry.provider != "delta" or entry.location is None:
            return plain
        try:
            state = self.catalog.state(entry.location)
        except UnreadableTableError:
            # It is there, and what the catalog keeps of it is shown; a statement that reads it says why.
            return plain
        if state is None:
            return plain
        key, identity = f"delta:{state.table_id}", object_id(domain.value, state.table_id)
        return FoundRelation(entry, key, identity, self.catalog.schema(entry.location, None))

    def _relation(self, one: FoundRelation) -> Row:
        return self._described(one.entry.name, one.entry.facts, one.key, one.identity, None)

    def _gone(self, event: ObjectEvent) -> Row:
        name, facts = quote_name(event.name), {"kind": event.domain, **event.details}
        key = f"name:{name.casefold()}" if event.object_id is None else f"delta:{event.object_id}"
        return self._described(
            event.name, facts, key, object_id(event.domain, event.object_id or name), event.time
        )

    def _described(
        self, name: tuple[str, ...], facts: Mapping[str, Any], key: str, identity: int, deleted: int | None
    ) -> Row:
        is_view = facts.get("view_text") is not None
        # As objectDomain in access_history.
        domain = Domain.VIEW if is_view else Domain.TABLE
        created = facts.get("created")
        return (
            quote_name(name), name[-2], domain.value, identity, name[0], name[-1], facts.get("kind"),
            None if is_view else str(facts.get("provider") or "hive").lower(),
            self.owner_of(key) or facts.get("owner") or None, facts.get("comment"),
            None if created is None else to_datetime(created * 1000), _moment(deleted),
            facts.get("location"), facts.get("view_text"),
        )  # fmt: skip

    def _routines(self, schema: str) -> Iterator[Row]:
        for one in self.catalog.functions(schema):
            name = (SESSION_CATALOG, schema, str(one["name"]))
            facts = function_facts(self.catalog.spark, name)
            if facts is not None:  # another session has dropped it meanwhile
                yield self._routine(name, facts, None)

    def _gone_routine(self, event: ObjectEvent) -> Row:
        # What brings it back is no text of SQL: body and signature are unknown until then.
        language = language_of(str(event.details.get("class_name", "")))
        return self._routine(event.name, FunctionFacts(language, None), event.time)

    def _routine(self, name: tuple[str, ...], facts: FunctionFacts, deleted: int | None) -> Row:
        full = quote_name(name)
        return (
            object_id(Domain.FUNCTION.value, full), name[-1], name[-2], name[0],
            self.owner_of(f"function:{full.casefold()}"), facts.signature, facts.data_type, facts.language,
            facts.definition, _moment(facts.created), _moment(deleted), facts.comment,
        )  # fmt: skip


def column_rows(one: FoundRelation) -> Iterator[Row]:
    """A row for each column of a table or view."""
    from pyspark.sql.types import StructType

    fields: Iterable[StructField] = (
        StructType.fromJson(json.loads(one.schema_json)).fields if one.schema_json else ()
    )
    for position, field in enumerate(fields, 1):
        yield _column(one, position, field)


def _column(one: FoundRelation, position: int, field: StructField) -> Row:
    from pyspark.sql.types import DecimalType

    metadata, kind = field.metadata or {}, field.dataType
    catalog, schema, name = one.entry.name
    digits = (kind.precision, kind.scale) if isinstance(kind, DecimalType) else (None, None)
    return (
        column_id(one.identity, metadata.get(_MAPPED) or field.name), field.name, one.identity, name, schema,
        catalog, position, metadata.get(_DEFAULT), "YES" if field.nullable else "NO",
        metadata.get(_TEXT_TYPE) or kind.simpleString(), *digits, metadata.get("comment"),
    )  # fmt: skip


def _row(kind: str, struct: Row) -> Row:
    values: list[Any] = [kind.upper(), *(None for _ in COLUMNS[1:-1])]
    values[_PLACES[kind]] = struct
    return tuple(values)


def _moment(micros: int | None) -> Any:
    return None if micros is None else to_datetime(micros)
