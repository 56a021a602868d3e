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
    ViewDefinition,
)
from lineage.resolve import Ledger
from lineage.scope import CALLED_BASE, CALLED_DIRECT, Entry, Frame, Out, Ref, Refs, Sink
from lineage.transformation import named

_MOST_OWN = 10_000
"""References to what shaped single columns of one object. Beyond it (2,000 columns over one window of 2,000
keys would be four million) they are said of the object as a whole."""


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
            direct_how, base_how = named(out.how)
            outputs.append(OutputColumn(out.name, base, direct, own, base_how, direct_how, out.type))
        return tuple(outputs)

    def modified(
        self,
        relation: Relation,
        columns: Sequence[tuple[Column, Sink | None]] = (),
        shape: Sink | None = None,
        *,
        overwrites: bool = False,
    ) -> ModifiedObject:
        """A written object; each column with the sources of its value; `shape` shaped its rows."""
        rows = Sink()
        if shape is not None:
            rows.shape(shape)
        own = sum(len(sink.ibase) + len(sink.idirect) for _, sink in columns if sink is not None)
        if own > _MOST_OWN:
            for _, sink in columns:
                rows.ibase.update(sink.ibase if sink is not None else ())
                rows.idirect.update(sink.idirect if sink is not None else ())
        return ModifiedObject(
            relation.name,
            relation.domain,
            relation.object_id,
            tuple(self.written(column, sink, rows) for column, sink in columns),
            relation.location if relation.domain is Domain.STAGE else None,
            "External Named" if relation.domain is Domain.STAGE else None,
            self.refs(rows.ibase),
            self.refs(rows.idirect),
            overwrites,
        )

    def written(self, column: Column, sink: Sink | None, rows: Sink) -> ModifiedColumn:
        """A written column; what shaped it alone is what is not in `rows`."""
        if sink is None:
            return ModifiedColumn(column.name, column.column_id)
        base = self.refs(sink.base)
        direct = base if sink.direct is sink.base else self.refs(sink.direct)
        direct_how, base_how = named(sink.how)
        return ModifiedColumn(
            column.name,
            column.column_id,
            base,
            direct,
            base_how,
            direct_how,
            self.refs([r for r in sink.ibase if r not in rows.ibase and r not in sink.base]),
            self.refs([r for r in sink.idirect if r not in rows.idirect and r not in sink.direct]),
            _called(sink, CALLED_BASE),
            _called(sink, CALLED_DIRECT),
            sink.type if isinstance(sink, Out) else "",
        )

    def defined(
        self, relation: Relation, columns: Sequence[Column], frame: Frame, ledger: Ledger
    ) -> ViewDefinition:
        """A view over a query that was walked with a ledger of its own."""
        view = self.modified(
            relation, list(zip(columns, frame.outs, strict=False)), frame.shape, overwrites=True
        )
        direct = _objects(ledger.direct_entries, ledger.direct)
        return ViewDefinition(view, tuple(direct), tuple(_objects(ledger.base_entries, ledger.base)))

    def access(
        self,
        statement_type: str,
        *,
        frame: Frame | None = None,
        modified: Sequence[ModifiedObject] = (),
        ddl: ObjectDdl | None = None,
        defines: ViewDefinition | None = None,
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
            defines=defines,
        )


def _called(sink: Sink, kind: int) -> tuple[AccessedObject, ...]:
    return tuple(_functions(f for f, kinds in sink.calls.values() if kinds & kind)) if sink.calls else ()


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
