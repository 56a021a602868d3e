"""Expands views, temporary views and SQL functions.

In: an entry of the catalog. Out: the frame of its query: what the statement names (the view's own columns) is
its direct source, what lies below (the base tables' columns) its base source.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage.model import AccessedObject, Column, ColumnRef, Function, Relation
from lineage.resolve.context import Trace
from lineage.resolve.scope import Entry, Frame, FromItem, Refs, ResolvedColumn, Scope, SourceSet
from lineage.sql.parse import parse
from lineage.transformation import BELOW, bits

_MAX_DEPTH = 100  # Spark's spark.sql.view.maxNestedViewDepth


def open_view(trace: Trace, entry: Entry) -> Frame:
    """The frame of a view, its columns under the view's names; opened once a trace."""
    frame = trace.view_frames.get(entry)
    if frame is None:
        inner = _read_view(trace, entry.relation)
        frame = trace.view_frames[entry] = _as_view(trace, entry, inner)
    return frame


def _read_view(trace: Trace, relation: Relation) -> Frame:
    if relation.view_access is not None:
        return _from_access(trace, relation)
    text = relation.view_text or ""
    if trace.depth >= _MAX_DEPTH:
        trace.mark_partial(f"views nested deeper than {_MAX_DEPTH}")
        return Frame([], open_=True)
    statement = parse(text)
    if statement.tree is None or not statement.is_query:
        trace.mark_partial(f"view {relation.name}: {statement.reason or 'not a query'}")
        return Frame([], open_=True)
    with trace.inside(relation.view_current):
        return trace.read_query(trace, statement.tree, None, {})


def _as_view(trace: Trace, entry: Entry, inner: Frame) -> Frame:
    relation = entry.relation
    columns = relation.columns or tuple(Column(o.name) for o in inner.columns)
    bodies = _match_columns(trace, relation, columns, inner)
    if relation.temporary:
        # A temporary view is no object of a record: the objects that it reads are accessed instead.
        for named in trace.named_inside:
            trace.ledger.direct_entries.setdefault(named)
        outs = [body.renamed(c.name) for c, body in zip(columns, bodies, strict=True)]
        return Frame(outs, inner.indirect, open_=inner.open)
    shape = SourceSet()
    shape.base_indirect = {**inner.indirect.base_indirect, **inner.indirect.base}
    outs = [_view_column(entry, c, body) for c, body in zip(columns, bodies, strict=True)]
    return Frame(outs, shape, open_=inner.open and not relation.columns)


def _view_column(entry: Entry, column: Column, body: ResolvedColumn) -> ResolvedColumn:
    out = ResolvedColumn(column.name, column.type or body.type)
    out.direct = {entry.ref(column): None}
    out.base, out.base_indirect, out.transformation = (
        body.base,
        body.base_indirect,
        body.transformation & BELOW,
    )
    out.plain, out.calls = body.plain, body.calls
    return out


def _match_columns(
    trace: Trace, relation: Relation, columns: Sequence[Column], inner: Frame
) -> list[ResolvedColumn]:
    # By position; a view over `*` keeps the columns that it had when it was made, so by name
    # where the table has grown since (Spark stores the query's output names with the view).
    if len(columns) == len(inner.columns):
        return inner.columns
    index = {out.key: out for out in inner.columns}
    found = [index.get(c.name.lower()) for c in columns]
    if inner.open or None in found:
        trace.mark_partial(f"columns of view {relation.name}")
    return [out if out is not None else ResolvedColumn(c.name) for c, out in zip(columns, found, strict=True)]


