"""Writes `object_storage` and `object_schemata`, the Delta tables that the storage views read.

In: all tables, existing or dropped, and the spans of their files. Out: the two tables. They are written again
before each query of the views TABLES, SCHEMATA, TABLE_STORAGE_METRICS and TABLE_STORAGE. Times are UTC, sizes
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.time_travel.dropped.recreate import created_on
from audit.time_travel.retention.periods import TRANSIENT, key
from audit.time_travel.retention.storage import FileSpan, FileSpans, StoredTable, TableContents, bytes_at
from audit.time_travel.retention.storage_names import SCHEMATA, TABLES
from audit.time_travel.retention.table_properties import CLONE_GROUP
from lineage.catalog.object_ids import object_id
from lineage.names import SESSION_CATALOG, quote_name

if TYPE_CHECKING:
    from audit.spark.delta.measured_tables import MeasuredTables
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent
    from audit.time_travel.retention.periods import Retention

_LONG_TERM = timedelta(days=90)
"""The age from which unchanged data is long-term storage (BigQuery, TABLE_STORAGE view)."""


COLUMNS: dict[str, tuple[tuple[str, str, str], ...]] = {
    TABLES: (
        ("table_id", "BIGINT", "As objectId in access_history; survives a rename"),
        ("table_catalog", "STRING", "The catalog"),
        ("table_schema", "STRING", "The schema"),
        ("table_name", "STRING", "The name"),
        ("table_type", "STRING", "BASE TABLE, TRANSIENT or CLONE"),
        (
            "table_owner",
            "STRING",
            "The role or user of GRANT OWNERSHIP, else who made it, as the catalog says",
        ),
        ("comment", "STRING", "Of the table"),
        ("is_transient", "BOOLEAN", "Kept for a day at most, and without Fail-safe"),
        (
            "clone_group_id",
            "BIGINT",
            "Of the oldest table that it was cloned from; its own where it is no clone",
        ),
        ("created", "TIMESTAMP", "When it was made"),
        ("last_altered", "TIMESTAMP", "Its newest version"),
        ("deleted", "TIMESTAMP", "When it was dropped; null for one that is there"),
        ("entered_fail_safe", "TIMESTAMP", "When what was dropped left Time Travel"),
        ("schema_dropped", "BOOLEAN", "It went with its schema"),
        ("retention_time", "DOUBLE", "The retention period in force, days"),
        ("fail_safe_time", "DOUBLE", "Fail-safe after it, days"),
        ("row_count", "BIGINT", "Rows; null where a file has no statistics"),
        ("files", "BIGINT", "Files of the newest version, those of a clone's source included"),
        ("bytes", "BIGINT", "Bytes of these files"),
        ("logical_bytes", "BIGINT", "Rows by the width of their types: an estimate without compression"),
        ("active_bytes", "BIGINT", "In its own folder: the newest version"),
        ("time_travel_bytes", "BIGINT", "Replaced or dropped, within retention"),
        ("fail_safe_bytes", "BIGINT", "Past retention, within Fail-safe"),
        ("retained_for_clone_bytes", "BIGINT", "Past both, and a clone needs them"),
        ("purgeable_bytes", "BIGINT", "Past both: the next purge frees them"),
        ("is_long_term", "BOOLEAN", "Not changed for 90 days"),
        ("location", "STRING", "Where its files lie"),
        ("delta_version", "BIGINT", "The newest version"),
        ("measured_at", "TIMESTAMP", "When this was found so; what has not changed is not written again"),
    ),
    SCHEMATA: (
        ("schema_id", "BIGINT", "Identifier of the schema"),
        ("catalog_name", "STRING", "The catalog"),
        ("schema_name", "STRING", "The name"),
        (
            "schema_owner",
            "STRING",
            "The role or user of GRANT OWNERSHIP, else who made it, as the catalog says",
        ),
        ("comment", "STRING", "Of the schema"),
        ("is_transient", "BOOLEAN", "What is in it is kept for a day at most"),
        ("retention_time", "DOUBLE", "The retention period in force, days"),
        ("created", "TIMESTAMP", "When it was made; null for one that another session has made"),
        ("deleted", "TIMESTAMP", "When it was dropped; null for one that is there"),
        ("location", "STRING", "Where it lies"),
        ("measured_at", "TIMESTAMP", "When this was found so; what has not changed is not written again"),
    ),
}
"""Name, type and meaning of each column of both."""


@dataclass(frozen=True, slots=True)
class StorageMeasurement:
    """One measurement of all tables.

    Attributes:
        tables: where they are written.
        registry: what was dropped.
        retention: the period of a schema, by its name.
        owner_of: who was granted OWNERSHIP, by the key of an object; None for nobody.
        at: the time, UTC microseconds.
    """

    tables: MeasuredTables
    registry: DropRegistry
    retention: Callable[[str], Retention]
    owner_of: Callable[[str], str | None]
    at: int

    def write(
        self, stored_tables: Sequence[StoredTable], spans: FileSpans, contents: Mapping[int, TableContents]
    ) -> None:
        """Write both tables."""
        tables = [
            self._table(one, spans[number], contents.get(number, TableContents()))
            for number, one in enumerate(stored_tables)
        ]
        self._write(TABLES, tables)
        self._write(SCHEMATA, list(self._schemata()))

    def _table(self, one: StoredTable, spans: Sequence[FileSpan], contents: TableContents) -> tuple[Any, ...]:
        found, log, gone = bytes_at(one, spans, self.at), one.log, one.dropped
        transient = log["properties"].get(key(TRANSIENT)) == "true"
        group = log["properties"].get(CLONE_GROUP)
        logical = None if contents.rows is None else contents.rows * int(log["row_bytes"])
        return (
            object_id("TABLE", log["id"]), *one.name,
            "TRANSIENT" if transient else "CLONE" if group else "BASE TABLE",
            self.owner_of(f"delta:{log['id']}") or one.facts.get("owner"),
            one.facts.get("comment"), transient,
            # The same as the id of a table that is no clone (Snowflake, TABLE_STORAGE_METRICS:
            # CLONE_GROUP_ID).
            object_id("TABLE", group or log["id"]),
            to_datetime((log["created"] or 0) * 1000), to_datetime(log["changed"] * 1000),
            to_datetime(gone.time) if gone else None,
            to_datetime(gone.retained_until) if gone and gone.retained_until <= self.at else None,
            gone is not None and gone.container_event is not None,
            one.periods.days, one.periods.fail_safe,
            contents.rows, contents.files, contents.bytes, logical,
            found.active, found.time_travel, found.fail_safe, found.retained_for_clone, found.purgeable,
            to_datetime(self.at) - to_datetime(log["changed"] * 1000) > _LONG_TERM,
            one.location, log["version"], to_datetime(self.at),
        )  # fmt: skip

    def _schemata(self) -> Iterator[tuple[Any, ...]]:
        catalog = self.tables.catalog
        for name in catalog.schemas():
            facts = catalog.schema_facts(name)
            if facts is not None:
                yield self._schema(name, facts, self.retention(name).days, None)
        for event in self.registry.state(catalog).dropped:
            if event.domain == "SCHEMA":
                yield self._schema(event.name[-1], event.details, event.retention_days, event)

    def _schema(
        self, name: str, facts: Mapping[str, Any], days: float | None, gone: ObjectEvent | None
    ) -> tuple[Any, ...]:
        properties, created = facts.get("properties", {}), created_on(facts)
        owner = self.owner_of(f"schema:{quote_name([SESSION_CATALOG, name]).casefold()}")
        return (
            object_id("SCHEMA", f"{SESSION_CATALOG}.{name}"), SESSION_CATALOG, name,
            owner or properties.get("owner"),
            facts.get("comment"), properties.get(key(TRANSIENT)) == "true", days,
            None if created is None else to_datetime(created),
            to_datetime(gone.time) if gone else None, facts.get("location"), to_datetime(self.at),
        )  # fmt: skip

    def _write(self, name: str, rows: list[tuple[Any, ...]]) -> None:
        """Write rows, unless only their time differs from the rows in the table."""
        self.tables.write(name, COLUMNS[name], [row[:-1] for row in rows], lambda: rows)
