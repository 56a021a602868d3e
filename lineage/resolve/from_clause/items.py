"""The FROM clause: tables, views, subqueries, joins, laterals, generators, pivots.

In: the items of a FROM and the scope to fill. Out: nothing but the filled scope; join keys go to the
scope's indirect sources.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_indirect_sources, resolve_expression
from lineage.resolve.from_clause.joins import merge_using_keys, natural_keys
from lineage.resolve.from_clause.pivots import pivoted
from lineage.resolve.from_clause.relations import relation_item, with_aliases
from lineage.resolve.from_clause.table_functions import table_function_columns
from lineage.resolve.nodes import function_title, table_parts
from lineage.resolve.scope import Frame, FromItem, ResolvedColumn, Scope
from lineage.sql.syntax.pipe_syntax import KEEPING_NAMES
from lineage.sqlglot_log import spark_sql

Node = exp.Expr


def read_from(trace: Trace, node: Node, scope: Scope) -> None:
    """Fill the scope with the sources of a SELECT (or of any node with from_, joins, laterals)."""
    args = node.args
    source = args.get("from_")
    joins = args.get("joins") or ()
    laterals = args.get("laterals") or ()
    if source is not None:
        add_item(trace, source.args["this"], scope)
    # ON may use a LATERAL VIEW's columns: sqlglot keeps no order between the two.
    late: list[Node] = []
    for join in joins:
        _join(trace, join, scope, late if laterals else None)
    for lateral in laterals:
        _add_lateral_view(trace, lateral, scope)
    for condition in late:
        add_indirect_sources(trace, condition, scope, scope.indirect)


def add_item(trace: Trace, node: Node, scope: Scope, *, pivots: bool = True) -> None:
    """Bring one item of a FROM into scope, as one step of it."""
    is_group = _is_join_group(node) and not node.args.get("alias")
    if is_group or node.args.get("joins"):
        inner = Scope(scope.outer, scope.ctes)
        if is_group:
            add_item(trace, node.args["this"], inner)
        else:
            inner.add(read_item(trace, node, inner))
        for join in node.args.get("joins") or ():
            _join(trace, join, inner, None)
        scope.indirect.add_indirect(inner.indirect)
        scope.add_group(inner)
    else:
        scope.add(read_item(trace, node, scope))
    for pivot in node.args.get("pivots") or () if pivots else ():
        scope.replace_all(pivoted(trace, pivot, scope))
    for lateral in node.args.get("laterals") or ():
        _add_lateral_view(trace, lateral, scope)
    sample = node.args.get("sample")
    if sample is not None and any(sample.find_all(exp.Column)):
        trace.mark_partial("TABLESAMPLE over columns")


def read_item(trace: Trace, node: Node, scope: Scope) -> FromItem:
    """One item of a FROM as a source under its alias."""
    if isinstance(node, exp.Table):
        return _table(trace, node, scope)
    if isinstance(node, exp.Subquery):
        return _subquery_item(trace, node, scope, None)
    if isinstance(node, exp.Values):
        frame = values_table(trace, node, scope)
        return _derived_table(trace, frame, node, scope)
    if isinstance(node, exp.Lateral):
        return _lateral_item(trace, node, scope)
    if isinstance(node, exp.Query):
        return _derived_table(trace, trace.read_query(trace, node, scope.outer, scope.ctes), node, scope)
    trace.mark_partial(f"{type(node).__name__} in FROM")
    return FromItem("", [], open_=True)


def _table(trace: Trace, node: exp.Table, scope: Scope) -> FromItem:
    args = node.args
    this = args["this"]
    alias = args.get("alias")
    if not isinstance(this, exp.Identifier):
        return _table_function(trace, node, scope)
    parts = table_parts(node)
    name = alias.name if alias is not None and alias.args.get("this") else ""
    if alias is not None and isinstance(alias.args.get("this"), exp.Parameter):
        trace.mark_partial("table version after @")
        name = ""
    if len(parts) == 1:
        # A CTE hides a table of its name; it has no schema and no version.
        frame = scope.ctes.get(parts[0].lower())
        if frame is not None and not args.get("version"):
            scope.indirect.add_indirect(frame.indirect)
            outs = with_aliases(trace, frame.columns, alias)
            return FromItem(name or parts[0], outs, view=frame, open_=frame.open)
    entry = trace.entry(parts, _version(args))
    return relation_item(trace, entry, name or parts[-1], () if name else tuple(parts), scope, alias)


def _version(args: dict[str, object]) -> object:
    version = args.get("version")
    if not isinstance(version, exp.Version):
        return None
    value = version.args.get("expression")
    if version.name == "VERSION" and isinstance(value, exp.Literal) and value.name.isdigit():
        return int(value.name)
    return spark_sql(version)


def _derived_table(trace: Trace, frame: Frame, node: Node, scope: Scope) -> FromItem:
    scope.indirect.add_indirect(frame.indirect)
    alias = node.args.get("alias")
    outs = with_aliases(trace, frame.columns, alias)
    origins: dict[ResolvedColumn, FromItem] = {}
    if frame.origins is not None and alias is not None and alias.name in KEEPING_NAMES:
        outs = [out.copy() for out in outs]
        origins = {out: of for out, of in zip(outs, frame.origins, strict=True) if of is not None}
    item = FromItem(alias.name if alias else "", outs, view=frame, open_=frame.open)
    item.origins = origins
    return item


def _subquery_item(trace: Trace, node: exp.Subquery, scope: Scope, outer: Scope | None) -> FromItem:
    inner = node.args["this"]
    if _is_join_group(node):
        # (a JOIN b ON …) AS j, or (t) AS j
        inner_scope = Scope(scope.outer, scope.ctes)
        add_item(trace, inner, inner_scope)
        scope.indirect.add_indirect(inner_scope.indirect)
        frame = Frame(inner_scope.star(), open_=any(s.open for s in inner_scope.sources))
        return _derived_table(trace, frame, node, scope)
    frame = trace.read_query(trace, node.unnest() if _bare(node) else node, outer or scope.outer, scope.ctes)
    return _derived_table(trace, frame, node, scope)


def _lateral_item(trace: Trace, node: exp.Lateral, scope: Scope) -> FromItem:
    inner = node.args["this"]
    alias = node.args.get("alias")
    if isinstance(inner, (exp.Subquery, exp.Query)):
        query = inner.args["this"] if isinstance(inner, exp.Subquery) and _bare(inner) else inner
        frame = trace.read_query(trace, query, scope, scope.ctes)
        scope.indirect.add_indirect(frame.indirect)
        name = alias.name if alias is not None else ""
        return FromItem(name, with_aliases(trace, frame.columns, alias), view=frame, open_=frame.open)
    return _function_item(trace, inner, alias, scope)


def _add_lateral_view(trace: Trace, node: Node, scope: Scope) -> None:
    scope.add(_function_item(trace, node.args["this"], node.args.get("alias"), scope))


def _table_function(trace: Trace, node: exp.Table, scope: Scope) -> FromItem:
    call = node.args["this"]
    alias = node.args.get("alias")
    if isinstance(call, exp.Anonymous) and call.name.upper() == "IDENTIFIER":
        return _identifier_item(trace, call, alias, scope)
    prefix = [node.args[k].name for k in ("catalog", "db") if node.args.get(k)]
    return _function_item(trace, call, alias, scope, prefix)


def _identifier_item(trace: Trace, call: Node, alias: Node | None, scope: Scope) -> FromItem:
    literal = call.expressions[0] if call.expressions else None
    if not isinstance(literal, exp.Literal):
        trace.mark_partial("IDENTIFIER() of an expression")
        return FromItem("", [], open_=True)
    parts = trace.split_literal(literal.name)
    name = alias.name if alias is not None else ""
    return relation_item(trace, trace.entry(parts), name or parts[-1], tuple(parts), scope, alias)


def _function_item(
    trace: Trace, call: Node, alias: Node | None, scope: Scope, prefix: Sequence[str] = ()
) -> FromItem:
    names = [c.name for c in (alias.args.get("columns") or ())] if alias is not None else []
    name = alias.name if alias is not None and alias.args.get("this") else ""
    outs = table_function_columns(trace, call, names, scope, prefix)
    if not name and trace.function([*prefix, function_title(call)]) is not None:
        name = function_title(call)  # a user's function has its own name as alias
    return FromItem(name, outs, open_=outs is None)


def _join(trace: Trace, join: Node, scope: Scope, late: list[Node] | None) -> None:
    # Spark joins from left to right, a comma like any JOIN (spark.sql.ansi.relationPrecedence is off).
    args = join.args
    natural = (args.get("method") or "").upper() == "NATURAL"
    keys = [key.name.lower() for key in args.get("using") or ()]
    before, left = len(scope.sources), scope.joined()[0] if keys or natural else []
    # A PIVOT behind a join turns the whole join; sqlglot 30 hangs it on the right side.
    add_item(trace, args["this"], scope, pivots=False)
    if natural:
        keys = natural_keys(trace, left, scope)
    if keys:
        merge_using_keys(trace, keys, left, before, (args.get("side") or "").upper(), scope)
    pivots = [*_pivots(args["this"]), *(args.get("pivots") or ())]
    is_semi = (args.get("kind") or "").upper() in ("SEMI", "ANTI")
    # The right side of a SEMI join, and what a PIVOT turns, are out of scope afterwards.
    can_wait = late is not None and not is_semi and not pivots
    _join_condition(trace, args.get("on"), scope, late if can_wait else None)
    if is_semi:
        scope.drop_last()
    for pivot in pivots:
        scope.replace_all(pivoted(trace, pivot, scope))


def _join_condition(trace: Trace, condition: Node | None, scope: Scope, late: list[Node] | None) -> None:
    if condition is None:
        return
    if late is None:
        add_indirect_sources(trace, condition, scope, scope.indirect)
    else:
        late.append(condition)


def values_table(trace: Trace, node: exp.Values, scope: Scope) -> Frame:
    """`VALUES (…), (…)`: a column's sources are those of its cells."""
    outs: list[ResolvedColumn] = []
    for row in node.expressions:
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        while len(outs) < len(cells):
            outs.append(ResolvedColumn(f"col{len(outs) + 1}"))
        for out, cell in zip(outs, cells, strict=False):
            # Literals have no sources, and a long VALUES is mostly literals.
            if not isinstance(cell, exp.Literal):
                _add_cell(trace, cell, scope, out)
    return Frame(outs)


