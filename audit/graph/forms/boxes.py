"""What the picture shows of each object: a box with a heading and a row for each column.

In: a `LineageGraph`. Out: `Card`s with rows in an order that keeps edges apart, and a layout of them. A graph
of more objects than an eye takes in is shown by its objects alone; the nearest ones of it, if need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.graph.forms.layout import Box, GraphLayout, Link, arrange
from audit.graph.forms.tables import by_table
from audit.graph.forms.texts import cut, width
from lineage.names import quote_name, split_recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from audit.graph.model import Edge, Graph, Node

LETTER, ROW, HEAD, PAD = 7.25, 20.0, 28.0, 10.0  # pixels, at 12 pixels a fixed-width letter
LONGEST = 36  # letters of a name
_SHORT = 2  # parts of a name without its catalog
ROWS = 30  # of a box; what is more stands in one row
DETAILED, SHOWN = 150, 600  # objects: with their columns, at all


@dataclass(slots=True)
class Card:
    """An object in the picture; `rows` has a node for each column, `hidden` those beyond ROWS."""

    node: Node
    rows: list[Node]
    hidden: list[Node]

    @property
    def title(self) -> str:
        """Schema and name; the catalog stands in the tooltip."""
        name = self.node.object_name
        # A path is one word, whatever dots are in it.
        parts = () if "/" in name else split_recorded(name)
        return cut(quote_name(parts[1:]) if len(parts) > _SHORT else name, LONGEST + 4)

    def box(self) -> Box:
        """Its size."""
        labels = [width(self.title) + 2, *(width(cut(n.column_name or "", LONGEST)) for n in self.rows), 12]
        # Room for the mark of a failed check at the right.
        if any(node.failed_checks for node in (self.node, *self.rows, *self.hidden)):
            labels = [label + 2 for label in labels]
        lines = len(self.rows) + bool(self.hidden)
        return Box(max(labels) * LETTER + 2 * PAD, HEAD + lines * ROW + (6 if lines else 0))

    def row_y(self, node: Node) -> float:
        """The middle of a node's row, from the top."""
        if node.column_id is None:
            return HEAD / 2
        keys = [row.key for row in self.rows]
        at = keys.index(node.key) if node.key in keys else len(keys)
        return HEAD + 2 + at * ROW + ROW / 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """A laid out graph: `cards` by number, `ends` has the numbers of each edge's cards."""

    graph: Graph
    cards: list[Card]
    ends: list[tuple[int, int]]
    layout: GraphLayout
    left_out: int


def draw(graph: Graph) -> Drawing:
    """Lay out a graph."""
    objects = {node.object_id for node in graph.nodes}
    if len(objects) > DETAILED:
        graph = by_table(graph)
    nearest = {node.object_id for node in sorted(graph.nodes, key=lambda n: abs(n.hops))[: SHOWN * ROWS]}
    kept = set(list(nearest)[:SHOWN]) if len(nearest) > SHOWN else nearest
    if len(nearest) > SHOWN:
        kept = {node.object_id for node in sorted(graph.nodes, key=lambda n: abs(n.hops))[:SHOWN]}
    cards, numbers = _cards([n for n in graph.nodes if n.object_id in kept])
    edges = [e for e in graph.edges if {e.source.object_id, e.target.object_id} <= kept]
    ends = [(numbers[e.source.object_id], numbers[e.target.object_id]) for e in edges]
    layout = _arranged(cards, edges, ends)
    # The order of the rows moves the ends of the edges, and these the boxes: so both are done again.
    for _ in range(2):
        _sort_rows(cards, edges, ends, layout)
        layout = _arranged(cards, edges, ends)
    shown = type(graph)(graph.name, graph.direction, graph.as_of, graph.nodes, tuple(edges))
    return Drawing(shown, cards, ends, layout, len(objects) - len(cards))


def _cards(nodes: Sequence[Node]) -> tuple[list[Card], dict[int, int]]:
    cards: list[Card] = []
    numbers: dict[int, int] = {}
    for node in nodes:
        if node.object_id not in numbers:
            numbers[node.object_id] = len(cards)
            cards.append(Card(node, [], []))
        if node.column_id is not None:
            card = cards[numbers[node.object_id]]
            (card.rows if len(card.rows) < ROWS else card.hidden).append(node)
    for card in cards:
        card.rows.sort(key=lambda n: n.column_name or "")
    return cards, numbers


def _arranged(cards: list[Card], edges: Sequence[Edge], ends: list[tuple[int, int]]) -> GraphLayout:
    rows = [{n.key: card.row_y(n) for n in (*card.rows, *card.hidden)} for card in cards]
    links = {
        Link(a, b, rows[a].get(e.source.key, HEAD / 2), rows[b].get(e.target.key, HEAD / 2))
        for e, (a, b) in zip(edges, ends, strict=True)
    }
    ordered = sorted(links, key=lambda k: (k.source, k.target, k.source_y, k.target_y))
    return arrange([card.box() for card in cards], ordered)


def _sort_rows(
    cards: list[Card], edges: Sequence[Edge], ends: list[tuple[int, int]], layout: GraphLayout
) -> None:
    """Each row as high as what it is joined to."""
    wishes: dict[tuple[int, int | None], list[float]] = {}
    for edge, (a, b) in zip(edges, ends, strict=True):
        if a != b:
            wishes.setdefault(edge.source.key, []).append(layout.boxes[b].y + cards[b].row_y(edge.target))
            wishes.setdefault(edge.target.key, []).append(layout.boxes[a].y + cards[a].row_y(edge.source))
    for n, card in enumerate(cards):
        own = {node.key: layout.boxes[n].y + card.row_y(node) for node in card.rows}

        # A default, since a closure over a variable of a loop sees its last value.
        def height(node: Node, own: dict[tuple[int, int | None], float] = own) -> float:
            found = wishes.get(node.key)
            return sum(found) / len(found) if found else own[node.key]

        card.rows.sort(key=height)
