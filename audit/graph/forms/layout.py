"""Where boxes go: layers from left to right, few crossings, short edges, nothing on top of anything.

In: boxes with heights, edges between rows of boxes. Out: each box's place, and the points that an edge over
several layers goes through. The way of Sugiyama: break cycles, layers by the longest way, stand-ins for long
edges, order by barycentres, heights by least squares.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field

GAP_X, GAP_Y, LANE = 90.0, 22.0, 10.0
_SWEEPS, _ALIGNMENTS = 24, 16


@dataclass(slots=True)
class Box:
    """A box, or (`is_lane`) the stand-in of an edge that passes its layer; `right`: where its layer ends."""

    width: float
    height: float
    layer: int = 0
    x: float = 0.0
    y: float = 0.0
    right: float = 0.0
    is_lane: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from a row of one box to a row of another; rows by their distance from the box's top."""

    source: int
    target: int
    source_y: float
    target_y: float


@dataclass(slots=True)
class GraphLayout:
    """Boxes in their places; `lanes` has for two boxes the stand-ins between them, from left to right."""

    boxes: list[Box]
    lanes: dict[tuple[int, int], list[int]]
    layers: list[list[int]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def arrange(boxes: list[Box], links: list[Link]) -> GraphLayout:
    """Give every box its place."""
    pairs = sorted({(k.source, k.target) for k in links if k.source != k.target})
    forward = _acyclic(len(boxes), pairs)
    _layer(boxes, forward)
    layout = GraphLayout(boxes, {})
    segments = _with_lanes(layout, forward, links)
    layout.layers = _layers(boxes)
    _order(layout, segments)
    _place(layout, segments)
    return layout


def _acyclic(number: int, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs, those that close a cycle turned round."""
    after: list[list[int]] = [[] for _ in range(number)]
    for source, target in pairs:
        after[source].append(target)
    entering = {target for _, target in pairs}
    state = [0] * number
    back: set[tuple[int, int]] = set()
    # First the boxes that nothing enters: so the only edges turned round are those that close a cycle.
    for root in sorted(range(number), key=lambda n: n in entering):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(after[root]))]
        while stack:
            node, targets = stack[-1]
            target = next(targets, -1)
            if target < 0:
                state[node] = 2
                stack.pop()
                continue
            # 1: on the path to here, so that the edge closes a cycle. 2: done.
            if state[target] == 1:
                back.add((node, target))
            elif not state[target]:
                state[target] = 1
                stack.append((target, iter(after[target])))
    return sorted({(b, a) if (a, b) in back else (a, b) for a, b in pairs})


def _layer(boxes: list[Box], pairs: list[tuple[int, int]]) -> None:
    """The longest way from the left; then each box as far right as what it feeds lets it."""
    after: list[list[int]] = [[] for _ in boxes]
    waits = [0] * len(boxes)
    for source, target in pairs:
        after[source].append(target)
        waits[target] += 1
    ready = [n for n, count in enumerate(waits) if not count]
    for node in ready:  # grows while it is walked
        for target in after[node]:
            boxes[target].layer = max(boxes[target].layer, boxes[node].layer + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    for node in reversed(ready):
        if after[node]:
            boxes[node].layer = min(boxes[target].layer for target in after[node]) - 1


def _with_lanes(layout: GraphLayout, pairs: list[tuple[int, int]], links: list[Link]) -> list[Link]:
    """Links between neighbouring layers only; stand-ins are made for those that are longer."""
    boxes = layout.boxes
    for source, target in pairs:
        lanes = []
        for layer in range(boxes[source].layer + 1, boxes[target].layer):
            lanes.append(len(boxes))
            boxes.append(Box(0.0, LANE, layer, is_lane=True))
        layout.lanes[source, target] = lanes
    segments = []
    for link in links:
        if link.source == link.target:
            continue
        turned = (link.source, link.target) not in layout.lanes
        ends = [(link.source, link.source_y), (link.target, link.target_y)]
        (first, y), (last, other_y) = reversed(ends) if turned else ends
        for lane in layout.lanes[first, last]:
            segments.append(Link(first, lane, y, LANE / 2))
            first, y = lane, LANE / 2
        segments.append(Link(first, last, y, other_y))
    return segments


def _layers(boxes: list[Box]) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(1 + max((box.layer for box in boxes), default=0))]
    for n, box in enumerate(boxes):
        layers[box.layer].append(n)
    return layers


def _order(layout: GraphLayout, segments: list[Link]) -> None:
    """Sweeps to and fro; the order with the fewest crossings stays."""
    left, right = _neighbours(layout, segments)
    best, fewest = [list(layer) for layer in layout.layers], _crossings(layout.layers, right)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        numbers = range(len(layout.layers))
        for at in numbers if sweep % 2 == 0 else reversed(numbers):
            _sort(layout.layers, at, left if sweep % 2 == 0 else right)
        crossings = _crossings(layout.layers, right)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layout.layers], crossings
    layout.layers = best


Neighbours = list[list[tuple[int, float, float]]]


def _neighbours(layout: GraphLayout, segments: list[Link]) -> tuple[Neighbours, Neighbours]:
    """For each box the boxes to its left and right: (box, row there, row here)."""
    left: Neighbours = [[] for _ in layout.boxes]
    right: Neighbours = [[] for _ in layout.boxes]
    for link in segments:
        left[link.target].append((link.source, link.source_y, link.target_y))
        right[link.source].append((link.target, link.target_y, link.source_y))
    return left, right


def _sort(layers: list[list[int]], at: int, neighbours: Neighbours) -> None:
    places = {n: float(place) for layer in layers for place, n in enumerate(layer)}

    def weight(n: int) -> float:
        # Below one place: the row inside the box orders the edges to one box.
        found = [places[other] + min(y, 999.0) / 1000 for other, y, _ in neighbours[n]]
        return sum(found) / len(found) if found else places[n]

    layers[at].sort(key=weight)


def _crossings(layers: list[list[int]], right: Neighbours) -> int:
    place = {n: at for layer in layers for at, n in enumerate(layer)}
    total = 0
    for layer in layers:
        seen: list[tuple[int, float]] = []
        for n in layer:
            # Two edges cross if their ends are in the other order than their beginnings.
            ends = sorted((y, place[other], there) for other, there, y in right[n])
            for _, other, there in ends:
                total += len(seen) - bisect_right(seen, (other, there))
                insort(seen, (other, there))
    return total


def _place(layout: GraphLayout, segments: list[Link]) -> None:
    boxes, (left, right) = layout.boxes, _neighbours(layout, segments)
    x = 0.0
    for layer in layout.layers:
        widest = max((boxes[n].width for n in layer), default=0.0)
        y = 0.0
        for n in layer:
            boxes[n].x, boxes[n].y = x, y
            boxes[n].right = x + widest
            boxes[n].width = widest if boxes[n].is_lane else boxes[n].width
            y += boxes[n].height + GAP_Y
        x += widest + GAP_X
    numbers = range(len(layout.layers))
    for turn in range(_ALIGNMENTS):
        for at in numbers if turn % 2 == 0 else reversed(numbers):
            _align(boxes, layout.layers[at], left if turn % 2 == 0 else right)
    for at in numbers:
        _align(boxes, layout.layers[at], [a + b for a, b in zip(left, right, strict=True)])
    top = min((box.y for box in boxes), default=0.0)
    for box in boxes:
        box.y -= top
    layout.width = max((box.x + box.width for box in boxes), default=0.0)
    layout.height = max((box.y + box.height for box in boxes), default=0.0)


def _align(boxes: list[Box], layer: list[int], neighbours: Neighbours) -> None:
    """Move a layer's boxes to where their edges are level, as near as their order and sizes let them."""
    offset, blocks = 0.0, list[tuple[float, float, list[int]]]()  # (sum of wishes, weight, boxes)
    offsets = {}
    for n in layer:
        offsets[n] = offset
        offset += boxes[n].height + (GAP_Y if not boxes[n].is_lane else LANE)
        wishes = [boxes[other].y + there - here for other, there, here in neighbours[n]]
        # A box without edges gives way to the others.
        weight = float(len(wishes)) or 0.1
        wish = (sum(wishes) / len(wishes) if wishes else boxes[n].y) - offsets[n]
        blocks.append((wish * weight, weight, [n]))
        # Pool adjacent violators: boxes that would overlap become one block at the mean of their wishes.
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    for total, weight, members in blocks:
        for n in members:
            boxes[n].y = total / weight + offsets[n]
