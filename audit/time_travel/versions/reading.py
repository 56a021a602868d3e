"""Has Spark read tables and views at versions: AT | BEFORE, TIMESTAMP AS OF, VERSION AS OF and `t@v3`.

In: a statement and its clauses. Out: its text, in which each table or view of a clause stands with a mark
(`t VERSION AS OF '<mark>'`) for which Spark's parser reads the version, and the text is unchanged otherwise.
A view is read as Spark resolves it, with each Delta table below it at the point. Rows come in today's columns
where these can hold them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.delta.past_relations import RelationBelow, VersionBelow
from audit.spark.delta.values import Table, View, is_path
from audit.time_travel.errors import BadClauseError, NoHistoryError
from audit.time_travel.versions.columns import in_todays_columns, of_view
from audit.time_travel.versions.version_lookup import (
    EvaluatedPoint,
    VersionLimits,
    began,
    evaluate,
    has_written,
    require_clause,
    version_for,
)
from lineage.names import SESSION_CATALOG, qualify, quote_name, sql_name
from lineage.sql.function_definition import CreateFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql.types import StructType

    from audit.time_travel.versions.recorded import Records
    from lineage.sql.commands.time_travel.at_before import Point, VersionClause
    from lineage.sql.statement import Statement

Current = tuple[str, str]
# Their text is kept in the catalog, and run when nobody knows its marks any more.
_KEEP_THEIR_TEXT = frozenset({"CREATE_VIEW", "ALTER_VIEW"})


@dataclass(frozen=True, slots=True)
class TextAtVersions:
    """A text for Spark.

    Attributes:
        text: of the statement.
        marks: those in it, to be released when it has been parsed.
    """

    text: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VersionToRead:
    """A table that a DataFrameReader is to read at a version.

    Attributes:
        name: as it was given.
        table: what it stands for.
        version: that Time Travel allows.
        kept: the table's retention is this system's, and Delta's own check is not to be made.
    """

    name: tuple[str, ...]
    table: Table
    version: int
    kept: bool


@dataclass(frozen=True, slots=True)
class VersionReader:
    """Resolves the points of one statement to versions.

    Attributes:
        catalog: look-ups in the user's session.
        find: what a name means there.
        limits: the limits of a table's versions.
        records: gives statements on record.
        now: UTC microseconds, one moment for the whole statement.
        clock: the time, UTC microseconds.
    """

    catalog: DeltaCatalog
    find: Callable[[tuple[str, ...]], Table | View | None]
    limits: Callable[[Table], VersionLimits]
    records: Records
    now: int
    clock: Callable[[], int]
    _marks: list[str] = field(default_factory=list, init=False)

    def rewrite(self, statement: Statement) -> TextAtVersions:
        """The text for Spark.

        Args:
            statement: with its clauses.

        Raises:
            TimeTravelError: a clause is invalid, or there is no version at its point.
        """
        text = statement.text
        is_kept = statement.statement_type in _KEEP_THEIR_TEXT or isinstance(statement.typed, CreateFunction)
        try:
            # From the end, so that earlier positions stay valid.
            for clause in reversed(self.clauses_of(statement.points)):
                new = self._relation(clause, is_kept=is_kept)
                text = text[: clause.first] + new + text[clause.stop :]
        except BaseException:
            self.catalog.release(self._marks)
            raise
        return TextAtVersions(text, tuple(self._marks))

    def version_of(self, asked: EvaluatedPoint, table: Table) -> int:
        """The version of a table at a point of its schema, from `asked_of_schema`.

        The id of a statement that did not write this table stands for the time when it began.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        if asked.query_id is not None and not has_written(asked.query_id, table, self.catalog):
            asked = replace(asked, query_id=None)
        return version_for(asked, table, self.catalog, self.limits(table), self.records)

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
        return version_for(asked, table, self.catalog, self.limits(table), self.records)

    def _is_folder(self, clause: VersionClause) -> bool:
        """Whether a folder has this path: `@v3` at its end belongs to its name then."""
        return bool(clause.path) and self.catalog.state(clause.path) is not None

    def _relation(self, clause: VersionClause, *, is_kept: bool) -> str:
        """SQL of a table or view at its point, for a FROM clause."""
        asked, parts = evaluate(clause, self.catalog, self.now, self.clock), clause.table
        entry = self.find(parts)
        if isinstance(entry, Table):
            return self._table(entry, asked, is_kept=is_kept)
        # A temporary view of a DataFrame has no text, so no entry.
        if isinstance(entry, View) or self.catalog.is_temporary(parts):
            if is_kept:
                raise BadClauseError(
                    f"a view or function keeps its text, and {quote_name(parts)} is a view: its text of"
                    f" {clause} would be another one tomorrow",
                    "ask the tables below it, each for itself, or CREATE TABLE … AS SELECT",
                )
            return _in_brackets(self._marked(parts, self._view(parts, asked)), clause)
        # Not in the session catalog: another catalog may have the table, which Spark alone can tell.
        return f"{sql_name(parts)}{_in_sparks_form(parts, asked)}"

    def _table(self, table: Table, asked: EvaluatedPoint, *, is_kept: bool) -> str:
        clause, limits = asked.clause, self.limits(table)
        version = version_for(asked, table, self.catalog, limits, self.records)
        # CLONE reads the version itself. Without a retention of ours Delta's own check decides.
        if is_kept or clause.after == "CLONE" or limits.horizon is None:
            versioned = f"{sql_name(clause.table)} VERSION AS OF {version}"
        else:
            versioned = self._marked(clause.table, self.catalog.past_table(table.name, version))
        # As in Spark's own form, a clone has the columns of the version.
        if not clause.own or clause.after == "CLONE":
            return versioned if clause.after == "CLONE" else _in_brackets(versioned, clause)
        columns = in_columns_of(self.catalog, table, version, None, versioned, aliased=clause.aliased)
        return _in_brackets(columns, clause)

    def _marked(self, parts: Sequence[str], mark: str) -> str:
        self._marks.append(mark)
        return f"{sql_name(parts)} VERSION AS OF '{mark}'"

    def _view(self, parts: Sequence[str], asked: EvaluatedPoint) -> str:
        """The mark of a view with each table below it at the point."""
        view = self.catalog.past_view(parts)
        return view.at([self._below(parts, asked, one) for one in view.relations()])

    def _below(self, view: Sequence[str], asked: EvaluatedPoint, relation: RelationBelow) -> VersionBelow:
        if not relation.location:
            what = quote_name(relation.name) if relation.name else f"rows of Spark's ({relation.kind})"
            raise NoHistoryError(
                f"the view {quote_name(view)} reads {what}, which has no versions for {asked.clause}",
                f"only Delta tables keep theirs; ask the tables below it for {asked.clause}, each for itself",
            )
        name = relation.name or ("delta", relation.location)
        table = Table(name, relation.location, "delta", managed=False)
        limits = self.limits(table)
        version = version_for(asked, table, self.catalog, limits, self.records)
        then = self.catalog.schema(relation.location, version)
        columns = None
        if then != relation.schema:
            replaced = self.catalog.id_at(relation.location, version) != relation.table_id
            columns = of_view(
                _columns(then), _columns(relation.schema), f"{quote_name(name)} at version {version}",
                by_name=replaced,
            )  # fmt: skip
        return VersionBelow(version, limits.horizon is None, columns)


