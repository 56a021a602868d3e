"""Column names and stars to columns, as Spark resolves them.

In: a column of sqlglot's tree, or name parts, and a scope. Out: `ResolvedColumn`s; None where the name is no
column. A name that cannot be resolved makes the analysis partial.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.names import quote_name
from lineage.resolve.context import Trace
from lineage.resolve.nodes import column_parts
from lineage.resolve.scope import FromItem, ResolvedColumn, Scope

# Spark reads these without parentheses when no column has the name (ResolveReferences,
# LiteralFunctionResolution); sqlglot leaves some of them as columns.
_LITERAL_FUNCTIONS = frozenset(
    {"current_date", "current_timestamp", "current_user", "user", "session_user", "current_time",
     "grouping__id", "localtimestamp"}
)  # fmt: skip


_Identifier = exp.Identifier


def resolve_name(trace: Trace, parts: Sequence[str], scope: Scope) -> ResolvedColumn | None:
    """The column that dotted parts mean, searched from the inside out."""
    at: Scope | None = scope
    keys = [part.lower() for part in parts]
    while at is not None:
        out = _in_scope(trace, keys, parts, at)
        if out is not None:
            return out
        at = at.outer
    return _not_found(trace, keys, parts, scope)


def resolve_column(trace: Trace, node: exp.Expr, scope: Scope) -> ResolvedColumn | None:
    """The column that a node names, None for a star; each spelling is looked up once a scope."""
    args = node.args
    this, table = args["this"], args.get("table")
    if type(this) is not _Identifier or args.get("db") is not None:
        return None if type(this) is exp.Star else resolve_name(trace, column_parts(node), scope)
    name: str = this.args["this"]
    qualifier: str | None = None if table is None else table.args["this"]
    found = scope.known.get((qualifier, name))
    if found is not None:
        return found
    if qualifier is None:
        found = _in_from_items(trace, name.lower(), scope)
    else:
        source = _aliased(qualifier.lower(), scope)
        found = None if source is None else source.find(name.lower())
    if found is None:
        return resolve_name(trace, column_parts(node), scope)
    scope.known[qualifier, name] = found
    return found


def _in_scope(trace: Trace, keys: list[str], parts: Sequence[str], scope: Scope) -> ResolvedColumn | None:
    # The longest qualifier first: catalog, schema, table (Spark 4.2, AttributeSeq.resolve).
    for width in range(min(3, len(keys) - 1), 0, -1):
        source = qualified(keys[:width], scope)
        if source is not None:
            out = source.find(keys[width])
            if out is not None:
                return out.field(parts[width + 1 :])
        out = _after_pipe(trace, keys[:width], keys[width], scope)
        if out is not None:
            return out.field(parts[width + 1 :])
    # A column of the FROM comes before an alias of the select list (lateral column aliases, Spark 3.4 and
    # later).
    found = _in_from_items(trace, keys[0], scope) or scope.aliases.get(keys[0])
    if found is None or (len(parts) > 1 and not found.has_fields):
        return None
    return found.field(parts[1:])


def assigned_column(parts: Sequence[str], target: FromItem) -> str:
    """The column of a target that an assignment writes: of `t.a.f` and of `a.f` the column a.

    A target's name may be that of a column: what stands behind the name comes first, as in a query.
    """
    keys = [part.lower() for part in parts]
    scope = Scope()
    scope.add(target)
    behind = [n for n in range(min(3, len(keys) - 1), 0, -1) if qualified(keys[:n], scope) is not None]
    places = [*behind, 0]
    # A column that nobody knows is behind the name, if that is there: a MERGE may add it.
    return parts[next((at for at in places if keys[at] in target.index), places[0])]


def _in_from_items(trace: Trace, key: str, scope: Scope) -> ResolvedColumn | None:
    merged = scope.using.get(key)
    if merged is not None:
        return merged
    found: FromItem | None = None
    for source in scope.sources:
        if key in source.index:
            if found is not None:
                trace.mark_partial(f"ambiguous column {key}")
                break
            found = source
    return None if found is None else found.find(key)


def _not_found(trace: Trace, keys: list[str], parts: Sequence[str], scope: Scope) -> ResolvedColumn | None:
    at: Scope | None = scope
    while at is not None:
        found = _of_unknown_columns(trace, keys, parts, at)
        if found is not None:
            return found
        at = at.outer
    if not _is_no_column(trace, keys):
        trace.mark_partial(f"unknown column {quote_name(parts)}")
    return None


def _of_unknown_columns(
    trace: Trace, keys: list[str], parts: Sequence[str], scope: Scope
) -> ResolvedColumn | None:
    """The column of a relation whose columns are not known: it must have it, since the statement names it."""
    for width in range(min(3, len(keys) - 1), 0, -1):
        source = qualified(keys[:width], scope)
        if source is not None and source.open:
            return source.add_unknown(parts[width]).field(parts[width + 1 :])
    unknown = [source for source in scope.sources if source.open]
    if not unknown:
        return None
    # With several items nothing tells which of them has the column.
    if len(scope.sources) > 1:
        trace.mark_partial(f"column {keys[0]} of a relation with unknown columns")
    return unknown[0].add_unknown(parts[0]).field(parts[1:])


def _is_no_column(trace: Trace, keys: list[str]) -> bool:
    """Whether Spark reads a name as something else: a function without parentheses, a session variable."""
    # `_metadata` is the hidden column of file sources (Spark 3.3): facts about files, no column.
    if "_metadata" in keys[:2] or (len(keys) == 1 and keys[0] in _LITERAL_FUNCTIONS):
        return True
    return keys[0] in ("session", "system") or keys[0] in trace.variables or keys[-1] in trace.variables


def _after_pipe(trace: Trace, qualifier: list[str], key: str, scope: Scope) -> ResolvedColumn | None:
    # After `|>` a table further back may name a column: `FROM t |> EXTEND a + 1 AS b |> SELECT t.a`.
    piped = [source for source in scope.sources if source.origins]
    found = [out for source in piped for out in named_before_pipe(source, qualifier) if out.key == key]
    if len(found) > 1:
        trace.mark_partial(f"ambiguous column {quote_name([*qualifier, key])}")
    return found[0] if found else None


def origin_of(parts: Sequence[str], scope: Scope) -> FromItem | None:
    """The item of a FROM that has the column of a name; None for a field, and for what is no column."""
    *qualifier, key = [part.lower() for part in parts]
    source = qualified(qualifier, scope) if qualifier else None
    if qualifier and source is None:
        origins = [pair for item in scope.sources for pair in item.origins.items()]
        return next((of for out, of in origins if out.key == key and of.is_named(qualifier)), None)
    for item in scope.sources if source is None else (source,):
        if key in item.index:
            out = item.find(key)
            return item if out is None or not item.origins else item.origins.get(out)
    return None


def named_before_pipe(source: FromItem, qualifier: Sequence[str]) -> list[ResolvedColumn]:
    """The columns of an item that came from an item of this name."""
    return [out for out, origin in source.origins.items() if origin.is_named(qualifier)]


def _aliased(key: str, scope: Scope) -> FromItem | None:
    for source in scope.sources:
        if source.alias == key:
            return source
    return None


def qualified(keys: list[str], scope: Scope) -> FromItem | None:
    """The source that a qualifier means."""
    if len(keys) == 1:
        return _aliased(keys[0], scope)
    return next((source for source in scope.sources if source.is_named(keys)), None)
