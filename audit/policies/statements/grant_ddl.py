"""GRANT, REVOKE and GRANT OWNERSHIP.

In: a parsed command, its object, its user, and the state. Out: the events of the command, or an error before
anything is done. Rules are those of Snowflake's
GRANT <privileges>, REVOKE <privileges> and GRANT OWNERSHIP.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from audit.policies.errors import AccessDeniedError, BadPolicyError, PolicyInUseError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.privileges import (
    ADMIN,
    MANAGE_GRANTS,
    OWNERSHIP,
    PUBLIC,
    Holder,
    Principal,
    Securable,
    joined_by_and,
    privileges_named,
)
from lineage.model import Domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from audit.core.actor import Actor
    from audit.policies.model.grants import Grant
    from audit.policies.model.state import GovernanceState
    from audit.time_travel.backups.content.backup_content import ObjectGrant
    from lineage.sql.commands.command import Command


def grant_events(
    command: Command, on: Securable, who: Principal, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """GRANT <privileges> ON … TO [ROLE | USER] … [WITH GRANT OPTION]."""
    properties = dict(command.properties)
    privileges = privileges_named(properties["privileges"] or "", on.domain)
    grantee, option = _grantee(properties, state), properties.get("grantOption") == "true"
    allowed = {one: state.grants.grantor_for(who, one, on) for one in privileges}
    refused = [one for one, holder in allowed.items() if holder is None]
    # GRANT ALL grants the privileges that the user may grant, as in Snowflake.
    if refused and (properties["privileges"] != "ALL" or len(refused) == len(privileges)):
        raise _denied(f"may not grant {joined_by_and(refused)} on {on}", who, on, state)
    known = state.grants.on_object(on)
    new = [
        (holder, one)
        for one, holder in allowed.items()
        if holder is not None and not _has(known, grantee, one, option=option)
    ]
    events = []
    # One event for each grantor: a user may be able to grant by several roles.
    for holder, pairs in groupby(sorted(new, key=lambda pair: str(pair[0])), key=lambda pair: pair[0]):
        details = {"privileges": [one for _, one in pairs], "as_whom": [holder.kind, holder.name]}
        events.append(_event(actor, "GRANT_PRIVILEGES", on, grantee, **details, option=option))
    return events


def restored_grants(
    on: Securable, grants: Iterable[ObjectGrant], owner: Holder, actor: Actor, state: GovernanceState
) -> Iterator[GovernanceEvent]:
    """The events of grants that come back with an object of a backup; none for roles that are gone.

    Args:
        on: the restored object.
        grants: on it, when the backup was made.
        owner: of the restored object.
        actor: who restored it.
        state: the newest.
    """
    for one in grants:
        if one.kind == "ROLE" and one.grantee not in (*state.roles, ADMIN, PUBLIC):
            continue
        details = {"privileges": [one.privilege], "as_whom": [owner.kind, owner.name]}
        grantee = Holder(one.kind, one.grantee)
        yield _event(actor, "GRANT_PRIVILEGES", on, grantee, **details, option=one.option)


def revoke_events(
    command: Command, on: Securable, who: Principal, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """REVOKE [GRANT OPTION FOR] <privileges> ON … FROM [ROLE | USER] … [RESTRICT | CASCADE]."""
    properties = dict(command.properties)
    privileges = privileges_named(properties["privileges"] or "", on.domain)
    grantee, known = _grantee(properties, state), state.grants.on_object(on)
    there = [one for one in privileges if (grantee, one) in known]
    missing = [one for one in privileges if one not in there]
    if missing and (properties["privileges"] != "ALL" or not there):
        raise UnknownPolicyError(
            f"{joined_by_and(missing)} on {on} is not granted to {grantee}",
            "there is nothing to revoke; what is granted on its schema or account is revoked there",
        )
    refused = [one for one in there if not _may_revoke(known[grantee, one], on, who, state)]
    if refused:
        raise _denied(f"may not revoke {joined_by_and(refused)} on {on}", who, on, state)
    taken = {one: _granted_on(known, grantee, one) for one in there}
    # Each of them once: one may have got several privileges.
    others = dict.fromkeys(str(holder) for holders in taken.values() for holder in holders)
    if others and properties.get("cascade") != "true":
        passed_on = joined_by_and(one for one, holders in taken.items() if holders)
        raise PolicyInUseError(
            f"{grantee} has granted {passed_on} on {on} on to {joined_by_and(others)}",
            "add CASCADE to revoke that, too",
        )
    option_alone = properties.get("grantOption") == "true"
    events = [_event(actor, "REVOKE_PRIVILEGES", on, grantee, privileges=there, option_alone=option_alone)]
    for one, holders in taken.items():
        events += [
            _event(actor, "REVOKE_PRIVILEGES", on, holder, privileges=[one], option_alone=False)
            for holder in holders
        ]
    return events


def ownership_events(
    command: Command, on: Securable, who: Principal, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """GRANT OWNERSHIP ON … TO [ROLE | USER] … [REVOKE | COPY CURRENT GRANTS]."""
    properties = dict(command.properties)
    if on.domain is Domain.ACCOUNT:
        raise BadPolicyError(f"the account is owned by role {ADMIN}", f"GRANT ROLE {ADMIN} TO USER …")
    new = _grantee(properties, state)
    owner = state.grants.grantor_for(who, OWNERSHIP, on)
    if owner is None:
        raise _denied(f"may not give {on} another owner", who, on, state)
    # An owner that follows from the creation is written down by the first GRANT OWNERSHIP.
    if owner == new and state.grants.ownership(on) is not None:
        return []
    # As in Snowflake: without COPY or REVOKE CURRENT GRANTS, existing grants make GRANT OWNERSHIP fail.
    if state.grants.on_object(on) and "currentGrants" not in properties:
        raise PolicyInUseError(
            f"privileges are granted on {on}",
            "choose what happens to them: GRANT OWNERSHIP … COPY CURRENT GRANTS, or REVOKE CURRENT GRANTS",
        )
    current = properties.get("currentGrants")
    return [_event(actor, "GRANT_OWNERSHIP", on, new, as_whom=[owner.kind, owner.name], current=current)]


def require_ownership(on: Securable, who: Principal, state: GovernanceState) -> None:
    """Check that a user may UNDROP an object.

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


