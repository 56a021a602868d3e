"""Marks the nodes of a graph whose data is not as it was expected.

In: a graph, the names of failed expectations by object and column. Out: the graph, each of its nodes with the
names of those that are about it: of its column, of the object as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from audit.graph.model import Graph, Node

G = TypeVar("G", bound=Graph)
FailedChecks = Mapping[tuple[int, str | None], tuple[str, ...]]
"""The names of expectations by object id and column, None for those of a whole object."""


def with_failed_checks(graph: G, failed: FailedChecks) -> G:
    """The same graph, with what fails on its nodes.

    >>> from audit.graph.model import Node
    >>> graph = Graph("s.t", "upstream", None, (Node(1, "s.t", 2, "A"), Node(1, "s.t", 3, "b")), ())
    >>> [node.failed_checks for node in with_failed_checks(graph, {(1, "a"): ("not null",)}).nodes]
    [('not null',), ()]
    """
    if not failed:
        return graph
    # Spark compares names of columns without regard to case.
    by_column = {(of, column and column.casefold()): names for (of, column), names in failed.items()}
    of_objects: dict[int, list[str]] = {}
    for (of, _), names in by_column.items():
        of_objects.setdefault(of, []).extend(names)
    nodes = {node.key: _marked(node, by_column, of_objects) for node in graph.nodes}
    edges = [
        replace(edge, source=nodes[edge.source.key], target=nodes[edge.target.key]) for edge in graph.edges
    ]
    return replace(graph, nodes=tuple(nodes.values()), edges=tuple(edges))


def _marked(node: Node, by_column: FailedChecks, of_objects: Mapping[int, list[str]]) -> Node:
    if node.column_name is None:
        names = tuple(of_objects.get(node.object_id, ()))
    else:
        keys = ((node.object_id, node.column_name.casefold()), (node.object_id, None))
        names = tuple(name for key in keys for name in by_column.get(key, ()))
    return replace(node, failed_checks=tuple(dict.fromkeys(names))) if names else node
