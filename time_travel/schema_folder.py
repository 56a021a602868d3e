"""The folder of a schema that is dropped, and the Delta tables that lie in it.

In: how each was dropped, with its place. Out: its place when the schema is gone. Spark deletes that folder,
whatever lies in it (Hive's metastore and InMemoryCatalog). So tables move out first, by a rename. Where that
cannot be they stay, and the schema is dropped without its folder: a clone reads the files of its source by
their paths, and not every store can rename.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.names import quote_name
from time_travel.creating import FOLDER, plain
from time_travel.errors import SchemaHoldsFilesError, UnreadableTableError
from time_travel.lake import Table
from time_travel.registry import MOVED_FROM
from time_travel.retention import is_pinned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from audit.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Event

# Stores on which to rename a folder is one step.
_RENAMING = frozenset({"file", "hdfs", "viewfs", "abfs", "abfss", "ofs", "o3fs"})


@dataclass(frozen=True, slots=True)
class SchemaFolder:
    """The folder of one schema.

    Attributes:
        lake: the user's session.
        by: who drops it, and when.
        schema: its name.
        location: where it lies.
    """

    lake: Lake
    by: By
    schema: str
    location: str

    def holds(self, place: str | None) -> bool:
        """Whether something lies in it."""
        return place is not None and place.startswith(f"{self.location.rstrip('/')}/")

    def staying(self, drops: Iterable[Event]) -> frozenset[str]:
        """The places in it that nobody may move, of some drops."""
        places = {event.location for event in drops if self.holds(event.location)}
        return frozenset(place for place in places if place and self._stays(place))

    def _stays(self, place: str) -> bool:
        if place.partition(":")[0] not in _RENAMING and ":/" in place:
            return True
        try:
            if self.lake.state(place) is None:
                return False
            return is_pinned(self.lake.properties(place, "delta."))
        except UnreadableTableError:
            return True  # its clones can still be read

    def out_of(self, event: Event) -> Event:
        """The same drop with a place outside, where it lies in there; nothing has moved yet."""
        if not self.holds(event.location):
            return event
        above = self.location.rstrip("/").rpartition("/")[0]
        place = f"{above}/{FOLDER}/{plain(event.name[-1])}-{self.by.new_id()}"
        return replace(event, location=place, details={**event.details, MOVED_FROM: event.location})

    def require_leavable(self) -> None:
        """Check that the schema can go without its folder.

        Raises:
            SchemaHoldsFilesError: not in this catalog.
        """
        if not self.lake.leaves_folders:
            raise SchemaHoldsFilesError(
                f"the folder {self.location} goes with the schema {quote_name([self.schema])} and holds files"
                " that clones read, or that the store cannot rename",
                "drop its tables one by one, which leaves their files in place, and keep the schema",
            )

    def left(self) -> DataFrame:
        """Drop the schema with all that is in it, but for its folder; returns what Spark's DROP does."""
        from pyspark.sql.types import StructType

        for table in self.lake.tables(self.schema):
            if isinstance(table, Table) and self._goes(table):
                self.lake.drop(table)
        self.lake.drop_schema(self.schema)
        return self.lake.spark.createDataFrame([], StructType())

    def _goes(self, table: Table) -> bool:
        return table.managed and table.provider != "delta" and self.holds(table.location)
