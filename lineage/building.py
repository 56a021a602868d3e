"""The last stage: what the walk gathered → `Access`.

In: the tracer's ledger and frames. Out: the frozen values of lineage.model, each source made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lineage.governing import Governing, referenced
from lineage.model import (
    Access,
    AccessedObject,
    Analysis,
    Column,
    ColumnRef,
    Domain,
    Function,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
    OutputColumn,
    Relation,
)
from lineage.scope import Entry, Frame, Ref, Refs, Sink


class Tracer(Governing):
    """The whole walk, and the making of its result."""

    _made: dict[Ref, ColumnRef] | None = None

    def refs(self, sources: Iterable[Ref]) -> tuple[ColumnRef, ...]:
        """Sources as the record writes them."""
        made = self._made
        if made is None:
            made = self._made = {}
        found: list[ColumnRef] = []
        for ref in sources:
            value = made.get(ref)
            if value is None:
                relation, column = ref.entry.relation, ref.column
                value = made[ref] = ColumnRef(
                    relation.name,
                    column.name,
                    relation.domain,
                    relation.object_id,
                    column.column_id,
                    ref.path,
                )
            found.append(value)
        return tuple(found)

    def outputs(self, frame: Frame) -> tuple[OutputColumn, ...]:
        """The output columns of a query."""
        shape = self.unmarked({**frame.shape.ibase, **frame.shape.base})
        common = self.refs(shape)
        places = {ref: at for at, ref in enumerate(shape)}
        outputs: list[OutputColumn] = []
        memo: dict[int, tuple[ColumnRef, ...]] = {}
        for out in frame.outs:
            base = self.refs(out.base)
            direct = base if out.direct is out.base else self.refs(out.direct)
            own = memo.get(id(out.ibase)) if out.ibase else common
            if own is None:
                own = memo[id(out.ibase)] = self.refs({**self.unmarked(out.ibase), **shape})
            if own is common:
                own = _without(common, [at for ref in out.base if (at := places.get(ref)) is not None])
            elif not out.base.keys().isdisjoint(shape) or not out.base.keys().isdisjoint(out.ibase):
                own = tuple([ref for ref in own if ref not in base])
            outputs.append(OutputColumn(out.name, base, direct, own))
        return tuple(outputs)

    def modified(
        self, relation: Relation, columns: Sequence[tuple[Column, Sink | None]] = ()
    ) -> ModifiedObject:
        """A written object; each column with the sources of its value."""
        return ModifiedObject(
            relation.name,
            relation.domain,
            relation.object_id,
            tuple(self.written(column, sink) for column, sink in columns),
            relation.location if relation.domain is Domain.STAGE else None,
            "External Named" if relation.domain is Domain.STAGE else None,
        )

    def written(self, column: Column, sink: Sink | None) -> ModifiedColumn:
        """A written column."""
        if sink is None:
            return ModifiedColumn(column.name, column.column_id)
        base = self.refs(sink.base)
        direct = base if sink.direct is sink.base else self.refs(sink.direct)
        return ModifiedColumn(column.name, column.column_id, base, direct)

    def access(
        self,
        statement_type: str,
        *,
        frame: Frame | None = None,
        modified: Sequence[ModifiedObject] = (),
        ddl: ObjectDdl | None = None,
    ) -> Access:
        """The result; a doubt makes it partial and says why."""
        marks = self.settle()
        ledger = self.ledger
        analysis: Analysis = "partial" if self.doubts else "full"
        direct = _objects(ledger.direct_entries, ledger.direct)
        # Without views the two are the same.
        same = _same(ledger.direct_entries, ledger.base_entries) and _same(ledger.direct, ledger.base)
        base = direct if same else _objects(ledger.base_entries, ledger.base)
        return Access(
            statement_type,
            (*direct, *_functions(ledger.functions.values())),
            (*base, *_functions(ledger.base_functions.values())),
            tuple(modified),
            ddl,
            referenced(marks),
            self.outputs(frame) if frame is not None else (),
            analysis,
            "; ".join(self.doubts) or None,
        )


def _without(refs: tuple[ColumnRef, ...], places: list[int]) -> tuple[ColumnRef, ...]:
    # By slices: 2,000 columns grouped by 2,000 keys make four million references.
    for at in sorted(places, reverse=True):
        refs = refs[:at] + refs[at + 1 :]
    return refs


def _same(one: Iterable[object], two: Iterable[object]) -> bool:
    return list(one) == list(two)


def _objects(named: Iterable[Entry], touched: Refs) -> list[AccessedObject]:
    columns: dict[Entry, dict[str, Column]] = {entry: {} for entry in named}
    for ref in touched:
        columns.setdefault(ref.entry, {})[ref.column.name] = ref.column
    return [_object(entry, used) for entry, used in columns.items()]


def _object(entry: Entry, used: dict[str, Column]) -> AccessedObject:
    relation = entry.relation
    stage = relation.domain is Domain.STAGE
    return AccessedObject(
        relation.name,
        relation.domain,
        relation.object_id,
        tuple(used.values()),
        relation.location if stage else None,
        "External Named" if stage else None,
        None,
        None,
        entry.version,
    )


def _functions(functions: Iterable[Function]) -> list[AccessedObject]:
    return [
        AccessedObject(
            f.name,
            f.domain,
            f.object_id,
            argument_signature=f.argument_signature,
            data_type=f.data_type or None,
        )
        for f in functions
    ]
