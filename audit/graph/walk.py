"""Up and down the edges, level by level, over arrays.

In: a `Snapshot`, the nodes to begin with. Out: `WalkResult`: the rows on the way and how many hops each node
is from the beginning. What a statement read is followed into the generation that its source had when it was
read: data that a replaced or dropped table passed on is found, what replaced it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from audit.graph.history import BASE, DIRECT, INDIRECT, TABLE
from audit.graph.snapshot import FOREVER, Index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audit.graph.history import Ints
    from audit.graph.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """Which rows may be walked.

    Attributes:
        include_indirect: rows that filter, join or sort as well.
        include_tables: rows of which only the tables are known, as well.
        include_history: those whose data is gone by now as well.
        depth: hops at most; None: to the end.
    """

    include_indirect: bool = False
    include_tables: bool = False
    include_history: bool = False
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Positions of rows in the snapshot, nodes, and for each node its hops from the beginning."""

    rows: Ints
    nodes: Ints
    hops: Ints


def upstream(snapshot: Snapshot, start: Ints, options: WalkOptions) -> WalkResult:
    """Where the data in the nodes comes from."""
    # What is in the nodes now, as of the snapshot.
    times = np.full(len(start), FOREVER)
    return _backward(snapshot, start, times, options, np.ones(len(snapshot.row), bool))


def downstream(snapshot: Snapshot, start: Ints, options: WalkOptions) -> WalkResult:
    """Where the data of the nodes has gone, as far as it is there still.

    Three passes: everything that may hang on the nodes; of that, backward, what is in force; and forward
    again over those legs, in the order of time.
    """
    endless = WalkOptions(options.include_indirect, options.include_tables, options.include_history)
    reach = _reachable(snapshot, start, endless, np.ones(len(snapshot.row), bool))
    allowed = np.zeros(len(snapshot.row), bool)
    allowed[reach.rows] = True
    allowed[_siblings(snapshot, reach.rows)] = True
    legs = _TimedRows()
    # Forward alone cannot tell what is still in force: that depends on what later overwrote the targets.
    force = _backward(snapshot, reach.nodes, np.full(len(reach.nodes), FOREVER), endless, allowed, legs)
    if options.include_history:
        allowed[:] = False
        allowed[force.rows] = True
        return _reachable(snapshot, start, options, allowed)
    return _forward(snapshot, start, options, *legs.all())


def _siblings(snapshot: Snapshot, rows: Ints) -> Ints:
    """Beside base rows the direct ones from views: by them is known whether the base rows count."""
    based = np.unique(snapshot.target[rows[snapshot.kind[rows] == BASE]])
    found, _ = snapshot.by_target.rows(based)
    of_view = (snapshot.kind[found] == DIRECT) & snapshot.is_view_node[snapshot.source[found]]
    return np.asarray(found[of_view])


