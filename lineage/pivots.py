"""PIVOT and UNPIVOT.

In: a pivot of sqlglot's tree and the scope that it turns. Out: the one source that this becomes. Names follow
Spark 4.2: a pivoted column is `<value>` or `<value>_<aggregate>`; what neither aggregates nor pivots is a
group key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lineage.naming import column_name
from lineage.resolve import column_parts, qualified
from lineage.scope import Out, Scope, Sink, Source

if TYPE_CHECKING:
    from lineage.sources import Sources


def pivoted(tracer: Sources, pivot: exp.Expr, scope: Scope) -> Source:
    """All that is in scope so far, after one PIVOT or UNPIVOT of it."""
    if any(source.open for source in scope.sources):
        tracer.doubt("PIVOT over unknown columns")
    held = Scope(scope.outer, scope.ctes)
    held.sources, held.steps, held.using = scope.sources, scope.steps, scope.using
    turn = _unpivot if pivot.args.get("unpivot") else _pivot
    outs = turn(tracer, pivot, held)
    scope.shape.shape(held.shape)
    alias = pivot.args.get("alias")
    columns = alias.args.get("columns") if alias is not None else None
    if columns and len(columns) == len(outs):
        outs = [o.renamed(c.name) for o, c in zip(outs, columns, strict=True)]
    name = alias.name if alias is not None else scope.sources[0].alias if len(scope.sources) == 1 else ""
    return Source(name, outs)


_Named = set[tuple[Source | None, str]]


def _named(node: exp.Expr, held: Scope) -> _Named:
    """The columns that an expression names, with their source where it says one: of `t.a.f` the column a."""
    found: _Named = set()
    for column in node.find_all(exp.Column):
        parts = [part.lower() for part in column_parts(column)]
        source = None
        for width in range(min(3, len(parts) - 1), 0, -1):
            source = qualified(parts[:width], held)
            if source is not None:
                found.add((source, parts[width]))
                break
        if source is None:
            found.add((None, parts[0]))
    return found


def _left(held: Scope, used: _Named) -> list[Out]:
    """What stays beside the columns that are used up."""
    pairs = held.joined()[0]
    return [out for owner, out in pairs if (None, out.key) not in used and (owner, out.key) not in used]


def _pivot(tracer: Sources, pivot: exp.Expr, held: Scope) -> list[Out]:
    used: _Named = set()
    keys = Sink()
    values: list[str] = []
    for field in pivot.args.get("fields") or ():
        if not isinstance(field, exp.In):
            tracer.doubt("PIVOT without IN")
            continue
        tracer.values(field.args["this"], held, keys)
        used |= _named(field.args["this"], held)
        values += [_value_name(item) for item in field.expressions]
    held.shape.shape(keys)
    aggregates = pivot.expressions
    for item in aggregates:
        used |= _named(item, held)
    groups = _left(held, used)
    for out in groups:
        held.shape.shape(out)
    outs = list(groups)
    for value in values:
        for item in aggregates:
            inner = item.args["this"] if isinstance(item, exp.Alias) else item
            label = item.alias if isinstance(item, exp.Alias) else column_name(inner)
            out = Out(value if len(aggregates) == 1 else f"{value}_{label}")
            tracer.values(inner, held, out)
            out.shape(keys)
            outs.append(out)
    return outs


def _renamed(item: exp.Expr) -> bool:
    return type(item) in (exp.PivotAlias, exp.Alias)


def _value_name(item: exp.Expr) -> str:
    if _renamed(item):
        return str(item.args["alias"].name)
    if type(item) is exp.Tuple:
        return "{" + ", ".join(_value_name(i) for i in item.expressions) + "}"
    return item.name if isinstance(item, exp.Literal) else column_name(item)


def _unpivot(tracer: Sources, pivot: exp.Expr, held: Scope) -> list[Out]:
    names = [i.name for e in pivot.expressions for i in e.find_all(exp.Identifier)]
    fields = pivot.args.get("fields") or []
    if len(fields) != 1 or not isinstance(fields[0], exp.In):
        tracer.doubt("UNPIVOT without IN")
        return []
    values = [Out(name) for name in names]
    used: _Named = set()
    for item in fields[0].expressions:
        inner = item.args["this"] if _renamed(item) else item
        cells = inner.expressions if type(inner) is exp.Tuple else [inner]
        for out, cell in zip(values, cells, strict=False):
            tracer.values(cell, held, out)
            if not pivot.args.get("include_nulls"):
                held.shape.shape(out)  # a row whose values are all null is left out
        used |= _named(inner, held)
    return [*_left(held, used), Out(fields[0].args["this"].name), *values]
