"""SHOW and DESCRIBE of policies, tags and roles, and SHOW … HISTORY.

In: the tokens of a statement. Out: a `ShowGovernance` or a `ShowObjects`; None where the statement asks for
something else, or goes on as none of these does. The syntax is Snowflake's (SHOW MASKING POLICIES, SHOW ROW
ACCESS POLICIES, SHOW TAGS, SHOW ROLES, DESCRIBE MASKING POLICY, DESCRIBE ROW ACCESS POLICY, SHOW TABLES,
SHOW SCHEMAS).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS, SCHEMAS_NOUNS
from lineage.sql.commands.command import CURRENT_SCHEMA, Command, Name, Shows
from lineage.sql.commands.governance.policy import take_policy
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_SHOWN = (
    (("MASKING", "POLICIES"), Domain.MASKING_POLICY),
    (("ROW", "ACCESS", "POLICIES"), Domain.ROW_ACCESS_POLICY),
    (("TAGS",), Domain.TAG),
    (("ROLES",), Domain.ROLE),
)


@dataclass(frozen=True, slots=True)
class ShowGovernance(Command):
    """A SHOW or DESCRIBE of policies, tags or roles; `shows` says of which."""


@dataclass(frozen=True, slots=True)
class ShowObjects:
    """SHOW TABLES or SHOW SCHEMAS in Snowflake's form.

    Attributes:
        noun: of what.
        like: a pattern of names, with % and _; "" for all.
        within: the schema or catalog asked for, () for the current one, None for all.
        history: HISTORY: with dropped objects. Without it the statement is Spark's as well.
        starts_with: how names begin, with regard to case; "" for any.
        limit: how many rows; None for all.
        following: LIMIT … FROM: names from the first one on that begins so; "" for all.
        rest: the text after it that was not understood.
    """

    noun: Literal["TABLES", "SCHEMAS"]
    like: str
    within: Name | None
    history: bool
    starts_with: str = ""
    limit: int | None = None
    following: str = ""
    rest: str = ""


def read_show_objects(tokens: list[Token], text: str) -> ShowObjects | None:
    """`SHOW [TERSE] TABLES | SCHEMAS [HISTORY] [LIKE 'pattern'] [IN [SCHEMA] name | IN ACCOUNT] …`.

    It may go on with `[STARTS WITH 'text'] [LIMIT rows [FROM 'text']]`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "SHOW TABLES HISTORY LIKE 'load%' IN mytestdb.myschema"
    >>> read_show_objects(tokenize(sql), sql).within
    ('mytestdb', 'myschema')
    """
    at = Cursor(tokens, text)
    if not at.take("SHOW"):
        return None
    at.take("TERSE")
    noun = at.take_one("TABLES", *SCHEMAS_NOUNS)
    if not noun:
        return None
    # LIKE before IN, as Snowflake has it. In Spark's own SHOW TABLES it comes behind (`showTables`).
    history = at.take("HISTORY")
    like = at.string() or "" if at.take("LIKE") else ""
    within: Name | None = ()
    if at.take_one("IN", "FROM"):
        within = None if at.take("ACCOUNT") else _container(at)
    starts_with = at.string() or "" if at.take("STARTS", "WITH") else ""
    limit, following = _limit(at) if at.take("LIMIT") else (None, "")
    return ShowObjects(
        "TABLES" if noun == "TABLES" else "SCHEMAS",
        like,
        within,
        history,
        starts_with,
        limit,
        following,
        at.span(),
    )


def _limit(at: Cursor) -> tuple[int | None, str]:
    limit = at.integer()
    return limit, at.string() or "" if limit is not None and at.take("FROM") else ""


def _container(at: Cursor) -> Name:
    at.take_one(*SCHEMA_NOUNS, "CATALOG")
    return at.name()


def read_show(tokens: list[Token], text: str) -> ShowGovernance | None:
    """`SHOW MASKING POLICIES | ROW ACCESS POLICIES | TAGS | ROLES [LIKE 'p'] [IN …]`."""
    at = Cursor(tokens, text, 1)
    domain = next((domain for words, domain in _SHOWN if at.take(*words)), None)
    if domain is None:
        return None
    like = at.string() if at.take("LIKE") else ""
    schema = schema_asked(at)
    # A role lies in no schema, so SHOW ROLES IN … is no statement.
    if like is None or not at.done or (domain is Domain.ROLE and schema != ()):
        return None
    return ShowGovernance("SHOW", shows=Shows(domain, like, schema))


def schema_asked(at: Cursor) -> Name | None:
    """`IN ACCOUNT | [SCHEMA] s`, as `Shows.schema` has it; () where no IN stands here."""
    if not at.take_one("IN", "FROM"):
        return ()
    if at.take("ACCOUNT"):
        return None
    # A schema may be called schema: a keyword only where it stands alone, or a name follows it.
    noun = at.take_one(*SCHEMA_NOUNS, "CATALOG")
    # Snowflake's database is the catalog here; before a name the word is Spark's for a schema.
    return at.name() or (CURRENT_SCHEMA if noun == "SCHEMA" else ())


def read_describe(tokens: list[Token], text: str) -> ShowGovernance | None:
    """`DESCRIBE | DESC MASKING POLICY | ROW ACCESS POLICY p`; without a name it may be a table's column."""
    at = Cursor(tokens, text, 1)
    domain = take_policy(at)
    name = at.name() if domain is not None else ()
    if domain is None or not name or not at.done:
        return None
    return ShowGovernance("DESCRIBE", shows=Shows(domain, name=name))
