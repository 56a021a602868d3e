"""SHOW GRANTS: what is granted on an object, to somebody, and who holds a role.

In: a state. Out: rows in Snowflake's columns. A role that is granted stands among what somebody has as USAGE
of a ROLE.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from lineage.model import Domain
from policies.grants import Given
from policies.privileges import OWNERSHIP, Holder, Securable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policies.state import State

COLUMNS = (
    "created_on TIMESTAMP, privilege STRING, granted_on STRING, name STRING, granted_to STRING,"
    " grantee_name STRING, grant_option STRING, granted_by STRING"
)
Row = tuple[datetime | None, str, str, str, str, str, str, str]
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def rows_on(state: State, on: Securable) -> list[Row]:
    """What is granted on an object itself; its owner comes first."""
    owned = state.grants.ownership(on)
    owner = state.owner(on)
    found = [
        _row(on.domain, on.name, holder, privilege, given)
        for (holder, privilege), given in state.grants.on(on).items()
    ]
    first = _row(
        on.domain, on.name, owner, OWNERSHIP, Given(0 if owned is None else owned.time, owner, option=True)
    )
    return [(None, *first[1:]) if owned is None else first, *_ordered(found)]


def rows_to(state: State, holder: Holder) -> list[Row]:
    """What somebody was granted, and the roles that they hold."""
    roles = (_member(role, holder, given) for (role, one), given in _members(state) if one == holder)
    found = (
        _row(domain, name, holder, privilege, given)
        for domain, name, privilege, given in state.grants.to(holder)
    )
    return _ordered((*roles, *found))


def rows_of(state: State, role: str) -> list[Row]:
    """Who holds a role."""
    return _ordered(_member(role, holder, given) for (name, holder), given in _members(state) if name == role)


def _members(state: State) -> Iterable[tuple[tuple[str, Holder], Given]]:
    return state.grants.members.items()


def _member(role: str, holder: Holder, given: Given) -> Row:
    return _row(Domain.ROLE, role, holder, "USAGE", given)


def _row(domain: Domain, name: str, holder: Holder, privilege: str, given: Given) -> Row:
    return (
        _EPOCH + timedelta(microseconds=given.time), privilege, domain.value.upper(), name, holder.kind,
        holder.name, str(given.option).lower(), given.by.name,
    )  # fmt: skip


def _ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[2:6] + row[1:2])
