"""CREATE, ALTER, DROP, GRANT and REVOKE of roles.

In: a command as lineage has read it, and the state that it meets. Out: the events that it comes to; an error
where it cannot be. A role holds what the roles granted to it hold, as in Snowflake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from policies.events import Event
from policies.state import ADMIN, PUBLIC

if TYPE_CHECKING:
    from audit.by import By
    from lineage.statement import Command
    from policies.state import State

_SYSTEM = frozenset({PUBLIC, ADMIN})


def created(command: Command, by: By, state: State) -> list[Event]:
    """CREATE [OR REPLACE] ROLE [IF NOT EXISTS]."""
    name = command.target[0]
    is_there = name in state.roles or name in _SYSTEM
    if is_there and command.if_clause:
        return []
    if is_there and (not command.replace or name in _SYSTEM):
        raise PolicyExistsError(f"role {name} is there already", "grant it, or choose another name")
    events = [_event(by, "DROP_ROLE", name)] if is_there else []
    comment = dict(command.properties).get("comment")
    return [*events, _event(by, "CREATE_ROLE", name, comment=comment)]


def altered(command: Command, by: By, state: State) -> list[Event]:
    """ALTER ROLE [IF EXISTS] … SET | UNSET COMMENT."""
    name = command.target[0]
    if name in _SYSTEM:
        raise BadPolicyError(f"role {name} is the system's own", "it cannot be changed")
    if name not in state.roles and command.if_clause:
        return []
    _require(name, state)
    return [_event(by, "SET_ROLE_COMMENT", name, comment=dict(command.properties)["comment"])]


def dropped(command: Command, by: By, state: State) -> list[Event]:
    """DROP ROLE [IF EXISTS]."""
    name = command.target[0]
    if name in _SYSTEM:
        raise BadPolicyError(f"role {name} is the system's own", "it cannot be dropped")
    if name not in state.roles and command.if_clause:
        return []
    _require(name, state)
    return [_event(by, "DROP_ROLE", name)]


def granted(command: Command, by: By, state: State) -> list[Event]:
    """GRANT ROLE … TO USER | ROLE …."""
    name, to, grantee = _parts(command, state)
    if to == "ROLE":
        _require(grantee, state)
        if name == grantee or grantee in state.roles_of("", [name]) - {PUBLIC}:
            raise BadPolicyError(
                f"role {name} holds role {grantee}, and would be held by it",
                "roles cannot hold each other: revoke that first",
            )
    if name in _held(to, grantee, state):
        return []
    return [_event(by, "GRANT_ROLE", name, to=to, grantee=grantee)]


def revoked(command: Command, by: By, state: State) -> list[Event]:
    """REVOKE ROLE … FROM USER | ROLE …."""
    name, to, grantee = _parts(command, state)
    if name not in _held(to, grantee, state):
        raise UnknownPolicyError(
            f"role {name} is not granted to {to.lower()} {grantee}", "there is nothing to revoke"
        )
    return [_event(by, "REVOKE_ROLE", name, to=to, grantee=grantee)]


def _parts(command: Command, state: State) -> tuple[str, str, str]:
    _require(command.target[0], state)
    said = dict(command.properties)
    return command.target[0], said["to"] or "", said["grantee"] or ""


def _held(to: str, grantee: str, state: State) -> frozenset[str]:
    return (state.roles if to == "ROLE" else state.granted).get(grantee, frozenset())


def _require(name: str, state: State) -> None:
    if name not in state.roles and name != ADMIN:
        raise UnknownPolicyError(f"there is no role {name}", "create it first: CREATE ROLE")


def _event(by: By, kind: str, name: str, **details: str | None) -> Event:
    return Event(by.time, kind, by.new_id(), name=name, user=by.user, query_id=by.query_id, details=details)
