"""SELECT: select list, WHERE, GROUP BY, HAVING, QUALIFY, ORDER BY, DISTINCT.

In: a SELECT of sqlglot's tree and the scope that its FROM has filled. Out: a `Frame`, its columns with their
sources.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from lineage.resolve.columns import origin_of, resolve_column
from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_indirect_sources, add_sources, resolve_expression
from lineage.resolve.from_clause.generators import generated, is_generator
from lineage.resolve.from_clause.table_functions import function_arguments, table_function_columns
from lineage.resolve.nodes import column_parts, function_title, is_aggregate
from lineage.resolve.output_names import column_name, niladic_name
from lineage.resolve.scope import Frame, FromItem, ResolvedColumn, Scope, SourceSet
from lineage.resolve.stars import expand_star, expand_struct
from lineage.resolve.value_types import struct_of
from lineage.transformation import COMPUTED

Node = exp.Expr


# Clauses of other dialects, which sqlglot reads and Spark 4.2 has not.
_UNREAD = ("connect", "match", "prewhere", "into", "locks", "settings", "for_", "pivots")
_AFTER = ("having", "qualify", "order", "sort", "distribute", "cluster")


def read_select(trace: Trace, scope: Scope, args: dict[str, Any]) -> Frame:
    """The frame of a SELECT whose FROM is already in scope."""
    for key in _UNREAD:
        if args.get(key):
            trace.mark_partial(f"{key.rstrip('_').upper()} in SELECT")
    shape = scope.indirect
    where = args.get("where")
    if where is not None:
        add_indirect_sources(trace, where.args["this"], scope, shape)
    for window in args.get("windows") or ():
        _named_window(trace, window, scope)
    # Behind the select list columns keep the names of the items that they came from.
    if scope.origins is None and any(args.get(key) is not None for key in _AFTER):
        scope.origins = []
    if args.get("group") is not None:
        _time_windows(trace, args["group"], scope)
    outs = _select_list(trace, args["expressions"], scope)
    _group(trace, args.get("group"), args["expressions"], outs, scope)
    _read_after(trace, args, outs, scope)
    distinct = args.get("distinct")
    if distinct is not None:
        for out in outs:
            shape.add_indirect(out)
        add_indirect_sources(trace, distinct.args.get("on"), scope, shape)
    frame = Frame(outs, shape, open_=any(s.open for s in scope.sources) and _starred(args))
    frame.origins = scope.origins
    return record_reads(trace, frame)


def record_reads(trace: Trace, frame: Frame) -> Frame:
    """The same frame; what it has read is in the ledger if it is the statement's own text."""
    if trace.is_own_text:
        for out in frame.columns:
            trace.ledger.add_reads(out)
        trace.ledger.add_reads(frame.indirect)
    return frame


def _read_after(trace: Trace, args: dict[str, Any], outs: list[ResolvedColumn], scope: Scope) -> None:
    # HAVING, QUALIFY and ORDER BY look at the output first, then at what was selected from.
    clauses = [(key, clause) for key in _AFTER if (clause := args.get(key)) is not None]
    if not clauses:
        return
    output = Scope(scope, scope.ctes)
    output.windows = scope.windows
    named = [out.copy() for out in outs]
    # A struct's field hides no column of its name.
    item = FromItem("", sorted(named, key=_is_field))
    item.origins = {out: of for out, of in zip(named, scope.origins or (), strict=True) if of is not None}
    output.add(item)
    for key, clause in clauses:
        if key == "having":
            add_indirect_sources(
                trace,
                clause.args["this"],
                _having_scope(trace, args.get("group"), output, scope),
                scope.indirect,
            )
        elif key == "qualify":
            add_indirect_sources(trace, clause.args["this"], output, scope.indirect)
        else:
            add_keys(trace, clause.expressions, outs, output, scope.indirect)


