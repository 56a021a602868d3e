"""CREATE, ALTER, DROP, GRANT, REVOKE and USE of roles.

In: the tokens of a statement. Out: a `RoleChange` or a `UseRole`, None where it is not about roles. The
syntax is Snowflake's (CREATE ROLE, GRANT ROLE, REVOKE ROLE, USE ROLE). A role belongs to no schema; its name
is folded to upper case unless it is quoted.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from lineage.model import Domain
from lineage.sql.commands.command import Command
from lineage.sql.commands.governance.policy import take_comment, take_if
from lineage.sql.cursor import Cursor

_TO = {"GRANT": "TO", "REVOKE": "FROM"}


@dataclass(frozen=True, slots=True)
class RoleChange(Command):
    """CREATE, ALTER, DROP, GRANT or REVOKE of a role."""


@dataclass(frozen=True, slots=True)
class UseRole(Command):
    """USE ROLE; `target` is the role."""


def read_roles(tokens: list[Token], text: str) -> RoleChange | UseRole | None:
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
        # `USE role` without a name is Spark's statement, about a schema called role: it has returned above.
        return UseRole("USE_ROLE", target=name) if at.done else None
    options = take_comment(at) if verb == "ALTER" else ()
    if verb == "CREATE" and at.take("COMMENT"):
        at.take("=")
        options = (("comment", at.string()),)
    if options is None or not at.done:
        return None
    return RoleChange(
        f"{verb}_ROLE", Domain.ROLE, name, if_clause=if_clause, replace=replace, properties=options
    )


def role_name(at: Cursor) -> tuple[str, ...]:
    """The name of a role or user here; () where none stands."""
    is_quoted = not at.done and at.tokens[at.at].token_type is TokenType.IDENTIFIER
    name = at.name()
    if len(name) != 1:
        return ()
    return name if is_quoted else (name[0].upper(),)


def _granted(at: Cursor, verb: str, role: tuple[str, ...]) -> RoleChange | None:
    if not at.take(_TO[verb]):
        return None
    to = at.take_one("USER", "ROLE")
    # A user is no identifier of SQL here: the name is compared with that of the audited user as it is.
    name = role_name(at) if to == "ROLE" else at.name()
    if not to or len(name) != 1 or not at.done:
        return None
    return RoleChange(f"{verb}_ROLE", Domain.ROLE, role, properties=(("to", to), ("grantee", name[0])))
