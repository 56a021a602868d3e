"""CREATE, ALTER, DROP, GRANT and REVOKE of roles.

In: a parsed command and the state. Out: the events of the command, or an error. A role has the privileges of
the roles granted to it, as in Snowflake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.privileges import ADMIN, PUBLIC

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Command

_SYSTEM = frozenset({PUBLIC, ADMIN})


def create_role(command: Command, actor: Actor, state: GovernanceState) -> list[GovernanceEvent]:
    """CREATE [OR REPLACE] ROLE [IF NOT EXISTS]."""
    name = command.target[0]
    is_there = name in state.roles or name in _SYSTEM
    if is_there and command.if_clause:
        return []
    if is_there and (not command.replace or name in _SYSTEM):
        raise PolicyExistsError(f"role {name} is there already", "grant it, or choose another name")
    # OR REPLACE makes a new role, without the grants and members of the old one.
    events = [_event(actor, "DROP_ROLE", name)] if is_there else []
    comment = dict(command.properties).get("comment")
    return [*events, _event(actor, "CREATE_ROLE", name, comment=comment)]


def alter_role(command: Command, actor: Actor, state: GovernanceState) -> list[GovernanceEvent]:
    """ALTER ROLE [IF EXISTS] … SET | UNSET COMMENT."""
    name = command.target[0]
    if name in _SYSTEM:
        raise BadPolicyError(f"role {name} is the system's own", "it cannot be changed")
    if name not in state.roles and command.if_clause:
        return []
    _require(name, state)
    return [_event(actor, "SET_ROLE_COMMENT", name, comment=dict(command.properties)["comment"])]


def drop_role(command: Command, actor: Actor, state: GovernanceState) -> list[GovernanceEvent]:
    """DROP ROLE [IF EXISTS]."""
    name = command.target[0]
    if name in _SYSTEM:
        raise BadPolicyError(f"role {name} is the system's own", "it cannot be dropped")
    if name not in state.roles and command.if_clause:
        return []
    _require(name, state)
    return [_event(actor, "DROP_ROLE", name)]


def grant_role(command: Command, actor: Actor, state: GovernanceState) -> list[GovernanceEvent]:
    """GRANT ROLE … TO USER | ROLE …."""
    name, to, grantee = _parts(command, state)
    if to == "ROLE":
        _require(grantee, state)
        # Everybody has PUBLIC, so it makes no circle.
        if grantee in state.roles_under([name]):
            raise BadPolicyError(
                f"role {name} holds role {grantee}, and would be held by it",
                "roles cannot hold each other: revoke that first",
            )
    if name in _roles_granted(to, grantee, state):
        return []
    return [_event(actor, "GRANT_ROLE", name, to=to, grantee=grantee)]


def revoke_role(command: Command, actor: Actor, state: GovernanceState) -> list[GovernanceEvent]:
    """REVOKE ROLE … FROM USER | ROLE …."""
    name, to, grantee = _parts(command, state)
    if name not in _roles_granted(to, grantee, state):
        raise UnknownPolicyError(
            f"role {name} is not granted to {to.lower()} {grantee}", "there is nothing to revoke"
        )
    return [_event(actor, "REVOKE_ROLE", name, to=to, grantee=grantee)]


def _parts(command: Command, state: GovernanceState) -> tuple[str, str, str]:
    _require(command.target[0], state)
    properties = dict(command.properties)
    return command.target[0], properties["to"] or "", properties["grantee"] or ""


def _roles_granted(to: str, grantee: str, state: GovernanceState) -> frozenset[str]:
    return (state.roles if to == "ROLE" else state.granted).get(grantee, frozenset())


def _require(name: str, state: GovernanceState) -> None:
    if name == PUBLIC:
        raise BadPolicyError(
            f"role {PUBLIC} is everybody's: it is granted to nobody, and no role to it",
            f"grant privileges to it: GRANT … TO ROLE {PUBLIC}",
        )
    if name not in state.roles and name != ADMIN:
        raise UnknownPolicyError(f"there is no role {name}", "create it first: CREATE ROLE")


def _event(actor: Actor, kind: str, name: str, **details: str | None) -> GovernanceEvent:
    return GovernanceEvent.of(actor, kind, name=name, details=details)
