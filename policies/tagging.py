"""Tags are put on tables, views, schemas and columns, or taken off.

In: a clause as lineage has read it, what it is about, and the state that it meets. Out: the events that it
comes to; an error where it cannot be. What carries a tag is behind the masking policies that the tag comes
with (Snowflake, Tag-based masking policies): a table's tag counts for its columns, a schema's for what it
holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lineage.model import Domain, Policy
from lineage.names import qualify, quote_name
from lineage.object_ids import object_id
from policies.errors import BadPolicyError, UnknownPolicyError
from policies.events import Event
from policies.state import folded, schema_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from audit.by import By
    from lineage.statement import Change, Command
    from policies.governor import Found
    from policies.state import State, Tag

Reads = Callable[[Policy], frozenset[str]]
"""The keys of what the body of a policy reads."""
NamedColumn = tuple[str, str, int, str]
"""A column of what a name stands for: name, key, columnId, type."""
_LONGEST = 256
"""Characters of a tag's value (Snowflake, Object tagging: tag quotas)."""


def tagged(
    change: Change, found: Found, here: tuple[str, str], reads: Reads, by: By, state: State
) -> list[Event]:
    """SET TAG or UNSET TAG of a table or view, or of one of its columns."""
    identity, tag = tag_of(change.name, here, state)
    column = None if change.column is None else column_of(found, change.column)
    name, key = quote_name(found.name), found.key or ""
    what = name if column is None else f"column {column[0]} of {name}"
    if change.operation == "DROP":
        known = state.objects.get(key)
        on = {} if known is None else known.tags if column is None else known.column_tags.get(column[1], {})
        _require_set(identity, tag, on, what)
        return [_event(by, "UNSET_TAG", identity, key, name, _about(found, column))]
    return [tag_set(identity, column, _value(change, tag, what), found, reads, by, state)]


def tag_set(
    identity: str,
    column: NamedColumn | None,
    value: str,
    found: Found,
    reads: Reads,
    by: By,
    state: State,
    **more: object,
) -> Event:
    """A tag, by its id, is set on a table or view, or on one of its columns; `more` is kept beside it.

    Raises:
        BadPolicyError: a policy that the tag comes with reads what it would protect.
    """
    name, key = quote_name(found.name), found.key or ""
    tag = state.tags[identity]
    for policy in tag.policies.values():
        if key in reads(state.policies[policy].policy):
            raise BadPolicyError(
                f"policy {state.policies[policy].policy.name} of tag {tag.name} reads {name}, which it is to"
                " protect",
                "keep what it looks up in a table of its own",
            )
    columns = [column] if column is not None else list(found.columns.values())
    told = [[key_of, label, number, kind] for label, key_of, number, kind in columns]
    said = {**_about(found, column), "columns": told, "value": value, **more}
    return _event(by, "SET_TAG", identity, key, name, said)


def _about(found: Found, column: NamedColumn | None) -> dict[str, Any]:
    return {
        "object_domain": (Domain.VIEW if found.is_view else Domain.TABLE).value,
        "object_id": found.object_id,
        "column": None if column is None else column[1],
    }


def schema_tagged(command: Command, here: tuple[str, str], by: By, state: State) -> list[Event]:
    """All clauses of an ALTER SCHEMA, each on what those before it lead to."""
    name = quote_name(schema_name(command.target, here))
    key = schema_key(name)
    said = {"object_domain": Domain.SCHEMA.value, "object_id": object_id(Domain.SCHEMA.value, name)}
    events: list[Event] = []
    now = state
    for change in command.changes:
        identity, tag = tag_of(change.name, here, now)
        if change.operation == "DROP":
            known = now.objects.get(key)
            _require_set(identity, tag, {} if known is None else known.tags, f"schema {name}")
            new = _event(by, "UNSET_TAG", identity, key, name, said)
        else:
            value = _value(change, tag, f"schema {name}")
            new = _event(by, "SET_TAG", identity, key, name, {**said, "value": value})
        events.append(new)
        now = folded([new], now)
    return events


def schema_name(parts: Sequence[str], here: tuple[str, str]) -> tuple[str, ...]:
    """The full name of a schema.

    >>> schema_name(("s",), ("c", "here"))
    ('c', 's')
    """
    return (here[0], *parts) if len(parts) == 1 else tuple(parts)


def tag_of(parts: Sequence[str], here: tuple[str, str], state: State) -> tuple[str, Tag]:
    """A tag that a statement names, with its id.

    Raises:
        UnknownPolicyError: there is none.
    """
    name = quote_name(qualify(parts, here))
    known = state.find_tag(name)
    if known is None:
        raise UnknownPolicyError(f"there is no tag {name}", "create it first: CREATE TAG")
    return known


def column_of(found: Found, name: str) -> NamedColumn:
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


def _event(by: By, kind: str, tag: str, key: str, name: str, details: dict[str, Any]) -> Event:
    return Event(by.time, kind, by.new_id(), tag, key, name, by.user, None, by.query_id, details)
