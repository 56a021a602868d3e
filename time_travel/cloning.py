"""CREATE … CLONE on its way: where the new tables lie, and what they have from the old ones.

In: a clone as it is read, a session, the registry. Out: the new tables; Delta's metrics, or a sentence.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from time_travel.creating import NEW_TABLE, place_in
from time_travel.errors import UnknownObjectError
from time_travel.lake import SESSION_CATALOG, Table, free
from time_travel.retention import CLONE_GROUP, EARLIER, PREFIX, delta_properties, in_force
from time_travel.schema_cloning import SchemaCloner
from time_travel.table_cloning import TableCloner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from time_travel.lake import Lake, View
    from time_travel.point import Asked
    from time_travel.reading import Past
    from time_travel.registry import Registry
    from time_travel.schema_cloning import SchemaClone
    from time_travel.table_cloning import TableClone

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
class Cloning:
    """Clones of one session.

    Attributes:
        lake: the user's session.
        own: a session of the system's own, which is not audited.
        registry: what was dropped.
    """

    lake: Lake
    own: SparkSession
    registry: Registry

    def table(self, clone: TableClone, run: Callable[[str], object]) -> list[tuple[int, ...]] | None:
        """Make a clone of a table, or bring it up to date.

        Args:
            clone: what is asked for.
            run: Spark's own way, for what registers the clone.

        Returns:
            The row of metrics; no row where IF NOT EXISTS leaves it alone; None for what Spark alone does: it
            clones Parquet and Iceberg, too, or says what is wrong.

        Raises as `TableCloner.run`.
        """
        if self.lake.current[0] != SESSION_CATALOG:
            return None
        source = self.lake.find(clone.source)
        if not clone.deep and not (isinstance(source, Table) and source.provider == "delta"):
            return None
        metrics = TableCloner(self.lake, self._place, self._properties, run).run(clone)
        return [] if metrics is None else [metrics]

    def schema(self, clone: SchemaClone, past: Past, by: By) -> str:
        """Make a clone of a schema; returns and raises as `SchemaCloner.schema`."""
        warehouse = self.lake.warehouse
        cloner = SchemaCloner(
            self.lake,
            self.lake.within(self._for_small_tables(by)),
            past,
            by.time,
            self._dropped_after,
            lambda name: place_in(warehouse, warehouse, name),
            partial(self._sharing, clone.name[-1]),
        )
        return cloner.schema(clone)

    def _schema_of(self, clone: TableClone) -> str:
        return clone.name[-2] if len(clone.name) > 1 else self.lake.current[1]

    def _place(self, clone: TableClone, source: Table) -> str:
        """Where a new clone lies: a run that was killed is found again by the next one."""
        schema, warehouse = self.lake.schema_facts(self._schema_of(clone)), self.lake.warehouse
        if schema is None:
            raise UnknownObjectError(f"there is no schema for {'.'.join(clone.name)}", "create it first")
        state = self.lake.state(source.location or "")
        seed = f"{state.table_id if state else ''} {schema['name']} {clone.name[-1].lower()}"
        known = uuid.uuid5(uuid.NAMESPACE_OID, seed)
        place = place_in(schema["location"], warehouse, clone.name[-1], known)
        # A table that was dropped lies there, or one of which the end of its making is missing.
        taken = self.lake.state(place) is not None
        return place_in(schema["location"], warehouse, clone.name[-1]) if taken else place

    def _properties(self, clone: TableClone, source: Table) -> dict[str, str]:
        schema = self._schema_of(clone)
        if clone.deep:
            return NEW_TABLE | self._retaining(schema, source, clone.properties)
        return self._sharing(schema, source, clone.properties)

    def _retaining(self, schema: str, source: Table, given: Mapping[str, str]) -> dict[str, str]:
        """Its own retention: the source may be pinned by other clones."""
        own = {**self.lake.properties(source.location or "", PREFIX), EARLIER: "", **given}
        facts = self.lake.schema_facts(schema) or {}
        parameters = self.registry.objects(self.lake).parameters
        return {EARLIER: "", **delta_properties(in_force(own, facts.get("properties", {}), parameters))}

    def _sharing(self, schema: str, source: Table, given: Mapping[str, str] | None = None) -> dict[str, str]:
        """Its own retention, and whose files it shares."""
        state = self.lake.state(source.location or "")
        group = self.lake.properties(source.location or "", CLONE_GROUP).get(CLONE_GROUP)
        found = self._retaining(schema, source, given or {})
        return found | {CLONE_GROUP: group or (state.table_id if state else "")}

    def _for_small_tables(self, by: By) -> SparkSession:
        """A session for many small jobs of Delta's, not audited; its commits carry the statement's id."""
        session = self.own.newSession()
        free(session)
        for setting, value in _SMALL_JOBS.items():
            session.conf.set(setting, value)
        if by.query_id is not None:
            session.conf.set("spark.databricks.delta.commitInfo.userMetadata", by.query_id)
        return session

    def _dropped_after(self, schema: str, asked: Asked, there: Sequence[Table | View]) -> list[Table | View]:
        """What a schema has lost after a point, or by the very statement before which it is asked for."""
        if asked.micros is None:
            return []
        found: list[Table | View] = []
        before = asked.clause.before
        alive = {getattr(one, "location", None) for one in there}
        for event in reversed(self.registry.objects(self.lake).dropped):
            is_later = event.time > asked.micros or (before and event.time == asked.micros)
            is_its_own = event.query_id is not None and event.query_id == asked.query_id
            if not is_later or (is_its_own and not before) or not alive.isdisjoint(event.places):
                continue
            if event.domain not in ("TABLE", "VIEW") or event.name[-2].lower() != schema.lower():
                continue
            meant = self.lake.meant(event.details)
            if isinstance(meant, Table):
                place = self.lake.place_of(event.places, event.location or "")
                found.append(replace(meant, location=place))
            elif meant is not None and meant.facts["created"] * 1000 <= asked.micros:
                found.append(meant)
        return found
