"""ALTER TABLE | VIEW … SET | UNSET of masking policies, row access policies and tags.

In: a parsed command, its target, and the state. Out: the events of the command, or an error before anything
is done.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.governed_objects import ProtectedObject
from audit.policies.model.types import fits
from audit.policies.statements.attachment_event import attachment_event
from audit.policies.statements.bigquery_row_policy import revoke_row_policies
from audit.policies.statements.policy_functions import function_policy_events, policy_of_function
from audit.policies.statements.set_tag import column_of, set_tag_events
from lineage.model import Domain
from lineage.names import qualify, quote_name
from lineage.sql.tokens import words_of

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.policies.enforcement.enforcer import CatalogObject, Enforcer
    from audit.policies.model.governed_objects import StoredPolicy
    from audit.policies.model.state import GovernanceState
    from audit.policies.statements.set_tag import PolicyReads
    from lineage.sql.commands.command import Change, Command


def attachment_events(
    command: Command,
    found: CatalogObject,
    current: tuple[str, str],
    enforcer: Enforcer,
    actor: Actor,
    state: GovernanceState,
) -> list[GovernanceEvent]:
    """The events of all clauses, each decided on the state after those before it."""
    name = quote_name(found.name)
    # The key of a Delta table has Delta's id, that of any other object its name (`CatalogObject`).
    if found.key is not None and found.key.startswith("name:") and not found.is_view:
        raise BadPolicyError(
            f"{name} is no Delta table: its files can be read past any policy",
            "make it one: CONVERT TO DELTA, or CREATE TABLE … USING delta AS SELECT",
        )
    if found.key is None:
        raise BadPolicyError(
            f"{name} cannot be protected: it is temporary, or no table or view of the catalog",
            "make it a table or a view of the catalog",
        )
    # Spark resolves a body for each question; clauses of one statement may name a policy twice.
    reads = cache(enforcer.reads)
    events: list[GovernanceEvent] = []
    now = state
    for change in command.changes:
        if change.domain is Domain.TAG:
            new = set_tag_events(change, found, current, reads, actor, now)
        else:
            made = _made(change, current, enforcer, actor, now)
            new = [*made, *_change(change, found, current, reads, actor, state_after(made, now))]
        events += new
        # A later clause is checked against the earlier ones: a second mask on a column is refused.
        now = state_after(new, now)
    return events


def _change(
    change: Change,
    found: CatalogObject,
    current: tuple[str, str],
    reads: PolicyReads,
    actor: Actor,
    state: GovernanceState,
) -> list[GovernanceEvent]:
    is_masking = change.domain is Domain.MASKING_POLICY
    known = state.objects.get(found.key or "")
    if change.operation == "DROP":
        return (
            _unmask(change, found, known, actor)
            if is_masking
            else _drop_rows(change, found, known, current, actor, state)
        )
    columns = _arguments(change, found)
    if change.function:
        identity, policy = policy_of_function(change, current, state)
    else:
        identity, policy = _policy(change, current, state)
    _require_fitting(policy, columns, found)
    if is_masking:
        _require_maskable(columns[0][0], found, known)
    # CREATE MASKING POLICY has compared these types of a policy; nothing has compared those of a function.
    if change.function and is_masking and not fits(policy.policy.data_type, columns[0][3]):
        raise BadPolicyError(
            f"function {policy.policy.name} returns {policy.policy.data_type.lower()}, and column"
            f" {columns[0][0]} of {quote_name(found.name)} is {columns[0][3].lower()}",
            "a mask keeps the type of its column",
        )
    # Its body would read the table behind the policy itself, without end.
    if found.key in reads(policy.policy):
        raise BadPolicyError(
            f"policy {policy.policy.name} reads {quote_name(found.name)}, which it is to protect",
            "move the rows that it looks up to another table",
        )
    if is_masking:
        mask = None if known is None else known.masks.get(columns[0][1])
        if mask is not None and not (change.force or _replaces(change, mask.policy, state)):
            raise PolicyExistsError(
                f"column {columns[0][0]} of {quote_name(found.name)} is masked by"
                f" {state.policies[mask.policy].policy.name} already",
                "add FORCE to put another mask in its place, or UNSET MASKING POLICY first",
            )
        return [attachment_event(actor, "SET_MASKING_POLICY", identity, found, columns)]
    replaced: list[GovernanceEvent] = []
    # Databricks: SET ROW FILTER replaces the table's filter; Snowflake's ADD does not.
    if change.function and known is not None:
        filters = [row for row in known.rows if _replaces(change, row, state)]
        replaced = [attachment_event(actor, "DROP_ROW_ACCESS_POLICY", row, found, []) for row in filters]
    if known is not None and (known.grants or len(known.rows) > len(replaced)):
        there = state.policies[next(iter((*known.rows.values(), *known.grants.values()))).policy].policy.name
        raise PolicyExistsError(
            f"{quote_name(found.name)} has row access policy {there} already",
            "a table has one: drop that first, or change its body",
        )
    return [*replaced, attachment_event(actor, "ADD_ROW_ACCESS_POLICY", identity, found, columns)]


def _made(
    change: Change, current: tuple[str, str], enforcer: Enforcer, actor: Actor, state: GovernanceState
) -> list[GovernanceEvent]:
    """The event that creates the policy of a function, if the clause names a function."""
    if not change.function or change.operation == "DROP":
        return []
    return function_policy_events(change, current, enforcer, actor, state)


def _arguments(change: Change, found: CatalogObject) -> list[tuple[str, str, int, str]]:
    """The argument columns of a policy, the masked one first."""
    own = () if change.column is None else (change.column,)
    named = change.columns
    if own and named[:1] and named[0].lower() == own[0].lower() and not change.function:
        named = named[1:]  # USING (ssn, role) names the masked column first
    return [column_of(found, column) for column in (*own, *named)]


def _replaces(change: Change, policy: str, state: GovernanceState) -> bool:
    """Whether a function replaces the one that is set, as Databricks' SET MASK does."""
    return change.function and state.policies[policy].function


