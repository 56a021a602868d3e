"""Applies policies to the relations of a statement: masked columns, filtered rows.

In: an entry of the catalog and its item in a FROM. Out: the item behind its policies. A masked column
stays its own direct source; its base sources are what the policy's body reads. What a row access policy
reads is an indirect source of the rows. A policy counts only where its column, or its relation, is used. So
each use adds a `PolicyMark` to the sources, and the marks that reach the result are the policies at work.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage.model import Attachment, Column, Domain, Function, Policy
from lineage.names import split_name
from lineage.resolve.context import Ledger, PolicyMark, Trace
from lineage.resolve.scope import (
    CALLED_BASE,
    CALLED_DIRECT,
    Entry,
    Frame,
    FromItem,
    Ref,
    Refs,
    ResolvedColumn,
    Scope,
    SourceSet,
)
from lineage.resolve.views import open_function

_SCHEMA = 2


def apply_policies(trace: Trace, entry: Entry, source: FromItem, scope: Scope) -> FromItem:
    """The item behind its policies: row filters become indirect sources of the scope, columns are masked."""
    if trace.governance is None or trace.inside_policy:
        # A policy reads its mapping tables with its owner's rights, behind no other policy: bodies that
        # lead to each other end here.
        return source
    behind = trace.policy_effects.get(entry)
    if behind is None:
        behind = trace.policy_effects[entry] = _effects_of(
            trace, entry, source, trace.governance.policies(entry.relation)
        )
    masks, shape = behind
    scope.indirect.add_indirect(shape)
    if not masks:
        return source
    known = {out.key for out in source.columns()}
    outs = [masks.get(out.key, out) for out in source.columns()]
    outs += [out for key, out in masks.items() if key not in known]  # the catalog does not list them
    # Its columns are these alone: with the entry a name would lead to the column behind the mask.
    entry_of_more = source.entry if source.open else None
    return FromItem(
        source.alias, outs, entry=entry_of_more, view=source.view, parts=source.parts, open_=source.open
    )


def _effects_of(
    trace: Trace, entry: Entry, source: FromItem, attached: Sequence[Attachment]
) -> tuple[dict[str, ResolvedColumn], SourceSet]:
    """The masked columns of an entry, and what its row access policies read."""
    plain = {out.key: out for out in source.columns()} if attached else {}
    masks: dict[str, ResolvedColumn] = {}
    shape = SourceSet()
    for attachment in attached:
        arguments = [_argument_column(trace, entry, source, plain, name) for name in attachment.columns]
        if attachment.policy.domain is Domain.MASKING_POLICY:
            masks[arguments[0].key] = _masked_column(trace, entry, attachment, arguments)
        else:
            shape.add_indirect(_row_filter(trace, entry, attachment, arguments))
    return masks, shape


def _argument_column(
    trace: Trace, entry: Entry, source: FromItem, plain: dict[str, ResolvedColumn], name: str
) -> ResolvedColumn:
    out = plain.get(name.lower()) or source.find(name.lower())
    if out is not None:
        return out
    if not entry.open:
        trace.mark_partial(f"column {name} of a policy on {entry.relation.name}")
    return source.add_unknown(name)


def _masked_column(
    trace: Trace, entry: Entry, attached: Attachment, arguments: list[ResolvedColumn]
) -> ResolvedColumn:
    column = arguments[0]
    frame, mark = _apply(trace, entry, attached, arguments, column)
    out = ResolvedColumn(column.name, column.type)
    out.direct, out.direct_indirect = column.direct, column.direct_indirect
    out.base = {ref: None for value in frame.columns for ref in value.base}
    out.base_indirect = {ref: None for value in frame.columns for ref in value.base_indirect}
    out.call(column.calls, CALLED_DIRECT)
    for value in frame.columns:
        out.call(value.calls, CALLED_BASE)
    out.base_indirect.update(frame.indirect.base)
    out.base_indirect.update(frame.indirect.base_indirect)
    # Below a view's masked column another may lie: both are in force.
    out.base_indirect.update({ref: None for ref in column.base_indirect if isinstance(ref, PolicyMark)})
    out.base_indirect[mark] = None
    return out


def _row_filter(
    trace: Trace, entry: Entry, attached: Attachment, arguments: list[ResolvedColumn]
) -> SourceSet:
    frame, mark = _apply(trace, entry, attached, arguments, None)
    shape = SourceSet()
    read = (*frame.columns, frame.indirect)
    shape.direct_indirect, shape.base_indirect = (
        {},
        {ref: None for sink in read for ref in (*sink.base, *sink.base_indirect)},
    )
    shape.base_indirect[mark] = None
    return shape


def _apply(
    trace: Trace,
    entry: Entry,
    attached: Attachment,
    arguments: list[ResolvedColumn],
    column: ResolvedColumn | None,
) -> tuple[Frame, PolicyMark]:
    """The policy's body over its arguments, and the mark of this use."""
    policy = attached.policy
    saved = trace.ledger, trace.current, trace.view_frames
    reached = Ledger()
    # Views are opened anew: their first opening has recorded its reads in another ledger.
    trace.ledger, trace.current, trace.view_frames = reached, _schema_of(policy), {}
    trace.inside_policy = True
    function = Function(policy.name, parameters=policy.parameters, body=policy.body)
    try:
        frame = open_function(trace, function, arguments)
    finally:
        trace.ledger, trace.current, trace.view_frames = saved
        trace.inside_policy = False
    if not frame.columns:
        trace.mark_partial(f"body of policy {policy.name}")
    key = (entry, policy, "" if column is None else column.key)
    mark = trace.marks.get(key)
    if mark is None:
        known = Column("") if column is None else entry.index.get(column.key) or Column(column.name)
        covered = {} if column is None else dict(column.base)
        mark = trace.marks[key] = PolicyMark(entry, known, attached, reached, covered)
    return frame, mark


def without_marks(trace: Trace, refs: Refs) -> Refs:
    """Sources without the marks of policies."""
    return {ref: None for ref in refs if type(ref) is Ref} if trace.marks else refs


def replace_marks(trace: Trace) -> list[PolicyMark]:
    """Replace the marks among the reads by the sources of their policies; returns the marks, in order.

    A masked column is accessed, whatever value the policy gives.
    """
    if not trace.marks:
        return []
    base = trace.ledger.base
    found = [ref for ref in base if isinstance(ref, PolicyMark)]
    trace.ledger.base = without_marks(trace, base)
    for mark in found:
        trace.ledger.base.update(mark.covered)
        trace.ledger.base_entries.update(mark.reached.base_entries)
        trace.ledger.base_functions.update(mark.reached.base_functions)
    return found


def _schema_of(policy: Policy) -> tuple[str, str] | None:
    parts = split_name(policy.name)
    return (parts[0], parts[1]) if len(parts) > _SCHEMA else None
