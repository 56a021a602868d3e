"""Walk over an expression: which columns make its value, which only filter, group or order it.

In: a node of sqlglot's tree, the scope it stands in. Out: a `SourceSet`. One loop with a stack of its own
(a chain of 5,000 ORs must not be 5,000 calls deep); only nodes with a meaning of their own recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from lineage.resolve.columns import resolve_column, resolve_name
from lineage.resolve.context import Trace
from lineage.resolve.nodes import (
    AGGREGATE_CLASSES,
    child_nodes,
    column_parts,
    dots_of,
    is_aggregate_name,
    keeps_value,
    named_arguments,
    path_of,
    value_arguments,
)
from lineage.resolve.scope import (
    CALLED_BASE,
    CALLED_DIRECT,
    FromItem,
    LambdaScope,
    ResolvedColumn,
    Scope,
    SourceSet,
)
from lineage.resolve.stars import expand_star
from lineage.resolve.value_types import made_type, makes_arrays, struct_of
from lineage.resolve.views import bind_arguments, open_function
from lineage.transformation import AGGREGATED, BELOW, COMPUTED
from lineage.types import element_type, field_type

Node = exp.Expr


# Nodes that hold no column: literals, types, names. An Identifier in an expression is a lambda's
# variable or a struct field's name, since sqlglot wraps every column in a Column.
_LEAVES = frozenset(
    {
        exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.DataType, exp.Identifier, exp.Placeholder,
        exp.Parameter, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentUser, exp.JSONPath,
    }
)  # fmt: skip
# Nodes of two operands, `this` and `expression`, and of one, `this`: the most there are, so without a look
# at what else they might hold.
_PAIRS = frozenset(
    {
        exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Add, exp.Sub, exp.Mul,
        exp.Div, exp.Mod, exp.Like, exp.Is, exp.DPipe,
    }
)  # fmt: skip
_SINGLES = frozenset({exp.Paren, exp.Not, exp.Neg, exp.Cast, exp.TryCast})


def add_sources(trace: Trace, node: Node | Sequence[Node] | None, scope: Scope, sink: SourceSet) -> None:
    """Add the sources of an expression, or of several, to `sink`."""
    if node is None:
        return
    stack: list[Node] = list(reversed(node)) if isinstance(node, (list, tuple)) else [node]  # type: ignore[list-item]
    column, special, pairs, leaves = exp.Column, _SPECIAL, _PAIRS, _LEAVES
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is column:
            _column(trace, item, scope, sink)
        elif kind in leaves:
            continue
        elif kind in pairs:
            args = item.args
            stack.append(args["expression"])
            stack.append(args["this"])
        elif kind in _SINGLES:
            stack.append(item.args["this"])
        elif kind in special:
            special[kind](trace, item, scope, sink)
        else:
            children = child_nodes(item)
            children.reverse()
            stack += children


def add_indirect_sources(
    trace: Trace, node: Node | Sequence[Node] | None, scope: Scope, sink: SourceSet
) -> None:
    """Add the sources of an expression as indirect ones (filters, keys)."""
    if node is None:
        return
    own = SourceSet()
    add_sources(trace, node, scope, own)
    sink.add_indirect(own)


def resolve_expression(trace: Trace, node: Node, scope: Scope, name: str = "") -> ResolvedColumn:
    """An expression as a column: plain where it is nothing but a column or a field."""
    while type(node) is exp.Paren:
        node = node.args["this"]
    kind = type(node)
    if kind is exp.Column and not isinstance(node.args["this"], exp.Star):
        found = resolve_column(trace, node, scope)
        return ResolvedColumn(name) if found is None else found.renamed(name or found.name)
    out = ResolvedColumn(name)
    if kind is exp.Subquery:
        return _of_subquery(trace, node, scope, out)
    plain = path_of(node) if kind is exp.Dot else None
    if plain is not None:
        found = resolve_name(trace, plain, scope)
        return out if found is None else found.renamed(name or found.name)
    if kind is exp.Bracket and len(node.expressions) == 1:
        return _element(trace, node, scope, out)
    return _computed(trace, node, scope, out)


def _computed(trace: Trace, node: Node, scope: Scope, out: ResolvedColumn) -> ResolvedColumn:
    add_sources(trace, node, scope, out)
    # An expression without sources, such as a constant in a branch of a UNION, is no transformation.
    if not keeps_value(node) and (out.base or out.direct):
        out.transformation |= COMPUTED
    if type(node) is exp.Struct:
        out.fields = _struct_fields(trace, node, scope)
    elif isinstance(node, exp.Array):
        out.fields = _element_fields(trace, node, scope)
    elif makes_arrays(node):
        out.layout = made_type(node, lambda item: _layout(resolve_expression(trace, item, scope)))
    return out


def _layout(value: ResolvedColumn) -> str:
    if value.fields is None:
        return value.type or value.layout
    # Of an array of structs, too: whatever takes one apart asks for the fields alone.
    return struct_of(field.name for field in value.fields.values())


def _column(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    found = resolve_column(trace, node, scope)
    if found is not None:
        sink.merge(found)
    elif isinstance(node.args["this"], exp.Star):
        for out in expand_star(trace, node, scope, resolve_expression):
            sink.merge(out)


def _dot(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # `a.b.c.d.e` is Dot(Column(a.b.c.d), e); `db.f(x)` is Dot(Identifier(db), f(x)).
    names: list[str] = []
    item: Node = node
    while isinstance(item, exp.Dot):
        right = item.args["expression"]
        if isinstance(right, exp.Func):
            prefix = [part.name for part in item.args["this"].find_all(exp.Identifier)]
            add_call(trace, [*prefix, right.name or right.sql_name()], right, scope, sink)
            return
        names.append(right.name)
        item = item.args["this"]
    names.reverse()
    if isinstance(item, exp.Column):
        if any(isinstance(n.args["expression"], exp.Star) for n in dots_of(node)):
            _column(trace, item, scope, sink)
            return
        out = resolve_name(trace, [*column_parts(item), *names], scope)
        if out is not None:
            sink.merge(out)
        return
    own = resolve_expression(trace, item, scope)
    sink.merge(own.field(names))


def _window(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    args = node.args
    add_sources(trace, args["this"], scope, sink)
    for key in ("partition_by", "order"):
        add_indirect_sources(trace, args.get(key), scope, sink)
    alias = args.get("alias")
    if alias is not None:
        named = scope.windows.get(alias.name.lower())
        if named is not None:
            sink.add_indirect(named)


def _filter(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    scope = scope.rows or scope
    add_sources(trace, node.args["this"], scope, sink)
    add_indirect_sources(trace, node.args["expression"], scope, sink)


def _exists(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    inner = node.args["this"]
    if not isinstance(inner, exp.Query):
        # exists(array, lambda), the higher-order function
        add_sources(trace, inner, scope, sink)
        add_sources(trace, node.args.get("expression"), scope, sink)
        return
    frame = trace.subquery(inner, scope)
    for out in frame.columns:
        sink.add_indirect(out)
    sink.add_indirect(frame.indirect)


def _in(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # `a IN (SELECT b …)`: the list is an indirect source, as that of EXISTS.
    add_sources(trace, node.args["this"], scope, sink)
    add_sources(trace, node.args.get("expressions"), scope, sink)
    query = node.args.get("query")
    if query is not None:
        add_indirect_sources(trace, query, scope, sink)


def _star(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # coalesce(*), struct(*): only count(*) does not expand it; a lambda's parameters are no columns.
    while isinstance(scope, LambdaScope) and scope.outer is not None:
        scope = scope.outer
    for out in expand_star(trace, node, scope, resolve_expression):
        sink.merge(out)


def _lambda(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # Its parameters hide columns, whatever the case of their letters; their values are the array's.
    inner = LambdaScope(scope, scope.ctes)
    inner.windows, inner.rows = scope.windows, scope.rows
    inner.add(FromItem("", [ResolvedColumn(parameter.name) for parameter in node.expressions]))
    add_sources(trace, node.args["this"], inner, sink)


def _bracket(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    index = node.expressions[0] if len(node.expressions) == 1 else None
    if isinstance(index, exp.Literal) and index.is_string:
        sink.merge(resolve_expression(trace, node, scope))
    else:
        add_sources(trace, child_nodes(node), scope, sink)


def _order(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # listagg(a) WITHIN GROUP (ORDER BY b), array_agg(a ORDER BY b): b is an indirect source.
    add_sources(trace, node.args.get("this"), scope, sink)
    add_indirect_sources(trace, node.expressions, scope, sink)


def _within_group(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # percentile_cont(0.5) WITHIN GROUP (ORDER BY x) is a value of x.
    inner, scope = SourceSet(), scope.rows or scope
    add_sources(trace, node.args["this"], scope, inner)
    sink.merge(inner)
    keys = node.args["expression"].expressions
    if inner.base or inner.direct:
        add_indirect_sources(trace, keys, scope, sink)
    else:
        add_sources(trace, keys, scope, sink)


def _query_value(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    frame = trace.subquery(node, scope)
    for out in frame.columns:
        sink.merge(out)
    sink.add_indirect(frame.indirect)


def _anonymous(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    name = node.args["this"]
    if not isinstance(name, str):
        name = name.name
    if name.upper() == "IDENTIFIER":
        _identifier_clause(trace, node, scope, sink)
        return
    add_call(trace, [name.rstrip()], node, scope, sink)


def _identifier_clause(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    """`IDENTIFIER('a.b')` names a column; anything but a literal is known to Spark alone."""
    literal = node.expressions[0] if node.expressions else None
    if isinstance(literal, exp.Literal) and literal.is_string:
        out = resolve_name(trace, trace.split_literal(literal.name), scope)
        if out is not None:
            sink.merge(out)
        return
    trace.mark_partial("IDENTIFIER() of an expression")


def _count(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # count(*) counts rows and reads no column.
    sink.transformation |= AGGREGATED
    scope = scope.rows or scope
    if not isinstance(node.args["this"], exp.Star):
        add_sources(trace, node.args["this"], scope, sink)
        add_sources(trace, node.args.get("expressions"), scope, sink)


def _grouping(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    # grouping(a) says which keys a row is grouped by, nothing of their values.
    add_indirect_sources(trace, [*node.expressions, *filter(None, [node.args.get("this")])], scope, sink)


def _aggregate(trace: Trace, node: Node, scope: Scope, sink: SourceSet) -> None:
    sink.transformation |= AGGREGATED
    add_sources(trace, child_nodes(node), scope.rows or scope, sink)


def add_call(trace: Trace, parts: Sequence[str], node: Node, scope: Scope, sink: SourceSet) -> None:
    """A call of a function that sqlglot does not know: a user's, or one of Spark's own."""
    function = trace.function(parts)
    if function is None:
        arguments = value_arguments(parts[-1], node)
        if is_aggregate_name(parts[-1]):
            sink.transformation |= AGGREGATED
            scope = scope.rows or scope
        add_sources(trace, arguments, scope, sink)
        return
    sink.call(trace.record_call(function))
    named = [(name, resolve_expression(trace, item, scope)) for name, item in named_arguments(node)]
    outs = [out for _, out in named]
    if function.body is None:
        for out in outs:
            sink.merge(out)
        return
    result = open_function(trace, function, bind_arguments(function, named), called=True)
    sink.separate()
    for out in outs:
        sink.direct.update(out.direct)
        sink.direct_indirect.update(out.direct_indirect)
        sink.transformation |= out.transformation & ~BELOW
        sink.call(out.calls, CALLED_DIRECT)
    for out in result.columns:
        sink.transformation |= out.transformation & BELOW
        sink.call(out.calls, CALLED_BASE)
        sink.base.update(out.base)
        sink.base_indirect.update(out.base_indirect)
    sink.base_indirect.update(result.indirect.base)
    sink.base_indirect.update(result.indirect.base_indirect)


def _of_subquery(trace: Trace, node: Node, scope: Scope, out: ResolvedColumn) -> ResolvedColumn:
    # (SELECT s FROM t LIMIT 1).x is the field x of s.
    frame = trace.subquery(node, scope)
    for value in frame.columns[:1]:
        out.merge(value)
        out.plain, out.type, out.fields = value.plain, value.type, value.fields
    out.add_indirect(frame.indirect)
    return out


def _element(trace: Trace, node: Node, scope: Scope, out: ResolvedColumn) -> ResolvedColumn:
    # arr[0].f is the field f of arr: an element of an array has the array's fields.
    of = resolve_expression(trace, node.args["this"], scope)
    index = node.expressions[0]
    out.merge(of)
    out.transformation |= COMPUTED
    if isinstance(index, exp.Literal) and index.is_string and field_type(of.type, index.name):
        # s['x'] is s.x, and of an array arr['x'] the field of each element
        return of.field((index.name,)).renamed(out.name or index.name)
    element = element_type(of.type)
    if of.fields is not None and isinstance(index, exp.Literal):
        if index.is_string and index.name.lower() in of.fields:
            return of.field((index.name,)).renamed(out.name or index.name)
        out.fields = of.fields
    elif element is not None and isinstance(index, exp.Literal):
        out.plain, out.type = of.plain, element
    else:
        add_sources(trace, index, scope, out)
    return out


def _element_fields(trace: Trace, node: Node, scope: Scope) -> dict[str, ResolvedColumn] | None:
    """The fields of `array(struct(…), …)`: by position, under the names of the first."""
    structs = [
        _struct_fields(trace, item, scope) for item in node.expressions if isinstance(item, exp.Struct)
    ]
    if not structs or len(structs) != len(node.expressions) or len({len(one) for one in structs}) > 1:
        return None
    if len(structs) == 1:
        return structs[0]
    return {
        key: _merged(name.name, fields)
        for (key, name), *fields in zip(structs[0].items(), *(one.values() for one in structs), strict=True)
    }


def _merged(name: str, values: Sequence[ResolvedColumn]) -> ResolvedColumn:
    # A new column: each of them may be a table's own.
    out = ResolvedColumn(name)
    for value in values:
        out.merge(value)
    return out


def _struct_fields(trace: Trace, node: Node, scope: Scope) -> dict[str, ResolvedColumn]:
    fields: dict[str, ResolvedColumn] = {}
    for at, item in enumerate(node.expressions, 1):
        if isinstance(item, exp.PropertyEQ):
            name, value = item.args["this"].name, item.args["expression"]
        elif isinstance(item, exp.Column) and not isinstance(item.args["this"], exp.Star):
            name, value = item.name, item
        elif isinstance(item, exp.Column):
            fields.update({out.key: out for out in expand_star(trace, item, scope, resolve_expression)})
            continue
        else:
            name, value = f"col{at}", item
        fields[name.lower()] = resolve_expression(trace, value, scope, name)
    return fields


_Handler = Callable[[Trace, Node, Scope, SourceSet], None]
_SPECIAL: dict[type, _Handler] = {
    **dict.fromkeys(AGGREGATE_CLASSES, _aggregate),
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Window: _window,
    exp.Filter: _filter,
    exp.Exists: _exists,
    exp.In: _in,
    exp.Star: _star,
    exp.Lambda: _lambda,
    exp.Bracket: _bracket,
    exp.Order: _order,
    exp.WithinGroup: _within_group,
    exp.Anonymous: _anonymous,
    exp.Count: _count,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
    **dict.fromkeys(
        (exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect),
        _query_value,
    ),
}
