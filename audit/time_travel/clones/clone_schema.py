"""CREATE SCHEMA … CLONE: a new schema whose tables share their files with the source's tables.

In: CREATE SCHEMA | DATABASE … CLONE … [AT | BEFORE (…)]. Out: the schema with its tables at that point,
tables that were dropped later included, its views and its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.core.errors import UnreadableTableError
from audit.spark.delta.values import Table, View
from audit.time_travel.clones.clone_table import share
from audit.time_travel.dropped.recreate import CREATED, create_view, created_on, make_all, schema_clauses
from audit.time_travel.errors import (
    BadClauseError,
    BeforeCreationError,
    NoHistoryError,
    ObjectExistsError,
    OutsideRetentionError,
    UnknownObjectError,
)
from audit.time_travel.versions.version_lookup import require_clause, time_text
from lineage.names import SESSION_CATALOG, quote_name, sql_name
from lineage.sql.commands.time_travel.clone import IGNORE

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.versions.reading import VersionReader
    from audit.time_travel.versions.version_lookup import EvaluatedPoint
    from lineage.sql.commands.time_travel.clone import CloneSchema

_AT_ONCE = 4


def require_whole(clone: CloneSchema) -> CloneSchema:
    """The statement, if the parser has understood all of it.

    Raises:
        BadClauseError: there is text after it that belongs to no CLONE.
    """
    if clone.rest:
        raise BadClauseError(
            f"CREATE SCHEMA {'.'.join(clone.name)} CLONE cannot go on with {clone.rest!r}",
            f"write CREATE SCHEMA … CLONE … [AT | BEFORE (…)] [{' '.join(IGNORE)}]",
        )
    return clone


@dataclass(frozen=True, slots=True)
class _Source:
    """A table that is cloned.

    Attributes:
        name: of the clone, its last part.
        table: the source; by its path if it was dropped.
        version: the one that is cloned, None for the newest.
    """

    name: str
    table: Table
    version: int | None


@dataclass(frozen=True, slots=True)
class SchemaCloner:
    """Clones the objects of a schema.

    Attributes:
        catalog: the user's session.
        own: a session of the system's own, not audited; its commits carry the statement's id.
        past: finds versions.
        now: UTC microseconds.
        dropped: gives the tables and views that a schema lost after a point, in their order.
        location: gives the location of a table of the new schema, by its name.
        properties: of the clone of a table, by its source and its location.
        copy_views: gives views, which are to be created, the policies of others; names are in full.
    """

    catalog: DeltaCatalog
    own: DeltaCatalog
    past: VersionReader
    now: int
    dropped: Callable[[str, EvaluatedPoint, Sequence[Table | View]], Sequence[Table | View]]
    location: Callable[[str], str]
    properties: Callable[[Table, str], Mapping[str, str]]
    copy_views: Callable[[Sequence[tuple[Sequence[str], Sequence[str]]]], None]

    def schema(self, clone: CloneSchema) -> str:
        """Clone all tables, views and functions of a schema, those dropped after the point included.

        "The cloning operation for a database or schema fails: If the specified Time Travel time is beyond the
        retention time of any current child … If the specified Time Travel time is at or before the point in
        time when the object was created" (Cloning historical objects).

        Returns:
            A message for the user.

        Raises:
            UnknownObjectError: there is no such schema.
            ObjectExistsError: the new name exists.
            OutsideRetentionError: the retention of a table does not reach back, without IGNORE …; nothing was
                created.
            BeforeCreationError: the schema did not exist at that point; nothing was created.
        """
        source, new = clone.source[-1], clone.name[-1]
        facts = self.catalog.schema_facts(source)
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name(clone.source)}", "check its name")
        if self.catalog.schema_facts(new) is not None:
            if clone.if_not_exists:
                return f"{new} already exists, statement succeeded."
            raise ObjectExistsError(f"the schema {new} exists", "choose another name, or drop it first")
        created = created_on(facts)
        point = None if clone.point is None else require_clause(clone.point)
        asked = None if point is None else self.past.asked_of_schema(point)
        _require_there(clone, asked, created)
        there = self.catalog.tables(source)
        gone = [] if asked is None else self.dropped(source, asked, there)
        left_out: list[str] = []
        found = list(self._tables_at(clone, asked, there, left_out, is_known=created is not None))
        if asked is not None:
            found += self._dropped_since(asked, gone, {one.name for one in found}, left_out)
        # The clone's own creation time, not the source's.
        made = {**facts, "properties": {**facts["properties"], CREATED: str(self.now)}}
        # In the system's own session: the CLONE alone is on record, not its parts.
        self.own.spark.sql(f"CREATE SCHEMA {sql_name([new])}{schema_clauses(made)}")
        self._make(new, found)
        # Before the views, which may call them.
        self._functions(source, new)
        refused = self._views(new, source, [*there, *gone], {one.name for one in found})
        messages = [f"Schema {new} successfully created."]
        if left_out:
            messages.append(f"Without tables whose retention does not reach back: {', '.join(left_out)}.")
        if refused:
            names = ", ".join(view.name[-1] for view in refused)
            messages.append(f"Without views over missing objects: {names}.")
        return " ".join(messages)

    def _tables_at(
        self,
        clone: CloneSchema,
        asked: EvaluatedPoint | None,
        relations: Sequence[Table | View],
        left_out: list[str],
        *,
        is_known: bool,
    ) -> Iterator[_Source]:
        """The Delta tables that existed at the point, each with its version.

        Args:
            clone: the statement.
            asked: its point, evaluated once for all tables; None for now.
            relations: of the schema.
            left_out: takes the names of tables that are ignored.
            is_known: when the schema was created; else it is as old as its oldest table.
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
        # Without the schema's creation time, a schema older than its tables cannot be told from one that did
        # not exist.
        if young and not (found or left_out or is_known):
            raise BeforeCreationError(
                f"no table of the schema {quote_name(clone.source)} was there at {clone.point}:"
                f" {young.problem}",
                "ask for a later point in time",
            )

    def _dropped_since(
        self, asked: EvaluatedPoint, relations: Sequence[Table | View], taken: set[str], left_out: list[str]
    ) -> Iterator[_Source]:
        """Tables that were dropped later; they are no children any more, so they fail no clone."""
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

        # The threads carry the statement's job tag, so its record includes what they run.
        make = inheritable_thread_target(self.catalog.spark)(lambda one: self._table(schema, one))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(make, sources))

    def _table(self, schema: str, one: _Source) -> None:
        place = self.location(one.name)
        name = (SESSION_CATALOG, schema, one.name)
        share(self.own, one.table, one.version, name, place, self.properties(one.table, place))
        # Delta caches some megabytes a table (4.4): many tables at once would fill the driver's memory.
        self.own.forget(place)
        self.own.forget(one.table.location or "")

    def _functions(self, source: str, new: str) -> None:
        for facts in self.catalog.functions(source):
            self.catalog.restore_function(new, facts)

    def _views(self, new: str, source: str, relations: Sequence[Table | View], taken: set[str]) -> list[View]:
        """Create each view by its text in the new schema, where unqualified names find the cloned tables.

        Returns:
            The views that Spark refuses.
        """
        views: dict[str, View] = {}
        for one in relations:
            if isinstance(one, View) and one.name[-1] not in taken:
                # Existing views come first in the list, so they win over dropped ones of the same name.
                views.setdefault(one.name[-1], one)

        def clone_of(view: View) -> tuple[str, str, str]:
            return SESSION_CATALOG, new, view.name[-1]

        def make(view: View) -> None:
            catalog, schema = view.current
            current = (catalog, new) if schema.lower() == source.lower() else (catalog, *schema.split("."))
            create_view(self.own.spark, clone_of(view), view.facts, current)

        # Before they are there: nobody reads one without its policies.
        self.copy_views([(view.name, clone_of(view)) for view in views.values()])
        return make_all(list(views.values()), make)


def _require_there(clone: CloneSchema, asked: EvaluatedPoint | None, created: int | None) -> None:
    if asked is None or asked.micros is None or created is None or asked.micros > created:
        return
    raise BeforeCreationError(
        f"the schema {quote_name(clone.source)} was created at {time_text(created)}, and {clone.point} is"
        f" {time_text(asked.micros)}",
        "ask for a later point in time",
    )


def _delta(relations: Sequence[Table | View]) -> Iterator[Table]:
    for one in relations:
        if isinstance(one, Table) and one.provider == "delta" and one.location:
            yield one
