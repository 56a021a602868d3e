"""Keeps the Delta tables in the folder of a dropped schema.

In: the drop event of each table. Out: the event with the location after the drop. DROP SCHEMA deletes the
folder with all files in it (Spark 4.2, Hive's metastore and InMemoryCatalog). So tables are moved out first,
by a rename. A table that clones read, or on a store that cannot rename, stays, and so does one of another
schema; then the schema is dropped without its folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.core.errors import UnreadableTableError
from audit.spark.delta.values import Table
from audit.time_travel.clones.create import FOLDER, path_part
from audit.time_travel.dropped.drop_registry import MOVED_FROM
from audit.time_travel.errors import SchemaHoldsFilesError
from audit.time_travel.retention.table_properties import is_pinned
from lineage.names import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import ObjectEvent

# Schemes of stores that rename a folder in one step; object stores copy each file.
_RENAMING = frozenset({"file", "hdfs", "viewfs", "abfs", "abfss", "ofs", "o3fs"})


@dataclass(frozen=True, slots=True)
class SchemaFolder:
    """The folder of one schema.

    Attributes:
        catalog: the user's session.
        actor: who drops it, and when.
        schema: its name.
        location: where it lies.
    """

    catalog: DeltaCatalog
    actor: Actor
    schema: str
    location: str

    def holds(self, place: str | None) -> bool:
        """Whether a location lies in the folder."""
        return place is not None and place.startswith(f"{self.location.rstrip('/')}/")

    def held_for_others(self) -> frozenset[str]:
        """The locations in the folder of tables that belong to other schemas."""
        return frozenset(
            table.location
            for schema in self.catalog.schemas()
            if schema.lower() != self.schema.lower()
            for table in self.catalog.tables(schema)
            if isinstance(table, Table) and table.location is not None and self.holds(table.location)
        )

    def immovable(self, drops: Iterable[ObjectEvent]) -> frozenset[str]:
        """The locations in the folder that must not be moved, of some drops."""
        places = {event.location for event in drops if self.holds(event.location)}
        return frozenset(place for place in places if place and self._stays(place))

    def _stays(self, place: str) -> bool:
        if place.partition(":")[0] not in _RENAMING and ":/" in place:
            return True
        try:
            if self.catalog.state(place) is None:
                return False
            # The log of a clone names the files of its source by full paths, which a move would break.
            return is_pinned(self.catalog.properties(place, "delta."))
        except UnreadableTableError:
            return True  # whether clones read it is unknown, so it is not moved

    def moved_out(self, event: ObjectEvent) -> ObjectEvent:
        """The drop with a location outside of the folder; nothing is moved yet."""
        if not self.holds(event.location):
            return event
        above = self.location.rstrip("/").rpartition("/")[0]
        place = f"{above}/{FOLDER}/{path_part(event.name[-1])}-{self.actor.new_id()}"
        return replace(event, location=place, details={**event.details, MOVED_FROM: event.location})

    def require_leavable(self) -> None:
        """Check that the catalog can drop the schema without its folder.

        Raises:
            SchemaHoldsFilesError: it cannot.
        """
        if not self.catalog.leaves_folders:
            raise SchemaHoldsFilesError(
                f"the folder {self.location} goes with the schema {quote_name([self.schema])} and holds files"
                " that clones or other schemas read, or that the store cannot rename",
                "drop its tables one by one, which leaves their files in place, and keep the schema",
            )

    def drop_without_folder(self) -> DataFrame:
        """Drop the schema with its objects but without its folder; returns the result of a DROP."""
        from pyspark.sql.types import StructType

        for table in self.catalog.tables(self.schema):
            # A DROP SCHEMA of Spark deletes managed tables of other formats with their files, so this does,
            # too.
            if isinstance(table, Table) and self._goes(table):
                self.catalog.drop(table)
        self.catalog.drop_schema(self.schema)
        return self.catalog.spark.createDataFrame([], StructType())

    def _goes(self, table: Table) -> bool:
        return table.managed and table.provider != "delta" and self.holds(table.location)