def _add_cell(trace: Trace, cell: Node, scope: Scope, out: ResolvedColumn) -> None:
    value = resolve_expression(trace, cell, scope)
    first = not (out.direct or out.base or out.fields)
    out.merge(value)
    if first:
        out.fields = value.fields
    elif out.fields is not None and value.fields is not None and value.fields.keys() == out.fields.keys():
        out.fields = {key: _both(field, value.fields[key]) for key, field in out.fields.items()}
    else:
        out.fields = None


def _pivots(node: Node) -> list[Node]:
    inner = node.args["this"] if isinstance(node, exp.Lateral) else None
    below = inner.args.get("pivots") if isinstance(inner, exp.Subquery) else None
    return [*(node.args.get("pivots") or ()), *(below or ())]


def _both(one: ResolvedColumn, two: ResolvedColumn) -> ResolvedColumn:
    # A new column: the two may be a table's own.
    out = ResolvedColumn(one.name)
    out.merge(one)
    out.merge(two)
    return out


def _is_join_group(node: Node) -> bool:
    """Whether parentheses hold tables and joins, not a query: `(t)`, `((a JOIN b) JOIN c)`."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.args["this"]
    return isinstance(inner, exp.Table) or (
        isinstance(inner, exp.Subquery) and (bool(inner.args.get("joins")) or _is_join_group(inner))
    )


def _bare(node: exp.Subquery) -> bool:
    return not any(node.args.get(k) for k in ("order", "limit", "with_", "sort", "distribute", "cluster"))
