"""CREATE TABLE and CREATE SCHEMA: where a new table lies, and the properties that it gets.

In: a typed CREATE with its text; what Spark is about to create or replace, whoever asks: SQL, a script, a
writer, a stream, the catalog's API (`TablePlans.java`). Out: what Spark's statement returns, a `Staged`
table, or the location and properties for Spark's plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table, View, is_path
from audit.time_travel.clones.create import is_place, place_in, properties_of, with_properties
from audit.time_travel.clones.staged_create import StagedTable, stage_table
from audit.time_travel.dropped.recreate import CREATED
from audit.time_travel.errors import NoHistoryError
from audit.time_travel.retention.parameters import require_transient
from audit.time_travel.retention.periods import PREFIX, in_force, is_transient, key
from audit.time_travel.retention.retention_rule import has_retention
from audit.time_travel.retention.table_properties import (
    ADOPTED,
    DELTAS_DAYS,
    delta_properties,
    given_parameters,
    inherited,
    is_pinned,
    kept_properties,
    of_text,
    owners,
    parameters_of,
    pinned_properties,
    saved,
)
from lineage.names import SESSION_CATALOG, qualify, quote_name
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.time_travel.retention import RETENTION
from lineage.sql.parse import typed_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.core.guard import Failures
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.handler import Run
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from lineage.sql.typed import Typed


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """The location and the properties of a Delta table after LIKE."""

    location: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A Delta table that Spark is about to create or replace.

    Attributes:
        name: its parts; `("delta", path)` by its path.
        properties: of the statement.
        location: where the statement puts it; None where it does not say.
        replaces: an existing table is replaced.
        like: the table after LIKE, whose properties Delta copies; None for none.
    """

    name: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    replaces: bool = False
    like: ExistingTable | None = None


