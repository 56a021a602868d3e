"""The rows of `object_governance`: who could do what, and what was protected by what, at any moment.

In: the events of `governance_history`, oldest first. Out: rows as `columns.COLUMNS` orders them. What has
ended keeps its row: at the time t held what has `created_on <= t AND (deleted_on IS NULL OR deleted_on > t)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.policies.history.columns import COLUMNS
from audit.policies.history.facts import (
    PolicyDefined,
    PrivilegeHeld,
    RoleDefined,
    TagDefined,
    TagOnObject,
    key_of,
)
from audit.policies.history.intervals import FactInterval, GovernanceIntervals, intervals_of
from audit.policies.model.governed_objects import RoleRecord
from audit.policies.model.policy_references import PolicyOnObject
from audit.policies.model.privileges import ADMIN, PUBLIC
from lineage.catalog.object_ids import object_id
from lineage.model import Domain
from lineage.names import split_recorded

if TYPE_CHECKING:
    from audit.policies.model.events import GovernanceEvent
    from audit.policies.model.governed_objects import ProtectedObject, StoredPolicy
    from audit.policies.model.privileges import Holder

Row = tuple[Any, ...]
_PLACES = {name: place for place, (name, _, _) in enumerate(COLUMNS)}


def governance_rows(events: Iterable[GovernanceEvent]) -> list[Row]:
    """The rows that events lead to, in the order of time.

    >>> from audit.policies.model.events import GovernanceEvent
    >>> made = GovernanceEvent(1_000_000, "CREATE_ROLE", "e", name="HR", user="ann")
    >>> gone = GovernanceEvent(2_000_000, "DROP_ROLE", "f", name="HR", user="ann")
    >>> [(row[0], str(row[1]), str(row[2])) for row in governance_rows([made, gone]) if row[7][1] == "HR"]
    [('ROLE', '1970-01-01 00:00:01+00:00', '1970-01-01 00:00:02+00:00')]

    Args:
        events: oldest first.

    Returns:
        Times are aware, in UTC. Names are the last ones known.

    Raises:
        GovernanceError: an event is of a newer version.
    """
    found = intervals_of(events)
    # No event creates these two: every root has them, as every account of Snowflake's.
    predefined = [FactInterval(RoleDefined(name, RoleRecord(0, None)), 0, 0) for name in (ADMIN, PUBLIC)]
    every = sorted((*predefined, *found.intervals), key=lambda one: (one.begin, key_of(one.fact)))
    return [_row(one, found) for one in every]


def _row(one: FactInterval, found: GovernanceIntervals) -> Row:
    kind = key_of(one.fact)[0]
    values: list[Any] = [None] * len(COLUMNS)
    values[:3] = kind, to_datetime(one.begin), None if one.end is None else to_datetime(one.end)
    values[_PLACES[kind.lower()]] = _struct(one, found)
    return tuple(values)


def _struct(one: FactInterval, found: GovernanceIntervals) -> Row:
    match one.fact:
        case PolicyDefined() as fact:
            return _policy(fact, one.changed)
        case TagDefined() as fact:
            return _tag(fact, one.changed)
        case PolicyOnObject() as fact:
            return _policy_use(fact, found)
        case TagOnObject() as fact:
            return _tag_use(fact, found)
        case RoleDefined() as fact:
            return _role(fact)
        case PrivilegeHeld() as fact:
            return _privilege(fact)


def _policy(fact: PolicyDefined, changed: int) -> Row:
    stored, policy, (owner, owner_kind) = fact.stored, fact.stored.policy, _owner(fact.owner)
    catalog, schema, name = _named(policy.name)
    return (
        name, policy.policy_id, schema, catalog, owner, policy.argument_signature, policy.data_type,
        policy.body, stored.comment, to_datetime(changed), owner_kind, policy.kind, stored.version,
        stored.function,
    )  # fmt: skip


def _tag(fact: TagDefined, changed: int) -> Row:
    tag, (owner, owner_kind) = fact.tag, _owner(fact.owner)
    catalog, schema, name = _named(tag.name)
    allowed = None if tag.allowed is None else list(tag.allowed)
    return tag.tag_id, name, schema, catalog, owner, tag.comment, to_datetime(changed), allowed, owner_kind


def _policy_use(fact: PolicyOnObject, found: GovernanceIntervals) -> Row:
    protected = found.state.objects[fact.object]
    policy = _last_known(fact.policy, found).policy
    catalog, schema, name = _named(policy.name)
    tag = (None, None, None) if fact.tag is None else _named(found.state.tags[fact.tag].name)
    return (
        catalog, schema, policy.policy_id, name, policy.kind, *_named(protected.name),
        protected.domain.value.upper(), _column(fact.column, protected)[1],
        [protected.columns[key][0] for key in fact.arguments], *tag, _id(fact.object, protected.domain),
    )  # fmt: skip


def _tag_use(fact: TagOnObject, found: GovernanceIntervals) -> Row:
    protected, tag = found.state.objects[fact.object], found.state.tags[fact.tag]
    (catalog, schema, name), (database, of_schema, of) = _named(tag.name), _named(protected.name)
    domain = protected.domain.value.upper() if fact.column is None else "COLUMN"
    return (
        catalog, schema, tag.tag_id, name, fact.value, database, of_schema,
        _id(fact.object, protected.domain), of, domain, *_column(fact.column, protected),
    )  # fmt: skip


def _role(fact: RoleDefined) -> Row:
    owner = fact.record.owner
    kind = None if owner is None else "USER"
    return object_id(Domain.ROLE.value, fact.name), fact.name, fact.record.comment, owner, kind


def _privilege(fact: PrivilegeHeld) -> Row:
    catalog, schema, name = _named(fact.name)
    by = fact.grant.grantor
    return (
        fact.privilege, fact.domain.value.upper(), name, catalog, schema, fact.holder.kind, fact.holder.name,
        fact.grant.option, by.name, by.kind, _id(fact.object, fact.domain),
    )  # fmt: skip


def _last_known(policy: str, found: GovernanceIntervals) -> StoredPolicy:
    return found.policies.get(policy) or found.state.policies[policy]


def _column(key: str | None, protected: ProtectedObject) -> tuple[int | None, str | None]:
    """The id and the name of a column."""
    if key is None:
        return None, None
    name, identity = protected.columns[key]
    return identity, name


def _owner(owner: Holder | None) -> tuple[str | None, str | None]:
    return (None, None) if owner is None else (owner.name, owner.kind)


def _id(key: str, domain: Domain) -> int:
    """The objectId of records, which is made of the same key."""
    return object_id(domain.value, key.partition(":")[2])


def _named(name: str) -> tuple[str | None, str | None, str | None]:
    """Catalog, schema and name; of a row access policy of BigQuery's the table is left out."""
    parts = split_recorded(name)
    if not parts:
        return None, None, None  # the account
    catalog, schema, *_ = (*parts[:-1], None, None)
    return catalog, schema, parts[-1]
