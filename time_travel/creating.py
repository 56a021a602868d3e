"""A new table gets a location of its own: DROP only takes it from the catalog, UNDROP puts it back.

In: the text of a CREATE TABLE. Out: the same with a LOCATION, where the table is to be of Delta and the
text gives none. What is written into it keeps the place that Spark's grammar asks for: behind USING.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.tokens import read_name, tokenize, word

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

FOLDER = "_tables"
_QUERY = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "MAP", "REDUCE"})


@dataclass(frozen=True, slots=True)
class Creation:
    """A CREATE TABLE as far as its place matters.

    Attributes:
        name: the parts, as written.
        provider: what USING says in lower case, None without one.
        like: the table that it is made like, () for none.
        replace: OR REPLACE.
        has_location: the text says where.
        at: the character before which ` LOCATION '…'` may stand.
    """

    name: tuple[str, ...]
    provider: str | None
    like: tuple[str, ...]
    replace: bool
    has_location: bool
    at: int


def read_creation(text: str) -> Creation | None:
    """What a text creates; None where it is no CREATE TABLE with a name.

    >>> text = "CREATE TABLE s.t (a INT) USING delta AS SELECT 1 AS a"
    >>> text[: read_creation(text).at]
    'CREATE TABLE s.t (a INT) USING delta'
    """
    tokens = tokenize(text)
    if not tokens:
        return None
    at = 1
    replace = word(tokens, 0) == "REPLACE"
    if not replace:
        if word(tokens, 0) != "CREATE":
            return None
        replace = word(tokens, 1) == "OR" and word(tokens, 2) == "REPLACE"
        at = 3 if replace else 1
    if word(tokens, at) != "TABLE":
        return None
    at += 1
    if word(tokens, at) == "IF":
        at += 3
    name, end = read_name(tokens, at)
    if not name or word(tokens, at) == "IDENTIFIER":
        return None
    return _behind_name(tokens, name, end, replace=replace)


def _behind_name(tokens: list[Token], name: tuple[str, ...], at: int, *, replace: bool) -> Creation | None:
    if word(tokens, at) == "(" and word(tokens, at + 1) not in _QUERY:
        at = _behind_bracket(tokens, at)
    like: tuple[str, ...] = ()
    if word(tokens, at) == "LIKE":
        like, at = read_name(tokens, at + 1)
    if word(tokens, at) in ("SHALLOW", "DEEP", "CLONE"):
        return None
    provider = None
    if word(tokens, at) == "USING":
        parts, at = read_name(tokens, at + 1)
        provider = ".".join(parts).lower()
    return Creation(name, provider, like, replace, _has_location(tokens, at), tokens[at - 1].end + 1)


def _behind_bracket(tokens: list[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        here = word(tokens, place)
        depth += (here == "(") - (here == ")")
        if depth == 0:
            return place + 1
    return len(tokens)


def _has_location(tokens: list[Token], at: int) -> bool:
    """Whether the clauses before the query say LOCATION, or a path among the options."""
    while at < len(tokens) and word(tokens, at) not in ("AS", *(_QUERY - {"("})):
        here = word(tokens, at)
        if here == "LOCATION":
            return True
        if here == "(":
            end = _behind_bracket(tokens, at)
            inside = range(at, end)
            if word(tokens, at - 1) == "OPTIONS" and any(tokens[n].text.lower() == "path" for n in inside):
                return True
            at = end
            continue
        at += 1
    return False


def with_location(text: str, creation: Creation, location: str) -> str:
    """The text with a LOCATION, and with USING delta where it left that to the default.

    >>> text = "CREATE TABLE t AS SELECT 1 AS a"
    >>> with_location(text, read_creation(text), "/w/_tables/t-1")
    "CREATE TABLE t USING delta LOCATION '/w/_tables/t-1' AS SELECT 1 AS a"
    """
    quoted = location.replace("\\", "\\\\").replace("'", "\\'")
    using = "" if creation.provider else " USING delta"
    return f"{text[: creation.at]}{using} LOCATION '{quoted}'{text[creation.at :]}"


def folder_of(schema_location: str, warehouse: str) -> str:
    """Where the tables of a schema get their locations: outside its own folder, which a DROP SCHEMA deletes.

    >>> folder_of("file:/w/s.db", "file:/w"), folder_of("s3a://b/finance", "file:/w")
    ('file:/w/_tables', 's3a://b/finance_tables')
    """
    schema, root = schema_location.rstrip("/"), warehouse.rstrip("/")
    if schema == root or schema.rpartition("/")[0] == root:
        return f"{root}/{FOLDER}"
    return f"{schema}{FOLDER}"
