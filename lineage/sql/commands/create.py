"""CREATE TABLE and CREATE SCHEMA: their location, properties and retention.

In: the tokens of a statement. Out: a `CreateTable` or a `CreateSchema` that says what stands where, by
characters of the text, so that clauses can be put in; None for anything else. The rest is for sqlglot's tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.command import Name, Span
from lineage.sql.commands.time_travel.retention import HOURS, RETENTION
from lineage.sql.cursor import Cursor
from lineage.sql.tokens import closing_bracket, read_name, word

_HIVES = frozenset({"STORED", "ROW"})  # STORED AS | BY, ROW FORMAT: a table of Hive's
_QUERY = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE", "AS"})
_SETTINGS = frozenset({"DBPROPERTIES", "PROPERTIES"})
# CREATE TABLE t (SELECT …) has a query in brackets, no list of columns.
_OPENS_QUERY = (_QUERY | {"("}) - {"AS"}
_Clauses = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class CreateSpans:
    """The positions of the clauses of a CREATE, or where they can be inserted, by characters of the text.

    Attributes:
        removed: clauses that Spark does not know: TRANSIENT, retention.
        clauses: where clauses can be inserted.
        properties: behind `TBLPROPERTIES (` or `DBPROPERTIES (`, None without one.
        name: where the name ends.
        columns: the list of columns with its brackets, None without one.
        location: the clause LOCATION, None without one.
        query: where the query begins, with its AS; the end without one.
        select: where it begins behind its AS.
        end: where the statement ends.
    """

    removed: tuple[Span, ...] = ()
    clauses: int = 0
    properties: int | None = None
    name: int = 0
    columns: Span | None = None
    location: Span | None = None
    query: int = 0
    select: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A CREATE TABLE that is no clone.

    Attributes:
        name: the parts, as written.
        provider: what USING says in lower case, `hive` for a table of Hive's, None without either.
        like: the table after LIKE, () for none.
        create: CREATE; False for REPLACE TABLE alone.
        replace: OR REPLACE, or REPLACE TABLE.
        if_not_exists: IF NOT EXISTS.
        external: EXTERNAL.
        transient: Snowflake's TRANSIENT.
        retention: what DATA_RETENTION_TIME_IN_DAYS is set to, as text; None where it is not set.
        has_location: the text has a LOCATION, or a path option.
        location: the text of LOCATION.
        columns: names of the columns, if the list has names alone.
        spans: the positions of its clauses.
    """

    name: Name
    provider: str | None = None
    like: Name = ()
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    external: bool = False
    transient: bool = False
    retention: str | None = None
    has_location: bool = False
    location: str | None = None
    columns: tuple[str, ...] = ()
    spans: CreateSpans = field(default_factory=CreateSpans, compare=False)


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A CREATE SCHEMA that is no clone.

    Attributes:
        name: the parts, as written.
        transient: Snowflake's TRANSIENT.
        retention: what DATA_RETENTION_TIME_IN_DAYS is set to, as text; None where it is not set.
        hours: what MAX_TIME_TRAVEL_HOURS is set to, as text; None where it is not set.
        spans: the positions of its clauses.
    """

    name: Name
    transient: bool = False
    retention: str | None = None
    hours: str | None = None
    spans: CreateSpans = field(default_factory=CreateSpans, compare=False)


@dataclass(frozen=True, slots=True)
class _Head:
    """The words before the name, and the clauses that Spark does not know.

    Attributes:
        tokens: of the statement, without what is removed.
        noun: TABLE or one of the nouns of a schema.
        at: the token behind the noun.
        values: what is set, as text: RETENTION, HOURS.
    """

    tokens: list[Token]
    noun: str
    at: int
    transient: bool
    external: bool
    values: dict[str, str]
    removed: tuple[Span, ...]


def read_create(tokens: list[Token], text: str) -> CreateTable | CreateSchema | None:
    """A CREATE or REPLACE of a table or schema whose name is written out.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "CREATE TRANSIENT TABLE s.t (a INT) COMMENT 'USING parquet' DATA_RETENTION_TIME_IN_DAYS = 0"
    >>> found = read_create(tokenize(sql), sql)
    >>> found.name, found.provider, found.transient, found.retention
    (('s', 't'), None, True, '0')
    """
    head = _head(tokens)
    if head is None:
        return None
    at = Cursor(head.tokens, text, head.at)
    if_not_exists = at.take("IF", "NOT", "EXISTS") or at.take("IF", "EXISTS")
    first = at.at
    name = at.name()
    if not name or _is_computed(head.tokens, first, text):
        return None
    if head.noun == "TABLE":
        return _table(head, at, name, if_not_exists=if_not_exists)
    if at.word() == "CLONE":
        return None
    end = head.tokens[-1].end + 1
    clauses, _ = _clauses_of(head.tokens, at.at)
    inside = _properties_at(head.tokens, clauses, "DBPROPERTIES", "PROPERTIES")
    spans = CreateSpans(head.removed, end, inside, name=head.tokens[at.at - 1].end + 1, end=end)
    return CreateSchema(name, head.transient, head.values.get(RETENTION), head.values.get(HOURS), spans)


def _head(tokens: list[Token]) -> _Head | None:
    if word(tokens, 0) not in ("CREATE", "REPLACE"):
        return None
    at = 3 if word(tokens, 1) == "OR" else 1
    removed: list[Span] = []
    values: dict[str, str] = {}
    # Snowflake's; Spark's grammar knows TEMPORARY and EXTERNAL only.
    transient = word(tokens, at) == "TRANSIENT" and at + 1 < len(tokens)
    if transient:
        removed.append((tokens[at].start, tokens[at + 1].start))
        at += 1
    external = word(tokens, at) == "EXTERNAL"
    at += external
    noun = word(tokens, at)
    if noun != "TABLE" and (external or noun not in SCHEMA_NOUNS):
        return None
    for parameter, found in ((RETENTION, _retention(tokens, at)), (HOURS, _window(tokens, at, noun))):
        if found is not None:
            first, stop, values[parameter] = found
            removed.append((tokens[first - 1].end + 1, tokens[min(stop, len(tokens)) - 1].end + 1))
    kept = [t for t in tokens if not any(a <= t.start < b for a, b in removed)] if removed else tokens
    return _Head(kept, noun, at + 1 - transient, transient, external, values, tuple(removed))


def _retention(tokens: list[Token], at: int) -> tuple[int, int, str] | None:
    """`DATA_RETENTION_TIME_IN_DAYS = n` outside brackets: its tokens and its value."""
    # Most statements have no such word; comparing lengths is the quickest look.
    if not any(len(token.text) == len(RETENTION) for token in tokens):
        return None
    depth = 0
    while at < len(tokens) and word(tokens, at) != "AS":
        here = word(tokens, at)
        depth += (here == "(") - (here == ")")
        # Inside brackets it is a column's name.
        if depth == 0 and here == RETENTION:
            value = at + 2 if word(tokens, at + 1) == "=" else at + 1
            return at, value + 1, tokens[value].text if value < len(tokens) else ""
        at += 1
    return None


def _window(tokens: list[Token], at: int, noun: str) -> tuple[int, int, str] | None:
    """`OPTIONS (max_time_travel_hours = n)` of a schema: its tokens and its value."""
    if noun == "TABLE":
        return None
    # BigQuery's form, and of a schema alone: its tables have no window of their own.
    for place, here in _clauses_of(tokens, at)[0]:
        if here == "OPTIONS" and word(tokens, place + 2) == HOURS:
            value = place + 4
            return (
                place,
                closing_bracket(tokens, place + 1) + 1,
                tokens[value].text if value < len(tokens) else "",
            )
    return None


def _is_computed(tokens: list[Token], at: int, text: str) -> bool:
    """Whether a name is IDENTIFIER(…): clauses cannot be put behind it by its characters."""
    start = tokens[at].start
    # `literal_identifiers` puts tokens that span the whole call in the place of IDENTIFIER('t').
    return text[start : start + len("IDENTIFIER")].upper() == "IDENTIFIER" and (
        tokens[at].token_type is TokenType.IDENTIFIER or word(tokens, at + 1) == "("
    )


def _table(head: _Head, at: Cursor, name: Name, *, if_not_exists: bool) -> CreateTable | None:
    tokens = head.tokens
    name_end = tokens[at.at - 1].end + 1
    columns: Span | None = None
    names: tuple[str, ...] = ()
    if at.word() == "(" and at.word(1) not in _OPENS_QUERY:
        close = closing_bracket(tokens, at.at)
        columns, names = (tokens[at.at].start, tokens[close].end + 1), _plain(tokens[at.at + 1 : close])
        at.at = close + 1
    like = at.name() if at.take("LIKE") else ()
    # `clone` reads these.
    if at.word() in ("SHALLOW", "DEEP", "CLONE"):
        return None
    clauses, query = _clauses_of(tokens, at.at)
    location, location_span = _location(at, clauses)
    properties, has_location = (
        _properties_at(tokens, clauses, "TBLPROPERTIES"),
        _has_location(tokens, clauses),
    )
    provider = _provider(at, clauses)
    end = tokens[-1].end + 1
    starts = [*(token.start for token in tokens[query : query + 2]), end, end]
    spans = CreateSpans(
        head.removed, tokens[at.at - 1].end + 1, properties, name_end, columns, location_span, starts[0],
        starts[word(tokens, query) == "AS"], end,
    )  # fmt: skip
    create = word(tokens, 0) == "CREATE"
    return CreateTable(
        name, provider, like, create, not create or word(tokens, 1) == "OR", if_not_exists, head.external,
        head.transient, head.values.get(RETENTION), has_location, location, names, spans,
    )  # fmt: skip


def _plain(inside: list[Token]) -> tuple[str, ...]:
    """The names of a list of columns that has nothing but names; () for any other."""
    if len(inside) % 2 == 0 or any(token.text != "," for token in inside[1::2]):
        return ()
    return tuple(token.text for token in inside[::2])


def _provider(at: Cursor, clauses: _Clauses) -> str | None:
    """What USING says, moved past; Spark takes the clauses in any order."""
    if at.take("USING"):
        return ".".join(at.name()).lower()
    for place, here in clauses:
        if here == "USING":
            name, at.at = read_name(at.tokens, place + 1)
            return ".".join(name).lower()
    return "hive" if any(here in _HIVES for _, here in clauses) else None


def _location(at: Cursor, clauses: _Clauses) -> tuple[str | None, Span | None]:
    for place, here in clauses:
        if here == "LOCATION":
            cursor = Cursor(at.tokens, at.text, place + 1)
            text = cursor.string()
            return text, (at.tokens[place].start, at.tokens[cursor.at - 1].end + 1)
    return None, None


def _clauses_of(tokens: list[Token], at: int) -> tuple[list[tuple[int, str]], int]:
    """The words outside brackets between a place and the query, with their places, and where that begins.

    It begins with its first word, or with its AS; without one, at the end.
    """
    found: list[tuple[int, str]] = []
    while at < len(tokens):
        here = word(tokens, at)
        if here == "(":
            at = closing_bracket(tokens, at) + 1
            continue
        # STORED AS PARQUET begins no query.
        is_query = here in _QUERY and word(tokens, at - 1) != "STORED"
        # WITH DBPROPERTIES begins none either.
        if is_query and word(tokens, at + 1) not in _SETTINGS:
            return found, at
        found.append((at, here))
        at += 1
    return found, len(tokens)


def _has_location(tokens: list[Token], clauses: _Clauses) -> bool:
    """Whether the clauses before the query say LOCATION, or a path among the options."""
    for place, here in clauses:
        if here == "LOCATION":
            return True
        if here == "OPTIONS":
            inside = range(place + 1, closing_bracket(tokens, place + 1) + 1)
            if any(tokens[n].text.lower() == "path" for n in inside):
                return True
    return False


def _properties_at(tokens: list[Token], clauses: _Clauses, *nouns: str) -> int | None:
    for place, here in clauses:
        if here in nouns and word(tokens, place + 1) == "(":
            return tokens[place + 1].end + 1
    return None
