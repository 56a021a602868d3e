"""A new table is made where no name leads to, and gets its name when it is complete.

In: the text of a CREATE [OR REPLACE] TABLE … [AS …] as Spark would get it. Out: a `Staged`: the empty table
at its place, then its rows, then its name. What is to hold for the table from its first row on is set in
between; a run that is killed leaves files that no name leads to. A table that is replaced takes over the new
one in one commit, and is as it was until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot.tokenizer_core import TokenType

from lineage.cursor import Cursor
from lineage.names import qualify, quote_name, sql_name, sql_text
from lineage.tokens import closing, read_name, tokenize, word
from time_travel.creating import clauses_of, literal_properties, query_at
from time_travel.errors import ObjectExistsError, UnknownObjectError, UnprotectableError
from time_travel.lake import SESSION_CATALOG, Table, View, is_path
from time_travel.retention import pins

if TYPE_CHECKING:
    from time_travel.creating import Creation
    from time_travel.lake import Lake

Place = tuple[str, dict[str, str]]
"""Where a new table lies, and the properties that Delta is to keep it by."""
_LATER = "CREATE TABLE without them, then ALTER TABLE … SET"


@dataclass(frozen=True, slots=True)
class Texts:
    """What makes a table at a place, by its path.

    Attributes:
        create: makes it, empty.
        fill: writes its rows; None where it gets none.
        kind: what Spark's parser has to take `create` for.
    """

    create: str
    fill: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class Head:
    """A CREATE TABLE by its characters: what stands where.

    Attributes:
        replaces: it may stand in the place of another.
        if_not_exists: it does nothing where there is one.
        name: where the name ends.
        columns: the list of columns with its brackets, None without one.
        names: of the columns, where the list says no more of them.
        location: the clause LOCATION, None without one.
        place: what that says.
        query: where it begins, with its AS; the end without one.
        select: where it begins behind its AS.
        end: where the statement ends, before any semicolon.
    """

    replaces: bool
    if_not_exists: bool
    name: int
    columns: tuple[int, int] | None
    names: tuple[str, ...]
    location: tuple[int, int] | None
    place: str | None
    query: int
    select: int
    end: int


def read_head(creation: Creation) -> Head:
    """What stands where in the text of a CREATE TABLE.

    Raises:
        UnprotectableError: it says where it lies among its options, or not in full.
    """
    text = creation.text
    tokens = tokenize(text) or []
    replaces = word(tokens, 0) == "REPLACE" or word(tokens, 1) == "OR"
    at = next(n for n in range(len(tokens)) if word(tokens, n) == "TABLE") + 1
    if_not_exists = word(tokens, at) == "IF"
    _, at = read_name(tokens, at + 3 * if_not_exists)
    name = tokens[at - 1].end + 1
    columns, names = None, tuple[str, ...]()
    query = query_at(tokens, at)
    if word(tokens, at) == "(" and query > at and tokens[at].start < creation.at:
        end = closing(tokens, at)
        columns = tokens[at].start, tokens[end].end + 1
        inside = tokens[at + 1 : end]
        plain = inside[1::2] and all(token.text == "," for token in inside[1::2])
        names = tuple(token.text for token in inside[::2]) if plain or len(inside) == 1 else ()
        at = end + 1
        query = query_at(tokens, at)
    location, place = None, None
    for n in clauses_of(tokens, at):
        if word(tokens, n) == "LOCATION":
            cursor = Cursor(tokens, text, n + 1)
            place = cursor.string()
            location = tokens[n].start, tokens[cursor.at - 1].end + 1
    if creation.has_location and not (place or "").startswith("/") and ":/" not in (place or ""):
        raise UnprotectableError(
            f"policies cannot be set with {quote_name(creation.name)}: its place is not said in full",
            "write LOCATION '…' with a full path",
        )
    behind = query + (word(tokens, query) == "AS")
    ends = [token.start for token in tokens if token.token_type is TokenType.SEMICOLON]
    starts = [token.start for token in tokens] + [min(ends, default=len(text))] * 2
    return Head(
        replaces, if_not_exists, name, columns, names, location, place, starts[query], starts[behind],
        starts[-1],
    )  # fmt: skip


def texts_of(creation: Creation, head: Head, place: str, properties: Mapping[str, str]) -> Texts:
    """What makes the table at a place.

    >>> from time_travel.creating import read_creation
    >>> made = read_creation("CREATE OR REPLACE TABLE s.t (a, b) COMMENT 'x' AS SELECT 1, 2 -- end")
    >>> texts = texts_of(made, read_head(made), "/w/t", {})
    >>> print(texts.create)
    CREATE TABLE `delta`.`/w/t`  USING delta  COMMENT 'x' AS SELECT * FROM (
    SELECT 1, 2 -- end
    ) AS made(`a`, `b`) WHERE false
    >>> texts.fill
    'INSERT INTO `delta`.`/w/t` SELECT 1, 2 -- end'
    """
    text, by_path = creation.text, sql_name(("delta", place))
    select = text[head.select : head.end]
    pairs = literal_properties(properties)
    clauses = " " if creation.provider else " USING delta "
    if pairs and creation.properties_at is None:
        clauses += f"TBLPROPERTIES ({pairs}) "
    edits = [(0, head.name, f"CREATE TABLE {by_path}"), (creation.at, creation.at, clauses)]
    if pairs and creation.properties_at is not None:
        edits.append((creation.properties_at, creation.properties_at, f"{pairs}, "))
    if head.location is not None:
        edits.append((*head.location, ""))
    by_query = bool(select) and (head.columns is None or bool(head.names))
    if by_query:
        names = f" AS made({', '.join(sql_name([name]) for name in head.names)})" if head.names else ""
        query = f"AS SELECT * FROM (\n{select}\n){names} WHERE false"  # noqa: S608  the user's own
        edits.append((head.query, len(text), query))
        if head.columns is not None:
            edits.append((*head.columns, ""))
    else:
        edits.append((head.query, len(text), ""))
    for first, stop, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[stop:]
    kind = "CreateTableAsSelect" if by_query else "CreateTable"
    return Texts(text, f"INSERT INTO {by_path} {select}" if select else None, kind)


@dataclass(frozen=True, slots=True)
class Staged:
    """A table on its way.

    Attributes:
        lake: the session of the statement, whose commits carry its id.
        name: its parts, in full.
        place: where it lies, by itself.
        texts: what makes it there.
        there: the table that it replaces, None for none.
        version: the newest of that table; -1 for none.
        kept: properties that this table keeps.
        run: runs a text as the user's.
        quiet: a block in which what Spark runs belongs to no statement.
    """

    lake: Lake
    name: tuple[str, ...]
    place: str
    texts: Texts
    there: Table | None
    version: int
    kept: Mapping[str, str]
    run: Callable[[str], Any]
    quiet: Callable[[], AbstractContextManager[None]]

    @property
    def by_path(self) -> tuple[str, str]:
        """What it goes by as long as it has no name."""
        return "delta", self.place

    @property
    def replaced_id(self) -> str | None:
        """Delta's id of the table that it replaces."""
        state = None if self.there is None else self.lake.state(self.there.location or "")
        return None if state is None else state.table_id

    def begin(self) -> None:
        """Make it, empty; Spark's own error where its text cannot be read."""
        if self.texts.fill is not None:
            self.lake.kind(self.texts.fill)
        if self.lake.kind(self.texts.create) != self.texts.kind:
            raise UnprotectableError(
                f"what {quote_name(self.name)} is to hold cannot be told from its columns",
                "write AS before the query",
            )
        with self.quiet():
            self.run(self.texts.create)

    def fill(self) -> None:
        """Write its rows."""
        if self.texts.fill is not None:
            self.run(self.texts.fill)

    def publish(self) -> Any:
        """Give it its name; what Spark answers to that."""
        name = sql_name(self.name)
        with self.quiet():
            if self.there is None:
                return self.lake.spark.sql(f"CREATE TABLE {name} USING delta LOCATION {sql_text(self.place)}")
            self.lake.replace(self.place, self.there.location or "", self.kept)
            return self.lake.spark.sql(f"REFRESH TABLE {name}")

    def discard(self) -> None:
        """Leave nothing of it; what it was to replace stays as it is."""
        found = self.lake.find(self.name)
        if isinstance(found, Table) and found.location is not None and self.there is None:
            ours = self.lake.state(self.place)
            other = self.lake.state(found.location)
            if ours is not None and other is not None and ours.table_id == other.table_id:
                self.lake.drop(found)
        self.lake.delete(self.place)

    @property
    def has_replaced(self) -> bool:
        """Whether what it was to replace has changed."""
        state = None if self.there is None else self.lake.state(self.there.location or "")
        return state is not None and state.latest != self.version


