"""SHOW and DESCRIBE of policies, tags and roles, in Snowflake's columns.

In: a parsed SHOW, a state, the user. Out: rows. `database_name` is the catalog. Sources: Snowflake's SHOW
MASKING POLICIES, SHOW ROW ACCESS POLICIES, SHOW TAGS, SHOW ROLES and DESCRIBE MASKING POLICY, each under
Output; `version` is ours: it counts the changes of the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.policies.errors import UnknownPolicyError
from audit.policies.model.privileges import ADMIN, PUBLIC
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name
from lineage.sql.commands.command import CURRENT_SCHEMA
from lineage.sql.like_patterns import like_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from audit.policies.model.governed_objects import StoredPolicy
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Shows

Row = tuple[Any, ...]
_POLICIES = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, kind STRING, owner STRING,"
    " comment STRING, version INT"
)
_TAGS = (
    "created_on TIMESTAMP, name STRING, database_name STRING, schema_name STRING, owner STRING,"
    " comment STRING, allowed_values ARRAY<STRING>"
)
_ROLES = (
    "created_on TIMESTAMP, name STRING, is_default STRING, is_current STRING, is_inherited STRING,"
    " assigned_to_users INT, granted_to_roles INT, granted_roles INT, owner STRING, comment STRING"
)
SHOWN: Mapping[Domain, str] = {
    Domain.MASKING_POLICY: _POLICIES,
    Domain.ROW_ACCESS_POLICY: _POLICIES,
    Domain.TAG: _TAGS,
    Domain.ROLE: _ROLES,
}
"""The columns of a SHOW."""
DESCRIBED = "name STRING, signature STRING, return_type STRING, body STRING, version INT"
"""The columns of a DESCRIBE."""


@dataclass(frozen=True, slots=True)
class ShowContext:
    """The user of a SHOW, with roles and current schema.

    Attributes:
        current: the current catalog and schema.
        roles: all roles of theirs, in upper case.
        role: the primary one.
    """

    current: tuple[str, str]
    roles: frozenset[str]
    role: str


def schema_of(shows: Shows, current: tuple[str, str]) -> tuple[str, ...] | None:
    """The catalog, or the catalog and schema, of a SHOW; None for all, and for objects without a schema."""
    if shows.schema is None or shows.domain is Domain.ROLE:
        return None
    if shows.schema == CURRENT_SCHEMA:
        return current
    if not shows.schema or _in_lower_case(shows.schema) == _in_lower_case(current[:1]):
        return current[:1]
    return (*current[: max(0, 2 - len(shows.schema))], *shows.schema)


def show_rows(shows: Shows, state: GovernanceState, asking: ShowContext) -> list[Row]:
    """The rows of a SHOW, by name."""
    if shows.domain is Domain.ROLE:
        return _roles(shows, state, asking)
    fits, schema = like_matcher(shows.like), schema_of(shows, asking.current)
    wanted = None if schema is None else _in_lower_case(schema)
    names = _tags(state) if shows.domain is Domain.TAG else _policies(shows.domain, state)
    return [
        row
        for name, row in sorted(names, key=lambda found: found[0])
        if fits(name[-1]) and (wanted is None or _in_lower_case(name[: len(wanted)]) == wanted)
    ]


def describe_row(shows: Shows, state: GovernanceState, current: tuple[str, str]) -> list[Row]:
    """The row of a DESCRIBE.

    Raises:
        UnknownPolicyError: there is no such policy.
    """
    name = quote_name(qualify(shows.name, current))
    found = state.find(shows.domain, name)
    if found is None:
        raise UnknownPolicyError(
            f"there is no {shows.domain.value.lower()} {name}", "look at its schema and spelling"
        )
    policy, version = found[1].policy, found[1].version
    return [(split_name(policy.name)[-1], policy.argument_signature, policy.data_type, policy.body, version)]


def _policies(domain: Domain, state: GovernanceState) -> Iterator[tuple[tuple[str, ...], Row]]:
    # Policies that stand for a function are not in `names`: they are no objects of their own.
    for (of, _), identity in state.names.items():
        if of is domain:
            known = state.policies[identity]
            name = split_name(known.policy.name)
            yield name, _policy(name, known)


def _tags(state: GovernanceState) -> Iterator[tuple[tuple[str, ...], Row]]:
    for identity in state.tag_names.values():
        tag = state.tags[identity]
        name = split_name(tag.name)
        allowed = None if tag.allowed is None else list(tag.allowed)
        yield (
            name,
            (
                to_datetime(tag.created), name[-1], name[0], name[-2], tag.owner, tag.comment or "", allowed,
            ),
        )  # fmt: skip


def _in_lower_case(name: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in name)


def _policy(name: tuple[str, ...], known: StoredPolicy) -> Row:
    return (
        to_datetime(known.created), name[-1], name[0], name[1], known.policy.kind, known.owner,
        known.comment or "", known.version,
    )  # fmt: skip


def _roles(shows: Shows, state: GovernanceState, asking: ShowContext) -> list[Row]:
    """The created roles and the predefined ones."""
    fits = like_matcher(shows.like)
    users, holders = _counts(state.granted), _counts(state.roles)
    rows: list[Row] = []
    # No event creates these two: every root has them, as every account of Snowflake's.
    for name in sorted({*state.roles, ADMIN, PUBLIC}):
        if not fits(name):
            continue
        made = state.role_records.get(name)
        created: datetime | None = None if made is None else to_datetime(made.created)
        rows.append((
            created, name, "Y" if name == PUBLIC else "N", _yes(name == asking.role),
            _yes(name in asking.roles and name != asking.role), users.get(name, 0), holders.get(name, 0),
            len(state.roles.get(name, ())), None if made is None else made.owner,
            "" if made is None else made.comment or "",
        ))  # fmt: skip
    return rows


def _counts(roles_by_holder: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """How many hold each role."""
    found: dict[str, int] = {}
    for roles in roles_by_holder.values():
        for role in roles:
            found[role] = found.get(role, 0) + 1
    return found


def _yes(value: bool) -> str:  # noqa: FBT001 - the answer itself
    return "Y" if value else "N"
