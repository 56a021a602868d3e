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
from lineage.sql.syntax.pipe_syntax import PIPED

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
    # A column of the FROM comes before an alias of the select list (lateral column aliases, Spark 3.4 and
    # later).
    found = _in_from_items(trace, keys[0], scope) or scope.aliases.get(keys[0])
    return None if found is None else found.field(parts[1:])


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
        found = _after_pipe(trace, keys, parts, at) or _of_unknown_columns(trace, keys, parts, at)
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


def _after_pipe(trace: Trace, keys: list[str], parts: Sequence[str], scope: Scope) -> ResolvedColumn | None:
    # After `|>` a table further back may name a column: `FROM t |> EXTEND a + 1 AS b |> SELECT t.a`.
    for source in scope.sources:
        for width in range(min(3, len(keys) - 1), 0, -1) if source.alias == PIPED else ():
            found = [out for out in source.columns() if out.key == keys[width]]
            if found:
                if len(found) > 1:
                    trace.mark_partial(f"{quote_name(parts)} after |>")
                return found[0].field(parts[width + 1 :])
    return None


def _aliased(key: str, scope: Scope) -> FromItem | None:
    for source in scope.sources:
        if source.alias == key:
            return source
    return None


def qualified(keys: list[str], scope: Scope) -> FromItem | None:
    """The source that a qualifier means."""
    if len(keys) == 1:
        return _aliased(keys[0], scope)
    wanted = tuple(keys)
    for source in scope.sources:
        if source.parts and source.parts[-len(keys) :] == wanted:
            return source
    return None
