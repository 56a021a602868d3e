"""A graph of columns as one of tables.

In: a `LineageGraph`. Out: another; its nodes are objects as a whole, its edges gather those of columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from audit.graph.model import Edge, Graph, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

G = TypeVar("G", bound=Graph)


def by_table(graph: G) -> G:
    """The graph of objects; what flows between columns of one object is left out."""
    whole: dict[int, Node] = {}
    for node in graph.nodes:
        one = replace(node, column_id=None, column_name=None)
        known = whole.setdefault(node.object_id, one)
        nearest = one if abs(one.hops) < abs(known.hops) else known
        failed = dict.fromkeys((*known.failed_checks, *one.failed_checks))
        whole[node.object_id] = replace(nearest, failed_checks=tuple(failed))
    gathered: dict[tuple[int, int, bool], list[Edge]] = {}
    for edge in graph.edges:
        key = edge.source.object_id, edge.target.object_id, edge.is_indirect
        if key[0] != key[1]:
            gathered.setdefault(key, []).append(edge)
    edges = tuple(
        _joined(whole[source], whole[target], found) for (source, target, _), found in gathered.items()
    )
    first = next(iter(whole.values()))
    return replace(graph, name=first.object_name, nodes=tuple(whole.values()), edges=edges)


def _joined(source: Node, target: Node, edges: Sequence[Edge]) -> Edge:
    when = {query: edge.first for edge in edges for query in edge.query_ids}
    kinds = {edge.kind for edge in edges}
    return Edge(
        source=source,
        target=target,
        kind=kinds.pop() if len(kinds) == 1 else "direct",
        is_indirect=edges[0].is_indirect,
        transformations=tuple(sorted({change for edge in edges for change in edge.transformations})),
        fields=(),
        count=len(when),
        first=min(edge.first for edge in edges),
        last=max(edge.last for edge in edges),
        query_ids=tuple(sorted(when)),  # UUIDv7, which sort by time
        users=tuple(sorted({user for edge in edges for user in edge.users})),
    )
