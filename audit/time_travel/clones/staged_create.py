"""Staged CREATE TABLE: the table is created at an unregistered path, and registered when it is complete.

In: a CREATE [OR REPLACE] TABLE … [AS …] and its text. Out: a `StagedTable`, which creates the empty table at
its path, then writes its rows, then registers its name. Policies are set in between, before the first row. A
killed run leaves files without a name. A replaced table takes over the new one's state in one commit, and is
unchanged until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table, View, is_path
from audit.time_travel.clones.create import literal_properties, properties_of, replace_spans
from audit.time_travel.errors import ObjectExistsError, UnknownObjectError, UnprotectableError
from audit.time_travel.retention.table_properties import is_pinned, pinned_properties
from lineage.names import SESSION_CATALOG, qualify, quote_name, sql_name, sql_text

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from lineage.sql.commands.create import CreateTable

_LATER = "CREATE TABLE without them, then ALTER TABLE … SET"


@dataclass(frozen=True, slots=True)
class StagedTexts:
    """The SQL that creates a table at a path.

    Attributes:
        create: creates it, empty.
        fill: writes its rows; None for a CREATE without AS.
        kind: the plan that Spark's parser must give for `create`; another one is refused.
    """

    create: str
    fill: str | None
    kind: str


def texts_of(text: str, create: CreateTable, place: str, properties: Mapping[str, str]) -> StagedTexts:
    """The SQL that creates the table of a statement at a path.

    >>> from lineage.sql.parse import typed_of
    >>> sql = "CREATE OR REPLACE TABLE s.t (a, b) COMMENT 'x' AS SELECT 1, 2 -- end"
    >>> texts = texts_of(sql, typed_of(sql), "/w/t", {})
    >>> print(texts.create)
    CREATE TABLE `delta`.`/w/t`  USING delta  COMMENT 'x' AS SELECT * FROM (
    SELECT 1, 2
    ) AS made(`a`, `b`) WHERE false
    >>> texts.fill
    'INSERT INTO `delta`.`/w/t` SELECT 1, 2'
    """
    spans, by_path = create.spans, sql_name(("delta", place))
    select = text[spans.select : spans.end]
    pairs = literal_properties(properties)
    clauses = " " if create.provider else " USING delta "
    if pairs and spans.properties is None:
        clauses += f"TBLPROPERTIES ({pairs}) "
    edits = [(0, spans.name, f"CREATE TABLE {by_path}"), (spans.clauses, spans.clauses, clauses)]
    edits += [(first, stop, "") for first, stop in spans.removed if first >= spans.name]
    if pairs and spans.properties is not None:
        edits.append((spans.properties, spans.properties, f"{pairs}, "))
    if spans.location is not None:
        edits.append((*spans.location, ""))
    by_query = bool(select) and (spans.columns is None or bool(create.columns))
    # Spark (4.2) takes no column names in a CREATE TABLE … AS, so they become aliases of the query.
    if by_query:
        names = (
            f" AS made({', '.join(sql_name([name]) for name in create.columns)})" if create.columns else ""
        )
        # WHERE false: Spark takes the columns of the query, and writes no row.
        query = f"AS SELECT * FROM (\n{select}\n){names} WHERE false"  # noqa: S608  the user's own
        edits.append((spans.query, len(text), query))
        if spans.columns is not None:
            edits.append((*spans.columns, ""))
    else:
        edits.append((spans.query, len(text), ""))
    kind = "CreateTableAsSelect" if by_query else "CreateTable"
    # The rows come by a statement of their own, after the policies are set on the empty table.
    fill = f"INSERT INTO {by_path} {select}" if select else None
    return StagedTexts(replace_spans(text, edits), fill, kind)


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table that is being created at an unregistered path.

    Attributes:
        catalog: the session of the statement, whose commits carry its id.
        name: its parts, in full.
        place: the path.
        texts: the SQL that creates it there.
        there: the table that it replaces, None for none.
        version: the newest of that table; -1 for none.
        staged: has its name by its path, until it is registered: `Creation.define` asks there.
        run: runs a text as the user's.
        quiet: a block in which what Spark runs belongs to no statement.
    """

    catalog: DeltaCatalog
    name: tuple[str, ...]
    place: str
    texts: StagedTexts
    there: Table | None
    version: int
    staged: dict[str, tuple[str, ...]]
    run: Callable[[str], Any]
    quiet: Callable[[], AbstractContextManager[None]]

    @property
    def by_path(self) -> tuple[str, str]:
        """Its name by path, until it is registered."""
        return "delta", self.place

    @property
    def replaced_id(self) -> str | None:
        """Delta's id of the table that it replaces."""
        state = None if self.there is None else self.catalog.state(self.there.location or "")
        return None if state is None else state.table_id

    def create_empty(self) -> None:
        """Create it, empty; raises Spark's own error for a text that Spark cannot parse."""
        if self.texts.fill is not None:
            self.catalog.kind(self.texts.fill)
        # Text was put into the user's text; another kind of plan means that it was put into the wrong place.
        if self.catalog.kind(self.texts.create) != self.texts.kind:
            raise UnprotectableError(
                f"the rows of {quote_name(self.name)} cannot be told from its list of columns",
                "write AS before the query",
            )
        self.staged[self.place] = self.name
        with self.quiet():
            self.run(self.texts.create)

    def fill(self) -> None:
        """Write its rows."""
        if self.texts.fill is not None:
            self.run(self.texts.fill)

    def publish(self) -> Any:
        """Register its name; returns Spark's result."""
        self.staged.pop(self.place, None)
        name = sql_name(self.name)
        with self.quiet():
            if self.there is None:
                return self.catalog.spark.sql(
                    f"CREATE TABLE {name} USING delta LOCATION {sql_text(self.place)}"
                )
            # Not DROP and CREATE: a reader between the two would find no table.
            location = self.there.location or ""
            # Somebody may have cloned the replaced table since this one was created: its files are shared.
            pinned = self.catalog.state(location) and is_pinned(self.catalog.properties(location, "delta."))
            self.catalog.replace(self.place, location, pinned_properties() if pinned else {})
            return self.catalog.spark.sql(f"REFRESH TABLE {name}")

    def discard(self) -> None:
        """Delete its files; a table that it was to replace is unchanged."""
        self.staged.pop(self.place, None)
        found = self.catalog.find(self.name)
        if isinstance(found, Table) and found.location is not None and self.there is None:
            ours = self.catalog.state(self.place)
            other = self.catalog.state(found.location)
            # Another session may have created a table of that name meanwhile; only ours is dropped.
            if ours is not None and other is not None and ours.table_id == other.table_id:
                self.catalog.drop(found)
        self.catalog.delete(self.place)

    @property
    def has_replaced(self) -> bool:
        """Whether the replaced table has a new version: the new state is committed then."""
        state = None if self.there is None else self.catalog.state(self.there.location or "")
        return state is not None and state.latest != self.version


