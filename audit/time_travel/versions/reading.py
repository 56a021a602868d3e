"""Rewrites AT | BEFORE, TIMESTAMP AS OF and `t@v3` to VERSION AS OF a number.

In: the text of a statement and its clauses. Out: text that Spark runs, unchanged otherwise. A view is
expanded, and each table below it is read at that point; a table whose columns have changed since is read in
today's columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import lineage
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.delta.values import Table, View, is_path
from audit.time_travel.errors import BadClauseError, NoHistoryError
from audit.time_travel.versions.columns import in_todays_columns
from audit.time_travel.versions.version_lookup import (
    EvaluatedPoint,
    VersionLimits,
    VersionsRead,
    began,
    evaluate,
    has_written,
    require_clause,
    version_for,
)
from lineage.names import SESSION_CATALOG, qualify, quote_name, sql_name
from lineage.sql.table_places import tables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lineage.sql.commands.time_travel.at_before import Point, VersionClause

Current = tuple[str, str]


@dataclass(frozen=True, slots=True)
class VersionReader:
    """Resolves the points of one statement to versions.

    Attributes:
        catalog: look-ups in the user's session.
        limits: the limits of a table's versions.
        versions_read: the versions that a recorded statement read.
        now: UTC microseconds, one moment for the whole statement.
        clock: the time, UTC microseconds.
        require_unprotected: refuses a view by its name that policies protect: they are its text's own.
    """

    catalog: DeltaCatalog
    limits: Callable[[Table], VersionLimits]
    versions_read: VersionsRead
    now: int
    clock: Callable[[], int]
    require_unprotected: Callable[[Sequence[str]], None]

    def rewrite(self, text: str, points: Sequence[Point]) -> str:
        """The text for Spark.

        Args:
            text: as the user wrote it.
            points: its clauses.

        Raises:
            TimeTravelError: a clause is invalid, or there is no version at its point.
        """
        # From the end, so that earlier positions stay valid.
        for clause in reversed(self.clauses_of(points)):
            asked = evaluate(clause, self.catalog, self.now, self.clock)
            if clause.after == "CLONE":
                # As in Spark's own form, a clone has the columns of the version.
                asked = replace(asked, clause=replace(clause, own=False))
            new = self._relation(clause.table, asked, aliased=clause.aliased)
            if not new.startswith("(") and clause.after == "USING":
                new = f"(SELECT * FROM {new})"  # noqa: S608  MERGE takes a plain name or a query
            text = text[: clause.first] + new + text[clause.stop :]
        return text

    def version_of(self, asked: EvaluatedPoint, table: Table) -> int:
        """The version of a table at a point of its schema, from `asked_of_schema`.

        The id of a statement that did not write this table stands for the time when it began.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        if asked.query_id is not None and not has_written(asked.query_id, table, self.catalog):
            asked = replace(asked, query_id=None)
        return version_for(asked, table, self.catalog, self.limits(table), self.versions_read)

    def asked_of_schema(self, clause: VersionClause) -> EvaluatedPoint:
        """The evaluated point of a clause about a schema; a statement with the time when it began.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        asked = evaluate(clause, self.catalog, self.now, self.clock)
        return asked if asked.query_id is None else replace(asked, micros=began(asked.query_id))

    def clauses_of(self, points: Sequence[Point]) -> list[VersionClause]:
        """The clauses of a statement.

        Raises:
            BadClauseError: a clause that cannot be read.
        """
        return [clause for clause in map(require_clause, points) if not self._is_folder(clause)]

    def version_at(self, clause: VersionClause, table: Table) -> int:
        """The version of a table at the point of a clause.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        asked = evaluate(clause, self.catalog, self.now, self.clock)
        return version_for(asked, table, self.catalog, self.limits(table), self.versions_read)

    def _is_folder(self, clause: VersionClause) -> bool:
        """Whether a folder has this path: `@v3` at its end belongs to its name then."""
        return bool(clause.path) and self.catalog.state(clause.path) is not None

    def _relation(self, parts: Sequence[str], asked: EvaluatedPoint, *, aliased: bool) -> str:
        """SQL of a table or view at a point, for a FROM clause."""
        entry = self.catalog.find(parts)
        # Not in the session catalog: another catalog may have the table, which Spark alone can tell.
        if entry is None:
            return f"{sql_name(parts)}{_in_sparks_form(parts, asked)}"
        if isinstance(entry, View):
            return f"({self._view(entry, asked)})" + ("" if aliased else f" AS {sql_name(parts[-1:])}")
        version = version_for(asked, entry, self.catalog, self.limits(entry), self.versions_read)
        versioned = f"{sql_name(parts)} VERSION AS OF {version}"
        if not asked.clause.own:
            return versioned
        return in_columns_of(self.catalog, entry, version, None, versioned, aliased=aliased)

    def _view(self, view: View, asked: EvaluatedPoint) -> str:
        if not view.temporary:
            self.require_unprotected(view.name)
        statement = lineage.parse(view.text)
        if statement.tree is None:
            raise NoHistoryError(
                f"the text of the view {quote_name(view.name)} cannot be read ({statement.reason})",
                f"ask the tables below it for {asked.clause}, each for itself",
            )
        text = view.text
        # From the end, as in `rewrite`.
        for table in sorted(tables_of(statement), key=lambda table: table.first, reverse=True):
            new = self._relation(self._within(view, table.name), asked, aliased=table.aliased)
            text = text[: table.first] + new + text[table.stop :]
        return under_names_of(view, text)

    def _within(self, view: View, parts: Sequence[str]) -> tuple[str, ...]:
        """A name in a view's text in full; a temporary view may name another one."""
        # A view of the catalog reads no temporary view: Spark refuses to create one that does.
        if view.temporary and len(parts) == 1:
            entry = self.catalog.find(parts)
            if isinstance(entry, View) and entry.temporary:
                return tuple(parts)
        return in_full(parts, view.current)


