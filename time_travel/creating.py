"""A new table gets a location of its own: DROP only takes it from the catalog, UNDROP puts it back.

In: the text of a CREATE TABLE. Out: the same with a LOCATION, where the table is to be of Delta and the text
gives none, and with what Snowflake's words say (TRANSIENT, DATA_RETENTION_TIME_IN_DAYS) among its properties.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.names import sql_text
from lineage.tokens import closing, read_name, tokenize, word
from time_travel.errors import BadParameterError
from time_travel.parameters import HOURS_ALLOWED, allowed
from time_travel.retention import HOURS, LONGEST_DAYS, LONGEST_TRANSIENT_DAYS, RETENTION, TRANSIENT, key

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FOLDER = "_tables"
NEW_TABLE = {"delta.enableInCommitTimestamps": "true"}
"""Properties of a table that is made here: its times survive a copy of the folder (delta #1958)."""
_HIVES = frozenset({"STORED", "ROW"})  # STORED AS | BY, ROW FORMAT: a table of Hive's
_QUERY = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "MAP", "REDUCE"})


@dataclass(frozen=True, slots=True)
class Creation:
    """A CREATE TABLE or CREATE SCHEMA as far as its place and its retention matter.

    Attributes:
        name: the parts, as written.
        text: what Spark can read: without words that only Snowflake has.
        provider: what USING says in lower case, None without one.
        like: the table that it is made like, () for none.
        has_location: the text says where.
        at: the character of `text` before which clauses may stand.
        properties_at: the character behind `TBLPROPERTIES (` or `DBPROPERTIES (`, None without one.
        properties: of this system, that the words taken out stand for.
    """

    name: tuple[str, ...]
    text: str
    provider: str | None
    like: tuple[str, ...]
    has_location: bool
    at: int
    properties_at: int | None
    properties: Mapping[str, str] = field(default_factory=dict)


def read_creation(text: str) -> Creation | None:
    """What a text creates; None where it is no CREATE TABLE or CREATE SCHEMA with a name.

    >>> read_creation("CREATE TRANSIENT TABLE s.t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0").text
    'CREATE TABLE s.t (a INT)'
    >>> found = read_creation("CREATE SCHEMA s OPTIONS (max_time_travel_hours = 96)")
    >>> found.text, dict(found.properties)
    ('CREATE SCHEMA s', {'timeTravel.maxTimeTravelHours': '96'})

    Raises:
        BadParameterError: a retention that cannot be.
    """
    tokens = tokenize(text)
    if not tokens or word(tokens, 0) not in ("CREATE", "REPLACE"):
        return None
    spans: list[tuple[int, int]] = []
    properties: dict[str, str] = {}
    at = 3 if word(tokens, 1) == "OR" else 1
    if word(tokens, at) == "TRANSIENT":
        spans.append((tokens[at].start, tokens[at + 1].start))
        properties[key(TRANSIENT)] = "true"
        at += 1
    noun = word(tokens, at)
    if noun not in ("TABLE", "SCHEMA", "DATABASE", "NAMESPACE"):
        return None
    days = _retention(tokens, at)
    if days is not None:
        first, stop, value = days
        _require_days(value, transient=bool(properties))
        properties[key(RETENTION)] = value
        spans.append((tokens[first - 1].end + 1, tokens[stop - 1].end + 1))
    window = _window(tokens, at) if noun != "TABLE" else None
    if window is not None:
        first, stop, value = window
        if not value.isdigit() or int(value) not in HOURS_ALLOWED:
            raise BadParameterError(f"{HOURS} = {value or 'nothing'} cannot be", allowed(HOURS))
        properties[key(HOURS)] = value
        spans.append((tokens[first - 1].end + 1, tokens[stop - 1].end + 1))
    for first, stop in sorted(spans, reverse=True):
        text = text[:first] + text[stop:]
    return _placed(text, noun, properties)


def _retention(tokens: list[Token], at: int) -> tuple[int, int, str] | None:
    """`DATA_RETENTION_TIME_IN_DAYS = n` outside brackets: its tokens and its value."""
    depth = 0
    while at < len(tokens) and word(tokens, at) != "AS":
        here = word(tokens, at)
        depth += (here == "(") - (here == ")")
        if depth == 0 and here == RETENTION:
            value = at + 2 if word(tokens, at + 1) == "=" else at + 1
            return at, value + 1, tokens[value].text if value < len(tokens) else ""
        at += 1
    return None


def _window(tokens: list[Token], at: int) -> tuple[int, int, str] | None:
    """`OPTIONS (max_time_travel_hours = n)`: its tokens and its value."""
    for place in clauses_of(tokens, at):
        if word(tokens, place) == "OPTIONS" and word(tokens, place + 2) == HOURS:
            value = place + 4
            return place, closing(tokens, place + 1) + 1, tokens[value].text if value < len(tokens) else ""
    return None


def _require_days(value: str, *, transient: bool) -> None:
    longest = LONGEST_TRANSIENT_DAYS if transient else LONGEST_DAYS
    if not value.isdigit() or int(value) > longest:
        raise BadParameterError(f"{RETENTION} = {value or 'nothing'} cannot be", f"0 to {longest} days")


