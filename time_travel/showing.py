"""SHOW TABLES | SCHEMAS | DATABASES HISTORY: what is there, what was dropped and can be brought back.

In: the parts of the statement. Out: rows in the columns of the document, those that are there by name,
then those that were dropped, the last first. "The output includes all dropped objects and an additional
DROPPED_ON column … If an object has been dropped more than once, each version of the object is included as
a separate row" (Listing dropped objects). What is past its retention is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.cursor import Cursor
from lineage.names import quote_name
from lineage.patterns import matcher
from lineage.tokens import tokenize
from time_travel.errors import BadClauseError, UnknownObjectError, UnreadableTableError
from time_travel.lake import SESSION_CATALOG, Size, Table
from time_travel.remaking import created_on
from time_travel.retention import PREFIX, TRANSIENT, key
from time_travel.times import moment_of
from time_travel.unfinished import drop_on_its_way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from time_travel.lake import Lake
    from time_travel.registry import Event, Objects, Registry
    from time_travel.retention import Retention

TABLE_COLUMNS = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, kind STRING,"
    " comment STRING, cluster_by STRING, rows BIGINT, bytes BIGINT, owner STRING, retention_time INT,"
    " dropped_on TIMESTAMP"
)
SCHEMA_COLUMNS = (
    "created_on TIMESTAMP, name STRING, is_default STRING, is_current STRING, database_name STRING,"
    " owner STRING, comment STRING, options STRING, retention_time INT, dropped_on TIMESTAMP"
)


@dataclass(frozen=True, slots=True)
class Show:
    """A SHOW … HISTORY.

    Attributes:
        noun: TABLES or SCHEMAS.
        like: a pattern of names, with % and _; "" for all.
        schemas: the schema asked for, () for the current one, None for all.
        history: with what was dropped.
    """

    noun: str
    like: str
    schemas: tuple[str, ...] | None
    history: bool = True


def read_show(text: str, *, flows: bool = False) -> Show | None:
    """What a text asks to be shown; None where it is no SHOW … HISTORY.

    >>> read_show("SHOW TABLES HISTORY LIKE 'load%' IN mytestdb.myschema").schemas
    ('mytestdb', 'myschema')

    Args:
        text: of a statement.
        flows: what it shows flows on to a query over the document's columns: HISTORY may be missing.

    Raises:
        BadClauseError: it goes on as no SHOW … HISTORY does.
    """
    at = Cursor(tokenize(text) or [], text)
    if not at.take("SHOW"):
        return None
    at.take("TERSE")
    noun = at.take_one("TABLES", "SCHEMAS", "DATABASES")
    history = at.take("HISTORY")
    if not noun or not (history or flows):
        return None
    like = at.string() or "" if at.take("LIKE") else ""
    schemas: tuple[str, ...] | None = ()
    if at.take_one("IN", "FROM"):
        schemas = None if at.take("ACCOUNT") else _container(at)
    if not at.done:
        raise BadClauseError(
            f"SHOW {noun} HISTORY cannot go on with {at.span()!r}",
            f"write SHOW {noun} HISTORY [LIKE 'pattern'] [IN [SCHEMA] name | IN ACCOUNT]",
        )
    return Show("TABLES" if noun == "TABLES" else "SCHEMAS", like, schemas, history)


def _container(at: Cursor) -> tuple[str, ...]:
    at.take_one("SCHEMA", "DATABASE", "CATALOG")
    return at.name()


@dataclass(frozen=True, slots=True)
class Shower:
    """Answers a SHOW.

    Attributes:
        lake: the user's session.
        registry: what was dropped.
        retention: the periods of a table or, by name, of a schema.
        now: UTC microseconds.
    """

    lake: Lake
    registry: Registry
    retention: Callable[[Table | str], Retention]
    now: int

    def tables(self, show: Show) -> list[tuple[Any, ...]]:
        """The rows of SHOW TABLES HISTORY."""
        fits = matcher(show.like)
        rows: list[tuple[Any, ...]] = []
        alive: set[str | None] = set()
        schemas = self._schemas(show)
        for schema in schemas:
            tables = [t for t in self.lake.tables(schema) if isinstance(t, Table)]
            alive |= {table.location for table in tables}
            rows += [self._there(t) for t in sorted(tables, key=lambda t: t.name[-1]) if fits(t.name[-1])]
        if not show.history:
            return rows
        wanted = {schema.lower() for schema in schemas} if show.schemas is not None else None
        return rows + [self._gone(event) for event in self._dropped(wanted, alive) if fits(event.name[-1])]

    def schemas(self, show: Show) -> list[tuple[Any, ...]]:
        """The rows of SHOW SCHEMAS HISTORY, which is SHOW DATABASES HISTORY."""
        fits = matcher(show.like)
        current = self.lake.current[1]
        fits = self._within(show, fits)
        names = sorted(name for name in self.lake.schemas() if fits(name))
        rows = [self._schema(name, current) for name in names]
        objects = self.registry.objects(self.lake)
        for event in objects.dropped if show.history else ():
            retained = event.domain == "SCHEMA" and event.retained_until >= self.now
            if retained and fits(event.name[-1]) and not self._is_there(event, objects):
                days = round(event.retention_days or 0)
                rows.append(_schema_row(event.name[-1], event.details, days, current, event.time))
        return rows

    def _within(self, show: Show, fits: Callable[[str], bool]) -> Callable[[str], bool]:
        """What is IN a catalog, or a schema of a name."""
        if not show.schemas or show.schemas[-1].lower() == SESSION_CATALOG:
            return fits
        inside = show.schemas[-1].lower()
        known = {*self.lake.schemas(), *(e.name[-1] for e in self.registry.objects(self.lake).dropped)}
        if inside not in {name.lower() for name in known}:
            raise UnknownObjectError(
                f"there is no catalog or schema {quote_name(show.schemas)}",
                f"IN {SESSION_CATALOG} has them all",
            )
        return lambda name: fits(name) and name.lower() == inside

    def _is_there(self, event: Event, objects: Objects) -> bool:
        return drop_on_its_way(self.lake.schema_facts(event.name[-1]), objects) == event

    def _schema(self, name: str, current: str) -> tuple[Any, ...]:
        days = round(self.retention(name).days)
        return _schema_row(name, self.lake.schema_facts(name) or {}, days, current, None)

    def _schemas(self, show: Show) -> list[str]:
        if show.schemas is None:
            return self.lake.schemas()
        if not show.schemas:
            return [self.lake.current[1]]
        name = show.schemas[-1]
        if len(show.schemas) == 1 and name.lower() == SESSION_CATALOG:
            return self.lake.schemas()
        if self.lake.schema_facts(name) is not None:
            return [name]
        dropped = {part.lower() for e in self.registry.objects(self.lake).dropped for part in e.name[1:2]}
        if name.lower() not in dropped:
            raise UnknownObjectError(
                f"there is no schema {quote_name(show.schemas)}", "SHOW SCHEMAS HISTORY lists them"
            )
        return []

    def _dropped(self, schemas: set[str] | None, alive: set[str | None]) -> Iterator[Event]:
        for event in self.registry.objects(self.lake).dropped:
            here = schemas is None or event.name[-2].lower() in schemas
            if (
                event.domain == "TABLE"
                and here
                and alive.isdisjoint(event.places)
                and event.retained_until >= self.now
            ):
                yield event

    def _there(self, table: Table) -> tuple[Any, ...]:
        facts = table.facts
        unknown = Size(None, None, facts["created"] * 1000)
        if table.provider != "delta" or not table.location:
            return _row(unknown, table.name, facts, 0, None)
        try:
            days = self.retention(table).days
            if self.lake.state(table.location) is None:
                return _row(unknown, table.name, facts, days, None)
            own = self.lake.properties(table.location, PREFIX)
            size = self.lake.size(table.location)
        except UnreadableTableError:
            return _row(unknown, table.name, facts, 0, None)
        return _row(size, table.name, {**facts, "properties": own}, days, None)

    def _gone(self, event: Event) -> tuple[Any, ...]:
        facts = event.details
        try:
            place = self.lake.place_of(event.places, event.location or "")
            size = self.lake.size(place)
            facts = {**facts, "properties": self.lake.properties(place, PREFIX)}
        except UnreadableTableError:
            size = Size(None, None, facts["created"] * 1000)
        return _row(size, event.name, facts, event.retention_days or 0, event.time)


def _row(
    size: Size, name: tuple[str, ...], facts: Mapping[str, Any], days: float, dropped: int | None
) -> tuple[Any, ...]:
    properties = facts.get("properties") or {}
    kind = "TRANSIENT" if properties.get(key(TRANSIENT)) == "true" else "TABLE"
    return (
        moment_of(size.created), name[2], name[0], name[1], kind, facts.get("comment") or "",
        size.clustered_by, size.rows, size.bytes, facts.get("owner"), round(days),
        None if dropped is None else moment_of(dropped),
    )  # fmt: skip


def _schema_row(
    name: str, facts: Mapping[str, Any], days: int, current: str, dropped: int | None
) -> tuple[Any, ...]:
    properties = facts.get("properties") or {}
    options, created = "TRANSIENT" if properties.get(key(TRANSIENT)) == "true" else "", created_on(facts)
    return (
        None if created is None else moment_of(created), name, "Y" if name == "default" else "N",
        "Y" if name == current and dropped is None else "N",
        SESSION_CATALOG, properties.get("owner"), facts.get("comment") or "", options, days,
        None if dropped is None else moment_of(dropped),
    )  # fmt: skip
