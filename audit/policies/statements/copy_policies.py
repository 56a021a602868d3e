"""The policies and tags of what is made of another object: of a clone, and of what a backup gives back.

In: the source, the new object, the state. Out: the events that protect the new one, before it is there. What
a backup gives back has the policies of its source today, and those that the source had when the backup was
made: a mask that was set since holds, and one that was taken off since does, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from audit.policies.errors import PolicyExistsError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.governed_objects import ProtectedObject, schema_key
from lineage.catalog.object_ids import object_id
from lineage.model import Domain
from lineage.names import quote_name

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.model.governed_objects import PolicyUse
    from audit.policies.model.state import GovernanceState
    from audit.policies.statements.set_tag import PolicyReads


@dataclass(frozen=True, slots=True)
class Former:
    """How it was when a backup was made.

    Attributes:
        state: of governance then.
        reads: the keys of what the body of a policy reads; a policy is not put on what it reads.
    """

    state: GovernanceState
    reads: PolicyReads


def copy_policies(
    source_id: str,
    clone_id: str,
    name: str,
    actor: Actor,
    state: GovernanceState,
    home: str = "",
    former: Former | None = None,
) -> list[GovernanceEvent]:
    """The events that give a clone the policies and tags of its source; ids are Delta's.

    Args:
        source_id: of the source.
        clone_id: of the clone, which may exist already.
        name: of the clone, fully qualified.
        actor: who clones.
        state: of governance.
        home: the key of the source's schema, if tags of it mask; the clone gets them, wherever it lies.
        former: of a backup; None for a clone.

    Raises:
        PolicyExistsError: the clone replaces a table with other policies.
    """
    source, new = f"delta:{source_id}", _New(f"delta:{clone_id}", name, actor, state)
    known = state.objects.get(new.key)
    # In its own place it keeps what it has.
    if source == new.key or known is None or not is_set_on(known):
        return _copied(source, home, new, former)
    others = {key: there for key, there in state.objects.items() if key != new.key}
    bare = replace(state, objects=others)
    events = _copied(source, home, replace(new, state=bare), former)
    wanted = state_after(events, bare).objects.get(new.key)
    # CREATE OR REPLACE … CLONE is run again: the clone has the policies of the first run.
    if wanted is not None and _set_on(known) == _set_on(wanted):
        # What the clone is to remember of its source may be missing still.
        return [] if known.had_rows or not wanted.had_rows else events
    raise PolicyExistsError(
        f"{known.name} would be replaced by a clone, and policies of its own protect it",
        "DROP it first, which keeps it for UNDROP, or take its policies off",
    )


def copy_view_policies(
    views: Iterable[tuple[Sequence[str], Sequence[str]]],
    actor: Actor,
    state: GovernanceState,
    former: Former | None = None,
) -> list[GovernanceEvent]:
    """The events that give the views of a schema's clone the policies and tags of their sources.

    Args:
        views: each view and its clone; names are in full.
        actor: who clones.
        state: of governance.
        former: of a backup; None for a clone.
    """
    events = []
    for source, clone in views:
        new = _New(_view_key(clone), quote_name(clone), actor, state)
        events += _copied(_view_key(source), schema_key(quote_name(source[:-1])), new, former)
    return events


def dropped_since(sources: Iterable[str], former: GovernanceState, state: GovernanceState) -> tuple[str, ...]:
    """The names of the policies that objects had, and that nothing can have any more.

    Args:
        sources: their keys.
        former: the state of governance when they had them.
        state: of governance now.
    """
    found = (former.objects[key] for key in sources if key in former.objects)
    uses = (use.policy for one in found for use in _uses(one))
    gone = dict.fromkeys(policy for policy in uses if policy not in state.policies)
    return tuple(former.policies[policy].policy.name for policy in gone)


def is_set_on(protected: ProtectedObject) -> bool:
    """Whether an object has a policy or a tag."""
    return any(_set_on(protected))


def _set_on(protected: ProtectedObject) -> tuple[Mapping[str, Any], ...]:
    return protected.masks, protected.rows, protected.grants, protected.tags, protected.column_tags


def _uses(protected: ProtectedObject) -> Iterator[PolicyUse]:
    for uses in (protected.masks, protected.rows, protected.grants):
        yield from uses.values()


def _view_key(name: Sequence[str]) -> str:
    # As CatalogDescriptions.java says it.
    return f"name:{'.'.join(name).lower()}"


@dataclass(frozen=True, slots=True)
class _New:
    """What is made.

    Attributes:
        key: of it.
        name: fully qualified.
        actor: who makes it.
        state: of governance.
    """

    key: str
    name: str
    actor: Actor
    state: GovernanceState

    @property
    def domain(self) -> Domain:
        """Table or view."""
        return Domain.TABLE if self.key.startswith("delta:") else Domain.VIEW

    @property
    def object_id(self) -> int:
        """As `objectId` in a record."""
        kind = "TABLE" if self.domain is Domain.TABLE else "VIEW"
        return object_id(kind, self.key.partition(":")[2])

    def is_as(self, other: ProtectedObject) -> bool:
        """Whether both are tables, or both are views: a table may have the name that a view had."""
        return (other.domain is Domain.VIEW) == (self.domain is Domain.VIEW)

    def copied(self, source: str) -> GovernanceEvent:
        """The event that gives it all that another object has."""
        details = {"source": source, "object_id": self.object_id}
        return GovernanceEvent.of(self.actor, "COPY_POLICIES", key=self.key, name=self.name, details=details)

    def event(self, kind: str, of_id: str, **details: Any) -> GovernanceEvent:
        """An event that puts a policy or a tag on it."""
        about = {"object_domain": self.domain.value, "object_id": self.object_id, **details}
        return GovernanceEvent.of(self.actor, kind, of_id=of_id, key=self.key, name=self.name, details=about)


def _copied(source: str, home: str, new: _New, former: Former | None) -> list[GovernanceEvent]:
    known, events = new.state.objects.get(source), []
    if source != new.key:
        if known is not None and new.is_as(known) and (is_set_on(known) or known.had_rows):
            events.append(new.copied(source))
        at_home = new.state.objects.get(home)
        events += _tags_of_home({} if at_home is None else at_home.tags, new)
    if former is not None:
        then, at_home = former.state.objects.get(source), former.state.objects.get(home)
        return_to = _Return(replace(new, state=state_after(events, new.state)), former)
        if then is not None and new.is_as(then):
            events += [*return_to.masks(then), *return_to.rows(then), *return_to.tags(then)]
        if at_home is not None and source != new.key:
            events += return_to.tags_of_home(at_home)
    return events


def _tags_of_home(tags: Mapping[str, str], new: _New) -> list[GovernanceEvent]:
    return [
        new.event("SET_TAG", tag, column=None, columns=[], value=value)
        for tag, value in tags.items()
        # A tag without policies protects nothing that the clone could show.
        if new.state.tags[tag].policies
    ]


@dataclass(frozen=True, slots=True)
class _Return:
    """Gives back what the source had when a backup was made; where two exclude each other, today's holds.

    Attributes:
        new: with what it has by now.
        former: of the backup.
    """

    new: _New
    former: Former

    @property
    def now(self) -> ProtectedObject:
        """What protects it by now."""
        known = self.new.state.objects.get(self.new.key)
        return known or ProtectedObject(self.new.key, self.new.name, self.new.domain)

    def masks(self, then: ProtectedObject) -> Iterator[GovernanceEvent]:
        """The masks of columns that have none."""
        for key, use in then.masks.items():
            if key not in self.now.masks and self._is_usable(use.policy):
                yield self.new.event("SET_MASKING_POLICY", use.policy, columns=_columns(then, use.columns))

    def rows(self, then: ProtectedObject) -> Iterator[GovernanceEvent]:
        """The row access policies, if it has none: one is allowed, and each of BigQuery's shows more rows."""
        if self.now.rows or self.now.grants:
            return
        for use in then.rows.values():
            if self._is_usable(use.policy):
                yield self.new.event("ADD_ROW_ACCESS_POLICY", use.policy, columns=_columns(then, use.columns))
        for granted, use in then.grants.items():
            if self._is_usable(use.policy):
                columns = _columns(then, use.columns)
                yield self.new.event("GRANT_ROWS", use.policy, columns=columns, granted=granted)

    def tags(self, then: ProtectedObject) -> Iterator[GovernanceEvent]:
        """The tags that it has not, on itself and on columns."""
        # A tag on the whole masks each column by its type.
        typed = [key for key in then.types if key in then.columns]
        yield from self._set(then.tags, self.now.tags, None, then, typed)
        for column, tags in then.column_tags.items():
            yield from self._set(tags, self.now.column_tags.get(column, {}), column, then, [column])

    def tags_of_home(self, then: ProtectedObject) -> list[GovernanceEvent]:
        """Those of the schema, with policies."""
        there = self.now.tags
        lost = {tag: value for tag, value in then.tags.items() if tag not in there and self._is_settable(tag)}
        return _tags_of_home(lost, self.new)

    def _set(
        self,
        tags: Mapping[str, str],
        there: Mapping[str, str],
        column: str | None,
        then: ProtectedObject,
        keys: Sequence[str],
    ) -> Iterator[GovernanceEvent]:
        columns = [[*one, then.types[one[0]]] for one in _columns(then, keys)]
        for tag, value in tags.items():
            if tag not in there and self._is_settable(tag):
                yield self.new.event("SET_TAG", tag, column=column, columns=columns, value=value)

    def _is_usable(self, policy: str) -> bool:
        known = self.new.state.policies.get(policy)
        return known is not None and self.new.key not in self.former.reads(known.policy)

    def _is_settable(self, tag: str) -> bool:
        known = self.new.state.tags[tag]  # a dropped one is there for UNDROP
        return not known.dropped and all(map(self._is_usable, known.policies.values()))


def _columns(of: ProtectedObject, keys: Iterable[str]) -> list[list[Any]]:
    return [[key, *of.columns[key]] for key in keys]