def _having_scope(trace: Trace, group: Node | None, output: Scope, scope: Scope) -> Scope:
    """HAVING: a name is a group key before it is an output; inside an aggregate it is of the rows."""
    keys = [] if group is None or group.args.get("all") else _group_keys(group)
    columns = [resolve_column(trace, key, scope) for key in keys if type(key) is exp.Column]
    inner = Scope(output, output.ctes)
    inner.windows, inner.rows = output.windows, scope
    inner.add(FromItem("", [out for out in columns if out is not None]))
    return inner


_TIME_WINDOWS = frozenset({"window", "session_window"})


def _time_windows(trace: Trace, group: Node, scope: Scope) -> None:
    # GROUP BY window(ts, '10 minutes') makes a column of that name (Spark 4.2, TimeWindowing).
    for call in group.find_all(exp.Anonymous):
        name = call.name.lower()
        if name in _TIME_WINDOWS and call.expressions:
            out = resolve_expression(trace, call, scope, name)
            out.layout = struct_of(("start", "end"))
            scope.aliases.setdefault(name, out)


def _named_window(trace: Trace, window: Node, scope: Scope) -> None:
    own = SourceSet()
    for key in ("partition_by", "order"):
        add_indirect_sources(trace, window.args.get(key), scope, own)
    # A window may build on another one: WINDOW w2 AS (w1 ORDER BY b).
    base = window.args.get("alias")
    if base is not None and base.name.lower() in scope.windows:
        own.add_indirect(scope.windows[base.name.lower()])
    scope.windows[window.name.lower()] = own


def _select_list(trace: Trace, expressions: list[Node], scope: Scope) -> list[ResolvedColumn]:
    outs: list[ResolvedColumn] = []
    for item in expressions:
        kind, before = type(item), len(outs)
        if kind is exp.Alias:
            out = _aliased_output(trace, item, scope)
            outs.append(out)
            scope.aliases.setdefault(out.key, out)
        elif kind is exp.Star or (kind is exp.Column and type(item.args["this"]) is exp.Star):
            outs += expand_star(trace, item, scope, resolve_expression)
        elif kind is exp.Column:
            out = resolve_expression(trace, item, scope)
            # Spark 4.2 names an output as the query spells it (AttributeSeq.resolve, withName).
            outs.append(out.renamed(item.name if out.name else niladic_name(item.name)))
        else:
            several = _unaliased_outputs(trace, item, scope)
            outs += several
            if kind is exp.Aliases:
                for out in several:
                    scope.aliases.setdefault(out.key, out)
        if scope.origins is not None:
            scope.origins += _origins(item, outs[before:], scope)
    return outs


def _origins(item: Node, outs: list[ResolvedColumn], scope: Scope) -> list[FromItem | None]:
    """The items of the FROM whose columns an item of the select list yields as they are."""
    inner = item.args["this"] if type(item) is exp.Alias else item
    if type(inner) is exp.Column and type(inner.args["this"]) is exp.Identifier:
        as_it_is = inner is item or item.args["alias"].name == inner.name
        return [origin_of(column_parts(inner), scope) if as_it_is else None]
    if type(inner) not in _MAY_YIELD_COLUMNS:
        return [None] * len(outs)
    pairs = iter(scope.joined()[0])
    found: list[FromItem | None] = []
    for out in outs:
        # In order: a self-join has the same column twice.
        owner = next((owner for owner, column in pairs if column is out), None)
        found.append(owner.origins.get(out) if owner is not None and owner.origins else owner)
    return found


# Stars, and columns in brackets or of long names; all else makes a column of its own.
_MAY_YIELD_COLUMNS = frozenset({exp.Star, exp.Column, exp.Paren, exp.Dot})


def _aliased_output(trace: Trace, item: Node, scope: Scope) -> ResolvedColumn:
    inner, name = item.args["this"], item.args["alias"].name
    generator = _generator_name(inner)
    if generator is not None:
        outs = generated(generator, inner, function_arguments(trace, inner, scope))
        if outs is not None and len(outs) == 1:
            return outs[0].renamed(name)
    return resolve_expression(trace, inner, scope, name)


