"""Rewrites a recorded query so that it reads the same versions again.

In: a `RecordedStatement`. Out: its query with full names, independent of the current schema: tables stand
VERSION AS OF, and views, which Spark resolves, BEFORE (STATEMENT => …).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

import lineage
from audit.core.errors import TimeTravelError
from audit.core.file_paths import without_scheme
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.delta.values import Table, View
from audit.time_travel.errors import NotAQueryError, NotRepeatableError, VersionGoneError
from audit.time_travel.versions.reading import in_columns_of, in_full
from audit.time_travel.versions.version_lookup import (
    EvaluatedPoint,
    VersionLimits,
    evaluate,
    require_clause,
    version_for,
)
from lineage.catalog.object_ids import object_id
from lineage.names import qualify, quote_name, sql_name, sql_text
from lineage.sql.commands.time_travel.at_before import VersionClause
from lineage.sql.parameters import at_time
from lineage.sql.table_places import tables_of, written_query
from lineage.sql.tokens import tokenize, word

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from audit.spark.delta.past_relations import PastView, RelationBelow
    from audit.spark.delta.values import DeltaTableState
    from audit.time_travel.versions.recorded import RecordedStatement, RecordedVersion, Records

Current = tuple[str, str]
_WRITES_A_QUERY = ("INSERT", "CREATE_TABLE", "REPLACE_TABLE")


def query_of(recorded: RecordedStatement) -> str:
    """The query of a statement: itself, or that of an INSERT or a CREATE TABLE … AS.

    >>> from audit.time_travel.versions.recorded import RecordedStatement
    >>> sql = "INSERT INTO t (a) SELECT b FROM u"
    >>> query_of(RecordedStatement("q", sql, "", "SUCCESS", ("c", "s"), 0))
    'SELECT b FROM u'

    Raises:
        NotAQueryError: it has none, or it failed.
        NotRepeatableError: it had parameters.
    """
    if recorded.status != "SUCCESS":
        raise NotAQueryError(
            f"statement {recorded.query_id} ended as {recorded.status}: it has no answer to repeat",
            "query_history, column error_message, says what happened",
        )
    text = recorded.text
    # The record of a DataFrame's action is the call with its plan, which is no SQL.
    if recorded.action and text.startswith(f"{recorded.action}("):
        raise NotAQueryError(
            f"statement {recorded.query_id} is the DataFrame action {recorded.action}: SQL is on record in"
            " a form that runs",
            "read the tables of its object_versions in access_history with time_travel.read(…, at=version)",
        )
    statement = lineage.parse(text)
    if not statement.is_query and statement.statement_type.startswith(_WRITES_A_QUERY):
        text = written_query(text)
        statement = lineage.parse(text)
    if not statement.is_query or statement.tree is None:
        raise NotAQueryError(
            f"statement {recorded.query_id} is no query but {lineage.parse(recorded.text).statement_type}",
            "replay runs SELECT, and the query of INSERT … SELECT and CREATE TABLE … AS SELECT",
        )
    if statement.tree.find(exp.Placeholder, exp.Parameter) is not None:
        raise NotRepeatableError(
            f"statement {recorded.query_id} had parameters, whose values are not on record",
            "run its query_text with them, each table AT (STATEMENT => …) of it",
        )
    return text


@dataclass(frozen=True, slots=True)
class Replay:
    """A query over the versions of its record.

    Attributes:
        recorded: the statement.
        catalog: look-ups in the session that replays.
        limits: the limits of a table's versions.
        records: gives statements on record.
        clock: the time, UTC microseconds.
    """

    recorded: RecordedStatement
    catalog: DeltaCatalog
    limits: Callable[[Table], VersionLimits]
    records: Records
    clock: Callable[[], int]
    _bound: set[str] = field(default_factory=set, init=False)

    def text(self) -> str:
        """The text for Spark.

        Raises:
            TimeTravelError: see `time_travel.replay`.
        """
        query = self._in_versions(query_of(self.recorded))
        # All that was read must be bound; else a view or a function leads elsewhere today.
        for read in self.recorded.read:
            if read.name.lower() not in self._bound:
                raise NotRepeatableError(
                    f"statement {self.recorded.query_id} read {read.name}, to which its text no longer leads",
                    "a view or a function has been redefined since; ddl_history says by whom",
                )
        return f"/* replay of {self.recorded.query_id} */ {query}"

    def _in_versions(self, text: str) -> str:
        """A text with each table and view at what it read."""
        statement, tokens, current = lineage.parse(text), tokenize(text) or [], self.recorded.current
        assert statement.tree is not None  # noqa: S101  `query_of` gives what has one
        places: list[tuple[int, int, Sequence[str], bool, VersionClause | None]] = [
            (one.first, one.stop, one.name, one.aliased, None) for one in tables_of(statement)
        ]
        places += [
            (one.first, one.stop, one.table, one.aliased, one)
            for one in map(require_clause, statement.points)
        ]
        pieces = [
            (first, stop, self._relation(parts, clause, aliased=aliased))
            for first, stop, parts, aliased, clause in places
        ]
        pieces += self._functions(statement.tree, tokens, current)
        # From the end, so that earlier positions stay valid.
        for first, stop, new in sorted(pieces, reverse=True):
            text = text[:first] + new + text[stop:]
        return text

    def _relation(self, parts: Sequence[str], clause: VersionClause | None, *, aliased: bool) -> str:
        full = in_full(parts, self.recorded.current)
        entry = self._resolve(parts, full)
        if isinstance(entry, View):
            return self._view(parts if entry.temporary else full, clause)
        recorded_versions = self._recorded_versions(full, entry)
        if not recorded_versions and self.catalog.is_temporary(parts):
            return self._view(parts, clause)  # of a DataFrame
        if not recorded_versions:
            raise self._not_on_record(full, entry)
        if entry is None:
            raise self._gone(recorded_versions[-1], "there is no table of that name now")
        self._bound.add(recorded_versions[-1].name.lower())
        read = self._choose(recorded_versions, entry, clause)
        state = self._readable_state(read, entry)
        # This form of Spark gives the columns of the version, which the statement saw.
        versioned = f"{sql_name(entry.name)} VERSION AS OF {read.version}"
        if clause is None or not clause.own:
            return versioned
        then = self.catalog.version_at(entry.location or "", state, self.recorded.start // 1000)
        # The statement may have read a version that was committed after its start.
        then = max(then, read.version)
        return in_columns_of(self.catalog, entry, read.version, then, versioned, aliased=aliased)

    def _view(self, name: Sequence[str], clause: VersionClause | None) -> str:
        """A view at a point at which each table that Spark finds below it has the recorded version."""
        asked = (
            self._point(clause)
            if clause
            else EvaluatedPoint(_before(name, self.recorded.query_id), query_id=self.recorded.query_id)
        )
        below = self._resolved(name)
        for relation in below.fixed():
            self._bound.update(one.name.lower() for one in self._recorded_versions(*_named(relation)))
        for relation in below.relations():
            full, table = _named(relation)
            recorded_versions = self._recorded_versions(full, table) if table.location else []
            if not recorded_versions:
                found = self.catalog.find(relation.name) if relation.name else None
                raise self._not_on_record(full, found if isinstance(found, Table) else None)
            self._bound.add(recorded_versions[-1].name.lower())
            read = self._choose(recorded_versions, table, clause)
            self._readable_state(read, table)
            if version_for(asked, table, self.catalog, VersionLimits(), self.records) != read.version:
                raise self._ambiguous(recorded_versions, asked.clause)
        return f"{sql_name(name)} {_in_words(asked)}"

    def _resolved(self, name: Sequence[str]) -> PastView:
        from pyspark.errors import AnalysisException

        try:
            return self.catalog.past_view(name)
        except AnalysisException as error:
            raise NotRepeatableError(
                f"the view {quote_name(name)}, which {self.recorded.query_id} read, leads to what is not"
                f" there now: {error.getCondition()}",
                "SHOW TABLES HISTORY says whether UNDROP brings a table back",
            ) from error

    def _point(self, clause: VersionClause) -> EvaluatedPoint:
        """A clause of the statement as of the time when it ran."""
        moment = f"timestamp_micros({self.recorded.start})"
        return evaluate(at_time(clause, moment), self.catalog, self.recorded.start, self.clock)

    def _resolve(self, parts: Sequence[str], full: Sequence[str]) -> Table | View | None:
        """The object of a name; a temporary view shadows a table of the schema, as in Spark."""
        temporary = self.catalog.find(parts) if len(parts) == 1 else None
        if isinstance(temporary, View) and temporary.temporary and not self._recorded_versions(full, None):
            return temporary
        return self.catalog.find(full)

    def _recorded_versions(self, full: Sequence[str], entry: Table | View | None) -> list[RecordedVersion]:
        """The recorded versions of a table, in order.

        A read by path is recorded under the name of the table at that path, else under the path.
        """
        # Without case: a record has the catalog's spelling of a name, a text that of its user.
        names = {quote_name(full).lower()}
        if isinstance(entry, Table) and entry.name[0] == "delta" and entry.location:
            registered = self.catalog.registered(entry.location)
            names = {_plain(entry.location)} | (
                {quote_name(registered.name).lower()} if registered else set()
            )
        recorded_versions = [read for read in self.recorded.read if _plain(read.name.lower()) in names]
        return sorted(recorded_versions, key=lambda read: read.version)

    def _choose(
        self, recorded_versions: list[RecordedVersion], table: Table, clause: VersionClause | None
    ) -> RecordedVersion:
        """The recorded version of one occurrence of a table; without a clause the newest."""
        if clause is None or len(recorded_versions) == 1:
            return recorded_versions[-1]
        version = version_for(self._point(clause), table, self.catalog, VersionLimits(), self.records)
        found = [read for read in recorded_versions if read.version == version]
        if not found:
            raise self._ambiguous(recorded_versions, clause)
        return found[0]

    def _ambiguous(
        self, recorded_versions: Sequence[RecordedVersion], clause: VersionClause
    ) -> NotRepeatableError:
        numbers = ", ".join(str(read.version) for read in recorded_versions)
        return NotRepeatableError(
            f"statement {self.recorded.query_id} read the versions {numbers} of"
            f" {recorded_versions[0].name}; which of them was {clause} cannot be told",
            "run its query_text with VERSION AS OF a number",
        )

    def _readable_state(self, read: RecordedVersion, table: Table) -> DeltaTableState:
        """The state of a table that still has the recorded version, under the same id."""
        asked = EvaluatedPoint(_version_clause(table, read.version), version=read.version)
        state = self.catalog.state(table.location or "")
        try:
            version_for(asked, table, self.catalog, self.limits(table), self.records)
        except TimeTravelError as error:
            raise self._gone(read, error.problem) from error
        assert state is not None  # noqa: S101  it has just had a version
        # A REPLACE since has given the table another id (Delta 4.4): the record may hold the one of then.
        ids = (state.table_id, self.catalog.id_at(table.location or "", read.version))
        if read.object_id is not None and read.object_id not in [object_id("TABLE", one) for one in ids]:
            raise self._gone(read, "the table of that name is another one now")
        return state

    def _gone(self, read: RecordedVersion, why: str) -> VersionGoneError:
        return VersionGoneError(
            f"version {read.version} of {read.name}, which statement {self.recorded.query_id} read, is"
            f" gone: {why}",
            "SHOW TABLES HISTORY says whether UNDROP brings a table back; DATA_RETENTION_TIME_IN_DAYS says"
            " for how long versions are kept",
        )

    def _not_on_record(self, full: Sequence[str], entry: Table | None) -> NotRepeatableError:
        if entry is not None and entry.provider != "delta":
            why = f"it is a table of {entry.provider}, which keeps no versions"
        else:
            why = "it was no table or view with a text then, or a view has been redefined since"
        return NotRepeatableError(
            f"no version of {quote_name(full)} is on record for statement {self.recorded.query_id}: {why}",
            "only what Delta tables and views over them held can be had again",
        )

    def _functions(self, tree: exp.Expr, tokens: list[Token], current: Current) -> list[tuple[int, int, str]]:
        """The text with functions of the former current schema in full."""
        called = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
        if not called or self.catalog.current == current or self.catalog.schema_facts(current[1]) is None:
            return []
        own = {facts["name"].lower() for facts in self.catalog.functions(current[1])} & called
        return [
            (token.start, token.end + 1, sql_name(qualify((token.text,), current)))
            for at, token in enumerate(tokens)
            if token.text.lower() in own and word(tokens, at + 1) == "(" and word(tokens, at - 1) != "."
        ]


def _named(relation: RelationBelow) -> tuple[Sequence[str], Table]:
    """The full name of a relation below a view, and its table."""
    name = relation.name or ("delta", relation.location)
    return name, Table(name, relation.location, "delta", managed=False)


def _before(name: Sequence[str], query_id: str) -> VersionClause:
    return VersionClause(tuple(name), "STATEMENT", before=True, expression=sql_text(query_id), own=True)


def _in_words(asked: EvaluatedPoint) -> str:
    """A point as a clause that stays the same whenever it is asked.

    >>> _in_words(EvaluatedPoint(_before(("v",), "q"), query_id="q"))
    "BEFORE (STATEMENT => 'q')"
    """
    if asked.version is not None:
        point = f"VERSION => {asked.version}"
    elif asked.query_id is not None:
        point = f"STATEMENT => {sql_text(asked.query_id)}"
    else:
        point = f"TIMESTAMP => timestamp_micros({asked.micros})"
    return f"{'BEFORE' if asked.clause.before else 'AT'} ({point})"


def _version_clause(table: Table, version: int) -> VersionClause:
    return VersionClause(table.name, "VERSION", before=False, expression=str(version), own=False)


def _plain(name: str) -> str:
    """A location in its normal form; another name unchanged."""
    return without_scheme(name).lower()
