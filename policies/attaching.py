"""Policies and tags are put on tables, views and columns, or taken off.

In: a command as lineage has read it, what its target is, and the state that it meets. Out: the events that it
comes to; an error where it cannot be, before anything is done.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lineage.model import Domain
from lineage.names import qualify, quote_name
from lineage.object_ids import object_id
from lineage.tokens import tokenize
from policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from policies.events import Event
from policies.functions import called, calling
from policies.granted_rows import revoked
from policies.state import Protected, folded
from policies.tagging import column_of, tagged
from policies.types import fits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from audit.by import By
    from lineage.statement import Change, Command
    from policies.governor import Found, Governor
    from policies.state import Defined, State
    from policies.tagging import Reads


def changes_of(
    command: Command, found: Found, here: tuple[str, str], governor: Governor, by: By, state: State
) -> list[Event]:
    """All clauses of an ALTER TABLE or ALTER VIEW, each on what those before it lead to."""
    name = quote_name(found.name)
    if found.key is not None and found.key.startswith("name:") and not found.is_view:
        raise BadPolicyError(
            f"{name} is no Delta table: its files can be read past any policy",
            "make it one: CONVERT TO DELTA, or CREATE TABLE … USING delta AS SELECT",
        )
    if found.key is None:
        raise BadPolicyError(
            f"{name} cannot be protected: nothing tells it apart when it is read",
            "make it a table or a view of the catalog",
        )
    reads = cache(governor.reads)
    events: list[Event] = []
    now = state
    for change in command.changes:
        if change.domain is Domain.TAG:
            new = tagged(change, found, here, reads, by, now)
        else:
            made = _made(change, here, governor, by, now)
            new = [*made, *_change(change, found, here, reads, by, folded(made, now))]
        events += new
        now = folded(new, now)
    return events


def copied(source_id: str, clone_id: str, by: By, state: State, home: str = "") -> list[Event]:
    """A clone of a Delta table, both by Delta's ids, is protected as the table is, and was.

    Args:
        source_id: of the table.
        clone_id: of the clone, which may be there already.
        by: who clones.
        state: of the governance.
        home: the key of the table's schema where its tags mask; the clone gets them, wherever it is.

    Raises:
        PolicyExistsError: it replaces a table that other policies protect.
    """
    source, key = state.objects.get(f"delta:{source_id}"), f"delta:{clone_id}"
    known = state.objects.get(key)
    if source_id == clone_id:
        return []
    if known is not None and is_set_on(known):
        if source is not None and _set_on(known) == _set_on(source):
            return []
        raise PolicyExistsError(
            f"{known.name} would be replaced by a clone, and policies of its own protect it",
            "DROP it first, which keeps it for UNDROP, or take its policies off",
        )
    more = _tags_of_home(state.objects.get(home), key, by, state)
    if source is None or not (is_set_on(source) or source.had_rows):
        return more
    details = {"source": source.key, "object_id": object_id("TABLE", clone_id)}
    copy = Event(
        by.time, "COPY_POLICIES", by.new_id(), None, key, source.name, by.user, None, by.query_id, details
    )
    return [copy, *more]


def _tags_of_home(home: Protected | None, key: str, by: By, state: State) -> list[Event]:
    if home is None:
        return []
    said = {
        "object_domain": Domain.TABLE.value,
        "object_id": object_id("TABLE", key.partition(":")[2]),
        "column": None,
    }
    return [
        Event(
            by.time, "SET_TAG", by.new_id(), tag, key, f"{home.name}.*", by.user, None, by.query_id,
            {**said, "columns": [], "value": value},
        )
        for tag, value in home.tags.items()
        if state.tags[tag].policies
    ]  # fmt: skip


def is_set_on(protected: Protected) -> bool:
    """Whether anything is set on an object."""
    return any(_set_on(protected))


def _set_on(protected: Protected) -> tuple[Mapping[str, Any], ...]:
    return protected.masks, protected.rows, protected.grants, protected.tags, protected.column_tags


def _change(
    change: Change, found: Found, here: tuple[str, str], reads: Reads, by: By, state: State
) -> list[Event]:
    is_masking = change.domain is Domain.MASKING_POLICY
    known = state.objects.get(found.key or "")
    if change.operation == "DROP":
        return (
            _unmask(change, found, known, by)
            if is_masking
            else _drop_rows(change, found, known, here, by, state)
        )
    columns = _arguments(change, found)
    if change.function:
        identity, policy = called(change, here, state)
    else:
        identity, policy = _policy(change, here, state)
    _require_fitting(policy, columns, found)
    if is_masking:
        _require_maskable(columns[0][0], found, known)
    if change.function and is_masking and not fits(policy.policy.data_type, columns[0][3]):
        raise BadPolicyError(
            f"function {policy.policy.name} returns {policy.policy.data_type.lower()}, and column"
            f" {columns[0][0]} of {quote_name(found.name)} is {columns[0][3].lower()}",
            "a mask keeps the type of its column",
        )
    if found.key in reads(policy.policy):
        raise BadPolicyError(
            f"policy {policy.policy.name} reads {quote_name(found.name)}, which it is to protect",
            "keep what it looks up in a table of its own",
        )
    if is_masking:
        mask = None if known is None else known.masks.get(columns[0][1])
        if mask is not None and not (change.force or _replaces(change, mask.policy, state)):
            raise PolicyExistsError(
                f"column {columns[0][0]} of {quote_name(found.name)} is masked by"
                f" {state.policies[mask.policy].policy.name} already",
                "add FORCE to put another mask in its place, or UNSET MASKING POLICY first",
            )
        return [_event(by, "SET_MASKING_POLICY", identity, found, columns)]
    replaced: list[Event] = []
    if change.function and known is not None:
        filters = [row for row in known.rows if _replaces(change, row, state)]
        replaced = [_event(by, "DROP_ROW_ACCESS_POLICY", row, found, []) for row in filters]
    if known is not None and (known.grants or len(known.rows) > len(replaced)):
        there = state.policies[next(iter((*known.rows.values(), *known.grants.values()))).policy].policy.name
        raise PolicyExistsError(
            f"{quote_name(found.name)} has row access policy {there} already",
            "a table has one: drop that first, or change its body",
        )
    return [*replaced, _event(by, "ADD_ROW_ACCESS_POLICY", identity, found, columns)]


def _made(change: Change, here: tuple[str, str], governor: Governor, by: By, state: State) -> list[Event]:
    """What has to be there first: the policy that stands for a function."""
    if not change.function or change.operation == "DROP":
        return []
    return calling(change, here, governor, by, state)


def _arguments(change: Change, found: Found) -> list[tuple[str, str, int, str]]:
    """The columns that stand for a policy's parameters, the masked one first."""
    own = () if change.column is None else (change.column,)
    named = change.columns
    if own and named[:1] and named[0].lower() == own[0].lower() and not change.function:
        named = named[1:]  # USING (ssn, role) names the masked column first
    return [column_of(found, column) for column in (*own, *named)]