@dataclass(frozen=True, slots=True)
class Creation:
    """Gives each new Delta table a location of its own.

    Attributes:
        catalog_of: the catalog as a session sees it.
        registry: holds the parameters of the account.
        clock: UTC microseconds.
        failures: notes errors of look-ups that are optional for a CREATE.
        staged: the names of tables that are being created at a path, by the path.
    """

    catalog_of: Callable[[SparkSession], DeltaCatalog]
    registry: DropRegistry
    clock: Callable[[], int]
    failures: Failures
    staged: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def create_table(self, create: CreateTable, spark: SparkSession, text: str, run: Run) -> Any:
        """Run a CREATE TABLE, with Snowflake's clauses as properties.

        Raises:
            NoHistoryError: a retention for a table that keeps no versions.
            BadParameterError: the retention cannot be.
        """
        if create.external:
            return run(spark, text)
        properties = properties_of(create)
        self._require_transient(spark, create, properties)
        if key(RETENTION) in properties and not self._makes_delta(spark, create):
            raise NoHistoryError(
                f"{quote_name(create.name)} would be no Delta table: it has no versions that"
                f" {RETENTION} could keep",
                "write USING delta, or leave the clause out",
            )
        return run(spark, with_properties(text, create, properties))

    def define(self, spark: SparkSession, asked: TableDefinition) -> TableDefinition | None:
        """The location and properties that a table gets; None for one that is left as the statement has it.

        A table that is replaced keeps its retention, and its files while clones read them: its versions of
        before are still to be had.

        Raises:
            BadParameterError: a property of the statement cannot be.
        """
        catalog = self.catalog_of(spark)
        name = self.staged.get(asked.name[-1], asked.name) if is_path(asked.name) else asked.name
        if is_path(name):
            return self.failures.guard(lambda: self._of_path(catalog, asked), None)
        # Of the session catalog, whichever is the current one.
        found = catalog.find(qualify(name, (SESSION_CATALOG, name[-2])))
        own, rest = of_text(asked.properties)
        if isinstance(found, Table) and (asked.replaces or name is not asked.name):
            kept = self._of_replaced(catalog, found, own, rest)
            return None if kept is None else TableDefinition(asked.name, rest | kept, asked.location)
        if found is not None:
            return None
        # Without them the CREATE goes on as Spark alone would run it, and `Dropper` keeps what it drops.
        return self.failures.guard(lambda: self._of_new(catalog, name, asked, own, rest), None)

    def _of_replaced(
        self, catalog: DeltaCatalog, found: Table, own: Mapping[str, str], given: Mapping[str, str]
    ) -> dict[str, str] | None:
        location = found.location or ""
        if found.provider != "delta" or catalog.state(location) is None:
            return None
        before = catalog.properties(location, "")
        parameters = inherited(before, given)
        pinned = is_pinned(before)
        if not has_retention(location, parameters):
            return {**saved(own), **pinned_properties()} if pinned else dict(own)
        schema = (catalog.schema_facts(found.name[-2]) or {}).get("properties", {})
        account, now = self.registry.state(catalog).parameters, self.clock()
        former = in_force(before, schema, account)
        periods = in_force({**parameters, **saved(own)}, schema, account).after(former, now)
        return kept_properties(parameters, own, periods, now, pinned=pinned)

    def _of_path(self, catalog: DeltaCatalog, asked: TableDefinition) -> TableDefinition | None:
        """A table without a name is in no schema: where the account says more than Delta, it keeps that."""
        account, now = self.registry.state(catalog).parameters, self.clock()
        periods = in_force({}, {}, account)
        is_new = not asked.replaces and catalog.state(asked.name[-1]) is None
        if not account or periods.longest(now) <= DELTAS_DAYS or not is_new:
            return None
        own, rest = of_text(asked.properties)
        return TableDefinition(asked.name, rest | delta_properties(periods, now, own), None)

    def _of_new(
        self,
        catalog: DeltaCatalog,
        name: tuple[str, ...],
        asked: TableDefinition,
        own: Mapping[str, str],
        given: Mapping[str, str],
    ) -> TableDefinition | None:
        schema = catalog.schema_facts(name[-2])
        # A Delta table that lies there already is registered as it is.
        if schema is None or (asked.location is not None and catalog.state(asked.location) is not None):
            return None
        place = location = asked.name[-1] if is_path(asked.name) else asked.location
        if place is None:
            place = location = place_in(schema["location"], catalog.warehouse, name[-1])
        elif is_path(asked.name):
            location = None  # its name says it
        like = {} if asked.like is None else asked.like.properties
        if asked.like is not None:
            own = owners(like, is_kept=has_retention(asked.like.location, like)) | dict(own)
        parameters = parameters_of(like) | given_parameters(given)
        parameters |= {} if is_place(place) else {ADOPTED: "true"}
        account = self.registry.state(catalog).parameters
        periods = in_force({**parameters, **saved(own)}, schema["properties"], account)
        kept = kept_properties(parameters, own, periods, self.clock())
        # Delta (4.4) copies all properties of the other table; "" stands for none.
        of_other = {name: "" for name in like if name.startswith(PREFIX)}
        return TableDefinition(asked.name, {**of_other, **given, **kept}, location)

    def stage_table(
        self, spark: SparkSession, text: str, run: Run, quiet: Callable[[], AbstractContextManager[None]]
    ) -> StagedTable | None:
        """The staged table of a CREATE TABLE, before anything is created; see `staged_create.stage_table`."""
        create, catalog = typed_of(text), self.catalog_of(spark)
        create = create if isinstance(create, CreateTable) else None
        if create is not None and not create.external:
            self._require_transient(spark, create, properties_of(create))
        return stage_table(
            catalog, text, create, _default_provider(spark), partial(self._place_for, catalog),
            partial(run, spark), quiet, self.staged,
        )  # fmt: skip

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

    def _place_for(self, catalog: DeltaCatalog, name: tuple[str, ...]) -> str | None:
        """The location of a new table; None where there is no schema for it."""
        full = qualify(name, catalog.current)
        schema = catalog.schema_facts(full[-2])
        if schema is None:
            return None
        return place_in(schema["location"], catalog.warehouse, full[-1])


def _default_provider(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.sources.default"))


def _is_free(catalog: DeltaCatalog, create: CreateSchema) -> bool:
    """Whether the CREATE SCHEMA makes a new schema in the session catalog."""
    there = create.name[0].lower() if len(create.name) > 1 else catalog.current[0]
    return there == SESSION_CATALOG and catalog.schema_facts(create.name[-1]) is None
