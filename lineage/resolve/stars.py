"""Stars: `*`, `t.*`, `s.*` of a struct, with EXCEPT and REPLACE.

In: a star of sqlglot's tree and the scope it stands in. Out: the columns it stands for, in Spark's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from lineage.resolve.columns import named_before_pipe, qualified, resolve_name
from lineage.resolve.context import Trace
from lineage.resolve.nodes import column_parts
from lineage.resolve.scope import FromItem, ResolvedColumn, Scope
from lineage.types import struct_fields

ExpressionResolver = Callable[[Trace, exp.Expr, Scope, str], ResolvedColumn]
"""Makes a column of an expression, under a name."""


def expand_star(
    trace: Trace, node: exp.Expr, scope: Scope, resolve: ExpressionResolver
) -> list[ResolvedColumn]:
    """The columns that `*`, `t.*`, `s.*` (a struct) stand for, EXCEPT left out."""
    star = node if isinstance(node, exp.Star) else node.args["this"]
    outs = all_columns(trace, scope) if star is node else _qualified_star(trace, node, scope)
    excluded = star.args.get("except_")
    if excluded:
        outs = _without_excepted(trace, outs, excluded, scope)
    replaced = star.args.get("replace")
    if replaced:
        values = {
            item.alias.lower(): resolve(trace, item.args["this"], scope, item.alias) for item in replaced
        }
        outs = _with_replacements(trace, outs, values)
    # RENAME is Snowflake's.
    if star.args.get("rename"):
        trace.mark_partial("star with RENAME")
    return outs


def _with_replacements(
    trace: Trace, outs: list[ResolvedColumn], values: dict[str, ResolvedColumn]
) -> list[ResolvedColumn]:
    # * REPLACE (e AS a): the column a has the value of e, at its own place.
    if not values.keys() <= {out.key for out in outs}:
        trace.mark_partial("star with REPLACE of an unknown column")
    return [values[out.key].renamed(out.name) if out.key in values else out for out in outs]


def all_columns(trace: Trace, scope: Scope) -> list[ResolvedColumn]:
    """The columns of `*`."""
    if not scope.sources:
        trace.mark_partial("star without FROM")
    for source in scope.sources:
        if source.open:
            trace.mark_partial("star over unknown columns")
    return scope.star()


def _qualified_star(trace: Trace, node: exp.Expr, scope: Scope) -> list[ResolvedColumn]:
    parts = [node.args[k].name for k in ("catalog", "db", "table") if node.args.get(k)]
    keys = [part.lower() for part in parts]
    at: Scope | None = scope
    while at is not None:
        source = qualified(keys, at)
        if source is not None:
            if source.open:
                trace.mark_partial("star over unknown columns")
            return at.star_of(source)
        before = [out for item in at.sources if item.origins for out in named_before_pipe(item, keys)]
        if before:
            return before
        at = at.outer
    return expand_struct(trace, resolve_name(trace, parts, scope))


def expand_struct(trace: Trace, out: ResolvedColumn | None) -> list[ResolvedColumn]:
    """The fields of a struct as columns."""
    if out is None:
        trace.mark_partial("star over what is no column")
        return []
    if out.fields is not None:
        return list(out.fields.values())
    fields = struct_fields(out.type or out.layout)
    if not fields:
        trace.mark_partial("star over a struct of unknown fields")
        return [out]
    return [out.field((field,)).renamed(field) for field, _ in fields]


def _without_excepted(
    trace: Trace, outs: list[ResolvedColumn], excluded: Sequence[exp.Expr], scope: Scope
) -> list[ResolvedColumn]:
    names, owned = _excepted(trace, excluded, scope)
    kept = _without_owned(outs, owned, scope) if owned else outs
    return [out for out in kept if out.key not in names]


_OwnedNames = set[tuple[FromItem, str]]


def _excepted(trace: Trace, excluded: Sequence[exp.Expr], scope: Scope) -> tuple[set[str], _OwnedNames]:
    """The names that EXCEPT lists without a table, and those with one."""
    names: set[str] = set()
    owned: _OwnedNames = set()
    for item in excluded:
        if not isinstance(item, exp.Column):
            names.update(part.name.lower() for part in item.find_all(exp.Identifier))
            continue
        *qualifier, key = [part.lower() for part in column_parts(item)]
        source = qualified(qualifier, scope) if qualifier else None
        if source is not None:
            owned.add((source, key))
        elif qualifier:
            trace.mark_partial("EXCEPT of a struct field")
        else:
            names.add(key)
    return names, owned


def _without_owned(outs: list[ResolvedColumn], owned: _OwnedNames, scope: Scope) -> list[ResolvedColumn]:
    """The columns without those of one table: `t.*` has none of another, `*` has what the joins yield."""
    pairs = scope.joined()[0]
    if [out for _, out in pairs] == outs:
        return [out for owner, out in pairs if (owner, out.key) not in owned]
    # By identity: a table that is joined twice has two columns of each name.
    taken = {id(out) for source in {source for source, _ in owned} for out in scope.star_of(source)}
    keys = {key for _, key in owned}
    return [out for out in outs if not (id(out) in taken and out.key in keys)]
