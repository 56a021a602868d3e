"""From the rows that a walk found to nodes and edges with names.

In: a `Snapshot` and what was `WalkResult`. Out: a `LineageGraph`; an edge gathers all statements between two
nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from audit.core.clock import to_datetime
from audit.graph.history import BASE, INDIRECT, TABLE
from audit.graph.lineage_graph import LineageGraph
from audit.graph.model import Direction, Edge, Node
from audit.graph.snapshot import column_labels, column_of_path

if TYPE_CHECKING:
    from datetime import datetime

    from audit.graph.history import Ints
    from audit.graph.naming import ResolvedName
    from audit.graph.snapshot import Snapshot
    from audit.graph.walk import WalkResult


def build(
    snapshot: Snapshot,
    found: ResolvedName,
    direction: Direction,
    as_of: datetime | None,
    up: WalkResult,
    down: WalkResult,
    moment: int,
) -> LineageGraph:
    """Name the nodes and gather the edges."""
    met = np.zeros(len(snapshot.row), bool)
    met[up.rows], met[down.rows] = True, True
    rows = np.flatnonzero(met)
    # Downstream counts upwards, upstream downwards, and the beginning stays 0.
    hops = {**_hops(down, 1), **{n: h for n, h in _hops(up, -1).items() if h}}
    # The first node of an object is the object as a whole (`naming.resolve`).
    start = found.nodes[:1] if found.is_object else found.nodes
    touched = np.zeros(len(snapshot.node_object), bool)
    touched[snapshot.source[rows]], touched[snapshot.target[rows]], touched[start] = True, True, True
    numbers = np.flatnonzero(touched)
    nodes = _nodes(snapshot, numbers, hops, moment)
    edges = _edges(snapshot, rows, nodes)
    first = nodes[int(start[0])]
    order = sorted(nodes.values(), key=lambda n: (n.key != first.key, abs(n.hops), n.hops, n.name))
    edges.sort(key=lambda e: (abs(e.target.hops), abs(e.source.hops), e.target.name, e.source.name))
    return LineageGraph(first.name, direction, as_of, tuple(order), tuple(edges))


def _hops(walked: WalkResult, sign: int) -> dict[int, int]:
    return dict(zip(walked.nodes.tolist(), (walked.hops * sign).tolist(), strict=True))


def _nodes(snapshot: Snapshot, numbers: Ints, hops: dict[int, int], moment: int) -> dict[int, Node]:
    history = snapshot.history
    labels = column_labels(history, numbers[numbers < snapshot.columns], moment)
    nodes = {}
    for number in numbers.tolist():
        obj = int(snapshot.node_object[number])
        is_column = number < snapshot.columns
        dropped = int(snapshot.dropped[obj])
        nodes[number] = Node(
            object_id=int(history.object_ids[obj]),
            object_name=history.object_names[snapshot.name_of[obj]],
            column_id=int(history.column_ids[number]) if is_column else None,
            column_name=labels[number] if is_column else None,
            object_domain=history.domain[obj],
            dropped=None if dropped < 0 else to_datetime(dropped),
            hops=hops[number] if number in hops else _of_object(snapshot, number, hops),
        )
    return nodes


def _of_object(snapshot: Snapshot, number: int, hops: dict[int, int]) -> int:
    """An object as a whole is as far as the nearest of its columns."""
    members, _ = snapshot.members.rows(snapshot.node_object[np.array([number])])
    return min((hops[c] for c in members.tolist() if c in hops), key=abs, default=0)


def _edges(snapshot: Snapshot, rows: Ints, nodes: dict[int, Node]) -> list[Edge]:
    if not len(rows):
        return []
    shaping = snapshot.kind[rows] == INDIRECT
    source, target, time = snapshot.source[rows], snapshot.target[rows], snapshot.time[rows]
    order = np.lexsort((snapshot.row[rows], time, shaping, source, target))
    rows, source, target, shaping = rows[order], source[order], target[order], shaping[order]
    new = (np.diff(source) != 0) | (np.diff(target) != 0) | (np.diff(shaping) != 0)
    cuts = np.concatenate([[0], np.flatnonzero(new) + 1, [len(rows)]]).tolist()
    facts = _Facts(snapshot, rows)
    return [
        facts.edge(slice(a, b), nodes[one], nodes[other])
        for a, b, one, other in zip(
            cuts[:-1], cuts[1:], source[cuts[:-1]].tolist(), target[cuts[:-1]].tolist(), strict=True
        )
    ]


class _Facts:
    """What rows say, as Python's own values: there may be a hundred thousand edges."""

    def __init__(self, snapshot: Snapshot, rows: Ints) -> None:
        history, row = snapshot.history, snapshot.row[rows]
        self._history = history
        self._row = row
        self._time = snapshot.time[rows].tolist()
        self._kind = snapshot.kind[rows].tolist()
        self._change = history.transformation[row].tolist()
        self._user = history.user[row].tolist()
        self._name = history.source_name[row].tolist()
        used, query = np.unique(history.query[row], return_inverse=True)
        # Arrow's scalars become Python's once for each statement, not once for each row.
        self._ids = [history.query_ids[code].as_py() for code in used.tolist()]
        self._query = query.tolist()
        self._dotted = [("." in name) for name in history.column_names] + [False]

    def edge(self, span: slice, source: Node, target: Node) -> Edge:
        """All rows of a span, which are between the same nodes, as one edge."""
        kinds = set(self._kind[span])
        queries = tuple(dict.fromkeys([self._ids[query] for query in self._query[span]]))
        return Edge(
            source=source,
            target=target,
            kind="table" if TABLE in kinds else "base" if kinds == {BASE} else "direct",
            is_indirect=INDIRECT in kinds,
            transformations=_named(self._change[span], self._history.transformations),
            fields=self._fields(span, source),
            count=len(queries),
            first=to_datetime(self._time[span.start]),
            last=to_datetime(self._time[span.stop - 1]),
            query_ids=queries,
            users=_named(self._user[span], self._history.users),
        )

    def _fields(self, span: slice, source: Node) -> tuple[str, ...]:
        """The paths below the source that these rows read."""
        names = {name for name in self._name[span] if self._dotted[name]}
        if not names or source.column_name is None:
            return ()
        column = int(self._history.source[self._row[span.start]])
        paths = {self._history.column_names[name] for name in names}
        whole = {source.column_name}
        return tuple(sorted(p for p in paths if column_of_path(p, whole, self._history, column) != p))


def _named(codes: list[int], texts: tuple[str, ...]) -> tuple[str, ...]:
    found = set(codes) - {-1}
    return tuple(sorted(texts[code] for code in found)) if len(found) > 1 else tuple(texts[c] for c in found)
