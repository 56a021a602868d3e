"""SHOW and DESCRIBE of what governs: policies, tags, roles.

In: the tokens of a statement. Out: a `Command` whose `shows` says what is asked for; None where the statement
asks for something else, or goes on as none of these does. The syntax is Snowflake's (SHOW MASKING POLICIES,
SHOW ROW ACCESS POLICIES, SHOW TAGS, SHOW ROLES, DESCRIBE MASKING POLICY, DESCRIBE ROW ACCESS POLICY).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.cursor import Cursor
from lineage.model import Domain
from lineage.policy_commands import take_policy
from lineage.statement import Command, Shows

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_SHOWN = (
    (("MASKING", "POLICIES"), Domain.MASKING_POLICY),
    (("ROW", "ACCESS", "POLICIES"), Domain.ROW_ACCESS_POLICY),
    (("TAGS",), Domain.TAG),
    (("ROLES",), Domain.ROLE),
)


def read_show(tokens: list[Token], text: str) -> Command | None:
    """`SHOW MASKING POLICIES | ROW ACCESS POLICIES | TAGS | ROLES [LIKE 'p'] [IN …]`."""
    at = Cursor(tokens, text, 1)
    domain = next((domain for words, domain in _SHOWN if at.take(*words)), None)
    if domain is None:
        return None
    like = at.string() if at.take("LIKE") else ""
    schema = _schema(at)
    if like is None or not at.done or (domain is Domain.ROLE and schema != ()):
        return None
    return Command("SHOW", shows=Shows(domain, like, schema))


def _schema(at: Cursor) -> tuple[str, ...] | None:
    if not at.take_one("IN", "FROM"):
        return ()
    if at.take("ACCOUNT"):
        return None
    # A schema may be called schema: a keyword only where it stands alone, or a name follows it.
    at.take_one("SCHEMA", "DATABASE", "NAMESPACE")
    return at.name()


def read_describe(tokens: list[Token], text: str) -> Command | None:
    """`DESCRIBE | DESC MASKING POLICY | ROW ACCESS POLICY p`; without a name it may be a table's column."""
    at = Cursor(tokens, text, 1)
    domain = take_policy(at)
    name = at.name() if domain is not None else ()
    if domain is None or not name or not at.done:
        return None
    return Command("DESCRIBE", shows=Shows(domain, name=name))
