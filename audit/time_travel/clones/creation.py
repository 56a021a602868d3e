"""CREATE TABLE and CREATE SCHEMA: where a new table lies, and the properties that it gets.

In: a typed CREATE with its text, or the table that a DataFrame writer names. Out: what Spark's statement
returns, a `Staged` table, or a `WriteTarget`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table, View
from audit.time_travel.clones.create import (
    NEW_TABLE,
    place_in,
    properties_of,
    with_location,
    with_properties,
)
from audit.time_travel.clones.staged_create import StagedTable, TableLocation, stage_table
from audit.time_travel.dropped.recreate import CREATED
from audit.time_travel.retention.parameters import require_transient
from audit.time_travel.retention.periods import delta_properties, in_force, is_transient, key
from lineage.names import SESSION_CATALOG
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.time_travel.clone import CloneTable
from lineage.sql.commands.time_travel.retention import RETENTION
from lineage.sql.parse import typed_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.core.guard import Failures
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.handler import Run
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from lineage.sql.statement import Statement
    from lineage.sql.typed import Typed

_FULL = 3


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """What a DataFrame writer writes to.

    Attributes:
        is_delta: it is a Delta table, or will be one.
        place: of a table that is made.
    """

    is_delta: bool
    place: TableLocation | None = None


@dataclass(frozen=True, slots=True)
class Creation:
    """Gives each new Delta table a location of its own.

    Attributes:
        catalog_of: the catalog as a session sees it.
        registry: holds the parameters of the account.
        failures: notes errors of look-ups that are optional for a CREATE.
    """

    catalog_of: Callable[[SparkSession], DeltaCatalog]
    registry: DropRegistry
    failures: Failures

    def create_table(self, create: CreateTable, spark: SparkSession, text: str, run: Run) -> Any:
        """Run a CREATE TABLE with a location of its own, where the text names none."""
        if create.external:
            return run(spark, text)
        properties = properties_of(create)
        self._require_transient(spark, create, properties)
        # Errors here must not fail the CREATE: without a location Spark manages the table, and `Dropper`
        # makes such a table external before Spark drops it.
        located = self.failures.guard(lambda: self._located(spark, create, text, properties), None)
        return run(spark, located or with_properties(text, create, properties))

    def stage_table(
        self, spark: SparkSession, text: str, run: Run, quiet: Callable[[], AbstractContextManager[None]]
    ) -> StagedTable | None:
        """The staged table of a CREATE TABLE, before anything is created; see `staged_create.stage_table`."""
        create, catalog = typed_of(text), self.catalog_of(spark)
        create = create if isinstance(create, CreateTable) else None
        if create is not None and not create.external:
            self._require_transient(spark, create, properties_of(create))
        place_for = partial(self._place_for, catalog)
        return stage_table(
            catalog, text, create, _default_provider(spark), place_for, partial(run, spark), quiet
        )

    def create_schema(
        self, create: CreateSchema, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        """Run a CREATE SCHEMA; the schema keeps when it was made, which tells it from a dropped namesake."""
        properties = properties_of(create)
        catalog, name = self.catalog_of(spark), create.name[-1]
        is_new = self.failures.guard(lambda: _is_free(catalog, create), otherwise=False)
        made = run(spark, with_properties(text, create, properties))
        if is_new:
            # Set afterwards, not in the text: Spark's errors quote the text, which must be the user's.
            self.failures.guard(lambda: catalog.set_schema_property(name, CREATED, str(actor.time)), None)
        return made

    def write_target(
        self, spark: SparkSession, table: tuple[str, ...], provider: str, *, makes: bool
    ) -> WriteTarget:
        """What a DataFrame writer writes to.

        Args:
            spark: whose tables count.
            table: the parts of a name; () for a path.
            provider: of a missing table; "" for the session's default.
            makes: the writer creates a missing table, and names no location.
        """
        catalog = self.catalog_of(spark)
        found = catalog.find(table) if table else None
        if found is not None:
            return WriteTarget(isinstance(found, Table) and found.provider == "delta")
        is_delta = (provider or _default_provider(spark)).lower() == "delta"
        if not makes or not is_delta:
            return WriteTarget(is_delta)
        return WriteTarget(is_delta, self.failures.guard(lambda: self._place_for(catalog, table, {}), None))

    def writes_delta(self, spark: SparkSession, statement: Statement) -> bool:
        """Whether a statement writes Delta tables.

        Other tables must be written in the user's own session, whose catalog caches their file listings.
        """
        typed = statement.typed
        if isinstance(typed, CloneTable) or (statement.changes and isinstance(typed, CreateTable)):
            return True  # a CREATE with policies is refused for other providers
        if statement.statement_type.startswith(("CREATE_TABLE", "REPLACE_TABLE")):
            return self._makes_delta(spark, typed)
        catalog = self.catalog_of(spark)
        found = [catalog.find(target.parts) for target in statement.targets]
        return bool(found) and all(isinstance(one, Table) and one.provider == "delta" for one in found)

    def _makes_delta(self, spark: SparkSession, typed: Typed | None) -> bool:
        provider = typed.provider if isinstance(typed, CreateTable) else None
        if provider is None and isinstance(typed, CreateTable) and typed.like:
            source = self.catalog_of(spark).find(typed.like)
            # CREATE TABLE … LIKE takes the source's provider, for a view the session's default (Spark 4.2).
            provider = None if source is None or isinstance(source, View) else source.provider
        return (provider or _default_provider(spark)).lower() == "delta"

    def _require_transient(
        self, spark: SparkSession, create: CreateTable, properties: Mapping[str, str]
    ) -> None:
        """Refuse a retention of more than a day for a table of a transient schema."""
        days = properties.get(key(RETENTION))
        catalog = self.catalog_of(spark)
        if days is None or catalog.current[0] != SESSION_CATALOG:
            return
        schema = catalog.schema_facts(create.name[-2] if len(create.name) > 1 else catalog.current[1]) or {}
        require_transient(create.name, int(days), transient=is_transient(schema.get("properties", {})))

    def _located(
        self, spark: SparkSession, create: CreateTable, text: str, properties: Mapping[str, str]
    ) -> str | None:
        """The text with a LOCATION for its new Delta table; None if it has one, or the table needs none."""
        catalog = self.catalog_of(spark)
        # An existing table keeps its location; IF NOT EXISTS and OR REPLACE find it there.
        if create.has_location or catalog.find(create.name) is not None:
            return None
        if not self._makes_delta(spark, create):
            return None
        place = self._place_for(catalog, create.name, properties)
        if place is None:
            return None
        location, more = place
        return with_location(text, create, location, {**properties, **more})

    def _place_for(
        self, catalog: DeltaCatalog, name: tuple[str, ...], properties: Mapping[str, str]
    ) -> TableLocation | None:
        """The location and properties of a new table; None for one of another catalog, or by its path."""
        # The location is one of a schema of the session catalog; delta.`/path` names its own.
        is_elsewhere = len(name) == _FULL and name[0].lower() != SESSION_CATALOG
        if is_elsewhere or name[0].lower() == "delta" or catalog.current[0] != SESSION_CATALOG:
            return None
        schema = catalog.schema_facts(name[-2] if len(name) > 1 else catalog.current[1])
        if schema is None:
            return None
        periods = in_force(properties, schema["properties"], self.registry.state(catalog).parameters)
        location = place_in(schema["location"], catalog.warehouse, name[-1])
        return location, NEW_TABLE | delta_properties(periods)


def _default_provider(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.sources.default"))


def _is_free(catalog: DeltaCatalog, create: CreateSchema) -> bool:
    """Whether the CREATE SCHEMA makes a new schema in the session catalog."""
    there = create.name[0].lower() if len(create.name) > 1 else catalog.current[0]
    return there == SESSION_CATALOG and catalog.schema_facts(create.name[-1]) is None