def _from_access(trace: Trace, relation: Relation) -> Frame:
    access = relation.view_access
    if access is None:
        return Frame([], open_=True)
    if access.analysis != "full":
        trace.mark_partial(f"view {relation.name}: {access.reason or access.analysis}")
    named = {o.name: _entry_of_object(trace, o) for o in access.direct_objects_accessed}
    below = {o.name: _entry_of_object(trace, o) for o in access.base_objects_accessed}
    trace.named_inside = dict.fromkeys(named.values())
    for entry in below.values():
        trace.ledger.base_entries.setdefault(entry)
    outs: list[ResolvedColumn] = []
    shape = SourceSet()
    for column in access.columns:
        out = ResolvedColumn(column.name)
        out.direct = _refs(trace, column.direct_sources, named)
        out.base = _refs(trace, column.base_sources, below)
        out.base_indirect = _refs(trace, column.indirect_sources, below)
        out.plain = len(out.direct) == 1 and len(out.base) == 1
        out.transformation = bits(column.direct_transformation, column.base_transformation)
        outs.append(out)
    # Columns that shaped the rows stand in the objects but in no column's sources.
    shape.separate()
    _rest(access.direct_objects_accessed, named, outs, shape.direct_indirect, base=False)
    _rest(access.base_objects_accessed, below, outs, shape.base_indirect, base=True)
    return Frame(outs, shape)


def _entry_of_object(trace: Trace, accessed: AccessedObject) -> Entry:
    key = (accessed.name, accessed.domain, accessed.version)
    entry = trace.entries.get(key)
    if entry is None:
        relation = Relation(
            accessed.name, accessed.domain, accessed.object_id, accessed.columns,
            location=accessed.location, version=accessed.version,
        )  # fmt: skip
        entry = trace.entries[key] = Entry(relation)
    return entry


def _refs(trace: Trace, refs: Sequence[ColumnRef], entries: dict[str, Entry]) -> Refs:
    found: Refs = {}
    for ref in refs:
        entry = entries.get(ref.object_name)
        if entry is None:
            entry = _entry_of_object(trace, AccessedObject(ref.object_name, ref.object_domain, ref.object_id))
            entries[ref.object_name] = entry
        column = entry.index.get(ref.column_name.lower())
        if column is None:
            column = Column(ref.column_name, "", ref.column_id)
        found[entry.ref(column, ref.field_path)] = None
    return found


def bind_arguments(
    function: Function, arguments: Sequence[tuple[str, ResolvedColumn]]
) -> list[ResolvedColumn]:
    """What each parameter stands for; arguments come by place first, then by name (Spark 4.2)."""
    by_name = {name.lower(): out for name, out in arguments if name}
    by_place = iter([out for name, out in arguments if not name])
    # A parameter that the call leaves out has its default, which reads nothing.
    return [
        by_name.get(p.name.lower()) or next(by_place, None) or ResolvedColumn(p.name, p.type)
        for p in function.parameters
    ]


def open_function(
    trace: Trace, function: Function, arguments: Sequence[ResolvedColumn], *, called: bool = False
) -> Frame:
    """The frame of an SQL function's body, its parameters standing for the arguments.

    `called` says that it stands in an expression: it is accessed, whoever uses the value.
    """
    body = (function.body or "").strip()
    if body.upper().startswith("RETURN "):
        body = body[7:].strip()
    statement = parse(body)
    if statement.tree is None or not statement.is_query:
        # The body of a SQL function is an expression or a query (Spark 4.2).
        statement = parse("SELECT " + body)
    if statement.tree is None or trace.depth >= _MAX_DEPTH:
        trace.mark_partial(f"body of function {function.name}")
        return Frame([])
    scope = Scope()
    bound = [o.renamed(p.name) for p, o in zip(function.parameters, arguments, strict=False)]
    # A body may qualify a parameter by the name of its function (Spark 4.2).
    scope.add(FromItem(function.name.split(".")[-1], bound))
    with trace.inside(None, called=called):
        # A body that is a query is one inside an expression.
        of_query = statement.text == body and trace.is_called
        frame = trace.read_query(trace, statement.tree, scope, {})
        if of_query:
            trace.ledger.add_body(frame)
        return frame


def _rest(
    objects: Sequence[AccessedObject],
    entries: dict[str, Entry],
    outs: Sequence[ResolvedColumn],
    into: Refs,
    *,
    base: bool,
) -> None:
    sources = {ref.column.name for out in outs for ref in (out.base if base else out.direct)}
    for accessed in objects:
        entry = entries[accessed.name]
        for column in accessed.columns:
            if column.name not in sources:
                into[entry.ref(column)] = None
