"""Reading the past: AT | BEFORE and Spark's own forms become VERSION AS OF a number.

In: the text of a statement with clauses. Out: text that Spark runs, every other character as it was. A
view is opened, and each table below it is read at that point; a table whose columns have changed since is
read in today's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

import lineage
from lineage.names import qualify, quote_name, sql_name
from lineage.tokens import tokenize, word
from time_travel.clause import Clause, clauses
from time_travel.columns import in_todays_columns
from time_travel.errors import BadClauseError, NoHistoryError
from time_travel.lake import SESSION_CATALOG, Lake, Table, View, is_path
from time_travel.point import Asked, Rule, VersionsRead, began, evaluate, has_written, version_for

Current = tuple[str, str]
# What may follow a table that has no alias; any other word is one (Spark's grammar, strictIdentifier).
_NO_ALIAS = frozenset(
    [
        "WHERE",
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "NATURAL",
        "LATERAL",
        "ON",
        "USING",
        "GROUP",
        "ORDER",
        "SORT",
        "DISTRIBUTE",
        "CLUSTER",
        "HAVING",
        "LIMIT",
        "OFFSET",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "MINUS",
        "WINDOW",
        "PIVOT",
        "UNPIVOT",
        "TABLESAMPLE",
        "SEMI",
        "ANTI",
        "WHEN",
        "SELECT",
        "END",
        "QUALIFY",
        "|>",
        ",",
        ")",
        ";",
    ]
)


@dataclass(frozen=True, slots=True)
class Past:
    """What a statement needs to read the past.

    Attributes:
        lake: look-ups in the user's session.
        rule: what a table's versions are subject to.
        versions_read: what a statement on record has read.
        now: UTC microseconds, one moment for the whole statement.
        clock: the time, UTC microseconds.
    """

    lake: Lake
    rule: Callable[[Table], Rule]
    versions_read: VersionsRead
    now: int
    clock: Callable[[], int]

    def rewritten(self, text: str) -> str | None:
        """A statement's text as Spark runs it; None where it has no clause.

        Raises:
            TimeTravelError: a clause that cannot be read, or a point that cannot be had.
        """
        found, tokens = self.clauses_of(text), tokenize(text)
        if not tokens or not found:
            return None
        for clause in reversed(found):
            asked = evaluate(clause, self.lake, self.now, self.clock)
            if _word_before(tokens, clause.first) == "CLONE":
                asked = replace(asked, clause=replace(clause, own=False))  # as it was, columns and all
            new = self._relation(clause.table, asked, aliased=is_aliased(tokens, clause.stop))
            if not new.startswith("(") and _word_before(tokens, clause.first) == "USING":
                new = f"(SELECT * FROM {new})"  # noqa: S608  MERGE takes a plain name or a query
            text = text[: clause.first] + new + text[clause.stop :]
        return text

    def version_of(self, asked: Asked, table: Table) -> int:
        """The version of a table at a point of the schema that holds it, as `asked_of_schema` gives it.

        A statement that has not changed this table is a point in time: when it began.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        if asked.query_id is not None and not has_written(asked.query_id, table, self.lake):
            asked = replace(asked, query_id=None)
        return version_for(asked, table, self.lake, self.rule(table), self.versions_read)

    def asked_of_schema(self, clause: Clause) -> Asked:
        """What a clause about a schema asks for; a statement with the moment when it began.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        asked = evaluate(clause, self.lake, self.now, self.clock)
        return asked if asked.query_id is None else replace(asked, micros=began(asked.query_id))

    def clauses_of(self, text: str) -> list[Clause]:
        """The clauses of a text.

        Raises:
            BadClauseError: a clause that cannot be read.
        """
        return [one for one in clauses(tokenize(text) or [], text) if not self._is_folder(one, text)]

    def version_at(self, clause: Clause, table: Table) -> int:
        """The version of a table that a clause about it asks for.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        asked = evaluate(clause, self.lake, self.now, self.clock)
        return version_for(asked, table, self.lake, self.rule(table), self.versions_read)

    def _is_folder(self, clause: Clause, text: str) -> bool:
        """Whether what looks like a point in a path is the name of the folder."""
        if clause.start < clause.stop:
            return False
        path = (tokenize(text[clause.first : clause.stop]) or [])[-1].text
        return self.lake.state(path) is not None

    def _relation(self, parts: Sequence[str], asked: Asked, *, aliased: bool) -> str:
        """A table or view at a point, as it stands in a FROM."""
        meant = self.lake.find(parts)
        if meant is None:
            return f"{sql_name(parts)}{_in_sparks_form(parts, asked)}"
        if isinstance(meant, View):
            return f"({self._view(meant, asked)})" + ("" if aliased else f" AS {sql_name(parts[-1:])}")
        version = version_for(asked, meant, self.lake, self.rule(meant), self.versions_read)
        versioned = f"{sql_name(parts)} VERSION AS OF {version}"
        if not asked.clause.own:
            return versioned
        return in_columns_of(self.lake, meant, version, None, versioned, aliased=aliased)

    def _view(self, view: View, asked: Asked) -> str:
        statement = lineage.parse(view.text)
        if statement.tree is None:
            raise NoHistoryError(
                f"the text of the view {quote_name(view.name)} cannot be read ({statement.reason})",
                f"ask the tables below it for {asked.clause}, each for itself",
            )
        text = view.text
        for first, stop, parts, aliased in sorted(tables_of(statement, view.text), reverse=True):
            new = self._relation(self._within(view, parts), asked, aliased=aliased)
            text = text[:first] + new + text[stop:]
        return under_names_of(view, text)

    def _within(self, view: View, parts: Sequence[str]) -> tuple[str, ...]:
        """A name in a view's text in full; a temporary view may name another one."""
        if len(view.name) == 1 and len(parts) == 1:
            meant = self.lake.find(parts)
            if isinstance(meant, View) and len(meant.name) == 1:
                return tuple(parts)
        return in_full(parts, view.current)


