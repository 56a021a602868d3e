"""A recorded query as text that reads the same versions again.

In: a `Recorded`. Out: its query with each table's full name and VERSION AS OF, views opened, so that it means
the same in any current schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

import lineage
from lineage.names import qualify, quote_name, sql_name
from lineage.object_ids import object_id
from lineage.tokens import tokenize, word
from time_travel.clause import Clause, clauses
from time_travel.errors import (
    NotAQueryError,
    NotRepeatableError,
    TimeTravelError,
    VersionGoneError,
)
from time_travel.lake import Lake, Table, View
from time_travel.point import Asked, Rule, VersionsRead, evaluate, version_for
from time_travel.reading import in_columns_of, in_full, is_aliased, tables_of, under_names_of

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from time_travel.lake import State
    from time_travel.recorded import Recorded, VersionRead

Current = tuple[str, str]
_BEGINS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_WRITES_A_QUERY = ("INSERT", "CREATE_TABLE", "REPLACE_TABLE")
_BEFORE_NOUN = frozenset({"INTO", "OVERWRITE", "CREATE", "REPLACE", "TRANSIENT", "TEMPORARY", "EXTERNAL"})
_NOW = re.compile(r"\b(?:current_timestamp\b(?:\s*\(\s*\))?|now\s*\(\s*\))", re.IGNORECASE)


def query_of(recorded: Recorded) -> str:
    """The query of a statement: itself, or what an INSERT or a CREATE TABLE … AS has written.

    >>> from time_travel.recorded import Recorded
    >>> query_of(Recorded("q", "INSERT INTO t (a) SELECT b FROM u", "", "SUCCESS", ("c", "s"), 0, ()))
    'SELECT b FROM u'

    Raises:
        NotAQueryError: it has none, or has failed.
        NotRepeatableError: it had parameters.
    """
    if recorded.status != "SUCCESS":
        raise NotAQueryError(
            f"statement {recorded.query_id} ended as {recorded.status}: it has no answer to repeat",
            "query_history, column error_message, says what happened",
        )
    text = recorded.text
    if recorded.action and text.startswith(f"{recorded.action}("):
        raise NotAQueryError(
            f"statement {recorded.query_id} is the DataFrame action {recorded.action}: SQL is on record in"
            " a form that runs",
            "read the tables of its object_versions in access_history with time_travel.read(…, at=version)",
        )
    statement = lineage.parse(text)
    if not statement.is_query and statement.statement_type.startswith(
        ("INSERT", "CREATE_TABLE", "REPLACE_TABLE")
    ):
        text = _behind(tokenize(text) or [], text)
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


def _behind(tokens: list[Token], text: str) -> str:
    """The query at the end of a statement that writes; "" for none."""
    depth = 0
    for at in range(1, len(tokens)):
        here, following = word(tokens, at), word(tokens, at + 1)
        in_brackets = here == "(" and following in _BEGINS
        # INSERT INTO TABLE t, INSERT … TABLE s
        is_noun = here == "TABLE" and word(tokens, at - 1) in _BEFORE_NOUN
        if depth == 0 and (in_brackets or (here in _BEGINS and not is_noun)):
            return text[tokens[at].start :]
        depth += (here == "(") - (here == ")")
    return ""


@dataclass(frozen=True, slots=True)
class Replay:
    """A query over the versions of its record.

    Attributes:
        recorded: the statement.
        lake: look-ups in the session that replays.
        rule: what a table's versions are subject to.
        versions_read: what another statement on record has read.
        clock: the time, UTC microseconds.
    """

    recorded: Recorded
    lake: Lake
    rule: Callable[[Table], Rule]
    versions_read: VersionsRead
    clock: Callable[[], int]
    _bound: set[str] = field(default_factory=set, init=False)

    def text(self) -> str:
        """What Spark runs.

        Raises:
            TimeTravelError: see `time_travel.replay`.
        """
        query = self._in_versions(query_of(self.recorded), self.recorded.current, None)
        for read in self.recorded.versions:
            if read.name.lower() not in self._bound:
                raise NotRepeatableError(
                    f"statement {self.recorded.query_id} read {read.name}, to which its text no longer leads",
                    "a view or a function has been redefined since; ddl_history says by whom",
                )
        return f"/* replay of {self.recorded.query_id} */ {query}"

    def _in_versions(self, text: str, current: Current, point: Clause | None) -> str:
        """A text with each table at its version; `point` is what the text stands at as a view."""
        statement, tokens = lineage.parse(text), tokenize(text) or []
        if statement.tree is None:
            raise NotRepeatableError(
                f"a view that statement {self.recorded.query_id} read cannot be read ({statement.reason})",
                "read the tables of its object_versions in access_history each for itself",
            )
        places: list[tuple[int, int, Sequence[str], bool, Clause | None]] = [
            (first, stop, parts, aliased, point) for first, stop, parts, aliased in tables_of(statement, text)
        ]
        places += [
            (one.first, one.stop, one.table, is_aliased(tokens, one.stop), one)
            for one in clauses(tokens, text)
        ]
        pieces = [
            (first, stop, self._relation(parts, current, clause, aliased=aliased))
            for first, stop, parts, aliased, clause in places
        ]
        pieces += self._functions(statement.tree, tokens, current)
        for first, stop, new in sorted(pieces, reverse=True):
            text = text[:first] + new + text[stop:]
        return text

    def _relation(
        self, parts: Sequence[str], current: Current, clause: Clause | None, *, aliased: bool
    ) -> str:
        full = in_full(parts, current)
        meant = self._meant(parts, full)
        alias = "" if aliased else f" AS {sql_name(parts[-1:])}"
        if isinstance(meant, View):
            inner = self._in_versions(meant.text, meant.current, clause)
            return f"({under_names_of(meant, inner)}){alias}"
        held = self._held(full, meant)
        if not held:
            raise self._not_on_record(full, meant)
        if meant is None:
            raise self._gone(held[-1], "there is no table of that name now")
        self._bound.add(held[-1].name.lower())
        read = self._choose(held, meant, clause)
        state = self._kept(read, meant)
        versioned = f"{sql_name(meant.name)} VERSION AS OF {read.version}"
        if clause is None or not clause.own:
            return versioned
        then = self.lake.version_at(meant.location or "", state, self.recorded.start // 1000)
        then = max(then, read.version)
        return in_columns_of(self.lake, meant, read.version, then, versioned, aliased=aliased)

    def _meant(self, parts: Sequence[str], full: Sequence[str]) -> Table | View | None:
        """What a name means; a temporary view comes before what has its name in the schema, as in Spark."""
        temporary = self.lake.find(parts) if len(parts) == 1 else None
        if isinstance(temporary, View) and len(temporary.name) == 1 and not self._held(full, None):
            return temporary
        return self.lake.find(full)

    def _held(self, full: Sequence[str], meant: Table | View | None) -> list[VersionRead]:
        """The versions on record of a table, in order.

        What was read by path is there under the name of the table that lies there, or the path.
        """
        names = {quote_name(full).lower()}
        if isinstance(meant, Table) and meant.name[0] == "delta" and meant.location:
            registered = self.lake.registered(meant.location)
            names = {_plain(meant.location)} | (
                {quote_name(registered.name).lower()} if registered else set()
            )
        held = [read for read in self.recorded.versions if _plain(read.name.lower()) in names]
        return sorted(held, key=lambda read: read.version)

    def _choose(self, held: list[VersionRead], table: Table, clause: Clause | None) -> VersionRead:
        """Which of the versions on record was read in one place; without a clause it was the newest."""
        if clause is None or len(held) == 1:
            return held[-1]
        moment = f"timestamp_micros({self.recorded.start})"
        then = replace(clause, expression=_NOW.sub(moment, clause.expression))
        asked = evaluate(then, self.lake, self.recorded.start, self.clock)
        version = version_for(asked, table, self.lake, Rule(), self.versions_read)
        found = [read for read in held if read.version == version]
        if not found:
            numbers = ", ".join(str(read.version) for read in held)
            raise NotRepeatableError(
                f"statement {self.recorded.query_id} read the versions {numbers} of {held[0].name}; which of"
                f" them was {clause} cannot be told",
                "run its query_text with VERSION AS OF a number",
            )
        return found[0]

    def _kept(self, read: VersionRead, table: Table) -> State:
        """The state of a table that still has the version of the record, of the same table."""
        asked = Asked(_version_clause(table, read.version), version=read.version)
        state = self.lake.state(table.location or "")
        try:
            version_for(asked, table, self.lake, self.rule(table), self.versions_read)
        except TimeTravelError as error:
            raise self._gone(read, error.problem) from error
        assert state is not None  # noqa: S101  it has just had a version
        ids = (state.table_id, self.lake.id_at(table.location or "", read.version))
        if read.object_id is not None and read.object_id not in [object_id("TABLE", one) for one in ids]:
            raise self._gone(read, "the table of that name is another one now")
        return state

    def _gone(self, read: VersionRead, why: str) -> VersionGoneError:
        return VersionGoneError(
            f"version {read.version} of {read.name}, which statement {self.recorded.query_id} read, is"
            f" gone: {why}",
            "SHOW TABLES HISTORY says whether UNDROP brings a table back; DATA_RETENTION_TIME_IN_DAYS says"
            " for how long versions are kept",
        )

    def _not_on_record(self, full: Sequence[str], meant: Table | None) -> NotRepeatableError:
        if meant is not None and meant.provider != "delta":
            why = f"it is a table of {meant.provider}, which keeps no versions"
        else:
            why = "it was no table or view with a text then, or a view has been redefined since"
        return NotRepeatableError(
            f"no version of {quote_name(full)} is on record for statement {self.recorded.query_id}: {why}",
            "only what Delta tables and views over them held can be had again",
        )

    def _functions(self, tree: exp.Expr, tokens: list[Token], current: Current) -> list[tuple[int, int, str]]:
        """Functions of the schema of then, in full."""
        called = {node.name.lower() for node in tree.find_all(exp.Anonymous)}
        if not called or self.lake.current == current or self.lake.schema_facts(current[1]) is None:
            return []
        own = {facts["name"].lower() for facts in self.lake.functions(current[1])} & called
        return [
            (token.start, token.end + 1, sql_name(qualify((token.text,), current)))
            for at, token in enumerate(tokens)
            if token.text.lower() in own and word(tokens, at + 1) == "(" and word(tokens, at - 1) != "."
        ]


def _version_clause(table: Table, version: int) -> Clause:
    return Clause(table.name, "VERSION", False, str(version), own=False, first=0, start=0, stop=0)  # noqa: FBT003


def _plain(name: str) -> str:
    """A location without what may be written in more than one way; another name as it is."""
    return re.sub(r"^file:(//)?(?=/)", "", name).rstrip("/").lower()
