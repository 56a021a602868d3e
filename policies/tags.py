"""CREATE, ALTER, RENAME, DROP and UNDROP of tags, and the masking policies that come with them.

In: a command as lineage has read it, and the state that it meets. Out: the events that it comes to; an error
where it cannot be. Rules are those of Snowflake's CREATE TAG, ALTER TAG, DROP TAG, UNDROP TAG and of
Tag-based masking policies: one policy a data type, and a tag with a policy is not dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.names import qualify, quote_name
from policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from policies.events import Event
from policies.tagging import tag_of
from policies.types import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from audit.by import By
    from lineage.statement import Change, Command
    from policies.state import Defined, State, Tag
    from policies.tagging import Reads

Here = tuple[str, str]


def tag_created(command: Command, here: Here, reads: Reads, by: By, state: State) -> list[Event]:
    """CREATE [OR REPLACE] TAG [IF NOT EXISTS]."""
    del reads
    name = quote_name(qualify(command.target, here))
    known = state.find_tag(name)
    if known is not None and command.if_clause:
        return []
    if known is not None and not command.replace:
        raise PolicyExistsError(
            f"tag {name} is there already", "use ALTER TAG, CREATE OR REPLACE TAG, or another name"
        )
    events = [] if known is None else [_dropping(*known, state, by)]
    values = _values(change.value for change in command.changes)
    details = {"allowed": values or None, "comment": dict(command.properties).get("comment")}
    return [*events, _event(by, "CREATE_TAG", None, name, details)]


def tag_altered(command: Command, here: Here, reads: Reads, by: By, state: State) -> list[Event]:
    """ALTER TAG [IF EXISTS] …: its values, its policies, its comment."""
    if command.if_clause and not _is_there(command, here, state):
        return []
    identity, tag = tag_of(command.target, here, state)
    if not command.changes:
        details: dict[str, object] = {"comment": dict(command.properties)["comment"]}
    elif command.changes[0].domain is None:
        details = {"allowed": _allowed(command.changes, tag)}
    elif command.changes[0].operation == "ADD":
        details = {"policies": _with_policies(command.changes, identity, tag, here, reads, state)}
    else:
        details = {"policies": _without_policies(command.changes, tag, here, state)}
    return [_event(by, "CHANGE_TAG", identity, tag.name, details)]


def tag_renamed(command: Command, here: Here, reads: Reads, by: By, state: State) -> list[Event]:
    """ALTER TAG [IF EXISTS] … RENAME TO; a name alone stays in the tag's schema."""
    del reads
    if command.if_clause and not _is_there(command, here, state):
        return []
    identity, _ = tag_of(command.target, here, state)
    old, new = qualify(command.target, here), command.new_name
    if not new:
        raise BadPolicyError(f"tag {quote_name(old)} has no new name", "write RENAME TO name")
    name = quote_name((*old[:-1], new[0]) if len(new) == 1 else qualify(new, here))
    taken = state.find_tag(name)
    if taken is not None and taken[0] != identity:
        raise PolicyExistsError(f"tag {name} is there already", "choose another name")
    return [_event(by, "RENAME_TAG", identity, name)]


def tag_dropped(command: Command, here: Here, reads: Reads, by: By, state: State) -> list[Event]:
    """DROP TAG [IF EXISTS]."""
    del reads
    if command.if_clause and not _is_there(command, here, state):
        return []
    return [_dropping(*tag_of(command.target, here, state), state, by)]


def tag_brought_back(command: Command, here: Here, reads: Reads, by: By, state: State) -> list[Event]:
    """UNDROP TAG: the last of that name that was dropped, and all that it was set on."""
    del reads
    name = quote_name(qualify(command.target, here))
    if state.find_tag(name) is not None:
        raise PolicyExistsError(f"tag {name} is there already", "rename it first")
    gone = [
        identity
        for identity, tag in state.tags.items()
        if tag.dropped and tag.name.casefold() == name.casefold()
    ]
    if not gone:
        raise UnknownPolicyError(f"no tag {name} was dropped", "look at its schema and spelling")
    return [_event(by, "UNDROP_TAG", gone[-1], state.tags[gone[-1]].name)]


