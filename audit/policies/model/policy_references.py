"""The policies on objects and columns, as Snowflake's POLICY_REFERENCES lists them.

In: a `GovernanceState`. Out: `Reference`s, one for each policy on an object or a column, those through tags
included; the same by ids and keys, without names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.policies.model.governed_objects import ProtectedObject
    from audit.policies.model.state import GovernanceState


@dataclass(frozen=True, slots=True)
class Reference:
    """A policy on an object or a column.

    Attributes:
        policy: its fully qualified name.
        policy_kind: MASKING_POLICY or ROW_ACCESS_POLICY.
        policy_id: as in policies_referenced.
        object_domain: Table, VIEW or SCHEMA.
        object_name: fully qualified, as of the last change of its policies or tags.
        column: the masked column; None for a row access policy, and for a tag that masks a type.
        arguments: its argument columns, the masked one first.
        tag: the tag that brings the policy, fully qualified; None if it is set directly.
    """

    policy: str
    policy_kind: str
    policy_id: int | None
    object_domain: str
    object_name: str
    column: str | None
    arguments: tuple[str, ...]
    tag: str | None


@dataclass(frozen=True, slots=True)
class PolicyOnObject:
    """A policy on an object or a column, by ids and keys, which renames keep.

    Attributes:
        object: the key of the object.
        column: the key of the masked column; None as in `Reference`.
        policy: the id of the policy.
        arguments: the keys of its argument columns, the masked one first.
        tag: the id of the tag that brings it; None if it is set directly.
    """

    object: str
    column: str | None
    policy: str
    arguments: tuple[str, ...]
    tag: str | None


def references_of(state: GovernanceState) -> list[Reference]:
    """All references, by object and column; dropped objects keep theirs for UNDROP."""
    found = [
        _reference(one, protected, state)
        for protected in state.objects.values()
        for one in policies_on(protected, state)
    ]
    return sorted(found, key=lambda one: (one.object_name, one.column or "", one.policy))


def policies_on(protected: ProtectedObject, state: GovernanceState) -> Iterator[PolicyOnObject]:
    """The policies on an object and its columns, those through its tags included."""
    key = protected.key
    for use in (*protected.rows.values(), *protected.grants.values()):
        yield PolicyOnObject(key, None, use.policy, use.columns, None)
    for column, use in state.masks(protected).items():
        tags = protected.column_tags.get(column, {})
        through = None if column in protected.masks else _through(use.policy, tags, state)
        if column in protected.masks or through is not None:
            yield PolicyOnObject(key, column, use.policy, use.columns, through)
    for tag in protected.tags:
        for policy in state.tags[tag].policies.values():
            # A tag of the whole object masks by type, columns that are added later included, so none is
            # named.
            yield PolicyOnObject(key, None, policy, (), tag)


def _reference(on: PolicyOnObject, protected: ProtectedObject, state: GovernanceState) -> Reference:
    known = state.policies[on.policy].policy
    column = None if on.column is None else protected.columns[on.column][0]
    return Reference(
        known.name,
        known.kind,
        known.policy_id,
        protected.domain.value,
        protected.name,
        column,
        tuple(protected.columns[key][0] for key in on.arguments),
        None if on.tag is None else state.tags[on.tag].name,
    )


def _through(policy: str, tags: Mapping[str, str], state: GovernanceState) -> str | None:
    """The tag of a column that brings a policy, by its id; None for a policy that comes from above."""
    return next((tag for tag in tags if policy in state.tags[tag].policies.values()), None)
