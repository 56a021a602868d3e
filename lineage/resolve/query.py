"""Queries: SELECT, set operations, CTEs, VALUES.

In: a query of sqlglot's tree and the scope around it. Out: a `Frame`, its columns with their sources.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.catalog.protocol import Catalog
from lineage.resolve.context import Trace
from lineage.resolve.from_clause.items import add_item, read_from, values_table
from lineage.resolve.from_clause.relations import with_aliases
from lineage.resolve.scope import Frame, FromItem, ResolvedColumn, Scope, SourceSet
from lineage.resolve.select import add_keys, read_select, record_reads
from lineage.resolve.stars import all_columns
from lineage.sql.syntax.pipe_syntax import KEEPING_NAMES

Node = exp.Expr
_ROUNDS = 25


def new_trace(catalog: Catalog) -> Trace:
    """An analysis that has read nothing yet."""
    found = Trace(catalog, read_query)
    for name, loop in getattr(catalog, "loops", ()):
        if loop.tree is None or not loop.is_query:
            found.mark_partial(f"rows of a loop: {loop.reason or 'not a query'}")
            continue
        # The loop has read them; a statement inside uses what it names of a row.
        with found.separate_ledger(), found.inside(None):
            frame = read_query(found, loop.tree, found.loops, {})
        found.loop_rows.add_indirect(frame.indirect)
        found.loops = Scope(found.loops)
        found.loops.add(FromItem(name, frame.columns, open_=frame.open))
    return found


def read_query(trace: Trace, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    """The frame of any query."""
    with_ = node.args.get("with_")
    if with_ is not None:
        ctes = read_ctes(trace, with_, outer, ctes)
    if isinstance(node, exp.Select):
        return _select(trace, node, outer, ctes)
    if isinstance(node, exp.SetOperation):
        return _set_operation(trace, node, outer, ctes)
    if isinstance(node, exp.Subquery):
        return _parenthesised(trace, node, outer, ctes)
    if isinstance(node, exp.Values):
        scope = Scope(outer, ctes)
        frame = values_table(trace, node, scope)
        alias = node.args.get("alias")
        return Frame(with_aliases(trace, frame.columns, alias), frame.indirect)
    if isinstance(node, exp.Table):
        scope = Scope(outer, ctes)
        add_item(trace, node, scope)
        return record_reads(trace, Frame(all_columns(trace, scope), scope.indirect))
    trace.mark_partial(f"{type(node).__name__} as a query")
    return Frame([], open_=True)


def read_ctes(trace: Trace, with_: Node, outer: Scope | None, ctes: dict[str, Frame]) -> dict[str, Frame]:
    """The CTEs around a query, each seeing those before it."""
    known = dict(ctes)
    for cte in with_.expressions:
        alias = cte.args["alias"]
        name = alias.name.lower()
        body = cte.args["this"]
        if with_.args.get("recursive") and isinstance(body, exp.SetOperation) and _names(body, name):
            frame = _recursive(trace, body, alias, outer, known)
        else:
            frame = read_query(trace, body, outer, known)
        known[name] = Frame(with_aliases(trace, frame.columns, alias), frame.indirect, open_=frame.open)
    return known


def _recursive(trace: Trace, body: Node, alias: Node, outer: Scope | None, known: dict[str, Frame]) -> Frame:
    # The anchor gives the columns; the step is read until it adds no source.
    with_ = body.args.get("with_")
    if with_ is not None:
        known = read_ctes(trace, with_, outer, known)
    frame = read_query(trace, body.args["this"], outer, known)
    for _ in range(_ROUNDS):
        inner = dict(known)
        inner[alias.name.lower()] = Frame(with_aliases(trace, frame.columns, alias), frame.indirect)
        step = read_query(trace, body.args["expression"], outer, inner)
        grown = _united(trace, frame, step, both=True)
        if _size(grown) == _size(frame):
            return grown
        frame = grown
    trace.mark_partial("recursive CTE that keeps growing")
    return frame


def _set_operation(trace: Trace, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    # A chain of 3,000 UNIONs is a left-deep tree: its spine is walked by a loop.
    spine: list[Node] = [node]
    left = node.args["this"]
    while isinstance(left, exp.SetOperation) and not left.args.get("with_"):
        spine.append(left)
        left = left.args["this"]
    frame = read_query(trace, left, outer, ctes)
    for item in reversed(spine):
        frame = _combine(trace, item, frame, read_query(trace, item.args["expression"], outer, ctes))
        _order_by(trace, item, frame, outer, ctes)
    return record_reads(trace, frame)


def _combine(trace: Trace, node: Node, left: Frame, right: Frame) -> Frame:
    # Spark 4.2 has no LEFT or FULL UNION; sqlglot reads them for BigQuery.
    if node.args.get("side") or node.args.get("kind"):
        trace.mark_partial("set operation with a side")
    if node.args.get("by_name"):
        right = _by_name(trace, left, right)
    frame = _united(trace, left, right, both=not isinstance(node, exp.Except))
    # Without ALL whole rows are compared, so that each column shapes the rows.
    if node.args.get("distinct"):
        for out in frame.columns:
            frame.indirect.add_indirect(out)
    return frame


def _by_name(trace: Trace, left: Frame, right: Frame) -> Frame:
    # Spark wants the same names on both sides (allowMissingColumns is the DataFrame's alone).
    index = {out.key: out for out in right.columns}
    outs = [index.pop(out.key, ResolvedColumn(out.name)) for out in left.columns]
    if index:
        trace.mark_partial("UNION BY NAME of other names")
    return Frame(outs, right.indirect, open_=right.open)


def _united(trace: Trace, left: Frame, right: Frame, *, both: bool) -> Frame:
    if len(left.columns) != len(right.columns) and not (left.open or right.open):
        trace.mark_partial("set operation over different numbers of columns")
    outs: list[ResolvedColumn] = []
    shape = SourceSet()
    shape.add_indirect(left.indirect)
    shape.add_indirect(right.indirect)
    for at, one in enumerate(left.columns):
        two = right.columns[at] if at < len(right.columns) else None
        if two is None:
            outs.append(one)
            continue
        out = ResolvedColumn(one.name, one.type)
        out.merge(one)
        if both:
            out.merge(two)
        else:
            # EXCEPT yields values of the left side; the right one takes rows away.
            shape.add_indirect(two)
        outs.append(out)
    frame = Frame(outs, shape, open_=left.open or right.open)
    frame.origins = left.origins  # a UNION keeps the names of its left side (Spark 4.2, Union.output)
    return frame


def _parenthesised(trace: Trace, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    inner = node.args["this"]
    if isinstance(inner, exp.Table):
        scope = Scope(outer, ctes)
        add_item(trace, inner, scope)
        return record_reads(trace, Frame(all_columns(trace, scope), scope.indirect))
    inside = read_query(trace, inner, outer, ctes)
    frame = Frame(inside.columns, inside.indirect, open_=inside.open)
    frame.origins = inside.origins
    _order_by(trace, node, frame, outer, ctes)
    return frame


def _order_by(trace: Trace, node: Node, frame: Frame, outer: Scope | None, ctes: dict[str, Frame]) -> None:
    # ORDER BY, SORT BY … after a set operation see its columns alone.
    keys = [node.args[k] for k in ("order", "sort", "distribute", "cluster") if node.args.get(k)]
    if not keys:
        return
    scope = Scope(outer, ctes)
    scope.add(FromItem("", frame.columns, open_=frame.open))
    own = SourceSet()
    for key in keys:
        add_keys(trace, key.expressions, frame.columns, scope, own)
    shape = SourceSet()
    shape.merge(frame.indirect)
    shape.add_indirect(own)
    frame.indirect = shape


def _select(trace: Trace, node: exp.Select, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    scope = Scope(outer, ctes)
    args = node.args
    if _is_piped(node):
        scope.origins = []
    read_from(trace, node, scope)
    return read_select(trace, scope, args)


def _is_piped(node: Node) -> bool:
    """Whether `|>` stands behind a query, or behind a set operation that begins with it."""
    parent, place = node.parent, node.arg_key
    while parent is not None and place == "this" and isinstance(parent, (exp.Subquery, exp.SetOperation)):
        if parent.alias in KEEPING_NAMES:
            return True
        place = parent.arg_key
        parent = parent.parent
    return False


def _names(node: Node, name: str) -> bool:
    return any(t.name.lower() == name for t in node.find_all(exp.Table))


def _size(frame: Frame) -> int:
    return sum(len(o.direct) + len(o.base) + len(o.base_indirect) for o in frame.columns) + len(
        frame.indirect.base_indirect
    )