def _is_there(command: Command, here: Here, state: State) -> bool:
    return state.find_tag(quote_name(qualify(command.target, here))) is not None


def _dropping(identity: str, tag: Tag, state: State, by: By) -> Event:
    if tag.policies:
        names = sorted(state.policies[policy].policy.name for policy in tag.policies.values())
        raise PolicyInUseError(
            f"tag {tag.name} comes with masking policy {', '.join(names)}",
            "take it off first: ALTER TAG … UNSET MASKING POLICY",
        )
    return _event(by, "DROP_TAG", identity, tag.name)


# -- values ------------------------------------------------------------------------------------


def _values(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value is not None))


def _allowed(changes: Iterable[Change], tag: Tag) -> list[str] | None:
    """The values that a tag takes after ADD, DROP or UNSET ALLOWED_VALUES; None for any."""
    changes = list(changes)
    given = _values(change.value for change in changes)
    if not given:
        return None
    known = list(tag.allowed or ())
    if changes[0].operation == "ADD":
        return _values([*known, *given])
    unknown = [value for value in given if value not in known]
    if unknown:
        raise UnknownPolicyError(
            f"tag {tag.name} has no allowed value {unknown[0]!r}", "SHOW TAGS lists those that it has"
        )
    left = [value for value in known if value not in given]
    if not left:
        raise BadPolicyError(
            f"tag {tag.name} would take no value at all", "UNSET ALLOWED_VALUES lets it take any"
        )
    return left


# -- policies ----------------------------------------------------------------------------------


def _with_policies(
    changes: Iterable[Change], identity: str, tag: Tag, here: Here, reads: Reads, state: State
) -> dict[str, str]:
    found = dict(tag.policies)
    given: dict[str, str] = {}
    for change in changes:
        policy_id, known = _policy(change, here, state)
        kind = _masked_kind(known, tag)
        if given.get(kind, policy_id) != policy_id:
            raise BadPolicyError(
                f"tag {tag.name} would come with two masking policies of type {kind}",
                "a tag has one a data type",
            )
        there = tag.policies.get(kind)
        if there is not None and not change.force:
            raise PolicyExistsError(
                f"tag {tag.name} comes with {state.policies[there].policy.name} for type {kind} already",
                "add FORCE to put another in its place, or UNSET MASKING POLICY first",
            )
        own = [key for key in reads(known.policy) if key in state.carriers.get(identity, {})]
        if own:
            raise BadPolicyError(
                f"policy {known.policy.name} reads {state.objects[own[0]].name}, which carries tag"
                f" {tag.name}",
                "keep what it looks up in a table of its own",
            )
        found[kind] = given[kind] = policy_id
    return found


def _without_policies(changes: Iterable[Change], tag: Tag, here: Here, state: State) -> dict[str, str]:
    found = dict(tag.policies)
    for change in changes:
        policy_id, known = _policy(change, here, state)
        kind = kind_of(known.policy.parameters[0].type)
        if found.get(kind) != policy_id:
            raise UnknownPolicyError(
                f"tag {tag.name} does not come with {known.policy.name}", "there is nothing to unset"
            )
        del found[kind]
    return found


def _policy(change: Change, here: Here, state: State) -> tuple[str, Defined]:
    name = quote_name(qualify(change.name, here))
    known = state.find(Domain.MASKING_POLICY, name)
    if known is None:
        raise UnknownPolicyError(f"there is no masking policy {name}", "create it first")
    return known


def _masked_kind(known: Defined, tag: Tag) -> str:
    """The kind of type that a policy masks."""
    if len(known.policy.parameters) > 1:
        raise BadPolicyError(
            f"policy {known.policy.name} asks for {len(known.policy.parameters)} columns, and tag {tag.name}"
            " gives it one",
            "set it on each column by name, with USING",
        )
    return kind_of(known.policy.parameters[0].type)


def _event(
    by: By, kind: str, of_id: str | None, name: str, details: Mapping[str, object] | None = None
) -> Event:
    return Event(by.time, kind, by.new_id(), of_id, None, name, by.user, None, by.query_id, details or {})
