"""Tag propagation: a derived column gets the tags of its source columns.

In: the columns that a statement wrote, with their sources, and the state. Out: the events that set tags. The
rules:

- A source column has its own tags and those of its table and schema; for each tag the nearest value counts.
- Only direct sources count: a column in a filter or a join passes no tag on.
- A tag that the target column has already, by itself, its table or its schema, keeps its value, even if the
  column is no longer derived.
- If sources have different values of a tag, the value is `CONFLICT`; if the tag does not allow that value, it
  is the first of theirs in alphabetical order (Snowflake, Tag propagation: ON_CONFLICT, whose
  default is `CONFLICT`).
- A value is passed on even if it is no longer allowed for the tag: the mask of the source must also mask the
  derived column.

Tags are set after the commit: until the write returns, other users may see the column without the tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyError
from audit.policies.model.apply_events import state_after
from audit.policies.model.governed_objects import schema_key
from audit.policies.statements.set_tag import column_of, tag_set
from lineage.model import ColumnRef, Domain, Relation
from lineage.names import quote_name, split_name

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject
    from audit.policies.model.events import GovernanceEvent
    from audit.policies.model.governed_objects import ProtectedObject, Tag
    from audit.policies.model.state import GovernanceState
    from audit.policies.statements.set_tag import PolicyReads
    from lineage.model import ModifiedObject

CONFLICT = "CONFLICT"
"""The value of a tag whose sources have different values."""
TagsByColumn = Mapping[str, Mapping[str, str]]
"""Values of tags by the tag's id, by the name of the column that gets them."""


def tags_to_propagate(written: Iterable[ModifiedObject], state: GovernanceState) -> TagsByColumn:
    """The tags that the columns of one target get.

    Args:
        written: the writes of a statement into it; FROM … INSERT … INSERT may have several.
        state: with the tags of the sources.
    """
    values: dict[str, dict[str, set[str]]] = {}
    there: dict[str, Mapping[str, str]] = {}
    for one in written:
        for column in one.columns:
            found = values.setdefault(column.name, {})
            # A view between them may have tags, and so may the table below it.
            for source in (*column.direct_sources, *column.base_sources):
                for tag, value in tag_values(source, state).items():
                    found.setdefault(tag, set()).add(value)
            target = ColumnRef(one.name, column.name, one.domain, one.object_id, column.column_id)
            there[column.name] = tag_values(target, state) if found else {}
    lacking = {
        name: {
            tag: _agreed(state.tags[tag], of_sources)
            for tag, of_sources in found.items()
            # A tag that the column has already stays as it is.
            if tag not in there[name]
        }
        for name, found in values.items()
    }
    return {name: tags for name, tags in lacking.items() if tags}


def tag_values(column: ColumnRef, state: GovernanceState) -> dict[str, str]:
    """The tag values of a column, by tag id: its own and those of its table and schema."""
    relation = Relation(column.object_name, column.object_domain, column.object_id)
    known = state.protected(relation)
    levels: list[Mapping[str, str]] = []
    if known is not None:
        levels = [known.column_tags.get(_key(known, column), {}), known.tags]
    if column.object_domain is not Domain.STAGE:
        home = state.objects.get(schema_key(quote_name(split_name(column.object_name)[:-1])))
        levels += [] if home is None else [home.tags]
    found: dict[str, str] = {}
    for level in levels:
        for tag, value in level.items():
            if not state.tags[tag].dropped:
                # The nearest level counts: the column, then the table, then the schema.
                found.setdefault(tag, value)
    return found


def _key(known: ProtectedObject, column: ColumnRef) -> str:
    """The key of a column; for a clone the state has the column ids of its source."""
    name = column.column_name.casefold()
    # The id first: a rename keeps it.
    by_id = (key for key, (_, number) in known.columns.items() if number == column.column_id)
    by_name = (key for key, (label, _) in known.columns.items() if label.casefold() == name)
    return next(by_id, None) or next(by_name, "")


def _agreed(tag: Tag, values: set[str]) -> str:
    if len(values) > 1 and (tag.allowed is None or CONFLICT in tag.allowed):
        return CONFLICT
    # A set has no order, so the least value is taken: it is the same in every run.
    return min(values)


def propagation_events(
    tags: TagsByColumn, found: CatalogObject, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> tuple[list[GovernanceEvent], list[PolicyError]]:
    """The events that set tags on columns, and an error for each tag that cannot be set.

    Args:
        tags: the tags that the columns get.
        found: the target.
        reads: the keys of what the body of a policy reads.
        actor: whose statement wrote it.
        state: before the events.
    """
    events: list[GovernanceEvent] = []
    problems: list[PolicyError] = []
    try:
        _require_taggable(found)
    except PolicyError as error:
        return [], [error]
    for name, values in tags.items():
        for tag, value in values.items():
            try:
                column = column_of(found, name)
                if _has(tag, column[1], found, state):
                    continue
                new = tag_set(tag, column, value, found, reads, actor, state, propagated=True)
            except PolicyError as error:
                problems.append(error)
            else:
                events.append(new)
                # The next tag is decided with this one set.
                state = state_after([new], state)
    return events, problems


def _has(tag: str, column: str, found: CatalogObject, state: GovernanceState) -> bool:
    """Whether a column, by its key, has a tag; the record of a new table may have another id."""
    known = state.objects.get(found.key or "")
    return known is not None and tag in known.column_tags.get(column, {})


def _require_taggable(found: CatalogObject) -> None:
    name = quote_name(found.name)
    if found.key is None:
        raise BadPolicyError(
            f"{name} cannot have tags: it is temporary, or no table or view of the catalog",
            "write to a table of the catalog",
        )
    if found.key.startswith("name:") and not found.is_view:
        raise BadPolicyError(
            f"{name} carries no tags: it is no Delta table, and its files can be read past any policy",
            "write to a Delta table",
        )
