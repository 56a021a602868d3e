"""CREATE SCHEMA … CLONE: a new schema whose tables share their files with those of the old one.

In: CREATE SCHEMA | DATABASE … CLONE … [AT | BEFORE (…)]. Out: the schema with its tables at that point, with
those that have been dropped since, its views and its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.cursor import Cursor
from lineage.names import quote_name, sql_name
from lineage.tokens import tokenize
from time_travel.clause import Clause, clauses
from time_travel.errors import (
    BadClauseError,
    BeforeCreationError,
    NoHistoryError,
    ObjectExistsError,
    OutsideRetentionError,
    UnknownObjectError,
    UnreadableTableError,
)
from time_travel.lake import SESSION_CATALOG, Table, View
from time_travel.point import show
from time_travel.remaking import CREATED, create_view, created_on, make_all, schema_clauses
from time_travel.table_cloning import share

if TYPE_CHECKING:
    from time_travel.lake import Lake
    from time_travel.point import Asked
    from time_travel.reading import Past

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


@dataclass(frozen=True, slots=True)
class _Source:
    """A table that is cloned.

    Attributes:
        name: of the clone, its last part.
        table: by its path where it was dropped.
        version: the one that is cloned, None for the newest.
    """

    name: str
    table: Table
    version: int | None


@dataclass(frozen=True, slots=True)
class SchemaCloner:
    """Clones what a schema holds.

    Attributes:
        lake: the user's session.
        own: a session of the system's own, not audited; its commits carry the statement's id.
        past: finds versions.
        now: UTC microseconds.
        dropped: of a schema, a point and what is there: the tables and views dropped since, in their order.
        location: gives a table of the new schema its place, by its name.
        properties: of the clone of a table.
    """

    lake: Lake
    own: Lake
    past: Past
    now: int
    dropped: Callable[[str, Asked, Sequence[Table | View]], Sequence[Table | View]]
    location: Callable[[str], str]
    properties: Callable[[Table], Mapping[str, str]]

    def schema(self, clone: SchemaClone) -> str:
        """Clone all tables, views and functions of a schema, with what has been dropped since the point.

        "The cloning operation for a database or schema fails: If the specified Time Travel time is beyond the
        retention time of any current child … If the specified Time Travel time is at or before the point in
        time when the object was created" (Cloning historical objects).

        Returns:
            What was done, in a sentence.

        Raises:
            UnknownObjectError: there is no such schema.
            ObjectExistsError: the new name is taken.
            OutsideRetentionError: of a table, and it is not to be ignored; nothing was made.
            BeforeCreationError: it was not there at that point; nothing was made.
        """
        source, new = clone.source[-1], clone.name[-1]
        facts = self.lake.schema_facts(source)
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name(clone.source)}", "check its name")
        if self.lake.schema_facts(new) is not None:
            if clone.if_not_exists:
                return f"{new} already exists, statement succeeded."
            raise ObjectExistsError(f"the schema {new} exists", "choose another name, or drop it first")
        created = created_on(facts)
        asked = None if clone.point is None else self.past.asked_of_schema(clone.point)
        _require_there(clone, asked, created)
        there = self.lake.tables(source)
        gone = [] if asked is None else self.dropped(source, asked, there)
        left_out: list[str] = []
        found = list(self._there(clone, asked, there, left_out, is_known=created is not None))
        if asked is not None:
            found += self._gone(asked, gone, {one.name for one in found}, left_out)
        made = {**facts, "properties": {**facts["properties"], CREATED: str(self.now)}}
        self.own.spark.sql(f"CREATE SCHEMA {sql_name([new])}{schema_clauses(made)}")
        self._make(new, found)
        self._functions(source, new)
        refused = self._views(new, source, [*there, *gone], {one.name for one in found})
        said = [f"Schema {new} successfully created."]
        if left_out:
            said.append(f"Without tables whose retention does not reach back: {', '.join(left_out)}.")
        if refused:
            names = ", ".join(view.name[-1] for view in refused)
            said.append(f"Without views over what is not there: {names}.")
        return " ".join(said)

    def _there(
        self,
        clone: SchemaClone,
        asked: Asked | None,
        relations: Sequence[Table | View],
        left_out: list[str],
        *,
        is_known: bool,
    ) -> Iterator[_Source]:
        """The Delta tables with the version of each; those that were not there yet are not there.

        Args:
            clone: the statement.
            asked: its point, evaluated once for all tables; None for now.
            relations: of the schema.
            left_out: is told what is ignored.
            is_known: when the schema was made. Else it was there when one of its tables was.
        """
        found, young = False, None
        for table in _delta(relations):
            try:
                version = None if asked is None else self.past.version_of(asked, table)
            except BeforeCreationError as error:
                young = young or error
                continue
            except OutsideRetentionError:
                if not clone.ignore:
                    raise
                left_out.append(table.name[-1])
                continue
            found = True
            yield _Source(table.name[-1], table, version)
        if young and not (found or left_out or is_known):
            raise BeforeCreationError(
                f"no table of the schema {quote_name(clone.source)} was there at {clone.point}:"
                f" {young.problem}",
                "ask for a later point in time",
            )

    def _gone(
        self, asked: Asked, relations: Sequence[Table | View], taken: set[str], left_out: list[str]
    ) -> Iterator[_Source]:
        """The same of what has been dropped since: no child any more, so nothing fails for it."""
        for table in _delta(relations):
            name = table.name[-1]
            if name in taken:
                continue
            try:
                version = self.past.version_of(asked, table)
            except BeforeCreationError:
                continue
            except (OutsideRetentionError, UnreadableTableError, NoHistoryError):
                left_out.append(name)
                continue
            taken.add(name)
            yield _Source(name, replace(table, name=("delta", table.location or "")), version)

    def _make(self, schema: str, sources: Sequence[_Source]) -> None:
        from pyspark.util import inheritable_thread_target

        # What the threads run in Spark belongs to the statement, as its job tag says.
        make = inheritable_thread_target(self.lake.spark)(lambda one: self._table(schema, one))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(make, sources))

    def _table(self, schema: str, one: _Source) -> None:
        place = self.location(one.name)
        share(self.own, one.table, one.version, (schema, one.name), place, self.properties(one.table))
        # Many tables at once are too much to keep in mind.
        self.own.forget(place)
        self.own.forget(one.table.location or "")

    def _functions(self, source: str, new: str) -> None:
        for facts in self.lake.functions(source):
            self.lake.restore_function(new, facts)

    def _views(self, new: str, source: str, relations: Sequence[Table | View], taken: set[str]) -> list[View]:
        """Each view's text under the new schema: what it names without one is there, too.

        Returns:
            Those that Spark refuses.
        """
        views: dict[str, View] = {}
        for one in relations:
            if isinstance(one, View) and one.name[-1] not in taken:
                views.setdefault(one.name[-1], one)

        def make(view: View) -> None:
            catalog, schema = view.current
            current = (catalog, new) if schema.lower() == source.lower() else (catalog, *schema.split("."))
            create_view(self.own.spark, (SESSION_CATALOG, new, view.name[-1]), view.facts, current)

        return make_all(list(views.values()), make)


def _require_there(clone: SchemaClone, asked: Asked | None, created: int | None) -> None:
    if asked is None or asked.micros is None or created is None or asked.micros > created:
        return
    raise BeforeCreationError(
        f"the schema {quote_name(clone.source)} was created at {show(created)}, and {clone.point} is"
        f" {show(asked.micros)}",
        "ask for a later point in time",
    )


def _delta(relations: Sequence[Table | View]) -> Iterator[Table]:
    for one in relations:
        if isinstance(one, Table) and one.provider == "delta" and one.location:
            yield one