def in_columns_of(
    catalog: DeltaCatalog, table: Table, version: int, other: int | None, versioned: str, *, aliased: bool
) -> str:
    """SQL of a table at a version, with the columns of another version where these can hold its rows.

    Args:
        catalog: look-ups.
        table: a Delta table.
        version: whose rows.
        other: whose columns; None for the newest.
        versioned: SQL of the table at that version.
        aliased: whether an alias follows.
    """
    location = table.location or ""
    then, wanted = (catalog.schema(location, v) for v in (version, other))
    # The texts first: they are equal for most versions, and parsing two schemas takes longer.
    if then == wanted:
        return versioned
    state = catalog.state(location)
    newest = "" if state is None else state.table_id
    # What has been replaced since was another table (Delta 4.4 gives each REPLACE an id of its own).
    if catalog.id_at(location, version) != (newest if other is None else catalog.id_at(location, other)):
        return versioned
    columns = in_todays_columns(_columns(then), _columns(wanted))
    if columns is None:
        return versioned
    selected = f"(SELECT {', '.join(columns)} FROM {versioned})"  # noqa: S608  names are quoted
    return selected + ("" if aliased else f" AS {sql_name(table.name[-1:])}")


def _in_brackets(relation: str, clause: VersionClause) -> str:
    # MERGE takes a plain name or a query.
    if clause.after != "USING" or relation.startswith("("):
        return relation
    return f"(SELECT * FROM {relation})"  # noqa: S608  names are quoted


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


def _columns(schema: str) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(schema))
