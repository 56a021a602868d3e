"""PIVOT and UNPIVOT.

In: a pivot of sqlglot's tree and the scope that it turns. Out: the one source that this becomes. Names follow
Spark 4.2: a pivoted column is `<value>` or `<value>_<aggregate>`; what neither aggregates nor pivots is a
group key.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.resolve.columns import qualified
from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_sources
from lineage.resolve.nodes import column_parts
from lineage.resolve.output_names import column_name
from lineage.resolve.scope import FromItem, ResolvedColumn, Scope, SourceSet


def pivoted(trace: Trace, pivot: exp.Expr, scope: Scope) -> FromItem:
    """All that is in scope so far, after one PIVOT or UNPIVOT of it."""
    if any(source.open for source in scope.sources):
        trace.mark_partial("PIVOT over unknown columns")
    rows = Scope(scope.outer, scope.ctes)
    rows.sources, rows.steps, rows.using = scope.sources, scope.steps, scope.using
    turn = _unpivot if pivot.args.get("unpivot") else _pivot
    outs = turn(trace, pivot, rows)
    scope.indirect.add_indirect(rows.indirect)
    alias = pivot.args.get("alias")
    columns = alias.args.get("columns") if alias is not None else None
    if columns and len(columns) == len(outs):
        outs = [o.renamed(c.name) for o, c in zip(outs, columns, strict=True)]
    name = alias.name if alias is not None else scope.sources[0].alias if len(scope.sources) == 1 else ""
    return FromItem(name, outs)


_NamedColumns = set[tuple[FromItem | None, str]]


def _named_columns(node: exp.Expr, rows: Scope) -> _NamedColumns:
    """The columns that an expression names, with their source where it says one: of `t.a.f` the column a."""
    found: _NamedColumns = set()
    for column in node.find_all(exp.Column):
        parts = [part.lower() for part in column_parts(column)]
        source = None
        for width in range(min(3, len(parts) - 1), 0, -1):
            source = qualified(parts[:width], rows)
            if source is not None:
                found.add((source, parts[width]))
                break
        if source is None:
            found.add((None, parts[0]))
    return found


def _unused_columns(rows: Scope, used: _NamedColumns) -> list[ResolvedColumn]:
    """What stays beside the columns that are used up."""
    pairs = rows.joined()[0]
    return [out for owner, out in pairs if (None, out.key) not in used and (owner, out.key) not in used]


def _pivot(trace: Trace, pivot: exp.Expr, rows: Scope) -> list[ResolvedColumn]:
    used: _NamedColumns = set()
    keys = SourceSet()
    values: list[str] = []
    for field in pivot.args.get("fields") or ():
        if not isinstance(field, exp.In):
            trace.mark_partial("PIVOT without IN")
            continue
        add_sources(trace, field.args["this"], rows, keys)
        used |= _named_columns(field.args["this"], rows)
        values += [_value_name(item) for item in field.expressions]
    rows.indirect.add_indirect(keys)
    aggregates = pivot.expressions
    for item in aggregates:
        used |= _named_columns(item, rows)
    # What is neither aggregated nor pivoted groups the rows (Spark SQL reference, PIVOT).
    groups = _unused_columns(rows, used)
    for out in groups:
        rows.indirect.add_indirect(out)
    outs = list(groups)
    for value in values:
        for item in aggregates:
            inner = item.args["this"] if isinstance(item, exp.Alias) else item
            label = item.alias if isinstance(item, exp.Alias) else column_name(inner)
            out = ResolvedColumn(value if len(aggregates) == 1 else f"{value}_{label}")
            add_sources(trace, inner, rows, out)
            # The pivot column chooses the rows of each value.
            out.add_indirect(keys)
            outs.append(out)
    return outs


def _has_alias(item: exp.Expr) -> bool:
    return type(item) in (exp.PivotAlias, exp.Alias)


def _value_name(item: exp.Expr) -> str:
    if _has_alias(item):
        return str(item.args["alias"].name)
    if type(item) is exp.Tuple:
        # Spark 4.2 writes a tuple of values as it writes a struct: {a, b}.
        return "{" + ", ".join(_value_name(i) for i in item.expressions) + "}"
    return item.name if isinstance(item, exp.Literal) else column_name(item)


def _unpivot(trace: Trace, pivot: exp.Expr, rows: Scope) -> list[ResolvedColumn]:
    names = [i.name for e in pivot.expressions for i in e.find_all(exp.Identifier)]
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        trace.mark_partial("UNPIVOT without IN")
        return []
    values = [ResolvedColumn(name) for name in names]
    used: _NamedColumns = set()
    for item in fields[0].expressions:
        inner = item.args["this"] if _has_alias(item) else item
        cells = inner.expressions if type(inner) is exp.Tuple else [inner]
        for out, cell in zip(values, cells, strict=False):
            add_sources(trace, cell, rows, out)
            if not pivot.args.get("include_nulls"):
                rows.indirect.add_indirect(out)  # a row whose values are all null is left out
        used |= _named_columns(inner, rows)
    return [*_unused_columns(rows, used), ResolvedColumn(fields[0].args["this"].name), *values]