def staged(
    lake: Lake,
    creation: Creation | None,
    default: str,
    place_of: Callable[[tuple[str, ...], Mapping[str, str]], Place | None],
    run: Callable[[str], Any],
    quiet: Callable[[], AbstractContextManager[None]],
) -> Staged | None:
    """A new table, before anything of it is made; None where IF NOT EXISTS leaves all as it is.

    Args:
        lake: the session of the statement.
        creation: what its text creates.
        default: the provider where the text names none.
        place_of: gives a table a place of its own and its properties, by its name and the text's properties.
        run: runs a text as the user's.
        quiet: a block in which what Spark runs belongs to no statement.

    Raises:
        UnprotectableError: it cannot be made so.
        ObjectExistsError: the name is taken, or the place.
        UnknownObjectError: there is no such schema, or nothing to replace.
    """
    if creation is None:
        raise UnprotectableError(
            "policies cannot be set with a table whose name is not written out, or that is EXTERNAL",
            "write CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name, and LOCATION for its place",
        )
    _require_stageable(lake, creation, creation.provider or default)
    head, name = read_head(creation), qualify(creation.name, lake.current)
    found = lake.find(name)
    if head.if_not_exists and found is not None:
        return None
    there = _replaced(lake, creation, head, found)
    own = place_of(creation.name, creation.properties)
    if own is None:
        raise UnknownObjectError(
            f"there is no schema for {quote_name(creation.name)}", "create it first, or check its name"
        )
    place, properties = own if head.place is None else (head.place, creation.properties)
    texts = texts_of(creation, head, place, properties)
    state = None if there is None else lake.state(there.location or "")
    kept = {} if there is None else pins(lake.properties(there.location or "", ""))
    version = -1 if state is None else state.latest
    return Staged(lake, name, place, texts, there, version, kept, run, quiet)


