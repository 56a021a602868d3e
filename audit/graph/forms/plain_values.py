"""The graph as plain values: rows, dictionaries, a networkx graph.

In: a `LineageGraph`. Out: what pandas, JSON and networkx take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.graph.errors import NetworkxMissing

if TYPE_CHECKING:
    from audit.graph.model import Edge, Graph, Json, Node

EDGE_COLUMNS = (
    "source_object_name", "source_column_name", "target_object_name", "target_column_name", "kind",
    "is_indirect", "transformations", "fields", "count", "first", "last", "users", "query_ids",
    "source_object_domain", "target_object_domain", "source_object_id", "source_column_id",
    "target_object_id", "target_column_id", "source_hops", "target_hops",
)  # fmt: skip


def edge_row(edge: Edge) -> Json:
    """An edge on one line; the keys are EDGE_COLUMNS."""
    ends = {"source": edge.source, "target": edge.target}
    of_nodes = {
        f"{end}_{field}": getattr(node, field)
        for end, node in ends.items()
        for field in ("object_name", "column_name", "object_domain", "object_id", "column_id", "hops")
    }
    return of_nodes | _facts(edge) | {"first": edge.first, "last": edge.last}


def to_dict(graph: Graph) -> Json:
    """Nodes by number, edges between the numbers."""
    number = {node.key: n for n, node in enumerate(graph.nodes)}
    return {
        "name": graph.name,
        "direction": graph.direction,
        "as_of": graph.as_of and graph.as_of.isoformat(),
        "nodes": [{"node": number[node.key], **_node(node)} for node in graph.nodes],
        "edges": [
            {"source": number[edge.source.key], "target": number[edge.target.key], **_facts(edge)}
            for edge in graph.edges
        ],
    }


def to_networkx(graph: Graph) -> Any:
    """A MultiDiGraph, since two nodes may be joined by a direct and by an indirect edge."""
    try:
        import networkx as nx
    except ImportError as error:
        raise NetworkxMissing(
            f"the graph of {graph.name} cannot become one of networkx, which is not installed",
            "pip install networkx, or use to_pandas()",
        ) from error
    made = nx.MultiDiGraph(name=graph.name)
    for node in graph.nodes:
        made.add_node(node.key, name=node.name, **_node(node))
    for edge in graph.edges:
        made.add_edge(edge.source.key, edge.target.key, **_facts(edge))
    return made


def _node(node: Node) -> Json:
    return {
        "object_id": node.object_id,
        "object_name": node.object_name,
        "object_domain": node.object_domain,
        "column_id": node.column_id,
        "column_name": node.column_name,
        "dropped": node.dropped and node.dropped.isoformat(),
        "hops": node.hops,
        "failed_checks": list(node.failed_checks),
    }


def _facts(edge: Edge) -> Json:
    return {
        "kind": edge.kind,
        "is_indirect": edge.is_indirect,
        "transformations": list(edge.transformations),
        "fields": list(edge.fields),
        "count": edge.count,
        "first": edge.first.isoformat(),
        "last": edge.last.isoformat(),
        "users": list(edge.users),
        "query_ids": list(edge.query_ids),
    }