def _rows_of(
    snapshot: Snapshot, index: Index, nodes: Ints, options: WalkOptions, allowed: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """The rows at one end of nodes that may be walked, those of base sources among them."""
    rows, owner = index.rows(nodes)
    kind = snapshot.kind[rows]
    keep = (
        allowed[rows]
        & ((kind != INDIRECT) | options.include_indirect)
        & ((kind != TABLE) | options.include_tables)
    )
    return rows[keep], owner[keep]


def _widened(snapshot: Snapshot, nodes: Ints, options: WalkOptions) -> tuple[Ints, Ints]:
    """The nodes, with the columns of whole objects and the whole objects of columns; and whose each is."""
    columns, of = snapshot.columns_of(nodes)
    found, owner = [nodes, columns], [np.arange(len(nodes)), of]
    # Filters, and statements whose columns are not known, have the object as a whole at their end.
    if options.include_indirect or options.include_tables:
        at = np.flatnonzero(nodes < snapshot.columns)
        found.append(snapshot.whole(nodes[at]))
        owner.append(at)
    return np.concatenate(found), np.concatenate(owner)


def _backward(
    snapshot: Snapshot,
    start: Ints,
    times: Ints,
    options: WalkOptions,
    allowed: NDArray[np.bool_],
    legs: _TimedRows | None = None,
) -> WalkResult:
    seen = np.zeros(len(snapshot.row), bool)
    expanded = _Expanded(len(snapshot.node_object), snapshot.is_view_node)
    levels = _Levels(start)
    nodes = start
    while len(nodes) and levels.within(options.depth):
        wide, owner = _widened(snapshot, nodes, options)
        wide, times = _latest(snapshot, wide, times[owner])
        nodes, times, generations = expanded.not_yet(wide, times, snapshot.generation(wide, times))
        rows, at = _rows_of(snapshot, snapshot.by_target, nodes, options, allowed)
        if not options.include_history:
            keep = snapshot.time[rows] <= times[at]
            rows, at = rows[keep], at[keep]
            # Rows of an earlier generation of the object were overwritten or dropped.
            keep = snapshot.generation(snapshot.target[rows], snapshot.time[rows]) == generations[at]
            rows, at = rows[keep], at[keep]
        into_view = snapshot.is_view_node[snapshot.target[rows]]
        # A table took its data when the statement ran; a view reads its sources when it is read itself.
        read = np.where(into_view, times[at], snapshot.time[rows])
        # A view's definition serves everybody who reads the view, each at a time of his own.
        keep = _direct_or_undefined(snapshot, rows, read) & (~seen[rows] | into_view)
        rows, read = rows[keep], read[keep]
        seen[rows] = True
        if legs is not None:
            legs.add(rows, read)
        nodes, times = _latest(snapshot, snapshot.source[rows], read)
        levels.add(nodes)
    return levels.result(np.flatnonzero(seen))


def _direct_or_undefined(snapshot: Snapshot, rows: Ints, read: Ints) -> NDArray[np.bool_]:
    """Rows that name their source; base rows only where a view that the statement names has no text."""
    kind = snapshot.kind[rows]
    keep = np.asarray(kind != BASE)
    if keep.all():
        return keep
    source = snapshot.node_object[snapshot.source[rows]]
    opaque = (
        keep
        & (kind == DIRECT)
        & snapshot.is_view_node[snapshot.source[rows]]
        & ~snapshot.defined.began(source, read)
    )
    many = len(snapshot.node_object)
    # One integer for statement and target.
    key = snapshot.history.query[snapshot.row[rows]] * many + snapshot.target[rows]
    return np.asarray(keep | np.isin(key, key[opaque]))


def _latest(snapshot: Snapshot, nodes: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Each node once for each of its generations, at the latest time; a view once for each time."""
    generation = np.where(snapshot.is_view_node[nodes], times, snapshot.generation(nodes, times))
    order = np.lexsort((times, generation, nodes))
    nodes, times, generation = nodes[order], times[order], generation[order]
    last = np.ones(len(nodes), bool)
    # Of several reads within one generation the latest sees all that the others saw.
    last[:-1] = (nodes[1:] != nodes[:-1]) | (generation[1:] != generation[:-1])
    return nodes[last], times[last]


def _reachable(
    snapshot: Snapshot, start: Ints, options: WalkOptions, allowed: NDArray[np.bool_]
) -> WalkResult:
    """Everything that hangs on nodes by some row, whenever that was."""
    seen = np.zeros(len(snapshot.row), bool)
    met = np.zeros(len(snapshot.node_object), bool)
    levels = _Levels(start)
    nodes = start
    while len(nodes) and levels.within(options.depth):
        wide, _ = _widened(snapshot, nodes, options)
        wide = np.unique(wide)
        wide = wide[~met[wide]]
        met[wide] = True
        rows, _ = _rows_of(snapshot, snapshot.by_source, wide, options, allowed)
        seen[rows] = True
        nodes = np.unique(snapshot.target[rows])
        levels.add(nodes)
    return levels.result(np.flatnonzero(seen))


def _forward(snapshot: Snapshot, start: Ints, options: WalkOptions, rows: Ints, moments: Ints) -> WalkResult:
    """Data forward over legs: a table passes on what its generation got before, a view what is read of it.

    Args:
        snapshot: the graph.
        start: nodes to begin with, whose data was there at all times.
        options: how far, and over what.
        rows: each leg's row.
        moments: when its source was read.
    """
    source = snapshot.source[rows]
    generations = snapshot.generation(source, moments)
    index = Index.of(source, len(snapshot.node_object))
    seen = np.zeros(len(rows), bool)
    levels = _Levels(start)
    nodes, times, generation = start, np.full(len(start), -1), np.full(len(start), -1)
    while len(nodes) and levels.within(options.depth):
        wide, owner = _widened(snapshot, nodes, options)
        legs, at = index.rows(wide)
        at = owner[at]
        of_view = snapshot.is_view_node[source[legs]]
        passed = np.where(
            of_view,
            moments[legs] == times[at],
            (generations[legs] == generation[at]) & (moments[legs] >= times[at]),
        )
        # A time of -1 marks the beginning, whose data was there at all times.
        legs = np.unique(legs[~seen[legs] & (passed | (times[at] < 0))])
        seen[legs] = True
        nodes, times = snapshot.target[rows[legs]], moments[legs]
        levels.add(nodes)
        nodes, times, generation = _earliest(snapshot, nodes, times)
    return levels.result(np.unique(rows[seen]))


def _earliest(snapshot: Snapshot, nodes: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Each node once for each of its generations, at the earliest time; a view once for each time."""
    generation = np.where(snapshot.is_view_node[nodes], times, snapshot.generation(nodes, times))
    order = np.lexsort((times, generation, nodes))
    nodes, times, generation = nodes[order], times[order], generation[order]
    first = np.ones(len(nodes), bool)
    first[1:] = (np.diff(nodes) != 0) | (np.diff(generation) != 0)
    return nodes[first], times[first], generation[first]


class _TimedRows:
    """Rows as they were walked, each with the time at which its source was read."""

    def __init__(self) -> None:
        self._rows: list[Ints] = [np.zeros(0, np.int64)]
        self._moments: list[Ints] = [np.zeros(0, np.int64)]

    def add(self, rows: Ints, moments: Ints) -> None:
        """Note legs."""
        self._rows.append(rows)
        self._moments.append(moments)

    def all(self) -> tuple[Ints, Ints]:
        """All of them."""
        return np.concatenate(self._rows), np.concatenate(self._moments)


class _Expanded:
    """Up to which time of its newest generation each node was expanded, so that none is expanded twice."""

    def __init__(self, number: int, is_view: NDArray[np.bool_]) -> None:
        self._time = np.full(number, -1, np.int64)
        self._generation = np.full(number, -1, np.int64)
        self._is_view = is_view
        self._views: set[tuple[int, int]] = set()

    def not_yet(self, nodes: Ints, times: Ints, generations: Ints) -> tuple[Ints, Ints, Ints]:
        """Those that were not expanded yet."""
        old = (self._generation[nodes] == generations) & (self._time[nodes] >= times)
        views = np.flatnonzero(self._is_view[nodes])
        for at in views:
            key = int(nodes[at]), int(times[at])
            old[at] = key in self._views
            self._views.add(key)
        nodes, times, generations = nodes[~old], times[~old], generations[~old]
        order = np.lexsort((times, generations))  # of several generations the newest is remembered
        self._generation[nodes[order]], self._time[nodes[order]] = generations[order], times[order]
        return nodes, times, generations


class _Levels:
    """The hops of each node: of several ways the shortest."""

    def __init__(self, start: Ints) -> None:
        self._nodes, self._hops, self._hop = [start], [np.zeros(len(start), np.int64)], 0

    def within(self, depth: int | None) -> bool:
        return depth is None or self._hop < depth

    def add(self, nodes: Ints) -> None:
        self._hop += 1
        self._nodes.append(nodes)
        self._hops.append(np.full(len(nodes), self._hop))

    def result(self, rows: Ints) -> WalkResult:
        # `unique` gives the first position of each node, and the nearest level comes first.
        nodes, first = np.unique(np.concatenate(self._nodes), return_index=True)
        return WalkResult(rows, nodes, np.concatenate(self._hops)[first])