def _placed(text: str, noun: str, properties: Mapping[str, str]) -> Creation | None:
    tokens = tokenize(text) or []
    at = 2 + 2 * (word(tokens, 1) == "OR")
    if word(tokens, at) == "IF":
        at += 3
    name, end = read_name(tokens, at)
    if not name or word(tokens, at) == "IDENTIFIER":
        return None
    if noun != "TABLE":
        if word(tokens, end) == "CLONE":
            return None
        inside = _properties_at(tokens, end, "DBPROPERTIES", "PROPERTIES")
        return Creation(name, text, None, (), True, len(text), inside, properties)  # noqa: FBT003
    at = end
    if word(tokens, at) == "(" and word(tokens, at + 1) not in _QUERY:
        at = closing(tokens, at) + 1
    like: tuple[str, ...] = ()
    if word(tokens, at) == "LIKE":
        like, at = read_name(tokens, at + 1)
    if word(tokens, at) in ("SHALLOW", "DEEP", "CLONE"):
        return None
    provider = None
    if word(tokens, at) == "USING":
        parts, at = read_name(tokens, at + 1)
        provider = ".".join(parts).lower()
    elif any(word(tokens, place) in _HIVES for place in clauses_of(tokens, at)):
        provider = "hive"
    return Creation(
        name,
        text,
        provider,
        like,
        _has_location(tokens, at),
        tokens[at - 1].end + 1,
        _properties_at(tokens, at, "TBLPROPERTIES"),
        properties,
    )


def query_at(tokens: list[Token], at: int) -> int:
    """The place of the first word of the query, or of its AS, from a place on; the end without one."""
    while at < len(tokens):
        is_query = word(tokens, at) in ("AS", *(_QUERY - {"("})) and word(tokens, at - 1) != "STORED"
        if is_query and word(tokens, at + 1) not in ("DBPROPERTIES", "PROPERTIES"):
            return at
        at = closing(tokens, at) + 1 if word(tokens, at) == "(" else at + 1
    return len(tokens)


def clauses_of(tokens: list[Token], at: int) -> list[int]:
    """The words outside brackets between a place and the query, by their places."""
    found, end = [], query_at(tokens, at)
    while at < end:
        if word(tokens, at) == "(":
            at = closing(tokens, at) + 1
            continue
        found.append(at)
        at += 1
    return found


def _has_location(tokens: list[Token], at: int) -> bool:
    """Whether the clauses before the query say LOCATION, or a path among the options."""
    for place in clauses_of(tokens, at):
        here = word(tokens, place)
        if here == "LOCATION":
            return True
        if here == "OPTIONS":
            inside = range(place + 1, closing(tokens, place + 1) + 1)
            if any(tokens[n].text.lower() == "path" for n in inside):
                return True
    return False


def _properties_at(tokens: list[Token], at: int, *nouns: str) -> int | None:
    for place in clauses_of(tokens, at):
        if word(tokens, place) in nouns and word(tokens, place + 1) == "(":
            return tokens[place + 1].end + 1
    return None


def with_location(creation: Creation, location: str, more: Mapping[str, str] | None = None) -> str:
    """The text with a LOCATION and the properties, and with USING delta where it left that to the default.

    >>> with_location(read_creation("CREATE TABLE t AS SELECT 1 AS a"), "/w/_tables/t-1")
    "CREATE TABLE t USING delta LOCATION '/w/_tables/t-1' AS SELECT 1 AS a"
    """
    using = "" if creation.provider else " USING delta"
    properties = {**creation.properties, **(more or {})}
    return _with_clauses(creation, f"{using} LOCATION {sql_text(location)}", "TBLPROPERTIES", properties)


def with_properties(creation: Creation) -> str:
    """The text with the properties alone.

    >>> with_properties(read_creation("CREATE SCHEMA s DATA_RETENTION_TIME_IN_DAYS = 5"))
    "CREATE SCHEMA s WITH DBPROPERTIES ('timeTravel.dataRetentionTimeInDays' = '5')"
    """
    schema = creation.at == len(creation.text) and creation.has_location
    return _with_clauses(
        creation, "", "WITH DBPROPERTIES" if schema else "TBLPROPERTIES", creation.properties
    )


def _with_clauses(creation: Creation, clauses: str, noun: str, properties: Mapping[str, str]) -> str:
    text, at = creation.text, creation.at
    pairs = literal_properties(properties)
    if pairs and creation.properties_at is None:
        clauses += f" {noun} ({pairs})"
    elif pairs:
        inside = creation.properties_at or 0
        text = f"{text[:inside]}{pairs}, {text[inside:]}"
    return f"{text[:at]}{clauses}{text[at:]}"


def literal_properties(properties: Mapping[str, str]) -> str:
    """Properties as they stand between brackets."""
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def plain(name: str) -> str:
    """A name as part of a path: what any file system takes.

    >>> plain("Umsätze 2026")
    'Ums_tze_2026'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:80]


def folder_of(schema_location: str, warehouse: str) -> str:
    """Where the tables of a schema get their locations: outside its own folder, which a DROP SCHEMA deletes.

    >>> folder_of("file:/w/s.db", "file:/w"), folder_of("s3a://b/finance", "file:/w")
    ('file:/w/_tables', 's3a://b/finance_tables')
    """
    schema, root = schema_location.rstrip("/"), warehouse.rstrip("/")
    if schema == root or schema.rpartition("/")[0] == root:
        return f"{root}/{FOLDER}"
    return f"{schema}{FOLDER}"


def place_in(schema_location: str, warehouse: str, name: str, own: uuid.UUID | None = None) -> str:
    """A location for a new table of a schema, which no other has.

    Args:
        schema_location: of the schema.
        warehouse: the folder of all schemas.
        name: of the table.
        own: what makes it unlike others; random where it is not given.
    """
    return f"{folder_of(schema_location, warehouse)}/{plain(name)}-{own or uuid.uuid4()}"