def require(privilege: str, on: Securable, who: Principal, state: GovernanceState, what: str) -> None:
    """Check that a user holds a privilege; `what` is the action that the error names.

    Raises:
        AccessDeniedError: they do not.
    """
    if not state.holds(who, privilege, on):
        place = f"{on.domain.value.upper()} {on.name}".strip()
        raise AccessDeniedError(
            f"{who.user} may not {what}: {privilege} is missing on {on}",
            f"GRANT {privilege} ON {place} TO USER {who.user}, or to a role of theirs",
        )


def require_create(
    on: Securable, into: Securable, privilege: str, who: Principal, state: GovernanceState
) -> None:
    """Check that a user may create an object in the schema of a dropped one.

    "In addition, the user must have CREATE privileges on the object type for the database or schema where the
    dropped object will be restored" (as above).

    Raises:
        AccessDeniedError: they may not create such an object there.
    """
    require(privilege, into, who, state, f"undrop {on}")


def _grantee(properties: Mapping[str, str | None], state: GovernanceState) -> Holder:
    """The grantee; a role must exist."""
    holder = Holder(properties["to"] or "", properties["grantee"] or "")
    # Users are not registered: a grant may name one who has not run a statement yet.
    if holder.kind == "ROLE" and holder.name not in (*state.roles, ADMIN, PUBLIC):
        raise UnknownPolicyError(f"there is no role {holder.name}", "create it first: CREATE ROLE")
    return holder


def _has(known: Mapping[tuple[Holder, str], Grant], grantee: Holder, privilege: str, *, option: bool) -> bool:
    given = known.get((grantee, privilege))
    return given is not None and (given.option or not option)


def _may_revoke(given: Grant, on: Securable, who: Principal, state: GovernanceState) -> bool:
    """Whether a user may revoke a grant: its grantor may, and whoever may act as the owner."""
    return given.grantor in who.holders or state.grants.grantor_for(who, OWNERSHIP, on) is not None


def _granted_on(known: Mapping[tuple[Holder, str], Grant], grantee: Holder, privilege: str) -> list[Holder]:
    """The holders who got a privilege from a holder WITH GRANT OPTION, directly or in turn: CASCADE."""
    found: list[Holder] = []
    waiting = [grantee]
    while waiting:
        grantor = waiting.pop()
        for (holder, of), given in known.items():
            # Each holder once: WITH GRANT OPTION may lead in a circle.
            if of == privilege and given.grantor == grantor and holder != grantee and holder not in found:
                found.append(holder)
                waiting.append(holder)
    return found


def _denied(problem: str, who: Principal, on: Securable, state: GovernanceState) -> AccessDeniedError:
    return AccessDeniedError(
        f"{who.user} {problem}, which {state.owner(on)} owns",
        f"the owner may, who has {MANAGE_GRANTS} on the account or the privilege WITH GRANT OPTION,"
        " and an administrator (configuration `admins`)",
    )


def _event(actor: Actor, kind: str, on: Securable, grantee: Holder, **details: Any) -> GovernanceEvent:
    properties = {"domain": on.domain.value, "to": grantee.kind, "grantee": grantee.name, **details}
    return GovernanceEvent.of(actor, kind, key=on.key, name=on.name, details=properties)
