"""Table-valued functions and generators: a user's own and Spark's.

In: a call of sqlglot's tree and its scope. Out: the columns that it yields, None where they are not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.model import Function
from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_sources, resolve_expression
from lineage.resolve.from_clause.generators import FIXED_ROWS, generated, is_generator
from lineage.resolve.from_clause.relations import relation_item
from lineage.resolve.nodes import function_title, named_arguments
from lineage.resolve.scope import CALLED_BASE, CALLED_DIRECT, ResolvedColumn, Scope, SourceSet
from lineage.resolve.views import bind_arguments, open_function
from lineage.transformation import BELOW, COMPUTED
from lineage.types import struct_fields

Node = exp.Expr


def table_function_columns(
    trace: Trace, call: Node, names: Sequence[str], scope: Scope, prefix: Sequence[str] = ()
) -> list[ResolvedColumn] | None:
    """The columns that a table-valued function or generator yields, None where unknown."""
    title = function_title(call)
    function = trace.function([*prefix, title])
    # The body of a SQL function tells which arguments its rows depend on.
    is_open = function is not None and function.body is not None
    named = _named_arguments(trace, call, scope, shaping=not is_open)
    arguments = [out for _, out in named]
    outs: list[ResolvedColumn] | None
    if function is not None:
        outs = _user_table_function(trace, function, named, scope)
    else:
        outs = generated(title, call, arguments)
    if outs is None or (names and len(names) != len(outs) and is_generator(title)):
        # The type of the argument is not known: the aliases say how many columns there are.
        if not names:
            trace.mark_partial(f"table function {title}")
            return None
        whole = ResolvedColumn("")
        whole.transformation = COMPUTED
        for argument in arguments:
            whole.merge(argument)
        outs = [whole.renamed(n) for n in names]
    if names and len(names) == len(outs):
        return [o.renamed(n) for o, n in zip(outs, names, strict=True)]
    if names:
        trace.mark_partial(f"column aliases that do not fit {title}")
    return outs


def function_arguments(trace: Trace, call: Node, scope: Scope) -> list[ResolvedColumn]:
    """The arguments of what makes rows of a value; how many rows there are depends on them."""
    return [out for _, out in _named_arguments(trace, call, scope)]


def _named_arguments(
    trace: Trace, call: Node, scope: Scope, *, shaping: bool = True
) -> list[tuple[str, ResolvedColumn]]:
    found = [(name, _argument(trace, value, scope)) for name, value in named_arguments(call)]
    if shaping and function_title(call) not in FIXED_ROWS:
        for _, argument in found:
            scope.indirect.add_indirect(argument)
    return found


def _user_table_function(
    trace: Trace, function: Function, arguments: list[tuple[str, ResolvedColumn]], scope: Scope
) -> list[ResolvedColumn] | None:
    whole = SourceSet()
    whole.transformation = COMPUTED
    whole.call(trace.record_call(function))
    for _, argument in arguments:
        whole.merge(argument)
    if trace.is_own_text:
        trace.ledger.add_argument(whole)
    outs: list[ResolvedColumn] = []
    # Not SQL: each of its columns may come from each of its arguments.
    if function.body is None:
        for name, _ in struct_fields(function.data_type):
            out = ResolvedColumn(name)
            out.merge(whole)
            outs.append(out)
        return outs or None
    frame = open_function(trace, function, bind_arguments(function, arguments))
    # What chooses the function's rows shapes those beside it, as in a view.
    shape = SourceSet()
    asked = {**frame.indirect.direct_indirect, **frame.indirect.direct}
    shape.direct_indirect = {ref: None for ref in asked if ref in whole.direct}
    shape.base_indirect = {**frame.indirect.base_indirect, **frame.indirect.base}
    scope.indirect.add_indirect(shape)
    # RETURNS TABLE (…) names the columns.
    declared = [name for name, _ in struct_fields(function.data_type)]
    names = declared if len(declared) == len(frame.columns) else [inner.name for inner in frame.columns]
    for name, inner in zip(names, frame.columns, strict=True):
        out = ResolvedColumn(name)
        out.direct = whole.direct
        out.transformation = (whole.transformation & ~BELOW) | (inner.transformation & BELOW)
        out.call(whole.calls, CALLED_DIRECT)
        out.call(inner.calls, CALLED_BASE)
        out.base, out.base_indirect = inner.base, {**inner.base_indirect, **frame.indirect.base_indirect}
        outs.append(out)
    return outs


def _argument(trace: Trace, node: Node, scope: Scope) -> ResolvedColumn:
    # f(TABLE(t)) and f(TABLE(SELECT …)): the whole table is an argument.
    if isinstance(node, exp.Anonymous) and node.name.upper() == "TABLE" and node.expressions:
        inner = node.expressions[0]
        out = ResolvedColumn("")
        if isinstance(inner, exp.Column):
            parts = [p.name for p in inner.parts]
            source = relation_item(trace, trace.entry(parts), parts[-1], (), scope)
            if source.open:
                trace.mark_partial("TABLE() over unknown columns")
            for column in source.columns():
                out.merge(column)
            return out
        add_sources(trace, inner, scope, out)
        return out
    return resolve_expression(trace, node, scope)
