"""What a state of governance says, in parts that begin and end: a policy, a tag on a column, a privilege.

In: a `GovernanceState` and a scope, which is the part of it that one event may change. Out: `Fact`s by keys,
which no rename changes. Names are not looked up: see `rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.policies.model.grants import Grant
from audit.policies.model.policy_references import PolicyOnObject, policies_on
from audit.policies.model.privileges import OWNERSHIP, Holder
from lineage.model import Domain

if TYPE_CHECKING:
    from audit.policies.model.governed_objects import RoleRecord, StoredPolicy, Tag
    from audit.policies.model.state import GovernanceState

Scope = tuple[str, ...]
"""A kind (`policy`, `tag`, `object`, `role`, `member` or `grants`), and the key of what is of this kind."""
Key = tuple[str, ...]
"""The kind of a fact, and what it is about: a state has one fact of a key at most."""


@dataclass(frozen=True, slots=True)
class PolicyDefined:
    """A policy that is there, by its id."""

    identity: str
    stored: StoredPolicy
    owner: Holder | None


@dataclass(frozen=True, slots=True)
class TagDefined:
    """A tag that is there, by its id."""

    identity: str
    tag: Tag
    owner: Holder | None


@dataclass(frozen=True, slots=True)
class TagOnObject:
    """The value of a tag on an object, or on a column of it: the tag's id, the keys of object and column."""

    object: str
    column: str | None
    tag: str
    value: str


@dataclass(frozen=True, slots=True)
class RoleDefined:
    """A role that is there."""

    name: str
    record: RoleRecord


@dataclass(frozen=True, slots=True)
class PrivilegeHeld:
    """A privilege of a holder, OWNERSHIP and the USAGE of a granted role included.

    Attributes:
        object: the key of what it is on; `role:` with the name of a role.
        domain: what that is.
        name: fully qualified, as of the last GRANT on it.
        holder: who has it.
        privilege: as it is granted.
        grant: by whom, and whether it may be granted on.
    """

    object: str
    domain: Domain
    name: str
    holder: Holder
    privilege: str
    grant: Grant


Fact = PolicyDefined | TagDefined | PolicyOnObject | TagOnObject | RoleDefined | PrivilegeHeld


def key_of(fact: Fact) -> Key:
    """The key of a fact."""
    match fact:
        case PolicyDefined():
            return "POLICY", fact.identity
        case TagDefined():
            return "TAG", fact.identity
        case PolicyOnObject():
            return "POLICY_USE", fact.object, fact.column or "", fact.policy, fact.tag or ""
        case TagOnObject():
            return "TAG_USE", fact.object, fact.column or "", fact.tag
        case RoleDefined():
            return "ROLE", fact.name
        case PrivilegeHeld():
            return "PRIVILEGE", fact.object, fact.holder.kind, fact.holder.name, fact.privilege


def goes_on(before: Fact, now: Fact) -> bool:
    """Whether a fact is still the one that it was, and not another of the same key.

    A policy with a new body is the same one. A tag with another value, and a privilege that may be granted on
    by now, are others: else a row would say of the past what is true today.
    """
    match before, now:
        case RoleDefined(), RoleDefined():
            return before.record.created == now.record.created
        case PolicyOnObject(), PolicyOnObject():
            return before.arguments == now.arguments
        case TagOnObject(), TagOnObject():
            return before.value == now.value
        case PrivilegeHeld(), PrivilegeHeld():
            is_same = (before.grant.option, before.grant.grantor) == (now.grant.option, now.grant.grantor)
            # Who replaces an object owns another one than before.
            return is_same and (now.privilege != OWNERSHIP or before.grant.time == now.grant.time)
    return True


def facts_in(scope: Scope, state: GovernanceState) -> Iterator[Fact]:
    """What a state says about one scope."""
    kind, key = scope[:2]
    match kind:
        case "policy":
            yield from _policy(key, state)
        case "tag":
            yield from _tag(key, state)
        case "object":
            yield from _on_object(key, state)
        case "role":
            record = state.role_records.get(key)
            if record is not None:
                yield RoleDefined(key, record)
        case "member":
            yield from _member(key, Holder(*scope[2:]), state)
        case _:
            yield from _grants(key, state)


def _policy(identity: str, state: GovernanceState) -> Iterator[Fact]:
    stored = state.policies.get(identity)
    if stored is None:
        return
    policy = stored.policy
    # BigQuery's policies stay in the state for clones; one that nobody finds by its name is no object.
    if stored.function or state.names.get((policy.domain, policy.name.casefold())) == identity:
        yield PolicyDefined(identity, stored, _owner(f"policy:{identity}", stored.owner, state))


def _tag(identity: str, state: GovernanceState) -> Iterator[Fact]:
    tag = state.tags.get(identity)
    if tag is not None and not tag.dropped:
        yield TagDefined(identity, tag, _owner(f"tag:{identity}", tag.owner, state))


def _owner(key: str, creator: str | None, state: GovernanceState) -> Holder | None:
    owned = state.grants.owners.get(key)
    if owned is not None:
        return owned.holder
    return None if creator is None else Holder("USER", creator)


def _on_object(key: str, state: GovernanceState) -> Iterator[Fact]:
    protected = state.objects.get(key)
    if protected is None:
        return
    yield from policies_on(protected, state)
    levels = [(None, protected.tags), *protected.column_tags.items()]
    for column, tags in levels:
        for tag, value in tags.items():
            # A dropped tag is kept for UNDROP, and tags nothing until then.
            if not state.tags[tag].dropped:
                yield TagOnObject(key, column, tag, value)


def _member(role: str, holder: Holder, state: GovernanceState) -> Iterator[Fact]:
    granted = state.grants.members.get((role, holder))
    if granted is not None:
        # SHOW GRANTS of Snowflake shows a granted role as USAGE on the role.
        yield PrivilegeHeld(f"role:{role}", Domain.ROLE, role, holder, "USAGE", granted)


def _grants(key: str, state: GovernanceState) -> Iterator[Fact]:
    if key not in state.grants.about:
        return
    domain, name = state.grants.about[key]
    owned = state.grants.owners.get(key)
    if owned is not None:
        # As SHOW GRANTS shows it: by the owner, with the grant option.
        by_owner = Grant(owned.time, owned.holder, option=True)
        yield PrivilegeHeld(key, domain, name, owned.holder, OWNERSHIP, by_owner)
    for (holder, privilege), granted in state.grants.given.get(key, {}).items():
        yield PrivilegeHeld(key, domain, name, holder, privilege, granted)
