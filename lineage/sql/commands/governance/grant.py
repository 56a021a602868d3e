"""GRANT, REVOKE and SHOW GRANTS.

In: the tokens of a statement. Out: a `PrivilegeChange` or a `ShowGrants`, None where it is neither. The
syntax is Snowflake's (GRANT <privileges> … TO ROLE, GRANT OWNERSHIP, REVOKE, SHOW GRANTS). Whoever runs the
statement checks that there is such a privilege.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.backups.clauses import BACKUP
from lineage.sql.commands.command import Command
from lineage.sql.commands.governance.role import role_name
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

GRANTS = frozenset({"GRANT", "REVOKE", "GRANT_OWNERSHIP"})
"""The kinds of statements that grant or revoke privileges."""
_Properties = tuple[tuple[str, str | None], ...]
_NOUNS: dict[tuple[str, ...], Domain] = {
    ("TABLE",): Domain.TABLE, ("VIEW",): Domain.VIEW, ("FUNCTION",): Domain.FUNCTION,
    **{(noun,): Domain.SCHEMA for noun in SCHEMA_NOUNS},
    ("MASKING", "POLICY"): Domain.MASKING_POLICY, ("ROW", "ACCESS", "POLICY"): Domain.ROW_ACCESS_POLICY,
    ("TAG",): Domain.TAG, ("ACCOUNT",): Domain.ACCOUNT,
    **{(noun, "POLICY"): Domain.BACKUP_POLICY for noun in BACKUP},
    **{(noun, "SET"): Domain.BACKUP_SET for noun in BACKUP},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PrivilegeChange(Command):
    """GRANT or REVOKE of privileges, GRANT OWNERSHIP."""


@dataclass(frozen=True, slots=True)
class ShowGrants(Command):
    """SHOW GRANTS."""


def read_grant(tokens: list[Token], text: str) -> PrivilegeChange | None:
    """The command that GRANT or REVOKE announce, if it is about privileges."""
    at = Cursor(tokens, text)
    verb = at.take_one("GRANT", "REVOKE")
    option_alone = verb == "REVOKE" and at.take("GRANT", "OPTION", "FOR")
    privileges = _privileges(at)
    on = _object(at) if privileges else None
    if not verb or on is None or not at.take("TO" if verb == "GRANT" else "FROM"):
        return None
    grantee = _grantee(at)
    owns = verb == "GRANT" and privileges == ("OWNERSHIP",)
    # Each has its own end: COPY | REVOKE CURRENT GRANTS, WITH GRANT OPTION, CASCADE | RESTRICT.
    rest = _of_ownership(at) if owns else _of_grant(at) if verb == "GRANT" else _of_revoke(at)
    if not grantee or not at.done:
        return None
    only: _Properties = (("grantOption", "true"),) if option_alone else ()
    properties = (("privileges", ", ".join(privileges)), *grantee, *only, *rest)
    return PrivilegeChange("GRANT_OWNERSHIP" if owns else verb, *on, properties=properties)


def read_show_grants(tokens: list[Token], text: str) -> ShowGrants | None:
    """`SHOW GRANTS [ON kind name | TO {ROLE | USER} name | OF ROLE name]`."""
    at = Cursor(tokens, text)
    if not at.take("SHOW", "GRANTS"):
        return None
    way = at.take_one("ON", "TO", "OF")
    properties: _Properties = (("grants", way),)
    target: tuple[str, ...] = ()
    if way == "ON":
        on = _object(at)
        if on is None:
            return None
        target = on[1]
        properties = (*properties, ("on", on[0].value))
    elif way:
        grantee = _grantee(at)
        if not grantee or (way == "OF" and grantee[0] != ("to", "ROLE")):
            return None
        properties = (*properties, *grantee)
    return ShowGrants("SHOW", target=target, properties=properties) if at.done else None


def _privileges(at: Cursor) -> tuple[str, ...]:
    """`SELECT, CREATE MASKING POLICY ON`: each with its words, ON moved past; () where there are none."""
    found: list[str] = []
    words: list[str] = []
    while not at.done:
        here = at.word()
        at.at += 1
        # A privilege is one word or several (CREATE MASKING POLICY), so it ends at a comma or at ON.
        if here in (",", "ON"):
            if not words:
                return ()
            found.append("ALL" if words in (["ALL"], ["ALL", "PRIVILEGES"]) else " ".join(words))
            words = []
        elif here.replace("_", "").isalpha():
            words.append(here)
        else:
            return ()
        if here == "ON":
            return tuple(dict.fromkeys(found))
    return ()


def _object(at: Cursor) -> tuple[Domain, tuple[str, ...]] | None:
    domain = next((domain for words, domain in _NOUNS.items() if at.take(*words)), None)
    if domain is None or domain is Domain.ACCOUNT:
        return None if domain is None else (domain, ())
    name = at.name()
    if domain is Domain.FUNCTION and at.take("("):  # the types of its arguments
        at.span(")")
        at.take(")")
    return (domain, name) if name else None


def _grantee(at: Cursor) -> tuple[tuple[str, str], ...]:
    """`[ROLE] r` or `USER u`; () where neither stands."""
    # Snowflake: TO [ROLE] name. Names of users are compared as they are, those of roles are folded.
    to = at.take_one("ROLE", "USER") or "ROLE"
    name = role_name(at) if to == "ROLE" else at.name()
    return (("to", to), ("grantee", name[0])) if len(name) == 1 else ()


def _of_grant(at: Cursor) -> _Properties:
    return (("grantOption", "true"),) if at.take("WITH", "GRANT", "OPTION") else ()


def _of_revoke(at: Cursor) -> _Properties:
    return (("cascade", "true"),) if at.take_one("CASCADE", "RESTRICT") == "CASCADE" else ()


def _of_ownership(at: Cursor) -> _Properties:
    what = "COPY" if at.take("COPY", "CURRENT", "GRANTS") else ""
    what = "REVOKE" if at.take("REVOKE", "CURRENT", "GRANTS") else what
    return (("currentGrants", what),) if what else ()
