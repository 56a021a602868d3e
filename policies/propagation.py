"""Tags go with the data: a column that is made of tagged ones carries their tags.

In: what a statement has written, with the sources of each column, and the state. Out: the tags that are set
on its columns, as events. The rules:

- A source counts with its own tags, and with those of its table and schema: the nearest value of each tag.
- Values count, not conditions: a column that only filters or joins hands no tag on.
- A tag that the target's column carries already, by itself, its table or its schema, stays as it is. So does
  one on a column that is no longer derived.
- Where sources have one tag with different values, the value is `CONFLICT`; where the tag does not take that
  value, it is the first of theirs in alphabetical order (Snowflake, Tag propagation: ON_CONFLICT, whose
  default is `CONFLICT`).
- A value is handed on as its source has it, even one that the tag takes no longer: what masks the source
  masks what is made of it.

It happens after the commit: until the write returns to its user, others may see the column without the tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lineage.model import ColumnRef, Domain, Relation
from lineage.names import quote_name, split_name
from policies.errors import BadPolicyError, PolicyError
from policies.state import folded, schema_key
from policies.tagging import column_of, tag_set

if TYPE_CHECKING:
    from audit.by import By
    from lineage.model import ModifiedObject
    from policies.events import Event
    from policies.governor import Found
    from policies.state import Protected, State, Tag
    from policies.tagging import Reads

CONFLICT = "CONFLICT"
"""The value where sources have different ones."""
Wanted = Mapping[str, Mapping[str, str]]
"""The values of tags by the tag's id, by the name of the column that is to carry them."""


def wanted(written: Iterable[ModifiedObject], state: State) -> Wanted:
    """The tags that columns of one target are to get.

    Args:
        written: what a statement has written into it, once or several times (FROM … INSERT … INSERT).
        state: the tags as they are.
    """
    values: dict[str, dict[str, set[str]]] = {}
    there: dict[str, Mapping[str, str]] = {}
    for one in written:
        for column in one.columns:
            found = values.setdefault(column.name, {})
            for source in (*column.direct_sources, *column.base_sources):
                for tag, value in carried(source, state).items():
                    found.setdefault(tag, set()).add(value)
            target = ColumnRef(one.name, column.name, one.domain, one.object_id, column.column_id)
            there[column.name] = carried(target, state) if found else {}
    lacking = {
        name: {
            tag: _agreed(state.tags[tag], of_sources)
            for tag, of_sources in found.items()
            if tag not in there[name]
        }
        for name, found in values.items()
    }
    return {name: tags for name, tags in lacking.items() if tags}


def carried(column: ColumnRef, state: State) -> dict[str, str]:
    """The values of the tags of a column, its own and those of its table and schema, by the tags' ids."""
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
                found.setdefault(tag, value)
    return found


def _key(known: Protected, column: ColumnRef) -> str:
    """What a column is known by; of a clone the state has the ids of its source's columns."""
    name = column.column_name.casefold()
    by_id = (key for key, (_, number) in known.columns.items() if number == column.column_id)
    by_name = (key for key, (label, _) in known.columns.items() if label.casefold() == name)
    return next(by_id, None) or next(by_name, "")


def _agreed(tag: Tag, values: set[str]) -> str:
    if len(values) > 1 and (tag.allowed is None or CONFLICT in tag.allowed):
        return CONFLICT
    return min(values)


def propagated(
    tags: Wanted, found: Found, reads: Reads, by: By, state: State
) -> tuple[list[Event], list[PolicyError]]:
    """The events after which columns carry tags, and why some cannot: those do not keep others from theirs.

    Args:
        tags: what the columns are to get.
        found: the target.
        reads: the keys of what the body of a policy reads.
        by: whose statement has written it.
        state: what the events meet.
    """
    events: list[Event] = []
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
                new = tag_set(tag, column, value, found, reads, by, state, propagated=True)
            except PolicyError as error:
                problems.append(error)
            else:
                events.append(new)
                state = folded([new], state)
    return events, problems


def _has(tag: str, column: str, found: Found, state: State) -> bool:
    """Whether a column, by its key, has a tag: of a new table the record may know another id."""
    known = state.objects.get(found.key or "")
    return known is not None and tag in known.column_tags.get(column, {})


def _require_taggable(found: Found) -> None:
    name = quote_name(found.name)
    if found.key is None:
        raise BadPolicyError(
            f"{name} carries no tags: nothing tells it apart", "write to a table of the catalog"
        )
    if found.key.startswith("name:") and not found.is_view:
        raise BadPolicyError(
            f"{name} carries no tags: it is no Delta table, and its files can be read past any policy",
            "write to a Delta table",
        )