def _require_stageable(lake: Lake, creation: Creation, provider: str) -> None:
    """Refuse what cannot be made at a place of its own first.

    Raises:
        UnprotectableError: it is none of Delta's, of another catalog, by its path or like another table.
    """
    name = quote_name(creation.name)
    is_elsewhere = len(creation.name) == _FULL and creation.name[0].lower() != SESSION_CATALOG
    if creation.like:
        raise UnprotectableError(f"policies cannot be set with {name}, which is LIKE another table", _LATER)
    if provider.lower() != "delta":
        raise UnprotectableError(
            f"{name} would be no Delta table: its files can be read past any policy", "write USING delta"
        )
    if is_path(creation.name) or is_elsewhere or lake.current[0] != SESSION_CATALOG:
        raise UnprotectableError(
            f"policies cannot be set with {name}, which is no table of {SESSION_CATALOG}", _LATER
        )


def _replaced(lake: Lake, creation: Creation, head: Head, found: Table | View | None) -> Table | None:
    """The table that a new one is to replace, of what its name leads to.

    Raises:
        ObjectExistsError: the name is taken, or the place.
        UnknownObjectError: there is nothing to replace.
    """
    name = quote_name(creation.name)
    if head.place is not None and (found is not None or lake.state(head.place) is not None):
        raise ObjectExistsError(
            f"{name} or a Delta table at {head.place} is there already",
            "leave its files where they are: ALTER TABLE … SET puts policies on a table that is there",
        )
    if found is None:
        if word(tokenize(creation.text) or [], 0) == "REPLACE":
            raise UnknownObjectError(f"there is no table {name} to replace", "write CREATE OR REPLACE TABLE")
        return None
    if not head.replaces:
        raise ObjectExistsError(f"{name} is there already", "write CREATE OR REPLACE TABLE, or ALTER TABLE")
    if not isinstance(found, Table) or found.provider != "delta":
        raise ObjectExistsError(f"{name} is there already and is no Delta table", "DROP it first")
    return found


_FULL = 3
