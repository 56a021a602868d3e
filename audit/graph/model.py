"""The answer: nodes, edges, and the forms in which people and programs want them.

In: nothing. Out: `LineageGraph`, a frozen value; each form is made by a module of its own when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

Direction = Literal["upstream", "downstream", "both"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A column, or an object as a whole.

    Attributes:
        object_id: 63-bit; of an object that was made anew under its name, the newest.
        object_name: `catalog.schema.object`, its newest name as of the graph's moment.
        column_id: None for an object as a whole.
        column_name: None for an object as a whole.
        object_domain: `Table`, `VIEW`, `STAGE`, …
        dropped: when the object was dropped (UTC), None while it is there.
        hops: from where the graph begins, the shortest way; upstream is negative.
    """

    object_id: int
    object_name: str
    column_id: int | None = None
    column_name: str | None = None
    object_domain: str = "Table"
    dropped: datetime | None = None
    hops: int = 0

    @property
    def key(self) -> tuple[int, int | None]:
        """What makes it the same node in two graphs."""
        return self.object_id, self.column_id

    @property
    def name(self) -> str:
        """The object's name, with the column's."""
        if self.column_name is None:
            return self.object_name
        quoted = self.column_name.replace("`", "``")
        column = f"`{quoted}`" if {"`", "."} & set(quoted) else quoted
        return f"{self.object_name}.{column}"


@dataclass(frozen=True, slots=True)
class Edge:
    """What statements have made of one node for another, all of them together.

    Attributes:
        source: where the value comes from.
        target: where it went; an object as a whole where all of its columns are meant.
        kind: `direct`; `base` where a view between is not on record; `table` where a statement's columns
            are not known.
        is_indirect: the source filters, joins or sorts, its values are not in the target.
        transformations: IDENTITY, TRANSFORMATION, AGGREGATION or INDIRECT, in the order of the alphabet.
        fields: the fields of a struct that were read, as `column.field`.
        count: statements.
        first: start of the first statement (UTC).
        last: start of the last one (UTC).
        query_ids: the statements, in the order of time.
        users: who ran them, in the order of the alphabet.
    """

    source: Node
    target: Node
    kind: str
    is_indirect: bool
    transformations: tuple[str, ...]
    fields: tuple[str, ...]
    count: int
    first: datetime
    last: datetime
    query_ids: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def key(self) -> tuple[tuple[int, int | None], tuple[int, int | None], bool]:
        """What makes it the same edge in two graphs."""
        return self.source.key, self.target.key, self.is_indirect


@dataclass(frozen=True, slots=True)
class LineageGraph:
    """Where data comes from and where it has gone.

    Attributes:
        name: what was asked for, by its full name.
        direction: upstream, downstream or both.
        as_of: the moment (UTC) that the answer is for; None: now.
        nodes: nearest first; what was asked for leads.
        edges: in the order of their nodes.
    """

    name: str
    direction: Direction
    as_of: datetime | None
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def by_table(self) -> LineageGraph:
        """The same graph of objects as a whole, its edges those of all their columns together."""
        from audit.graph.tables import by_table

        return by_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row for each edge."""
        import pandas as pd

        from audit.graph.forms import EDGE_COLUMNS, edge_row

        return pd.DataFrame([edge_row(edge) for edge in self.edges], columns=list(EDGE_COLUMNS))

    def to_networkx(self) -> Any:
        """A `networkx.MultiDiGraph`; its nodes are the nodes' keys, with what is known of them as attributes.

        Raises:
            NetworkxMissing: networkx is not installed.
        """
        from audit.graph.forms import to_networkx

        return to_networkx(self)

    def to_dict(self) -> Json:
        """Plain values, ready for JSON; times are ISO 8601."""
        from audit.graph.forms import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """The same as JSON text."""
        import orjson

        return orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2).decode()

    def to_mermaid(self) -> str:
        """A Mermaid flowchart, as Markdown pages show it."""
        from audit.graph.mermaid import to_mermaid

        return to_mermaid(self)

    def to_svg(self) -> str:
        """A picture: tables as boxes with their columns, data flows from left to right; no script."""
        from audit.graph.svg import to_svg

        return to_svg(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-height:80vh">{self.to_svg()}</div>'

    def __str__(self) -> str:
        from audit.graph.tree import to_tree

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
