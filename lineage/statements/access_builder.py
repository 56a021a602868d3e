"""Builds the `Access` from the results of the walk.

In: a `Trace` and its frames. Out: the frozen values of lineage.model, each source made once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from lineage.resolve.context import Ledger, Trace
from lineage.resolve.policies import replace_marks, without_marks
from lineage.resolve.scope import (
    CALLED_BASE,
    CALLED_DIRECT,
    Entry,
    Frame,
    Ref,
    Refs,
    ResolvedColumn,
    SourceSet,
)
from lineage.statements.policies_referenced import policies_of_marks
from lineage.transformation import named

_MAX_OWN_SOURCES = 10_000
"""Indirect sources of single columns of one object. Beyond it (2,000 columns over one window of 2,000 keys
would be four million) they are recorded for the object as a whole."""


def column_refs(trace: Trace, sources: Iterable[Ref]) -> tuple[ColumnRef, ...]:
    """Sources as the record writes them."""
    made = trace.column_refs
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


def output_columns(trace: Trace, frame: Frame) -> tuple[OutputColumn, ...]:
    """The output columns of a query."""
    shape = without_marks(trace, {**frame.indirect.base_indirect, **frame.indirect.base})
    common = column_refs(trace, shape)
    places = {ref: at for at, ref in enumerate(shape)}
    outputs: list[OutputColumn] = []
    # By `id`: columns of one window share one dict of keys, which the frame keeps alive.
    memo: dict[int, tuple[ColumnRef, ...]] = {}
    for out in frame.columns:
        base = column_refs(trace, out.base)
        direct = base if out.direct is out.base else column_refs(trace, out.direct)
        own = memo.get(id(out.base_indirect)) if out.base_indirect else common
        if own is None:
            own = memo[id(out.base_indirect)] = column_refs(
                trace, {**without_marks(trace, out.base_indirect), **shape}
            )
        if own is common:
            own = _without(common, [at for ref in out.base if (at := places.get(ref)) is not None])
        elif not out.base.keys().isdisjoint(shape) or not out.base.keys().isdisjoint(out.base_indirect):
            own = tuple([ref for ref in own if ref not in base])
        direct_how, base_how = named(out.transformation)
        outputs.append(OutputColumn(out.name, base, direct, own, base_how, direct_how, out.type))
    return tuple(outputs)


def modified_object(
    trace: Trace,
    relation: Relation,
    columns: Sequence[tuple[Column, SourceSet | None]] = (),
    shape: SourceSet | None = None,
    *,
    overwrites: bool = False,
) -> ModifiedObject:
    """A written object; each column with the sources of its value; `shape` shaped its rows."""
    rows = SourceSet()
    rows.add_indirect(trace.loop_rows)
    if shape is not None:
        rows.add_indirect(shape)
    own = sum(len(sink.base_indirect) + len(sink.direct_indirect) for _, sink in columns if sink is not None)
    if own > _MAX_OWN_SOURCES:
        for _, sink in columns:
            rows.base_indirect.update(sink.base_indirect if sink is not None else ())
            rows.direct_indirect.update(sink.direct_indirect if sink is not None else ())
    return ModifiedObject(
        relation.name,
        relation.domain,
        relation.object_id,
        tuple(_modified_column(trace, column, sink, rows) for column, sink in columns),
        relation.location if relation.domain is Domain.STAGE else None,
        # The stageKind of a location outside (access-history document).
        "External Named" if relation.domain is Domain.STAGE else None,
        column_refs(trace, rows.base_indirect),
        column_refs(trace, rows.direct_indirect),
        overwrites,
    )


def _modified_column(trace: Trace, column: Column, sink: SourceSet | None, rows: SourceSet) -> ModifiedColumn:
    """A written column; what shaped it alone is what is not in `rows`."""
    if sink is None:
        return ModifiedColumn(column.name, column.column_id)
    base = column_refs(trace, sink.base)
    direct = base if sink.direct is sink.base else column_refs(trace, sink.direct)
    direct_how, base_how = named(sink.transformation)
    return ModifiedColumn(
        column.name,
        column.column_id,
        base,
        direct,
        base_how,
        direct_how,
        column_refs(
            trace, [r for r in sink.base_indirect if r not in rows.base_indirect and r not in sink.base]
        ),
        column_refs(
            trace, [r for r in sink.direct_indirect if r not in rows.direct_indirect and r not in sink.direct]
        ),
        _called(sink, CALLED_BASE),
        _called(sink, CALLED_DIRECT),
        sink.type if isinstance(sink, ResolvedColumn) else "",
    )


def view_definition(
    trace: Trace, relation: Relation, columns: Sequence[Column], frame: Frame, ledger: Ledger
) -> ViewDefinition:
    """A view over a query that was walked with a ledger of its own."""
    view = modified_object(
        trace, relation, list(zip(columns, frame.columns, strict=False)), frame.indirect, overwrites=True
    )
    ledger.settle()
    direct = _objects(ledger.direct_entries, ledger.direct)
    return ViewDefinition(view, tuple(direct), tuple(_objects(ledger.base_entries, ledger.base)))


def build_access(
    trace: Trace,
    statement_type: str,
    *,
    frame: Frame | None = None,
    modified: Sequence[ModifiedObject] = (),
    ddl: ObjectDdl | None = None,
    defines: ViewDefinition | None = None,
) -> Access:
    """The result; a reason makes it partial."""
    ledger = trace.ledger
    ledger.settle()
    marks = replace_marks(trace)
    analysis: Analysis = "partial" if trace.partial_reasons else "full"
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
        policies_of_marks(marks),
        output_columns(trace, frame) if frame is not None else (),
        analysis,
        "; ".join(trace.partial_reasons) or None,
        defines=defines,
    )


def _called(sink: SourceSet, kind: int) -> tuple[AccessedObject, ...]:
    return tuple(_functions(f for f, kinds in sink.calls.values() if kinds & kind)) if sink.calls else ()


def _without(refs: tuple[ColumnRef, ...], places: list[int]) -> tuple[ColumnRef, ...]:
    # By slices: 2,000 columns grouped by 2,000 keys make four million references.
    for at in sorted(places, reverse=True):
        refs = refs[:at] + refs[at + 1 :]
    return refs


def _same(one: Iterable[object], two: Iterable[object]) -> bool:
    # In order, too: a record lists objects in the order in which the text names them.
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
