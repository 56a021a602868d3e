"""What policies do to what a statement reads: masked columns, filtered rows.

In: an entry of the catalog and its source in a FROM. Out: the source as its policies leave it. A masked
column stays its own directSource; its baseSources are what the policy's body reads. What a row access
policy reads shapes the rows. A policy counts only where its column, or its relation, is used, so each
leaves a mark that travels with the sources (`Mark`) and is read at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lineage.catalog import Catalog, governed
from lineage.model import AccessedObject, Attachment, Column, Domain, Function, Json, Policy, Relation
from lineage.names import split_name
from lineage.query import Queries
from lineage.resolve import Ledger
from lineage.scope import CALLED_BASE, CALLED_DIRECT, Entry, Frame, Out, Ref, Refs, Scope, Sink, Source

_SCHEMA = 2


class Mark(Ref):
    """A policy at work on a column (or, without one, on the rows).

    `reached` is what the policy's body named, `covered` what lies below the column that it masks.
    """

    __slots__ = ("attached", "covered", "reached")

    def __init__(
        self, entry: Entry, column: Column, attached: Attachment, reached: Ledger, covered: Refs
    ) -> None:
        super().__init__(entry, column, ())
        self.attached = attached
        self.reached = reached
        self.covered = covered


class Governing(Queries):
    """The part of the tracer that knows policies."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        self.governance = governed(catalog)
        self.marks: dict[tuple[Entry, Policy, str], Mark] = {}
        self._behind: dict[Entry, tuple[dict[str, Out], Sink]] = {}
        self._inside_policy = False

    def governed(self, entry: Entry, source: Source, scope: Scope) -> Source:
        """The source behind its policies: rows filtered into the scope's shape, columns masked."""
        if self.governance is None or self._inside_policy:
            # A policy reads its mapping tables with its owner's rights, behind no other policy: bodies that
            # lead to each other end here.
            return source
        behind = self._behind.get(entry)
        if behind is None:
            behind = self._behind[entry] = self._policed(
                entry, source, self.governance.policies(entry.relation)
            )
        masks, shape = behind
        scope.shape.shape(shape)
        if not masks:
            return source
        known = {out.key for out in source.all()}
        outs = [masks.get(out.key, out) for out in source.all()]
        outs += [out for key, out in masks.items() if key not in known]  # the catalog does not list them
        # Its columns are these alone: with the entry a name would lead to the column behind the mask.
        entry_of_more = source.entry if source.open else None
        return Source(
            source.alias, outs, entry=entry_of_more, view=source.view, parts=source.parts, open_=source.open
        )

    def _policed(
        self, entry: Entry, source: Source, attached: Sequence[Attachment]
    ) -> tuple[dict[str, Out], Sink]:
        """The masked columns of an entry, and what its row access policies read."""
        plain = {out.key: out for out in source.all()} if attached else {}
        masks: dict[str, Out] = {}
        shape = Sink()
        for attachment in attached:
            arguments = [self._argument_of(entry, source, plain, name) for name in attachment.columns]
            if attachment.policy.domain is Domain.MASKING_POLICY:
                masks[arguments[0].key] = self._masked(entry, attachment, arguments)
            else:
                shape.shape(self._row_filter(entry, attachment, arguments))
        return masks, shape

    def _argument_of(self, entry: Entry, source: Source, plain: dict[str, Out], name: str) -> Out:
        out = plain.get(name.lower()) or source.find(name.lower())
        if out is not None:
            return out
        if not entry.open:
            self.doubt(f"column {name} of a policy on {entry.relation.name}")
        return source.invent(name)

    def _masked(self, entry: Entry, attached: Attachment, arguments: list[Out]) -> Out:
        column = arguments[0]
        frame, mark = self._applied_to(entry, attached, arguments, column)
        out = Out(column.name, column.type)
        out.direct, out.idirect = column.direct, column.idirect
        out.base = {ref: None for value in frame.outs for ref in value.base}
        out.ibase = {ref: None for value in frame.outs for ref in value.ibase}
        out.call(column.calls, CALLED_DIRECT)
        for value in frame.outs:
            out.call(value.calls, CALLED_BASE)
        out.ibase.update(frame.shape.base)
        out.ibase.update(frame.shape.ibase)
        # Below a view's masked column another may lie: both are in force.
        out.ibase.update({ref: None for ref in column.ibase if isinstance(ref, Mark)})
        out.ibase[mark] = None
        return out

    def _row_filter(self, entry: Entry, attached: Attachment, arguments: list[Out]) -> Sink:
        frame, mark = self._applied_to(entry, attached, arguments, None)
        shape = Sink()
        read = (*frame.outs, frame.shape)
        shape.idirect, shape.ibase = {}, {ref: None for sink in read for ref in (*sink.base, *sink.ibase)}
        shape.ibase[mark] = None
        return shape

    def _applied_to(
        self, entry: Entry, attached: Attachment, arguments: list[Out], column: Out | None
    ) -> tuple[Frame, Mark]:
        """The policy's body over its arguments, and the mark of this use."""
        policy = attached.policy
        held = self.ledger, self.current, self._frames
        reached = Ledger()
        self.ledger, self.current, self._frames = reached, _schema_of(policy), {}
        self._inside_policy = True
        function = Function(policy.name, parameters=policy.parameters, body=policy.body)
        try:
            frame = self.function_body(function, (), arguments)
        finally:
            self.ledger, self.current, self._frames = held
            self._inside_policy = False
        if not frame.outs:
            self.doubt(f"body of policy {policy.name}")
        key = (entry, policy, "" if column is None else column.key)
        mark = self.marks.get(key)
        if mark is None:
            known = Column("") if column is None else entry.index.get(column.key) or Column(column.name)
            covered = {} if column is None else dict(column.base)
            mark = self.marks[key] = Mark(entry, known, attached, reached, covered)
        return frame, mark

    # -- the end -------------------------------------------------------------------------------

    def unmarked(self, refs: Refs) -> Refs:
        """Sources without the marks of policies."""
        return {ref: None for ref in refs if type(ref) is Ref} if self.marks else refs

    def settle(self) -> list[Mark]:
        """Turn the marks among what was touched into what they stand for; the marks, in order.

        What a mask covers is accessed, whatever the policy makes of it.
        """
        if not self.marks:
            return []
        base = self.ledger.base
        found = [ref for ref in base if isinstance(ref, Mark)]
        self.ledger.base = self.unmarked(base)
        for mark in found:
            self.ledger.base.update(mark.covered)
            self.ledger.base_entries.update(mark.reached.base_entries)
            self.ledger.base_functions.update(mark.reached.base_functions)
        return found


