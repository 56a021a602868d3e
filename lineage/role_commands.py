"""Statements about roles: made, dropped, granted, revoked, taken on.

In: the tokens of a statement. Out: a `Command`, None where it is not about roles. The syntax is Snowflake's
(CREATE ROLE, GRANT ROLE, REVOKE ROLE, USE ROLE). A role belongs to no schema; its name is folded to upper
case unless it is quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

from lineage.cursor import Cursor
from lineage.model import Domain
from lineage.policy_commands import take_comment, take_if
from lineage.statement import Command

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

_TO = {"GRANT": "TO", "REVOKE": "FROM"}


def read_roles(tokens: list[Token], text: str) -> Command | None:
    """The command that CREATE, ALTER, DROP, GRANT, REVOKE or USE announce, if it is about roles."""
    at = Cursor(tokens, text)
    verb = at.take_one("CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "USE")
    replace = verb == "CREATE" and at.take("OR", "REPLACE")
    if not verb or not at.take("ROLE"):
        return None
    if_clause = take_if(at)
    name = role_name(at)
    if not name:
        return None
    if verb in _TO:
        return _granted(at, verb, name)
    if verb == "USE":
        return Command("USE_ROLE", target=name) if at.done else None
    options = take_comment(at) if verb == "ALTER" else ()
    if verb == "CREATE" and at.take("COMMENT"):
        at.take("=")
        options = (("comment", at.string()),)
    if options is None or not at.done:
        return None
    return Command(
        f"{verb}_ROLE", Domain.ROLE, name, if_clause=if_clause, replace=replace, properties=options
    )


def role_name(at: Cursor) -> tuple[str, ...]:
    """The name of a role or user here; () where none stands."""
    is_quoted = not at.done and at.tokens[at.at].token_type is TokenType.IDENTIFIER
    name = at.name()
    if len(name) != 1:
        return ()
    return name if is_quoted else (name[0].upper(),)


def _granted(at: Cursor, verb: str, role: tuple[str, ...]) -> Command | None:
    if not at.take(_TO[verb]):
        return None
    to = at.take_one("USER", "ROLE")
    name = role_name(at) if to == "ROLE" else at.name()
    if not to or len(name) != 1 or not at.done:
        return None
    return Command(f"{verb}_ROLE", Domain.ROLE, role, properties=(("to", to), ("grantee", name[0])))
