"""CREATE … CLONE: a new object of the same content that shares its files with the old one.

In: CREATE TABLE | SCHEMA | DATABASE … CLONE … [AT | BEFORE (…)]. Out: what Spark runs: Delta's SHALLOW CLONE
of a version, at a location of its own. From then on the source keeps every file, so that no VACUUM takes what
the clone reads; a drop of the source keeps them anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.cursor import Cursor
from lineage.names import quote_name, sql_name, sql_text
from lineage.tokens import read_name, tokenize, word
from time_travel.clause import Clause, clauses
from time_travel.errors import (
    BadClauseError,
    BeforeCreationError,
    ObjectExistsError,
    OutsideRetentionError,
    UnknownObjectError,
)
from time_travel.lake import SESSION_CATALOG, Table, View
from time_travel.remaking import create_view, make_all, schema_clauses
from time_travel.retention import DELTAS_FILES, DELTAS_LOG, PINNED, is_pinned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sqlglot.tokenizer_core import Token

    from time_travel.lake import Lake

_AT_ONCE = 4
IGNORE = ("IGNORE", "TABLES", "WITH", "INSUFFICIENT", "DATA", "RETENTION")


@dataclass(frozen=True, slots=True)
class SchemaClone:
    """A CREATE SCHEMA … CLONE.

    Attributes:
        name: of the new schema, as written.
        source: of the old one.
        point: the point in time, as a clause about the source; None for now.
        ignore: tables whose retention does not reach back are left out.
        if_not_exists: nothing happens where the name is taken.
    """

    name: tuple[str, ...]
    source: tuple[str, ...]
    point: Clause | None
    ignore: bool
    if_not_exists: bool


def read_schema_clone(text: str) -> SchemaClone | None:
    """What a text clones; None where it is no CREATE SCHEMA … CLONE.

    >>> found = read_schema_clone("CREATE DATABASE a CLONE b AT (OFFSET => -3600)")
    >>> found.name, found.source, str(found.point)
    (('a',), ('b',), 'AT (OFFSET => -3600)')

    Raises:
        BadClauseError: it goes on as no clone does.
    """
    tokens = tokenize(text) or []
    at = Cursor(tokens, text)
    if not at.take("CREATE") or not at.take_one("SCHEMA", "DATABASE", "NAMESPACE"):
        return None
    if_not_exists = at.take("IF", "NOT", "EXISTS")
    name = at.name()
    at.take_one("SHALLOW")
    if not name or not at.take("CLONE"):
        return None
    source = at.name()
    (point,) = clauses(tokens, text) or (None,)
    if point is not None:
        while not at.done and tokens[at.at].start < point.stop:
            at.at += 1
    ignore = at.take(*IGNORE)
    if not at.done:
        raise BadClauseError(
            f"CREATE SCHEMA {'.'.join(name)} CLONE cannot go on with {at.span()!r}",
            f"write CREATE SCHEMA … CLONE … [AT | BEFORE (…)] [{' '.join(IGNORE)}]",
        )
    return SchemaClone(name, source, point, ignore, if_not_exists)


def table_clone(text: str, location: str | None, properties: Mapping[str, str] | None = None) -> str:
    """A CREATE TABLE … CLONE as Delta has it, at a location, with properties beside those of the text.

    >>> table_clone("CREATE TABLE a CLONE b VERSION AS OF 3", "/w/a-1", {"k": "v"})
    "CREATE TABLE `a` SHALLOW CLONE `b` VERSION AS OF 3 TBLPROPERTIES ('k' = 'v') LOCATION '/w/a-1'"
    """
    tokens = tokenize(text) or []
    at = Cursor(tokens, text)
    for lead in ("CREATE", "OR", "REPLACE", "TABLE"):
        at.take(lead)
    at.take("IF", "NOT", "EXISTS")
    new = at.at
    at.name()
    kind = at.at
    is_shallow = at.take("SHALLOW")
    at.take("CLONE")
    source = at.at
    at.name()
    words = {word(tokens, n): n for n in range(at.at, len(tokens))}
    text = text[: tokens[-1].end + 1]
    if location is not None and "LOCATION" not in words:
        text += f" LOCATION {sql_text(location)}"
    if properties:
        pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in properties.items())
        if "TBLPROPERTIES" in words:
            behind = tokens[words["TBLPROPERTIES"] + 1].end + 1
            text = f"{text[:behind]}{pairs}, {text[behind:]}"
        else:
            behind = tokens[words["LOCATION"]].start - 1 if "LOCATION" in words else tokens[-1].end + 1
            text = f"{text[:behind]} TBLPROPERTIES ({pairs}){text[behind:]}"
    text = _quoted(text, tokens, source)
    if not is_shallow:
        text = f"{text[: tokens[kind].start]}SHALLOW {text[tokens[kind].start :]}"
    return _quoted(text, tokens, new)


def _quoted(text: str, tokens: list[Token], at: int) -> str:
    """With the name at a token in quotes: Delta's grammar takes fewer words for names than Spark's."""
    parts, behind = read_name(tokens, at)
    if not parts:
        return text
    return f"{text[: tokens[at].start]}{sql_name(parts)}{text[tokens[behind - 1].end + 1 :]}"


@dataclass(frozen=True, slots=True)
class Cloner:
    """Clones what a schema holds.

    Attributes:
        lake: the user's session.
        own: a session of the system's own, which is not audited.
        version: the version of a table at a clause; raises what that raises.
        location: gives a table of the new schema its place, by its name.
        properties: of the clone of a table.
    """

    lake: Lake
    own: SparkSession
    version: Callable[[Clause, Table], int]
    location: Callable[[str], str]
    properties: Callable[[Table], Mapping[str, str]]

    def schema(self, clone: SchemaClone) -> str:
        """Clone all tables, views and functions of a schema.

        "The cloning operation for a database or schema fails: If the specified Time Travel time is beyond the
        retention time of any current child … If the specified Time Travel time is at or before the point in
        time when the object was created" (Cloning historical objects).

        Returns:
            What was done, in a sentence.

        Raises:
            UnknownObjectError: there is no such schema.
            ObjectExistsError: the new name is taken.
            OutsideRetentionError: of a table, and it is not to be ignored; nothing was made.
            BeforeCreationError: none of its tables was there at that point; nothing was made.
        """
        facts = self.lake.schema_facts(clone.source[-1])
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name(clone.source)}", "check its name")
        new = clone.name[-1]
        from pyspark.util import inheritable_thread_target

        if self.lake.schema_facts(new) is not None:
            if clone.if_not_exists:
                return f"{new} already exists, statement succeeded."
            raise ObjectExistsError(f"the schema {new} exists", "choose another name, or drop it first")
        relations = self.lake.tables(clone.source[-1])
        tables = self._tables(clone, relations)
        self.own.sql(f"CREATE SCHEMA {sql_name([new])}{schema_clauses(facts)}")
        # What the threads run in Spark belongs to the statement, as its job tag says.
        make = inheritable_thread_target(self.lake.spark)(lambda one: self._table(new, *one))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(make, tables))
        left = [relation for relation in relations if isinstance(relation, View)]
        self._functions(clone.source[-1], new)
        refused = self._views(new, clone.source[-1], left)
        said = f"Schema {new} successfully created."
        names = ", ".join(view.name[-1] for view in refused)
        return f"{said} Without views over what is not there: {names}." if refused else said

    def _tables(self, clone: SchemaClone, relations: list[Any]) -> list[tuple[Table, int | None]]:
        """The Delta tables with the version of each; those that were not there yet are not there.

        Spark keeps no time of creation of a schema: it was there when one of its tables was.
        """
        found: list[tuple[Table, int | None]] = []
        young: list[BeforeCreationError] = []
        left_out = False
        for table in relations:
            if not isinstance(table, Table) or table.provider != "delta" or not table.location:
                continue
            try:
                version = None if clone.point is None else self.version(clone.point, table)
                found.append((table, version))
            except BeforeCreationError as error:
                young.append(error)
            except OutsideRetentionError:
                if not clone.ignore:
                    raise
                left_out = True
        if young and not found and not left_out:
            raise BeforeCreationError(
                f"no table of the schema {quote_name(clone.source)} was there at {clone.point}:"
                f" {young[0].problem}",
                "ask for a later point in time",
            )
        return found

    def _table(self, schema: str, table: Table, version: int | None) -> None:
        name = table.name[-1]
        at = "" if version is None else f" VERSION AS OF {version}"
        text = f"CREATE TABLE {sql_name([schema, name])} CLONE {sql_name(table.name)}{at}"
        self.own.sql(table_clone(text, self.location(name), self.properties(table)))
        pin(self.own, self.lake, table)

    def _functions(self, source: str, new: str) -> None:
        for facts in self.lake.functions(source):
            self.lake.restore_function(new, facts)

    def _views(self, new: str, source: str, views: list[View]) -> list[View]:
        """Each view's text under the new schema: what it names without one is there, too.

        Returns:
            Those that Spark refuses.
        """

        def make(view: View) -> None:
            catalog, schema = view.current
            current = (catalog, new) if schema.lower() == source.lower() else (catalog, *schema.split("."))
            create_view(self.own, (SESSION_CATALOG, new, view.name[-1]), view.facts, current)

        return make_all(views, make)


def pin(run: SparkSession, lake: Lake, table: Table) -> None:
    """Have a table keep every file from now on: a clone reads them."""
    location = table.location or ""
    lake.state(location)
    if is_pinned(lake.properties(location, "delta.")):
        return
    # Delta asks that the log be kept no shorter than the files.
    pairs = ", ".join(f"'{name}' = '{PINNED}'" for name in (DELTAS_FILES, DELTAS_LOG))
    run.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({pairs})")
