"""Runs CREATE TABLE | SCHEMA … CLONE: chooses locations and properties of the new tables.

In: a typed clone statement, a session, the registry. Out: the new tables; Delta's metrics, or a message.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table
from audit.spark.sessions import exempt_session, new_session
from audit.time_travel.clones.clone_schema import SchemaCloner
from audit.time_travel.clones.clone_table import TableCloner
from audit.time_travel.clones.copied_properties import copied_properties
from audit.time_travel.clones.create import place_in
from audit.time_travel.errors import UnknownObjectError
from audit.time_travel.retention.parameters import require_transient
from audit.time_travel.retention.periods import is_transient, key
from audit.time_travel.retention.retention_rule import has_retention
from audit.time_travel.retention.table_properties import CLONE_GROUP
from lineage.names import SESSION_CATALOG
from lineage.sql.commands.time_travel.retention import RETENTION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.values import View
    from audit.time_travel.clones.clone_table import TableClone
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from audit.time_travel.versions.reading import VersionReader
    from audit.time_travel.versions.version_lookup import EvaluatedPoint
    from lineage.sql.commands.time_travel.clone import CloneSchema

# Compiling a plan and listing a table's files in its checksum take longer than reading a log of a few lines.
_SMALL_JOBS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Cloner:
    """Clones of one session.

    Attributes:
        catalog: the user's session.
        own: a session of the system's own, which is not audited.
        registry: what was dropped.
        clock: UTC microseconds.
    """

    catalog: DeltaCatalog
    own: SparkSession
    registry: DropRegistry
    clock: Callable[[], int]

    def table(self, clone: TableClone, run: Callable[[str], object]) -> list[tuple[int, ...]] | None:
        """Create a clone of a table, or update it.

        Args:
            clone: the statement.
            run: runs SQL in Spark, to register the clone.

        Returns:
            The row of metrics; no row if IF NOT EXISTS finds the table; None where Spark runs the statement:
            Delta clones Parquet and Iceberg, too, or raises its own error.

        Raises as `TableCloner.run`.
        """
        # Names without a catalog belong to the current one, and its tables are not kept here.
        if self.catalog.current[0] != SESSION_CATALOG:
            return None
        source = self.catalog.find(clone.statement.source)
        if not clone.statement.deep and not (isinstance(source, Table) and source.provider == "delta"):
            return None
        metrics = TableCloner(self.catalog, self._place, self._properties, run).run(clone)
        return [] if metrics is None else [metrics]

    def schema(
        self,
        clone: CloneSchema,
        past: VersionReader,
        actor: Actor,
        copy_views: Callable[[Sequence[tuple[Sequence[str], Sequence[str]]]], None],
    ) -> str:
        """Create a clone of a schema; `copy_views`, returns and raises as `SchemaCloner`."""
        warehouse = self.catalog.warehouse
        cloner = SchemaCloner(
            self.catalog,
            self.catalog.within(self._for_small_tables(actor)),
            past,
            actor.time,
            self._dropped_after,
            lambda name: place_in(warehouse, warehouse, name),
            partial(self.properties, clone.name[-1]),
            copy_views,
        )
        return cloner.schema(clone)

    def _schema_of(self, clone: TableClone) -> str:
        return clone.statement.name[-2] if len(clone.statement.name) > 1 else self.catalog.current[1]

    def _place(self, clone: TableClone, source: Table) -> str:
        """The location of a new clone: derived from the statement, so that a second run finds the first's."""
        schema, warehouse = self.catalog.schema_facts(self._schema_of(clone)), self.catalog.warehouse
        if schema is None:
            raise UnknownObjectError(
                f"there is no schema for {'.'.join(clone.statement.name)}", "create it first"
            )
        state = self.catalog.state(source.location or "")
        seed = f"{state.table_id if state else ''} {schema['name']} {clone.statement.name[-1].lower()}"
        # A name-based UUID of source and target: a second run of a killed CLONE finds the first run's folder.
        known = uuid.uuid5(uuid.NAMESPACE_OID, seed)
        place = place_in(schema["location"], warehouse, clone.statement.name[-1], known)
        # A dropped table lies there, or one whose creation was killed.
        taken = self.catalog.state(place) is not None
        return place_in(schema["location"], warehouse, clone.statement.name[-1]) if taken else place

    def _properties(
        self, clone: TableClone, source: Table, location: str, there: Table | None
    ) -> dict[str, str]:
        schema = self._schema_of(clone)
        found = self._retention(schema, source, location, clone.properties, there)
        days, facts = clone.properties.get(key(RETENTION)), self.catalog.schema_facts(schema) or {}
        require_transient(
            clone.statement.name,
            None if days is None else int(days),
            transient=is_transient(found) or is_transient(facts.get("properties", {})),
        )
        return found if clone.statement.deep else found | self._group(source)

    def properties(self, schema: str, source: Table, location: str) -> dict[str, str]:
        """The properties of a new zero-copy clone, beside its source's.

        Args:
            schema: of the clone.
            source: the table.
            location: of the clone.
        """
        return self._retention(schema, source, location, {}) | self._group(source)

    def _retention(
        self,
        schema: str,
        source: Table,
        location: str,
        given: Mapping[str, str],
        there: Table | None = None,
    ) -> dict[str, str]:
        """The properties of a clone beside its source's: its retention is its own, of now.

        A clone that is brought up to date keeps its retention, as a table that is replaced does.
        """
        location_of = source.location or ""
        of_source = self.catalog.properties(location_of, "")
        return copied_properties(
            of_source,
            location,
            (self.catalog.schema_facts(schema) or {}).get("properties", {}),
            self.registry.state(self.catalog).parameters,
            self.clock(),
            is_kept=has_retention(location_of, of_source),
            given=given,
            before=None if there is None else self.catalog.properties(there.location or "", ""),
        )

    def _group(self, source: Table) -> dict[str, str]:
        """The id of the table whose files a zero-copy clone shares."""
        state = self.catalog.state(source.location or "")
        # Clones of clones share one group, that of the oldest table: its files may serve all of them.
        group = self.catalog.properties(source.location or "", CLONE_GROUP).get(CLONE_GROUP)
        return {CLONE_GROUP: group or (state.table_id if state else "")}

    def _for_small_tables(self, actor: Actor) -> SparkSession:
        """A session for many small jobs of Delta's, not audited; its commits carry the statement's id."""
        session = new_session(self.own)
        # The clone is checked before it runs; Delta's reads of the source need no policies.
        exempt_session(session)
        for setting, value in _SMALL_JOBS.items():
            session.conf.set(setting, value)
        if actor.query_id is not None:
            # Delta (4.4) writes this setting of the committing session into CommitInfo.userMetadata.
            session.conf.set("spark.databricks.delta.commitInfo.userMetadata", actor.query_id)
        return session

    def _dropped_after(
        self, schema: str, asked: EvaluatedPoint, there: Sequence[Table | View]
    ) -> list[Table | View]:
        """The objects that a schema lost after a point, or by the statement of a BEFORE (STATEMENT)."""
        if asked.micros is None:
            return []
        found: list[Table | View] = []
        before = asked.clause.before
        # A table that was dropped and registered again is no drop.
        alive = {getattr(one, "location", None) for one in there}
        # Oldest drop first: of several drops of one name it is the object that had the name at the point.
        for event in reversed(self.registry.state(self.catalog).dropped):
            is_later = event.time > asked.micros or (before and event.time == asked.micros)
            is_its_own = event.query_id is not None and event.query_id == asked.query_id
            if not is_later or (is_its_own and not before) or not alive.isdisjoint(event.places):
                continue
            if event.domain not in ("TABLE", "VIEW") or event.name[-2].lower() != schema.lower():
                continue
            entry = self.catalog.entry(event.details)
            if isinstance(entry, Table):
                place = self.catalog.place_of(event.places, event.location or "")
                found.append(replace(entry, location=place))
            # Spark's catalog keeps creation times in milliseconds (CatalogTable.createTime).
            elif entry is not None and entry.facts["created"] * 1000 <= asked.micros:
                found.append(entry)
        return found