def in_columns_of(
    catalog: DeltaCatalog, table: Table, version: int, other: int | None, versioned: str, *, aliased: bool
) -> str:
    """SQL of a table at a version, with the columns of another version.

    Args:
        catalog: look-ups.
        table: a Delta table.
        version: whose rows.
        other: whose columns; None for the newest.
        versioned: SQL of the table at that version.
        aliased: whether an alias follows.
    """
    from pyspark.sql.types import StructType

    then, wanted = (catalog.schema(table.location or "", v) for v in (version, other))
    # The texts first: they are equal for most versions, and parsing two schemas takes longer.
    if then == wanted:
        return versioned
    read = (StructType.fromJson(_parsed(schema)) for schema in (then, wanted))
    columns = in_todays_columns(*read)
    if columns is None:
        return versioned
    selected = f"(SELECT {', '.join(columns)} FROM {versioned})"  # noqa: S608  names are quoted
    return selected + ("" if aliased else f" AS {sql_name(table.name[-1:])}")


def under_names_of(view: View, text: str) -> str:
    """SQL of a view's query, its columns under the view's own names."""
    if not view.columns:
        return text
    named = ", ".join(
        sql_name([queried]) if queried == name else f"{sql_name([queried])} AS {sql_name([name])}"
        for queried, name in view.columns
    )
    return f"SELECT {named} FROM ({text})"  # noqa: S608  the view's own text


def in_full(parts: Sequence[str], current: Current) -> tuple[str, ...]:
    """A name of a view's text in full; `delta.`/path`` is full already."""
    if is_path(parts):
        return tuple(parts)
    return qualify(tuple(parts), current)


def _in_sparks_form(parts: Sequence[str], asked: EvaluatedPoint) -> str:
    """The clause in Spark's own syntax, for a table of another catalog."""
    if asked.version is not None:
        return f" VERSION AS OF {asked.version}"
    if asked.micros is not None and not asked.clause.before:
        return f" TIMESTAMP AS OF timestamp_micros({asked.micros})"
    raise BadClauseError(
        f"{quote_name(parts)} is no table of {SESSION_CATALOG}: {asked.clause} cannot be found",
        "check the name; tables of other catalogs can be asked AT (TIMESTAMP => …) and by VERSION AS OF",
    )


def _parsed(schema: str) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(schema)
    return found
