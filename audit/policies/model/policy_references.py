"""The policies on objects and columns, as Snowflake's POLICY_REFERENCES lists them.

In: a `GovernanceState`. Out: `Reference`s, one for each policy on an object or a column, those through tags
included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


def references_of(state: GovernanceState) -> list[Reference]:
    """All references, by object and column; dropped objects keep theirs for UNDROP."""
    found = [one for protected in state.objects.values() for one in _of(protected, state)]
    return sorted(found, key=lambda one: (one.object_name, one.column or "", one.policy))


def _of(protected: ProtectedObject, state: GovernanceState) -> Iterator[Reference]:
    def reference(policy: str, column: str | None, keys: Iterable[str], tag: str | None) -> Reference:
        known = state.policies[policy].policy
        names = tuple(protected.columns[key][0] for key in keys)
        domain, name = protected.domain.value, protected.name
        return Reference(known.name, known.kind, known.policy_id, domain, name, column, names, tag)

    for use in (*protected.rows.values(), *protected.grants.values()):
        yield reference(use.policy, None, use.columns, None)
    for key, use in state.masks(protected).items():
        tags = protected.column_tags.get(key, {})
        through = None if key in protected.masks else _through(use.policy, tags, state)
        if key in protected.masks or through is not None:
            yield reference(use.policy, protected.columns[key][0], use.columns, through)
    for tag in protected.tags:
        for policy in state.tags[tag].policies.values():
            # A tag of the whole object masks by type, columns that are added later included, so none is
            # named.
            yield reference(policy, None, (), state.tags[tag].name)


def _through(policy: str, tags: Mapping[str, str], state: GovernanceState) -> str | None:
    """The tag of a column that brings a policy; None for one that comes from above."""
    return next((state.tags[tag].name for tag in tags if policy in state.tags[tag].policies.values()), None)