def _unaliased_outputs(trace: Trace, item: Node, scope: Scope) -> list[ResolvedColumn]:
    if isinstance(item, exp.Aliases):
        names = [i.name for i in item.expressions]
        return table_function_columns(trace, item.args["this"], names, scope) or []
    if isinstance(item, exp.QueryTransform):
        return _script_transform(trace, item, scope)
    if isinstance(item, exp.Dot) and isinstance(item.args["expression"], exp.Star):
        return expand_struct(trace, resolve_expression(trace, item.args["this"], scope))
    generator = _generator_name(item)
    if generator is not None:
        outs = generated(generator, item, function_arguments(trace, item, scope))
        if outs is not None:
            return outs
        trace.mark_partial(f"columns of {generator}")
    return [resolve_expression(trace, item, scope, column_name(item))]


def _generator_name(node: Node) -> str | None:
    name = function_title(node)
    return name if is_generator(name) else None


def _script_transform(trace: Trace, item: Node, scope: Scope) -> list[ResolvedColumn]:
    # A script sees every input for every output (Hive's TRANSFORM … USING).
    whole = ResolvedColumn("")
    whole.transformation = COMPUTED
    add_sources(trace, item.expressions, scope, whole)
    schema = item.args.get("schema")
    # TRANSFORM without AS yields the columns key and value (Spark 4.2).
    names = [c.name for c in schema.expressions] if schema is not None else ["key", "value"]
    return [whole.renamed(name) for name in names]


def _group(
    trace: Trace, group: Node | None, items: list[Node], outs: list[ResolvedColumn], scope: Scope
) -> None:
    if group is None:
        return
    if group.args.get("all"):
        for item in items:
            _group_by_all(trace, item, scope)
        return
    add_keys(trace, _group_keys(group), outs, scope, scope.indirect)


def _group_by_all(trace: Trace, item: Node, scope: Scope) -> None:
    # GROUP BY ALL: what aggregates nothing. What does may name no column outside (MISSING_AGGREGATION).
    if type(item) is exp.Star or (type(item) is exp.Column and type(item.args["this"]) is exp.Star):
        for out in expand_star(trace, item, scope, resolve_expression):
            scope.indirect.add_indirect(out)
    elif not any(map(is_aggregate, item.walk(prune=lambda node: isinstance(node, exp.Query)))):
        add_indirect_sources(trace, item, scope, scope.indirect)


def add_keys(
    trace: Trace, keys: list[Node], outs: list[ResolvedColumn], scope: Scope, sink: SourceSet
) -> None:
    """Add the keys of ORDER BY or GROUP BY as indirect sources; a number is a place in the select list."""
    for key in keys:
        inner = key.args["this"] if isinstance(key, exp.Ordered) else key
        if isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit():
            at = int(inner.name) - 1
            if 0 <= at < len(outs):
                sink.add_indirect(outs[at])
        elif isinstance(inner, exp.Var) and inner.name.upper() == "ALL":
            for out in outs:
                sink.add_indirect(out)
        else:
            add_indirect_sources(trace, inner, scope, sink)


def _group_keys(group: Node) -> list[Node]:
    """The keys, those in GROUPING SETS, CUBE and ROLLUP among them."""
    keys: list[Node] = list(group.expressions)
    for key in ("grouping_sets", "cube", "rollup"):
        keys += [item for item in group.args.get(key) or () if isinstance(item, exp.Expr)]
    return _flat(keys)


def _flat(keys: list[Node]) -> list[Node]:
    found: list[Node] = []
    for key in keys:
        if isinstance(key, (exp.Cube, exp.Rollup, exp.GroupingSets, exp.Tuple)):
            found += _flat(key.expressions)
        elif isinstance(key, exp.Paren):
            found += _flat([key.args["this"]])
        else:
            found.append(key)
    return found


def _is_field(out: ResolvedColumn) -> bool:
    return out.plain and any(ref.path for ref in out.direct)


def _starred(args: dict[str, Any]) -> bool:
    expressions = args.get("expressions")
    return isinstance(expressions, list) and any(
        isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.args["this"], exp.Star))
        for e in expressions
    )
