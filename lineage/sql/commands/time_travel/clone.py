"""CREATE … CLONE of tables and schemas.

In: the tokens of a statement. Out: a `CloneTable` or a `CloneSchema`; None for anything else. The syntax is
Snowflake's and Databricks' (CREATE <object> … CLONE, CREATE TABLE CLONE).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.time_travel.at_before import Point, point_at
from lineage.sql.commands.time_travel.retention import RETENTION
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name, Span

# Snowflake's clause for tables whose past has been purged (Cloning historical objects).
IGNORE = ("IGNORE", "TABLES", "WITH", "INSUFFICIENT", "DATA", "RETENTION")


@dataclass(frozen=True, slots=True)
class CloneTable:
    """A CREATE TABLE … CLONE.

    Attributes:
        name: of the clone, as written.
        source: of the table that is cloned.
        deep: with a copy of each file.
        point: of that table, None for now.
        create: CREATE; False for REPLACE TABLE alone.
        replace: OR REPLACE: an existing clone is updated.
        if_not_exists: IF NOT EXISTS.
        transient: Snowflake's TRANSIENT.
        retention: what DATA_RETENTION_TIME_IN_DAYS is set to, as text; None where it is not set.
        external: EXTERNAL or TEMPORARY, which no clone can be.
        location: LOCATION; None without one.
        properties: of the clone, beside the source's.
        rest: the text after it that was not understood.
        removed: the spans of the text that Spark does not know.
    """

    name: Name
    source: Name
    deep: bool = False
    point: Point | None = None
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    transient: bool = False
    retention: str | None = None
    external: bool = False
    location: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    rest: str = ""
    removed: tuple[Span, ...] = field(default=(), compare=False)

    def text_for_spark(self, text: str) -> str:
        """The text of the statement without clauses that Spark does not know."""
        for first, stop in reversed(self.removed):
            text = text[:first] + text[stop:]
        return text


@dataclass(frozen=True, slots=True)
class CloneSchema:
    """A CREATE SCHEMA … CLONE.

    Attributes:
        name: of the new schema, as written.
        source: of the old one.
        point: the point in time, None for now.
        ignore: IGNORE TABLES …: tables whose retention does not reach back are left out.
        if_not_exists: IF NOT EXISTS.
        replace: OR REPLACE.
        deep: DEEP.
        rest: the text after it that was not understood.
    """

    name: Name
    source: Name
    point: Point | None = None
    ignore: bool = False
    if_not_exists: bool = False
    replace: bool = False
    deep: bool = False
    rest: str = ""


def read_clone_table(tokens: list[Token], text: str) -> CloneTable | None:
    """`CREATE [OR REPLACE] [TRANSIENT] TABLE [IF NOT EXISTS] c [SHALLOW | DEEP] CLONE t [point] …`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "CREATE OR REPLACE TRANSIENT TABLE c DEEP CLONE s.t VERSION AS OF 3 LOCATION '/x'"
    >>> found = read_clone_table(tokenize(sql), sql)
    >>> found.source, str(found.point), found.location, found.transient
    (('s', 't'), 'VERSION AS OF 3', '/x', True)
    """
    at = Cursor(tokens, text)
    create = at.take("CREATE")
    replace = at.take("OR", "REPLACE") if create else at.take("REPLACE")
    if not (create or replace):
        return None
    removed = _transient(at)
    transient = bool(removed)
    external = bool(at.take_one("EXTERNAL", "TEMPORARY", "TEMP"))
    if not at.take("TABLE"):
        return None
    if_not_exists = at.take("IF", "NOT", "EXISTS")
    name = at.name()
    # Delta (4.4) has SHALLOW CLONE alone. DEEP is Databricks' word; Snowflake's CLONE has none before it.
    deep = at.take("DEEP", "CLONE")
    if not (deep or at.take("SHALLOW", "CLONE") or at.take("CLONE")):
        return None
    source = at.name()
    point, at.at = point_at(tokens, text, at.at, source)
    location, retention, properties = None, None, tuple[tuple[str, str], ...]()
    while not at.done:
        # Delta (4.4) has TBLPROPERTIES before LOCATION; a deep clone, which is ours, takes both orders.
        if at.take("LOCATION"):
            location = at.string()
        elif at.take("TBLPROPERTIES", "("):
            properties = _properties(at)
        elif at.word() == RETENTION:
            first = at.at
            at.take(RETENTION)
            at.take("=")
            retention = at.span("LOCATION", "TBLPROPERTIES")
            removed = (*removed, (tokens[first - 1].end + 1, tokens[at.at - 1].end + 1))
        else:
            break
    return CloneTable(
        name, source, deep, point, create, replace, if_not_exists, transient, retention, external, location,
        properties, at.span(), removed,
    )  # fmt: skip


def _transient(at: Cursor) -> tuple[Span, ...]:
    here = at.at
    if not at.take("TRANSIENT") or at.done:
        return ()
    # To the next word: the blank goes with the clause.
    return ((at.tokens[here].start, at.tokens[at.at].start),)


def _properties(at: Cursor) -> tuple[tuple[str, str], ...]:
    """`'a' = 'b', c.d = true)`: the pairs, behind the bracket."""
    found: dict[str, str] = {}
    while not at.done and not at.take(")"):
        # Spark's `property`: the key in quotes or of words with dots, the value a text, number or boolean.
        key = at.string() or ".".join(at.name())
        at.take("=")
        value = at.string()
        found[key] = at.span(",", ")") if value is None else value
        if not at.take(",") and at.word() != ")":
            break
    return tuple(found.items())


def read_clone_schema(tokens: list[Token], text: str) -> CloneSchema | None:
    """`CREATE [OR REPLACE] SCHEMA [IF NOT EXISTS] a [SHALLOW | DEEP] CLONE b [point] [IGNORE TABLES …]`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "CREATE NAMESPACE a CLONE b AT (OFFSET => -3600)"
    >>> found = read_clone_schema(tokenize(sql), sql)
    >>> found.name, found.source, str(found.point)
    (('a',), ('b',), 'AT (OFFSET => -3600)')
    """
    at = Cursor(tokens, text)
    if not at.take("CREATE"):
        return None
    replace = at.take("OR", "REPLACE")
    if not at.take_one(*SCHEMA_NOUNS):
        return None
    if_not_exists = at.take("IF", "NOT", "EXISTS")
    name = at.name()
    deep = at.take_one("SHALLOW", "DEEP") == "DEEP"
    if not name or not at.take("CLONE"):
        return None
    source = at.name()
    point, at.at = point_at(tokens, text, at.at, source)
    ignore = at.take(*IGNORE)
    return CloneSchema(name, source, point, ignore, if_not_exists, replace, deep, at.span())
