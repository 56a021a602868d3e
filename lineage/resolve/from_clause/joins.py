"""JOIN … USING and NATURAL JOIN: the columns that two sides share.

In: the scope with both sides in it. Out: the keys merged in the scope, as Spark's analyzer does
(commonNaturalJoinProcessing, Spark 4.2).
"""

from __future__ import annotations

from lineage.resolve.context import Trace
from lineage.resolve.scope import FromItem, OwnedColumns, ResolvedColumn, Scope, UsingKeys
from lineage.transformation import COMPUTED


def natural_keys(trace: Trace, left: OwnedColumns, scope: Scope) -> list[str]:
    """The keys of a NATURAL JOIN: the names that both sides have, in the order of the left one."""
    if any(item.open for item in scope.sources):
        trace.mark_partial("NATURAL JOIN over unknown columns")
    right = [column.key for _, column in scope.last()]
    names = set(right)
    shared = [column.key for _, column in left if column.key in names]
    keys = list(dict.fromkeys(shared))
    if len(keys) < len(shared) and len(names) < len(right):
        trace.mark_partial("NATURAL JOIN of columns that share a name on both sides")
    return keys


def merge_using_keys(
    trace: Trace, keys: list[str], left: OwnedColumns, before: int, side: str, scope: Scope
) -> None:
    """Make one column of each key of USING.

    Args:
        trace: the analysis.
        keys: the keys in lower case.
        left: the columns before the join.
        before: how many items the scope had before the join.
        side: LEFT, RIGHT, FULL or empty: which side's value a key has.
        scope: with both sides in it.
    """
    merges = UsingKeys(side=side)
    right = scope.last()
    sources, added = scope.sources[:before], scope.sources[before:]
    for key in dict.fromkeys(keys):
        one, two = _key_column(trace, key, left, sources), _key_column(trace, key, right, added)
        scope.indirect.add_indirect(one)
        scope.indirect.add_indirect(two)
        merged = one
        if side == "RIGHT":
            merged = two
        elif side == "FULL":
            merged = ResolvedColumn(one.name)
            merged.merge(one)
            merged.merge(two)
            merged.transformation |= COMPUTED  # coalesce of both
        merges[key] = merged
    scope.merge_keys(merges)


def _key_column(trace: Trace, key: str, outs: OwnedColumns, sources: list[FromItem]) -> ResolvedColumn:
    for _, out in outs:
        if out.key == key:
            return out
    for source in sources:
        if source.open:
            return source.add_unknown(key)
    trace.mark_partial(f"unknown column {key} in USING")
    return ResolvedColumn(key)
