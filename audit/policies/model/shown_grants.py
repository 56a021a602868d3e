"""SHOW GRANTS: what is granted on an object, to somebody, and who holds a role.

In: a state. Out: rows in Snowflake's columns. A role that is granted stands among what somebody has as USAGE
of a ROLE.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from audit.core.clock import to_datetime
from audit.policies.model.grants import Grant
from audit.policies.model.privileges import OWNERSHIP, Holder, Securable
from lineage.model import Domain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from audit.policies.model.state import GovernanceState

COLUMNS = (
    "created_on TIMESTAMP, privilege STRING, granted_on STRING, name STRING, granted_to STRING,"
    " grantee_name STRING, grant_option STRING, granted_by STRING"
)
Row = tuple[datetime | None, str, str, str, str, str, str, str]


def rows_on(state: GovernanceState, on: Securable) -> list[Row]:
    """What is granted on an object itself; its owner comes first."""
    owned = state.grants.ownership(on)
    owner = state.owner(on)
    found = [
        _row(on.domain, on.name, holder, privilege, given)
        for (holder, privilege), given in state.grants.on_object(on).items()
    ]
    first = _row(
        on.domain, on.name, owner, OWNERSHIP, Grant(0 if owned is None else owned.time, owner, option=True)
    )
    # Nobody knows since when administrators own an object without a record of its creation.
    return [(None, *first[1:]) if owned is None else first, *_ordered(found)]


def rows_to(state: GovernanceState, holder: Holder) -> list[Row]:
    """What somebody was granted, and the roles that they hold."""
    roles = (_member(role, holder, given) for (role, one), given in _members(state) if one == holder)
    found = (
        _row(domain, name, holder, privilege, given)
        for domain, name, privilege, given in state.grants.to_holder(holder)
    )
    return _ordered((*roles, *found))


def rows_of(state: GovernanceState, role: str) -> list[Row]:
    """Who holds a role."""
    return _ordered(_member(role, holder, given) for (name, holder), given in _members(state) if name == role)


def _members(state: GovernanceState) -> Iterable[tuple[tuple[str, Holder], Grant]]:
    return state.grants.members.items()


def _member(role: str, holder: Holder, given: Grant) -> Row:
    # SHOW GRANTS of Snowflake shows a granted role as USAGE on the role.
    return _row(Domain.ROLE, role, holder, "USAGE", given)


def _row(domain: Domain, name: str, holder: Holder, privilege: str, given: Grant) -> Row:
    return (
        to_datetime(given.time), privilege, domain.value.upper(), name, holder.kind,
        # grant_option is the text true or false in Snowflake, not a BOOLEAN.
        holder.name, str(given.option).lower(), given.grantor.name,
    )  # fmt: skip


def _ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[2:6] + row[1:2])
