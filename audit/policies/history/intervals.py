"""From when to when each fact of governance held.

In: events, oldest first. Out: `GovernanceIntervals`. `each_state_after` says what the events do; here the
facts after each moment are compared with those before, in the scopes that its events may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from audit.policies.history.facts import Fact, Key, PolicyDefined, Scope, facts_in, goes_on, key_of
from audit.policies.model.apply_events import each_state_after
from audit.policies.model.changed import StateChanges
from audit.policies.model.state import GovernanceState

if TYPE_CHECKING:
    from audit.policies.model.events import GovernanceEvent
    from audit.policies.model.governed_objects import StoredPolicy, Tag


@dataclass(frozen=True, slots=True)
class FactInterval:
    """A fact, and when it held; times in UTC microseconds.

    Attributes:
        fact: as it was last known.
        begin: when it came to hold.
        changed: when it was changed last, without becoming another one.
        end: when it ended to hold; None for one that still does.
    """

    fact: Fact
    begin: int
    changed: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class GovernanceIntervals:
    """All intervals, and what names their ids and keys stand for.

    Attributes:
        intervals: those that have ended, then those that go on.
        policies: as they were last known, by id.
        state: after all events; it knows all objects and tags.
    """

    intervals: tuple[FactInterval, ...]
    policies: Mapping[str, StoredPolicy]
    state: GovernanceState


def intervals_of(events: Iterable[GovernanceEvent]) -> GovernanceIntervals:
    """Fold events into intervals."""
    folding, state = _Folding(), GovernanceState()
    # What was so between two events of one moment was never so.
    moments = (tuple(group) for _, group in groupby(events, key=lambda event: event.time))
    for group, state in each_state_after(moments):
        for scope in folding.scopes(group, state):
            folding.compare(scope, state, group[0].time)
    going_on = (one for facts in folding.current.values() for one in facts.values())
    return GovernanceIntervals((*folding.ended, *going_on), folding.policies, state)


class _Folding:
    """The intervals so far; those that go on by scope and key."""

    def __init__(self) -> None:
        self.ended: list[FactInterval] = []
        self.current: dict[Scope, dict[Key, FactInterval]] = {}
        self.policies: dict[str, StoredPolicy] = {}
        self._tags: dict[str, Tag] = {}

    def scopes(self, events: Sequence[GovernanceEvent], state: GovernanceState) -> list[Scope]:
        """The scopes that events may have changed, each once."""
        told = StateChanges.from_events(events, state)
        # With a policy its grants go.
        grants = {*told.grants, *(f"policy:{one}" for one in told.policies)}
        found: set[Scope] = {("policy", one) for one in told.policies}
        found |= {("object", one) for one in told.objects} | {("grants", key) for key in grants}
        # GRANT OWNERSHIP may be on a policy or a tag, whose key begins with what it is.
        owned = (key.partition(":") for key in grants)
        found |= {(kind, one) for kind, _, one in owned if kind in ("policy", "tag")}
        for event in events:
            found.update(self._of_tag(event.of_id or event.event_id, state))
            if "ROLE" in event.event:
                found |= {("role", event.name), *self._members(event)}
        return sorted(found)

    def _of_tag(self, identity: str, state: GovernanceState) -> set[Scope]:
        tag = state.tags.get(identity)
        # SET_TAG leaves the tag itself as it is, and what carries it otherwise may be much.
        if tag is None or tag is self._tags.get(identity):
            return set()
        self._tags[identity] = tag
        return {("tag", identity), *(("object", key) for key in state.carriers.get(identity, ()))}

    def _members(self, event: GovernanceEvent) -> Iterator[Scope]:
        details = event.details
        if "grantee" in details:
            yield "member", event.name, details["to"], details["grantee"]
        else:  # a role is created, changed or dropped
            yield from (scope for scope in self.current if scope[0] == "member")

    def compare(self, scope: Scope, state: GovernanceState, time: int) -> None:
        """Compare the facts of a scope with those before a moment, in UTC microseconds."""
        before = self.current.pop(scope, {})
        now: dict[Key, FactInterval] = {}
        for fact in facts_in(scope, state):
            key = key_of(fact)
            known = before.pop(key, None)
            if known is not None and not goes_on(known.fact, fact):
                before[key], known = known, None
            now[key] = _next(known, fact, time)
            if isinstance(fact, PolicyDefined):
                self.policies[fact.identity] = fact.stored
        self.ended += [replace(one, end=time) for one in before.values()]
        if now:
            self.current[scope] = now


def _next(known: FactInterval | None, fact: Fact, time: int) -> FactInterval:
    if known is None:
        return FactInterval(fact, time, time)
    return known if known.fact == fact else replace(known, fact=fact, changed=time)