def _require_maskable(column: str, found: CatalogObject, known: ProtectedObject | None) -> None:
    """Refuse to mask partition columns and columns of generated ones: values stand in file names as well."""
    if column.lower() in found.partitions:
        raise BadPolicyError(
            f"{quote_name(found.name)} is partitioned by {column}: its values stand in the names of files",
            "mask a copy that is partitioned by something else, or use a row access policy",
        )
    masked = frozenset() if known is None else frozenset(known.masks)
    for other, expression in found.generated.items():
        key = found.columns[other.lower()][1]
        # Delta keeps a generation expression as SQL text, in the metadata of its column.
        if column.lower() in words_of(expression) and key not in masked:
            raise BadPolicyError(
                f"column {other} of {quote_name(found.name)} is generated from {column}: {expression}",
                f"mask {other} first, or drop it",
            )


def _unmask(
    change: Change, found: CatalogObject, known: ProtectedObject | None, actor: Actor
) -> list[GovernanceEvent]:
    named = (change.column or "").lower()
    masks = {} if known is None else known.masks
    # A column that is gone may have a mask left, which is to be had off by the name that it had.
    gone = [key for key in masks if known is not None and known.columns[key][0].lower() == named]
    key = found.columns[named][1] if named in found.columns and not gone else next(iter(gone), None)
    if key is None:
        column_of(found, change.column or "")
    if key is None or key not in masks:
        raise UnknownPolicyError(
            f"column {change.column} of {quote_name(found.name)} has no masking policy",
            "there is nothing to unset",
        )
    return [attachment_event(actor, "UNSET_MASKING_POLICY", masks[key].policy, found, [], column=key)]


def _drop_rows(
    change: Change,
    found: CatalogObject,
    known: ProtectedObject | None,
    current: tuple[str, str],
    actor: Actor,
    state: GovernanceState,
) -> list[GovernanceEvent]:
    rows = () if known is None else tuple(known.rows)
    if change.function:
        rows = tuple(row for row in rows if state.policies[row].function)
        if not rows:
            raise UnknownPolicyError(
                f"{quote_name(found.name)} has no row filter", "there is nothing to drop"
            )
    # DROP ALL ROW ACCESS POLICIES and DROP ROW FILTER of Databricks name no policy.
    if not change.name:
        granted = [] if known is None or change.function else revoke_row_policies(known.grants, found, actor)
        return [
            *(attachment_event(actor, "DROP_ROW_ACCESS_POLICY", identity, found, []) for identity in rows),
            *granted,
        ]
    identity, policy = _policy(change, current, state)
    if identity not in rows:
        raise UnknownPolicyError(
            f"{policy.policy.name} does not protect {quote_name(found.name)}", "there is nothing to drop"
        )
    return [attachment_event(actor, "DROP_ROW_ACCESS_POLICY", identity, found, [])]


def _policy(change: Change, current: tuple[str, str], state: GovernanceState) -> tuple[str, StoredPolicy]:
    domain = change.domain or Domain.MASKING_POLICY
    name = quote_name(qualify(change.name, current))
    known = state.find(domain, name)
    if known is None:
        raise UnknownPolicyError(f"there is no {domain.value.lower()} {name}", "create it first")
    return known


def _require_fitting(
    policy: StoredPolicy, columns: list[tuple[str, str, int, str]], found: CatalogObject
) -> None:
    parameters = policy.policy.parameters
    if len(parameters) != len(columns):
        raise BadPolicyError(
            f"policy {policy.policy.name} takes {len(parameters)} columns, {len(columns)} are given",
            f"its parameters are {policy.policy.argument_signature}",
        )
    for parameter, (name, _, _, kind) in zip(parameters, columns, strict=True):
        if not fits(parameter.type, kind):
            raise BadPolicyError(
                f"column {name} of {quote_name(found.name)} is {kind.lower()}; parameter {parameter.name} of"
                f" policy {policy.policy.name} is {parameter.type.lower()}",
                "make a policy of the column's own type, a decimal with all of its digits",
            )
