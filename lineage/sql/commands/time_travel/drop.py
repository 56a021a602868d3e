"""DROP and UNDROP of tables, views, functions and schemas.

In: the tokens of a statement. Out: a `Drop` or an `Undrop`; None for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name

_DOMAINS = {
    "TABLE": Domain.TABLE, "VIEW": Domain.VIEW, "FUNCTION": Domain.FUNCTION,
    **dict.fromkeys(SCHEMA_NOUNS, Domain.SCHEMA),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drop:
    """A DROP.

    Attributes:
        domain: TABLE, VIEW, FUNCTION or SCHEMA.
        name: of the object.
        if_exists: IF EXISTS.
        cascade: CASCADE: a schema is dropped with its objects.
        temporary: TEMPORARY: a function of the session.
    """

    domain: Domain
    name: Name
    if_exists: bool = False
    cascade: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class Undrop:
    """An UNDROP."""

    domain: Domain
    name: Name


def read_drop(tokens: list[Token], text: str) -> Drop | None:
    """`DROP [TEMPORARY] noun [IF EXISTS] name [CASCADE | RESTRICT] [PURGE]`.

    >>> from lineage.sql.tokens import tokenize
    >>> read_drop(tokenize("DROP DATABASE IF EXISTS s CASCADE"), "").cascade
    True
    """
    at = Cursor(tokens, text)
    if not at.take("DROP"):
        return None
    temporary = bool(at.take_one("TEMPORARY", "TEMP"))
    domain = _DOMAINS.get(at.take_one(*_DOMAINS))
    if_exists = at.take("IF", "EXISTS")
    name = at.name()
    cascade = at.take_one("CASCADE", "RESTRICT") == "CASCADE"
    # PURGE is about Hive's trash, where nothing of a Delta table goes: its files stay for UNDROP.
    at.take("PURGE")
    # Spark drops one object a statement; `DROP TABLE a, b` is its syntax error, which it raises itself.
    if domain is None or not name or not at.done:
        return None
    return Drop(domain, name, if_exists, cascade, temporary)


def read_undrop(tokens: list[Token], text: str) -> Undrop | None:
    """`UNDROP noun name`.

    >>> from lineage.sql.tokens import tokenize
    >>> read_undrop(tokenize("UNDROP NAMESPACE s"), "")
    Undrop(domain=<Domain.SCHEMA: 'SCHEMA'>, name=('s',))
    """
    at = Cursor(tokens, text)
    if not at.take("UNDROP"):
        return None
    # The document's UNDROP has tables, schemas and databases; views and functions are an addition.
    domain = _DOMAINS.get(at.take_one(*_DOMAINS))
    name = at.name()
    return Undrop(domain, name) if domain is not None and name and at.done else None
