"""The answer to a question about lineage, with the forms in which people and programs want it.

In: a graph. Out: text, pictures, rows; each form is made by a module of its own when it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.graph.model import Edge, Graph, Json, Node

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class LineageGraph(Graph):
    """Where data comes from and where it has gone.

    Attributes:
        name: what was asked for, by its full name.
        direction: upstream, downstream or both.
        as_of: the moment (UTC) that the answer is for; None: now.
        nodes: nearest first; what was asked for leads.
        edges: in the order of their nodes.
    """

    def by_table(self) -> LineageGraph:
        """The same graph of objects as a whole, its edges those of all their columns together."""
        from audit.graph.forms.tables import by_table

        return by_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row for each edge."""
        import pandas as pd

        from audit.graph.forms.plain_values import EDGE_COLUMNS, edge_row

        return pd.DataFrame([edge_row(edge) for edge in self.edges], columns=list(EDGE_COLUMNS))

    def to_networkx(self) -> Any:
        """A `networkx.MultiDiGraph`; its nodes are the nodes' keys, with what is known of them as attributes.

        Raises:
            NetworkxMissing: networkx is not installed.
        """
        from audit.graph.forms.plain_values import to_networkx

        return to_networkx(self)

    def to_dict(self) -> Json:
        """Plain values, ready for JSON; times are ISO 8601."""
        from audit.graph.forms.plain_values import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The same as JSON text."""
        import orjson

        return orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2).decode()

    def to_mermaid(self) -> str:
        """A Mermaid flowchart, as Markdown pages show it."""
        from audit.graph.forms.mermaid import to_mermaid

        return to_mermaid(self)

    def to_svg(self, heading: str = "") -> str:
        """A picture: tables as boxes with their columns, data flows from left to right; no script.

        Args:
            heading: of a graph that is about no single object, of which none is marked then.
        """
        from audit.graph.forms.svg import to_svg

        return to_svg(self, heading)

    # Jupyter asks an object for this method and shows what it gives.
    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-height:80vh">{self.to_svg()}</div>'

    def __str__(self) -> str:
        from audit.graph.forms.tree import to_tree

        return to_tree(self)


@dataclass(frozen=True, slots=True)
class LineageDiff:
    """What one graph has and another has not.

    A node or edge that is in both is no difference, whatever else is known of it by now.
    """

    appeared_nodes: tuple[Node, ...]
    vanished_nodes: tuple[Node, ...]
    appeared_edges: tuple[Edge, ...]
    vanished_edges: tuple[Edge, ...]

    def __bool__(self) -> bool:
        return bool(self.appeared_nodes or self.vanished_nodes or self.appeared_edges or self.vanished_edges)

    def __str__(self) -> str:
        def line(sign: str, edge: Edge) -> str:
            return f"{sign} {edge.source.name} -> {edge.target.name}{' (indirect)' * edge.is_indirect}"

        lines = [
            *(line("+", edge) for edge in self.appeared_edges),
            *(line("-", edge) for edge in self.vanished_edges),
            *(f"+ {node.name}" for node in _alone(self.appeared_nodes, self.appeared_edges)),
            *(f"- {node.name}" for node in _alone(self.vanished_nodes, self.vanished_edges)),
        ]
        return "\n".join(lines) or "no difference"


def diff(then: LineageGraph, now: LineageGraph) -> LineageDiff:
    """What appeared and what vanished between two graphs; a rename is neither."""
    old_nodes, new_nodes = {n.key: n for n in then.nodes}, {n.key: n for n in now.nodes}
    old_edges, new_edges = {e.key: e for e in then.edges}, {e.key: e for e in now.edges}
    return LineageDiff(
        tuple(node for key, node in new_nodes.items() if key not in old_nodes),
        tuple(node for key, node in old_nodes.items() if key not in new_nodes),
        tuple(edge for key, edge in new_edges.items() if key not in old_edges),
        tuple(edge for key, edge in old_edges.items() if key not in new_edges),
    )


def _alone(nodes: tuple[Node, ...], edges: tuple[Edge, ...]) -> list[Node]:
    linked = {key for edge in edges for key in (edge.source.key, edge.target.key)}
    return [node for node in nodes if node.key not in linked]
