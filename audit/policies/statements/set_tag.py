"""SET TAG and UNSET TAG on tables, views, schemas and columns.

In: a parsed clause, its object, and the state. Out: the events of the clause, or an error. A tag brings its
masking policies (Snowflake, Tag-based masking policies): a tag on a table masks its columns, one on a schema
the columns of its tables and views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from audit.policies.errors import BadPolicyError, UnknownPolicyError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.governed_objects import schema_key
from lineage.catalog.object_ids import object_id
from lineage.model import Domain, Policy
from lineage.names import qualify, quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject
    from audit.policies.model.governed_objects import Tag
    from audit.policies.model.state import GovernanceState
    from lineage.sql.commands.command import Change, Command

PolicyReads = Callable[[Policy], frozenset[str]]
"""The keys of what the body of a policy reads."""
NamedColumn = tuple[str, str, int, str]
"""A column of an object: name, key, columnId, type."""
_LONGEST = 256
"""Characters of a tag's value (Snowflake, Object tagging: tag quotas)."""


def set_tag_events(
    change: Change,
    found: CatalogObject,
    current: tuple[str, str],
    reads: PolicyReads,
    actor: Actor,
    state: GovernanceState,
) -> list[GovernanceEvent]:
    """SET TAG or UNSET TAG of a table or view, or of one of its columns."""
    identity, tag = tag_of(change.name, current, state)
    column = None if change.column is None else column_of(found, change.column)
    name, key = quote_name(found.name), found.key or ""
    what = name if column is None else f"column {column[0]} of {name}"
    if change.operation == "DROP":
        known = state.objects.get(key)
        on = {} if known is None else known.tags if column is None else known.column_tags.get(column[1], {})
        _require_set(identity, tag, on, what)
        return [_event(actor, "UNSET_TAG", identity, key, name, _about(found, column))]
    return [tag_set(identity, column, _value(change, tag, what), found, reads, actor, state)]


def tag_set(
    identity: str,
    column: NamedColumn | None,
    value: str,
    found: CatalogObject,
    reads: PolicyReads,
    actor: Actor,
    state: GovernanceState,
    **more: object,
) -> GovernanceEvent:
    """The event that sets a tag, by its id, on a table, a view or a column; `more` is added to its details.

    Raises:
        BadPolicyError: a policy of the tag reads the object that it would protect.
    """
    name, key = quote_name(found.name), found.key or ""
    tag = state.tags[identity]
    for policy in tag.policies.values():
        # The policy's body would read the table behind the policy itself, without end.
        if key in reads(state.policies[policy].policy):
            raise BadPolicyError(
                f"policy {state.policies[policy].policy.name} of tag {tag.name} reads {name}, which it is to"
                " protect",
                "move the rows that it looks up to another table",
            )
    # The types of all columns are kept, as a table's tag masks each by its type.
    columns = [column] if column is not None else list(found.columns.values())
    told = [[key_of, label, number, kind] for label, key_of, number, kind in columns]
    details = {**_about(found, column), "columns": told, "value": value, **more}
    return _event(actor, "SET_TAG", identity, key, name, details)


def _about(found: CatalogObject, column: NamedColumn | None) -> dict[str, Any]:
    return {
        "object_domain": (Domain.VIEW if found.is_view else Domain.TABLE).value,
        "object_id": found.object_id,
        "column": None if column is None else column[1],
    }


def set_schema_tag_events(
    command: Command, current: tuple[str, str], actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """The events of all clauses of an ALTER SCHEMA, each decided on the state after those before it."""
    name = quote_name(schema_name(command.target, current))
    key = schema_key(name)
    details = {"object_domain": Domain.SCHEMA.value, "object_id": object_id(Domain.SCHEMA.value, name)}
    events: list[GovernanceEvent] = []
    now = state
    for change in command.changes:
        identity, tag = tag_of(change.name, current, now)
        if change.operation == "DROP":
            known = now.objects.get(key)
            _require_set(identity, tag, {} if known is None else known.tags, f"schema {name}")
            new = _event(actor, "UNSET_TAG", identity, key, name, details)
        else:
            value = _value(change, tag, f"schema {name}")
            new = _event(actor, "SET_TAG", identity, key, name, {**details, "value": value})
        events.append(new)
        # A clause may unset what an earlier one has set.
        now = state_after([new], now)
    return events


def schema_name(parts: Sequence[str], current: tuple[str, str]) -> tuple[str, ...]:
    """The full name of a schema.

    >>> schema_name(("s",), ("c", "here"))
    ('c', 's')
    """
    return (current[0], *parts) if len(parts) == 1 else tuple(parts)


def tag_of(parts: Sequence[str], current: tuple[str, str], state: GovernanceState) -> tuple[str, Tag]:
    """A tag that a statement names, with its id.

    Raises:
        UnknownPolicyError: there is none.
    """
    name = quote_name(qualify(parts, current))
    known = state.find_tag(name)
    if known is None:
        raise UnknownPolicyError(f"there is no tag {name}", "create it first: CREATE TAG")
    return known


def column_of(found: CatalogObject, name: str) -> NamedColumn:
    """A column that a statement names: name, key, columnId, type.

    Raises:
        UnknownPolicyError: there is none.
    """
    column = found.columns.get(name.lower())
    if column is None:
        there = ", ".join(one[0] for one in found.columns.values())
        raise UnknownPolicyError(f"{quote_name(found.name)} has no column {name}", f"it has {there}")
    return column


def _value(change: Change, tag: Tag, what: str) -> str:
    value = change.value
    if value is None:
        raise BadPolicyError(f"tag {tag.name} has no value for {what}", "write SET TAG name = 'value'")
    if len(value) > _LONGEST:
        raise BadPolicyError(
            f"the value of tag {tag.name} for {what} has {len(value)} characters", f"it may have {_LONGEST}"
        )
    if tag.allowed is not None and value not in tag.allowed:
        there = ", ".join(map(repr, tag.allowed))
        raise BadPolicyError(
            f"tag {tag.name} does not take the value {value!r}",
            f"it takes {there}; ALTER TAG … ADD ALLOWED_VALUES lets it take more",
        )
    return value


def _require_set(identity: str, tag: Tag, on: Mapping[str, str], what: str) -> None:
    if identity not in on:
        raise UnknownPolicyError(f"tag {tag.name} is not set on {what}", "there is nothing to unset")


def _event(
    actor: Actor, kind: str, tag: str, key: str, name: str, details: dict[str, Any]
) -> GovernanceEvent:
    return GovernanceEvent.of(actor, kind, of_id=tag, key=key, name=name, details=details)