def referenced(marks: Sequence[Mark]) -> tuple[Json, ...]:
    """policies_referenced: one entry an object, columns with their masking policies, row access apart."""
    # A table and an old version of it are one object, under one set of policies.
    objects: dict[str, dict[tuple[str, str], Mark]] = {}
    for mark in marks:
        uses = objects.setdefault(mark.entry.relation.name, {})
        uses.setdefault((mark.column.name, mark.attached.policy.name), mark)
    return tuple(_entry(list(uses.values())) for uses in objects.values())


def in_force(
    accessed: Sequence[AccessedObject], policies: Callable[[Relation], Sequence[Attachment]]
) -> tuple[Json, ...]:
    """policies_referenced of what was accessed by no text: a mask counts where its column was accessed."""
    found: dict[str, Json] = {}
    for one in accessed:
        used = {column.name.lower(): column for column in one.columns}
        columns, rows = [], []
        for attachment in policies(Relation(one.name, one.domain, one.object_id, one.columns)):
            said = _policy(attachment)
            masked = used.get(attachment.columns[0].lower())
            if attachment.policy.domain is Domain.ROW_ACCESS_POLICY:
                rows.append(said)
            elif masked is not None:
                columns.append(_said(columnId=masked.column_id, columnName=masked.name, policies=[said]))
        if columns or rows:
            found[one.name] = _said(
                columns=columns,
                objectDomain=one.domain.value,
                objectId=one.object_id,
                objectName=one.name,
                policies=rows,
            )
    return tuple(found.values())


def _entry(marks: Sequence[Mark]) -> Json:
    relation = marks[0].entry.relation
    columns = [
        _said(columnId=m.column.column_id, columnName=m.column.name, policies=[_policy(m.attached)])
        for m in marks
        if m.column.name
    ]
    return _said(
        columns=columns,
        objectDomain=relation.domain.value,
        objectId=relation.object_id,
        objectName=relation.name,
        policies=[_policy(m.attached) for m in marks if not m.column.name],
    )


def _policy(attached: Attachment) -> Json:
    """The document's three fields, and two of ours: which body it was, and whether it changed anything."""
    policy = attached.policy
    return _said(
        policyName=policy.name,
        policyId=policy.policy_id,
        policyKind=policy.kind,
        policyVersion=policy.version,
        changedResult=attached.changes,
    )


def _said(**fields: object) -> Json:
    return {key: value for key, value in fields.items() if value not in (None, [])}


def _schema_of(policy: Policy) -> tuple[str, str] | None:
    parts = split_name(policy.name)
    return (parts[0], parts[1]) if len(parts) > _SCHEMA else None
