"""CREATE, ALTER, RENAME, DROP and UNDROP of tags, and their masking policies.

In: a parsed command and the state. Out: the events of the command, or an error. Rules are those of
Snowflake's CREATE TAG, ALTER TAG, DROP TAG, UNDROP TAG and of Tag-based masking policies: one policy a data
type, and a tag with a policy is not dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.types import kind_of
from audit.policies.statements.set_tag import tag_of
from lineage.model import Domain
from lineage.names import qualify, quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from audit.core.actor import Actor
    from audit.policies.model.governed_objects import StoredPolicy, Tag
    from audit.policies.model.state import GovernanceState
    from audit.policies.statements.set_tag import PolicyReads
    from lineage.sql.commands.command import Change, Command

CurrentSchema = tuple[str, str]


def create_tag(
    command: Command, current: CurrentSchema, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """CREATE [OR REPLACE] TAG [IF NOT EXISTS]."""
    del reads
    name = quote_name(qualify(command.target, current))
    known = state.find_tag(name)
    if known is not None and command.if_clause:
        return []
    if known is not None and not command.replace:
        raise PolicyExistsError(
            f"tag {name} is there already", "use ALTER TAG, CREATE OR REPLACE TAG, or another name"
        )
    # CREATE OR REPLACE drops the old tag with its references.
    events = [] if known is None else [_dropping(*known, state, actor)]
    values = _values(change.value for change in command.changes)
    details = {"allowed": values or None, "comment": dict(command.properties).get("comment")}
    return [*events, _event(actor, "CREATE_TAG", None, name, details)]


def alter_tag(
    command: Command, current: CurrentSchema, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """ALTER TAG [IF EXISTS] …: its values, its policies, its comment."""
    if command.if_clause and not _is_there(command, current, state):
        return []
    identity, tag = tag_of(command.target, current, state)
    if not command.changes:
        details: dict[str, object] = {"comment": dict(command.properties)["comment"]}
    # The parser gives allowed values without a domain, policies with MASKING_POLICY.
    elif command.changes[0].domain is None:
        details = {"allowed": _allowed(command.changes, tag)}
    elif command.changes[0].operation == "ADD":
        details = {"policies": _with_policies(command.changes, identity, tag, current, reads, state)}
    else:
        details = {"policies": _without_policies(command.changes, tag, current, state)}
    return [_event(actor, "CHANGE_TAG", identity, tag.name, details)]


def rename_tag(
    command: Command, current: CurrentSchema, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """ALTER TAG [IF EXISTS] … RENAME TO; a name alone stays in the tag's schema."""
    del reads
    if command.if_clause and not _is_there(command, current, state):
        return []
    identity, _ = tag_of(command.target, current, state)
    old, new = qualify(command.target, current), command.new_name
    if not new:
        raise BadPolicyError(f"tag {quote_name(old)} has no new name", "write RENAME TO name")
    # A name alone stays in the tag's own schema, not in the current one.
    name = quote_name((*old[:-1], new[0]) if len(new) == 1 else qualify(new, current))
    taken = state.find_tag(name)
    if taken is not None and taken[0] != identity:
        raise PolicyExistsError(f"tag {name} is there already", "choose another name")
    return [_event(actor, "RENAME_TAG", identity, name)]


def drop_tag(
    command: Command, current: CurrentSchema, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """DROP TAG [IF EXISTS]."""
    del reads
    if command.if_clause and not _is_there(command, current, state):
        return []
    return [_dropping(*tag_of(command.target, current, state), state, actor)]


def undrop_tag(
    command: Command, current: CurrentSchema, reads: PolicyReads, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """UNDROP TAG: restore the last dropped tag of that name, with its references."""
    del reads
    name = quote_name(qualify(command.target, current))
    if state.find_tag(name) is not None:
        raise PolicyExistsError(f"tag {name} is there already", "rename it first")
    gone = [
        identity
        for identity, tag in state.tags.items()
        if tag.dropped and tag.name.casefold() == name.casefold()
    ]
    if not gone:
        raise UnknownPolicyError(f"no tag {name} was dropped", "look at its schema and spelling")
    # Dropped tags stand in the order of their drops.
    return [_event(actor, "UNDROP_TAG", gone[-1], state.tags[gone[-1]].name)]


def _is_there(command: Command, current: CurrentSchema, state: GovernanceState) -> bool:
    return state.find_tag(quote_name(qualify(command.target, current))) is not None


def _dropping(identity: str, tag: Tag, state: GovernanceState, actor: Actor) -> GovernanceEvent:
    # As in Snowflake, a tag with a masking policy cannot be dropped.
    if tag.policies:
        names = sorted(state.policies[policy].policy.name for policy in tag.policies.values())
        raise PolicyInUseError(
            f"tag {tag.name} comes with masking policy {', '.join(names)}",
            "take it off first: ALTER TAG … UNSET MASKING POLICY",
        )
    return _event(actor, "DROP_TAG", identity, tag.name)


# -- values ------------------------------------------------------------------------------------


def _values(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value is not None))


def _allowed(changes: Iterable[Change], tag: Tag) -> list[str] | None:
    """The ALLOWED_VALUES of a tag after ADD, DROP or UNSET; None for any."""
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
    changes: Iterable[Change],
    identity: str,
    tag: Tag,
    current: CurrentSchema,
    reads: PolicyReads,
    state: GovernanceState,
) -> dict[str, str]:
    found = dict(tag.policies)
    given: dict[str, str] = {}
    for change in changes:
        policy_id, known = _policy(change, current, state)
        kind = _masked_kind(known, tag)
        # FORCE replaces a policy that was there, not one of the same statement.
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
        # The body would read the table behind the policy itself, without end.
        own = [key for key in reads(known.policy) if key in state.carriers.get(identity, {})]
        if own:
            raise BadPolicyError(
                f"policy {known.policy.name} reads {state.objects[own[0]].name}, which carries tag"
                f" {tag.name}",
                "move the rows that it looks up to another table",
            )
        found[kind] = given[kind] = policy_id
    return found


def _without_policies(
    changes: Iterable[Change], tag: Tag, current: CurrentSchema, state: GovernanceState
) -> dict[str, str]:
    found = dict(tag.policies)
    for change in changes:
        policy_id, known = _policy(change, current, state)
        kind = kind_of(known.policy.parameters[0].type)
        if found.get(kind) != policy_id:
            raise UnknownPolicyError(
                f"tag {tag.name} does not come with {known.policy.name}", "there is nothing to unset"
            )
        del found[kind]
    return found


def _policy(change: Change, current: CurrentSchema, state: GovernanceState) -> tuple[str, StoredPolicy]:
    name = quote_name(qualify(change.name, current))
    known = state.find(Domain.MASKING_POLICY, name)
    if known is None:
        raise UnknownPolicyError(f"there is no masking policy {name}", "create it first")
    return known


def _masked_kind(known: StoredPolicy, tag: Tag) -> str:
    """The kind of type that a policy masks."""
    if len(known.policy.parameters) > 1:
        raise BadPolicyError(
            f"policy {known.policy.name} asks for {len(known.policy.parameters)} columns, and tag {tag.name}"
            " gives it one",
            "set it on each column by name, with USING",
        )
    return kind_of(known.policy.parameters[0].type)


def _event(
    actor: Actor, kind: str, of_id: str | None, name: str, details: Mapping[str, object] | None = None
) -> GovernanceEvent:
    return GovernanceEvent.of(actor, kind, of_id=of_id, name=name, details=details or {})