def stage_table(
    catalog: DeltaCatalog,
    text: str,
    create: CreateTable | None,
    default: str,
    place_of: Callable[[tuple[str, ...]], str | None],
    run: Callable[[str], Any],
    quiet: Callable[[], AbstractContextManager[None]],
    staged: dict[str, tuple[str, ...]],
) -> StagedTable | None:
    """Stage a CREATE TABLE; nothing is created yet. None if IF NOT EXISTS finds the table.

    Args:
        catalog: the session of the statement.
        text: of the statement.
        create: the parsed statement.
        default: the provider if the text names none.
        place_of: gives a location, by the table's name.
        run: runs a text as the user's.
        quiet: a block in which what Spark runs belongs to no statement.
        staged: takes the table's name by its path.

    Raises:
        UnprotectableError: it cannot be staged.
        ObjectExistsError: the name is taken, or the place.
        UnknownObjectError: there is no such schema, or nothing to replace.
    """
    if create is None or create.external:
        raise UnprotectableError(
            "policies cannot be set with a table that is EXTERNAL, or whose name is an IDENTIFIER(…)",
            "write CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name, and LOCATION for its place",
        )
    _require_stageable(catalog, create, create.provider or default)
    given, name = properties_of(create), qualify(create.name, catalog.current)
    found = catalog.find(name)
    if create.if_not_exists and found is not None:
        return None
    there = _replaced_table(catalog, create, found)
    own = place_of(create.name)
    if own is None:
        raise UnknownObjectError(
            f"there is no schema for {quote_name(create.name)}", "create it first, or check its name"
        )
    place = own if create.location is None else create.location
    texts = texts_of(text, create, place, given)
    state = None if there is None else catalog.state(there.location or "")
    version = -1 if state is None else state.latest
    return StagedTable(catalog, name, place, texts, there, version, staged, run, quiet)


def _require_stageable(catalog: DeltaCatalog, create: CreateTable, provider: str) -> None:
    """Refuse a CREATE TABLE that cannot be staged.

    Raises:
        UnprotectableError: another provider than Delta, another catalog, a name by path, LIKE, or a relative
            LOCATION.
    """
    name = quote_name(create.name)
    is_elsewhere = len(create.name) == _FULL and create.name[0].lower() != SESSION_CATALOG
    if create.like:
        raise UnprotectableError(f"policies cannot be set with {name}, which is LIKE another table", _LATER)
    # The enforcement rule knows Delta tables by id, also when they are read by path; other files have none.
    if provider.lower() != "delta":
        raise UnprotectableError(
            f"{name} would be no Delta table: its files can be read past any policy", "write USING delta"
        )
    if is_path(create.name) or is_elsewhere or catalog.current[0] != SESSION_CATALOG:
        raise UnprotectableError(
            f"policies cannot be set with {name}, which is no table of {SESSION_CATALOG}", _LATER
        )
    place = create.location or ""
    if create.has_location and not place.startswith("/") and ":/" not in place:
        raise UnprotectableError(
            f"policies cannot be set with {name}: its LOCATION is not a full path",
            "write LOCATION '…' with a full path",
        )


def _replaced_table(catalog: DeltaCatalog, create: CreateTable, found: Table | View | None) -> Table | None:
    """The table that a CREATE OR REPLACE replaces; None for a new name.

    Raises:
        ObjectExistsError: the name is taken, or the place.
        UnknownObjectError: there is nothing to replace.
    """
    name = quote_name(create.name)
    if create.location is not None and (found is not None or catalog.state(create.location) is not None):
        raise ObjectExistsError(
            f"{name} or a Delta table at {create.location} is there already",
            "use ALTER TABLE … SET to set policies on an existing table",
        )
    if found is None:
        if not create.create:
            raise UnknownObjectError(f"there is no table {name} to replace", "write CREATE OR REPLACE TABLE")
        return None
    if not create.replace:
        raise ObjectExistsError(f"{name} is there already", "write CREATE OR REPLACE TABLE, or ALTER TABLE")
    if not isinstance(found, Table) or found.provider != "delta":
        raise ObjectExistsError(f"{name} is there already and is no Delta table", "DROP it first")
    return found


_FULL = 3
