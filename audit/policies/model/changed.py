"""The policies, objects and grants that events have changed, and that the enforcement rule needs again.

In: events, and the `GovernanceState` after them. Out: ids of policies, keys of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from audit.policies.model.events import GovernanceEvent
from audit.policies.model.state import GovernanceState

_OF_GRANTS = frozenset(
    {"GRANT_PRIVILEGES", "REVOKE_PRIVILEGES", "GRANT_OWNERSHIP", "CREATE_OBJECT", "DROP_OBJECT"}
)


@dataclass(frozen=True, slots=True)
class StateChanges:
    """The parts of a state that events have changed.

    Attributes:
        policies: ids of changed and dropped policies.
        objects: keys of objects whose protection has changed.
        grants: keys of objects whose privileges or owner have changed.
        has_roles: whether roles or their members have changed.
    """

    policies: frozenset[str]
    objects: frozenset[str]
    grants: frozenset[str]
    has_roles: bool

    @classmethod
    def from_events(cls, events: Sequence[GovernanceEvent], state: GovernanceState) -> StateChanges:
        """What events have changed; `state` is the one after them."""
        return cls(
            frozenset(_policies(events, state)),
            frozenset(_objects(events, state)),
            frozenset(_grants(events, state)),
            any("ROLE" in event.event for event in events),
        )

    def asks_for_creators(self, state: GovernanceState) -> bool:
        """Whether the body of a changed policy asks who owns the view or table that reads through it."""
        known = (state.policies.get(identity) for identity in self.policies)
        # A text search is enough: if a string or comment names the function, creators are noted in vain.
        return any(one is not None and "invoker_role" in one.policy.body.lower() for one in known)


def _policies(events: Iterable[GovernanceEvent], state: GovernanceState) -> set[str]:
    found: set[str] = set()
    for event in events:
        identity = event.of_id or event.event_id
        # The id may be that of a tag or a role; a dropped policy is no longer in the state.
        if identity in state.policies or event.event == "DROP_POLICY":
            found.add(identity)
    return found


def _objects(events: Iterable[GovernanceEvent], state: GovernanceState) -> set[str]:
    found: set[str] = set()
    for event in events:
        if event.object_key in state.objects:
            found.add(event.object_key or "")
        if "policies" in event.details:  # of a tag: whatever carries it is masked otherwise
            found.update(state.carriers.get(event.of_id or "", ()))
    return found


def _grants(events: Iterable[GovernanceEvent], state: GovernanceState) -> set[str]:
    found = {event.object_key or "" for event in events if event.event in _OF_GRANTS}
    # A dropped role may have held privileges on any object.
    if any(event.event == "DROP_ROLE" for event in events):
        found |= {*state.grants.given, *state.grants.owners}
    return found
