"""GRANT, REVOKE and GRANT OWNERSHIP.

In: a command as lineage has read it, what its object is, who asks, and the state that it meets. Out: the
events that it comes to; an error where it cannot be, before anything is done. Rules are those of Snowflake's
GRANT <privileges>, REVOKE <privileges> and GRANT OWNERSHIP.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from lineage.model import Domain
from policies.errors import AccessDeniedError, BadPolicyError, PolicyInUseError, UnknownPolicyError
from policies.events import Event
from policies.privileges import (
    ADMIN,
    MANAGE_GRANTS,
    OWNERSHIP,
    PUBLIC,
    Holder,
    Securable,
    Who,
    listed,
    meant,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from audit.by import By
    from lineage.statement import Command
    from policies.grants import Given
    from policies.state import State


def granted(command: Command, on: Securable, who: Who, by: By, state: State) -> list[Event]:
    """GRANT <privileges> ON … TO [ROLE | USER] … [WITH GRANT OPTION]."""
    said = dict(command.properties)
    privileges = meant(said["privileges"] or "", on.domain)
    grantee, option = _grantee(said, state), said.get("grantOption") == "true"
    allowed = {one: state.grants.as_whom(who, one, on) for one in privileges}
    refused = [one for one, holder in allowed.items() if holder is None]
    if refused and (said["privileges"] != "ALL" or len(refused) == len(privileges)):
        raise _denied(f"may not grant {listed(refused)} on {on}", who, on, state)
    known = state.grants.on(on)
    new = [
        (holder, one)
        for one, holder in allowed.items()
        if holder is not None and not _has(known, grantee, one, option=option)
    ]
    events = []
    for holder, pairs in groupby(sorted(new, key=lambda pair: str(pair[0])), key=lambda pair: pair[0]):
        details = {"privileges": [one for _, one in pairs], "as_whom": [holder.kind, holder.name]}
        events.append(_event(by, "GRANT_PRIVILEGES", on, grantee, **details, option=option))
    return events


def revoked(command: Command, on: Securable, who: Who, by: By, state: State) -> list[Event]:
    """REVOKE [GRANT OPTION FOR] <privileges> ON … FROM [ROLE | USER] … [RESTRICT | CASCADE]."""
    said = dict(command.properties)
    privileges = meant(said["privileges"] or "", on.domain)
    grantee, known = _grantee(said, state), state.grants.on(on)
    there = [one for one in privileges if (grantee, one) in known]
    missing = [one for one in privileges if one not in there]
    if missing and (said["privileges"] != "ALL" or not there):
        raise UnknownPolicyError(
            f"{listed(missing)} on {on} is not granted to {grantee}",
            "there is nothing to revoke; what is granted on its schema or account is revoked there",
        )
    refused = [one for one in there if not _may_revoke(known[grantee, one], on, who, state)]
    if refused:
        raise _denied(f"may not revoke {listed(refused)} on {on}", who, on, state)
    taken = {one: _granted_on(known, grantee, one) for one in there}
    others = [holder for holders in taken.values() for holder in holders]
    if others and said.get("cascade") != "true":
        raise PolicyInUseError(
            f"{grantee} has granted {listed(privileges)} on {on} on to {listed(map(str, others))}",
            "add CASCADE to revoke that, too",
        )
    option_alone = said.get("grantOption") == "true"
    events = [_event(by, "REVOKE_PRIVILEGES", on, grantee, privileges=there, option_alone=option_alone)]
    for one, holders in taken.items():
        events += [
            _event(by, "REVOKE_PRIVILEGES", on, holder, privileges=[one], option_alone=False)
            for holder in holders
        ]
    return events


def transferred(command: Command, on: Securable, who: Who, by: By, state: State) -> list[Event]:
    """GRANT OWNERSHIP ON … TO [ROLE | USER] … [REVOKE | COPY CURRENT GRANTS]."""
    said = dict(command.properties)
    if on.domain is Domain.ACCOUNT:
        raise BadPolicyError(f"the account is owned by role {ADMIN}", f"GRANT ROLE {ADMIN} TO USER …")
    new = _grantee(said, state)
    owner = state.grants.as_whom(who, OWNERSHIP, on)
    if owner is None:
        raise _denied(f"may not give {on} another owner", who, on, state)
    if owner == new and state.grants.ownership(on) is not None:
        return []
    if state.grants.on(on) and "currentGrants" not in said:
        raise PolicyInUseError(
            f"privileges are granted on {on}",
            "say what becomes of them: GRANT OWNERSHIP … COPY CURRENT GRANTS, or REVOKE CURRENT GRANTS",
        )
    current = said.get("currentGrants")
    return [_event(by, "GRANT_OWNERSHIP", on, new, as_whom=[owner.kind, owner.name], current=current)]


def require_ownership(on: Securable, who: Who, state: State) -> None:
    """Check that somebody may bring back an object that was dropped.

    "a user must have OWNERSHIP privileges for an object to restore it" (Snowflake, Time Travel: Access
    control requirements and name resolution).

    Raises:
        AccessDeniedError: they do not own it.
    """
    if not state.holds(who, OWNERSHIP, on):
        raise AccessDeniedError(
            f"{who.user} may not undrop {on}: OWNERSHIP is missing, it is owned by {state.owner(on)}",
            "let the owner or an administrator undrop it; for the next time GRANT OWNERSHIP ON"
            f" {on.domain.value.upper()} {on.name} TO ROLE …",
        )


def require(privilege: str, on: Securable, who: Who, state: State, what: str) -> None:
    """Check that somebody holds a privilege; `what` they want to do is for the error.

    Raises:
        AccessDeniedError: they do not.
    """
    if not state.holds(who, privilege, on):
        place = f"{on.domain.value.upper()} {on.name}".strip()
        raise AccessDeniedError(
            f"{who.user} may not {what}: {privilege} is missing on {on}",
            f"GRANT {privilege} ON {place} TO USER {who.user}, or to a role of theirs",
        )


def require_create(on: Securable, into: Securable, privilege: str, who: Who, state: State) -> None:
    """Check that somebody may bring back an object where it was.

    "In addition, the user must have CREATE privileges on the object type for the database or schema where the
    dropped object will be restored" (as above).

    Raises:
        AccessDeniedError: they may not create such an object there.
    """
    require(privilege, into, who, state, f"undrop {on}")


def _grantee(said: Mapping[str, str | None], state: State) -> Holder:
    """Who is named; a role has to be there."""
    holder = Holder(said["to"] or "", said["grantee"] or "")
    if holder.kind == "ROLE" and holder.name not in (*state.roles, ADMIN, PUBLIC):
        raise UnknownPolicyError(f"there is no role {holder.name}", "create it first: CREATE ROLE")
    return holder


def _has(known: Mapping[tuple[Holder, str], Given], grantee: Holder, privilege: str, *, option: bool) -> bool:
    given = known.get((grantee, privilege))
    return given is not None and (given.option or not option)


def _may_revoke(given: Given, on: Securable, who: Who, state: State) -> bool:
    """The owner may, and those who may do as the owner; else who has granted it."""
    return given.by in who.holders or state.grants.as_whom(who, OWNERSHIP, on) is not None


def _granted_on(known: Mapping[tuple[Holder, str], Given], grantee: Holder, privilege: str) -> list[Holder]:
    """To whom a privilege was granted by who had it with grant option, and by those in turn."""
    found: list[Holder] = []
    waiting = [grantee]
    while waiting:
        by = waiting.pop()
        for (holder, of), given in known.items():
            if of == privilege and given.by == by and holder != grantee and holder not in found:
                found.append(holder)
                waiting.append(holder)
    return found


def _denied(problem: str, who: Who, on: Securable, state: State) -> AccessDeniedError:
    return AccessDeniedError(
        f"{who.user} {problem}, which {state.owner(on)} owns",
        f"the owner may, who has {MANAGE_GRANTS} on the account or the privilege WITH GRANT OPTION,"
        " and an administrator (configuration `admins`)",
    )


def _event(by: By, kind: str, on: Securable, grantee: Holder, **details: Any) -> Event:
    said = {"domain": on.domain.value, "to": grantee.kind, "grantee": grantee.name, **details}
    return Event(by.time, kind, by.new_id(), None, on.key, on.name, by.user, None, by.query_id, said)
