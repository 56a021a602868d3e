"""The positions, in the text, of the query of a writing statement, and of the tables of a query.

In: a statement, and its text. Out: the query; a `TablePlace` for each table that has no clause of its own, so
that something else can be put in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.sql.commands.time_travel.at_before import VersionClause, is_aliased
from lineage.sql.targets import tables_used
from lineage.sql.tokens import tokenize, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineage.sql.commands.command import Name
    from lineage.sql.statement import Statement


_BEGINS_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_BEFORE_NOUN = frozenset({"INTO", "OVERWRITE", "CREATE", "REPLACE", "TRANSIENT", "TEMPORARY", "EXTERNAL"})


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table in a text.

    Attributes:
        first: its first character.
        stop: the first character after it.
        name: its parts, as written.
        aliased: an alias follows.
    """

    first: int
    stop: int
    name: Name
    aliased: bool


def written_query(text: str) -> str:
    """The query at the end of an INSERT or a CREATE TABLE; "" for none.

    >>> written_query("INSERT INTO TABLE t (a) TABLE s"), written_query("CREATE TABLE t (a INT)")
    ('TABLE s', '')
    """
    tokens = tokenize(text) or []
    if word(tokens, 0) in ("FROM", "WITH"):  # what they say belongs to the query, but stands before it
        return ""
    depth, replaces = 0, False
    for at in range(1, len(tokens)):
        here, following = word(tokens, at), word(tokens, at + 1)
        replaces = replaces or (depth == 0 and here == "WHERE")  # INSERT … REPLACE WHERE a IN (SELECT …)
        in_brackets = here == "(" and following in {*_BEGINS_QUERY, "("} and not replaces
        # INSERT INTO TABLE t, INSERT … TABLE s, INSERT WITH SCHEMA EVOLUTION
        is_noun = here == "TABLE" and word(tokens, at - 1) in _BEFORE_NOUN
        is_noun = is_noun or (here == "WITH" and following == "SCHEMA")
        if depth == 0 and (in_brackets or (here in _BEGINS_QUERY and not is_noun)):
            return text[tokens[at].start :]
        depth += (here == "(") - (here == ")")
    return ""


def tables_of(statement: Statement) -> Iterator[TablePlace]:
    """The tables of a statement that has a tree, without those that are CTEs or ask for a point in time.

    >>> from lineage.sql.parse import parse
    >>> [(one.name, one.aliased) for one in tables_of(parse("SELECT * FROM s.t x JOIN u@v3 JOIN v"))]
    [(('s', 't'), True), (('v',), False)]
    """
    tree = statement.tree
    if tree is None:
        return
    tokens = tokenize(statement.text) or []
    at_by_start = {token.start: at for at, token in enumerate(tokens)}
    own = {point.first for point in statement.points if isinstance(point, VersionClause)}
    for table, name in tables_used(tree):
        places = [part.meta for part in table.parts]
        if not all("start" in place for place in places):
            continue
        first, last = places[0]["start"], places[-1]["start"]
        if first not in own and last in at_by_start:
            yield TablePlace(first, places[-1]["end"] + 1, name, is_aliased(tokens, at_by_start[last] + 1))