def _replaces(change: Change, policy: str, state: State) -> bool:
    """Whether a function stands where another does, which it replaces (Databricks: SET MASK)."""
    return change.function and state.policies[policy].function


def _require_maskable(column: str, found: Found, known: Protected | None) -> None:
    """A mask holds where its values stand nowhere else: in no names of files, in no other columns."""
    if column.lower() in found.partitions:
        raise BadPolicyError(
            f"{quote_name(found.name)} is partitioned by {column}: its values stand in the names of files",
            "mask a copy that is partitioned by something else, or use a row access policy",
        )
    masked = frozenset() if known is None else frozenset(known.masks)
    for other, expression in found.generated.items():
        key = found.columns[other.lower()][1]
        names = {token.text.lower() for token in tokenize(expression) or []}
        if column.lower() in names and key not in masked:
            raise BadPolicyError(
                f"column {other} of {quote_name(found.name)} is generated from {column}: {expression}",
                f"mask {other} first, or drop it",
            )


def _unmask(change: Change, found: Found, known: Protected | None, by: By) -> list[Event]:
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
    return [_event(by, "UNSET_MASKING_POLICY", masks[key].policy, found, [], column=key)]


def _drop_rows(
    change: Change, found: Found, known: Protected | None, here: tuple[str, str], by: By, state: State
) -> list[Event]:
    rows = () if known is None else tuple(known.rows)
    if change.function:
        rows = tuple(row for row in rows if state.policies[row].function)
        if not rows:
            raise UnknownPolicyError(
                f"{quote_name(found.name)} has no row filter", "there is nothing to drop"
            )
    if not change.name:
        granted = [] if known is None or change.function else revoked(known.grants, found, by)
        return [*(_event(by, "DROP_ROW_ACCESS_POLICY", identity, found, []) for identity in rows), *granted]
    identity, policy = _policy(change, here, state)
    if identity not in rows:
        raise UnknownPolicyError(
            f"{policy.policy.name} does not protect {quote_name(found.name)}", "there is nothing to drop"
        )
    return [_event(by, "DROP_ROW_ACCESS_POLICY", identity, found, [])]


def _policy(change: Change, here: tuple[str, str], state: State) -> tuple[str, Defined]:
    domain = change.domain or Domain.MASKING_POLICY
    name = quote_name(qualify(change.name, here))
    known = state.find(domain, name)
    if known is None:
        raise UnknownPolicyError(f"there is no {domain.value.lower()} {name}", "create it first")
    return known


def _require_fitting(policy: Defined, columns: list[tuple[str, str, int, str]], found: Found) -> None:
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


def _event(
    by: By,
    kind: str,
    of_id: str,
    found: Found,
    columns: list[tuple[str, str, int, str]],
    **more: Any,
) -> Event:
    details = {
        "object_domain": (Domain.VIEW if found.is_view else Domain.TABLE).value,
        "object_id": found.object_id,
        "columns": [[key, name, identity] for name, key, identity, _ in columns],
        **more,
    }
    name = quote_name(found.name)
    return Event(by.time, kind, by.new_id(), of_id, found.key, name, by.user, None, by.query_id, details)
