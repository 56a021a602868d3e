"""Delta tables that are written anew, whole, when what they hold has changed: what was measured last.

In: rows, and what they are made of. Out: Delta tables under the root, known by name in a schema.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage.names import delta_path, split_name, sql_name, sql_text

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.event_table import Columns
    from audit.spark.delta.values import DeltaTableState


@dataclass(frozen=True, slots=True)
class MeasuredTables:
    """The measured tables of one root.

    Attributes:
        catalog: look-ups in a session of the system's own, which writes.
        root: where the tables lie, a Hadoop path.
        schema: where they are registered.
    """

    catalog: DeltaCatalog
    root: str
    schema: str
    _written: dict[str, tuple[DeltaTableState, object]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(
        self, name: str, columns: Columns, made_of: object, rows: Callable[[], Sequence[tuple[Any, ...]]]
    ) -> None:
        """Write a table, unless it holds what it would be written with.

        Args:
            name: of the table.
            columns: their names, types of Spark's SQL, and comments.
            made_of: where it equals that of the last time, nothing is written.
            rows: makes them; called where they are written.
        """
        location = f"{self.root.rstrip('/')}/{name}"
        # Two overwrites at once conflict in Delta; the second of two threads finds nothing to do.
        with self._lock:
            state = self.catalog.state(location)
            if state is not None and self._written.get(name) == (state, made_of):
                return
            if state is None:
                self._create(location, columns)
            self._overwrite(location, columns, rows())
            self._register(name, location)
            state = self.catalog.state(location)
            if state is not None:
                self._written[name] = state, made_of

    def _create(self, location: str, columns: Columns) -> None:
        described = ", ".join(f"{name} {kind} COMMENT {sql_text(text)}" for name, kind, text in columns)
        self.catalog.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {delta_path(location)} ({described}) USING delta"
            " TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"
        )

    def _overwrite(self, location: str, columns: Columns, rows: Sequence[tuple[Any, ...]]) -> None:
        ddl = ", ".join(f"{name} {kind}" for name, kind, _ in columns)
        # Of two drivers that measure at once the later one wins. A newer version may have more columns.
        frame = self.catalog.spark.createDataFrame(rows, ddl)
        writer = frame.coalesce(1).write.format("delta").mode("overwrite")
        writer.option("mergeSchema", "true").save(location)

    def _register(self, name: str, location: str) -> None:
        own, schema = self.catalog.spark, split_name(self.schema)
        own.sql(f"CREATE SCHEMA IF NOT EXISTS {sql_name(schema)}")
        own.sql(
            f"CREATE TABLE IF NOT EXISTS {sql_name((*schema, name))} USING delta"
            f" LOCATION {sql_text(location)}"
        )
