"""SHOW TABLES | SCHEMAS | DATABASES HISTORY: existing objects, and dropped ones that UNDROP can restore.

In: the parsed statement. Out: rows in Snowflake's columns, existing objects by name, then dropped ones,
newest first. "The output includes all dropped objects and an additional DROPPED_ON column … If an object has
been dropped more than once, each version of the object is included as a separate row" (Listing dropped
objects). Drops past their retention are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.core.errors import UnreadableTableError
from audit.spark.delta.values import Table, TableSize
from audit.time_travel.dropped.crash_repair import drop_on_its_way
from audit.time_travel.dropped.recreate import created_on
from audit.time_travel.errors import BadClauseError, UnknownObjectError
from audit.time_travel.retention.periods import PREFIX, TRANSIENT, key
from lineage.names import SESSION_CATALOG, quote_name
from lineage.sql.like_patterns import like_matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent, RegistryState
    from audit.time_travel.retention.periods import Retention
    from lineage.sql.commands.show import ShowObjects

TABLE_COLUMNS = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, kind STRING,"
    " comment STRING, cluster_by STRING, rows BIGINT, bytes BIGINT, owner STRING, retention_time INT,"
    " dropped_on TIMESTAMP"
)
SCHEMA_COLUMNS = (
    "created_on TIMESTAMP, name STRING, is_default STRING, is_current STRING, database_name STRING,"
    " owner STRING, comment STRING, options STRING, retention_time INT, dropped_on TIMESTAMP"
)


def require_read(show: ShowObjects) -> ShowObjects:
    """The statement, if the parser has understood all of it.

    Raises:
        BadClauseError: there is text after it that belongs to no SHOW … HISTORY.
    """
    if show.rest:
        raise BadClauseError(
            f"SHOW {show.noun} HISTORY cannot go on with {show.rest!r}",
            f"write SHOW {show.noun} HISTORY [LIKE 'pattern'] [IN [SCHEMA] name | IN ACCOUNT]"
            " [STARTS WITH 'text'] [LIMIT rows [FROM 'text']]",
        )
    return show


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """The rows of a SHOW … HISTORY.

    Attributes:
        catalog: the user's session.
        registry: what was dropped.
        retention: the periods of a table or, by name, of a schema.
        now: UTC microseconds.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    retention: Callable[[Table | str], Retention]
    now: int

    def tables(self, show: ShowObjects) -> list[tuple[Any, ...]]:
        """The rows of SHOW TABLES HISTORY."""
        fits = _names(show)
        rows: list[tuple[Any, ...]] = []
        alive: set[str | None] = set()
        schemas = self._schemas(show)
        for schema in schemas:
            tables = [t for t in self.catalog.tables(schema) if isinstance(t, Table)]
            alive |= {table.location for table in tables}
            rows += [self._there(t) for t in sorted(tables, key=lambda t: t.name[-1]) if fits(t.name[-1])]
        if not show.history:
            return _limited(rows, show)
        wanted = {schema.lower() for schema in schemas} if show.within is not None else None
        if wanted is not None and show.within and not schemas:
            wanted = {show.within[-1].lower()}  # a schema that was dropped, with its tables
        # The order of the document: existing tables by name, then drops, newest first (Dropping and restoring
        # a table multiple times).
        rows += [self._gone(event) for event in self._dropped(wanted, alive) if fits(event.name[-1])]
        return _limited(rows, show)

    def schemas(self, show: ShowObjects) -> list[tuple[Any, ...]]:
        """The rows of SHOW SCHEMAS HISTORY, which is SHOW DATABASES HISTORY."""
        current = self.catalog.current[1]
        fits = self._within(show, _names(show))
        names = sorted(name for name in self.catalog.schemas() if fits(name))
        rows = [self._schema(name, current) for name in names]
        objects = self.registry.state(self.catalog)
        for event in objects.dropped if show.history else ():
            retained = event.domain == "SCHEMA" and event.retained_until >= self.now
            if retained and fits(event.name[-1]) and not self._is_there(event, objects):
                days = round(event.retention_days or 0)
                rows.append(_schema_row(event.name[-1], event.details, days, current, event.time))
        return _limited(rows, show)

    def _within(self, show: ShowObjects, fits: Callable[[str], bool]) -> Callable[[str], bool]:
        """The catalog or schema of the IN clause."""
        if not show.within or show.within[-1].lower() == SESSION_CATALOG:
            return fits
        # SHOW SCHEMAS HISTORY IN mytestdb: the document's database may stand for a schema here.
        inside = show.within[-1].lower()
        known = {*self.catalog.schemas(), *(e.name[-1] for e in self.registry.state(self.catalog).dropped)}
        if inside not in {name.lower() for name in known}:
            raise UnknownObjectError(
                f"there is no catalog or schema {quote_name(show.within)}",
                f"IN {SESSION_CATALOG} has them all",
            )
        return lambda name: fits(name) and name.lower() == inside

    def _is_there(self, event: ObjectEvent, objects: RegistryState) -> bool:
        return drop_on_its_way(self.catalog.schema_facts(event.name[-1]), objects) == event

    def _schema(self, name: str, current: str) -> tuple[Any, ...]:
        days = round(self.retention(name).days)
        return _schema_row(name, self.catalog.schema_facts(name) or {}, days, current, None)

    def _schemas(self, show: ShowObjects) -> list[str]:
        if show.within is None:
            return self.catalog.schemas()
        if not show.within:
            return [self.catalog.current[1]]
        name = show.within[-1]
        if len(show.within) == 1 and name.lower() == SESSION_CATALOG:
            return self.catalog.schemas()
        if self.catalog.schema_facts(name) is not None:
            return [name]
        dropped = {part.lower() for e in self.registry.state(self.catalog).dropped for part in e.name[1:2]}
        if name.lower() not in dropped:
            raise UnknownObjectError(
                f"there is no schema {quote_name(show.within)}", "SHOW SCHEMAS HISTORY lists them"
            )
        # A schema that was dropped is no unknown name; all that was in it was dropped with it.
        return []

    def _dropped(self, schemas: set[str] | None, alive: set[str | None]) -> Iterator[ObjectEvent]:
        for event in self.registry.state(self.catalog).dropped:
            here = schemas is None or event.name[-2].lower() in schemas
            if (
                event.domain == "TABLE"
                and here
                # A table that is registered at this location again has its files: CREATE TABLE … LOCATION
                # restores, too.
                and alive.isdisjoint(event.places)
                and event.retained_until >= self.now
            ):
                yield event

    def _there(self, table: Table) -> tuple[Any, ...]:
        facts = table.facts
        # Spark's catalog keeps creation times in milliseconds (CatalogTable.createTime).
        unknown = TableSize(None, None, facts["created"] * 1000)
        if table.provider != "delta" or not table.location:
            # Neither a table of another format nor a damaged log tells a size or a retention.
            return _row(unknown, table.name, facts, 0, None)
        try:
            days = self.retention(table).days
            if self.catalog.state(table.location) is None:
                return _row(unknown, table.name, facts, days, None)
            own = self.catalog.properties(table.location, PREFIX)
            size = self.catalog.size(table.location)
        except UnreadableTableError:
            return _row(unknown, table.name, facts, 0, None)
        return _row(size, table.name, {**facts, "properties": own}, days, None)

    def _gone(self, event: ObjectEvent) -> tuple[Any, ...]:
        facts = event.details
        try:
            # A driver that was killed in a DROP SCHEMA may have left the files where they lay before.
            place = self.catalog.place_of(event.places, event.location or "")
            size = self.catalog.size(place)
            facts = {**facts, "properties": self.catalog.properties(place, PREFIX)}
        except UnreadableTableError:
            size = TableSize(None, None, facts["created"] * 1000)
        return _row(size, event.name, facts, event.retention_days or 0, event.time)