def in_columns_of(
    lake: Lake, table: Table, version: int, other: int | None, versioned: str, *, aliased: bool
) -> str:
    """SQL of a table at a version, with the columns of another version of it.

    Args:
        lake: look-ups.
        table: a Delta table.
        version: whose rows.
        other: whose columns; None for the newest.
        versioned: SQL of the table at that version.
        aliased: whether an alias follows.
    """
    from pyspark.sql.types import StructType

    then, wanted = (lake.schema(table.location or "", v) for v in (version, other))
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
    """A name of a view's text in full; `delta.`/path`` stays what it is."""
    if is_path(parts):
        return tuple(parts)
    return qualify(tuple(parts), current)


def tables_of(statement: lineage.Statement, text: str) -> Iterator[tuple[int, int, tuple[str, ...], bool]]:
    """Where tables without a clause of their own stand in a text.

    First character, the one after the last, name, whether an alias follows.
    """
    tokens = tokenize(text) or []
    own = {clause.first for clause in clauses(tokens, text)}
    names = set(statement.references)
    assert statement.tree is not None  # noqa: S101  the caller has looked
    for table in statement.tree.find_all(exp.Table):
        parts = tuple(part.name for part in table.parts)
        places = [part.meta for part in table.parts]
        if parts not in names or not all("start" in place for place in places):
            continue
        first, stop = places[0]["start"], places[-1]["end"] + 1
        if first not in own and not _hidden(table):
            yield first, stop, parts, is_aliased(tokens, stop)


def _hidden(table: exp.Table) -> bool:
    """Whether a name is a CTE's in force where it stands."""
    if len(table.parts) > 1:
        return False
    node = table.parent
    while node is not None:
        with_ = node.args.get("with_")
        if with_ is not None and any(cte.alias.lower() == table.name.lower() for cte in with_.expressions):
            return True
        node = node.parent
    return False


def is_aliased(tokens: list[Token], stop: int) -> bool:
    """Whether an alias follows what ends at a character."""
    following = next((at for at, token in enumerate(tokens) if token.start >= stop), None)
    if following is None:
        return False
    if tokens[following].token_type is TokenType.IDENTIFIER:
        return True
    here = word(tokens, following)
    return here == "AS" or (here not in _NO_ALIAS and (here[:1].isalpha() or here[:1] == "_"))


def _word_before(tokens: list[Token], first: int) -> str:
    return word(tokens, next(at for at, token in enumerate(tokens) if token.start == first) - 1)


def _in_sparks_form(parts: Sequence[str], asked: Asked) -> str:
    """For a table of another catalog: what Spark can be asked in its own words."""
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