def _names(show: ShowObjects) -> Callable[[str], bool]:
    """Whether a name is asked for: by LIKE without regard to case, by STARTS WITH with it (Snowflake)."""
    like = like_matcher(show.like)
    return lambda name: like(name) and name.startswith(show.starts_with)


def _limited(rows: list[tuple[Any, ...]], show: ShowObjects) -> list[tuple[Any, ...]]:
    """The rows of LIMIT n FROM 'text', which begins at the first name that begins so."""
    # The name is the second column of both.
    first = next((at for at, row in enumerate(rows) if row[1].startswith(show.following)), len(rows))
    return rows[first:] if show.limit is None else rows[first : first + show.limit]


def _row(
    size: TableSize, name: tuple[str, ...], facts: Mapping[str, Any], days: float, dropped: int | None
) -> tuple[Any, ...]:
    properties = facts.get("properties") or {}
    # Snowflake shows TABLE or TRANSIENT in this column (SHOW TABLES).
    kind = "TRANSIENT" if properties.get(key(TRANSIENT)) == "true" else "TABLE"
    return (
        to_datetime(size.created), name[2], name[0], name[1], kind, facts.get("comment") or "",
        size.clustered_by, size.rows, size.bytes, facts.get("owner"), round(days),
        None if dropped is None else to_datetime(dropped),
    )  # fmt: skip


def _schema_row(
    name: str, facts: Mapping[str, Any], days: int, current: str, dropped: int | None
) -> tuple[Any, ...]:
    properties = facts.get("properties") or {}
    options, created = "TRANSIENT" if properties.get(key(TRANSIENT)) == "true" else "", created_on(facts)
    return (
        None if created is None else to_datetime(created), name, "Y" if name == "default" else "N",
        "Y" if name == current and dropped is None else "N",
        SESSION_CATALOG, properties.get("owner"), facts.get("comment") or "", options, days,
        None if dropped is None else to_datetime(dropped),
    )  # fmt: skip
