"""Up and down the edges, level by level, over arrays.

In: a `Snapshot`, the nodes to begin with. Out: `Walked`: the rows on the way and how many hops each node is
from the beginning. What a statement read is followed into the life that its source had when it was read: data
that a replaced or dropped table passed on is found, what replaced it is not.
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
class Way:
    """Which rows may be walked.

    Attributes:
        indirect: rows that filter, join or sort as well.
        tables: rows of which only the tables are known, as well.
        ever: those whose data is gone by now as well.
        depth: hops at most; None: to the end.
    """

    indirect: bool = False
    tables: bool = False
    ever: bool = False
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Walked:
    """Positions of rows in the snapshot, nodes, and for each node its hops from the beginning."""

    rows: Ints
    nodes: Ints
    hops: Ints


def upstream(snapshot: Snapshot, start: Ints, way: Way) -> Walked:
    """Where the data in the nodes comes from."""
    times = np.full(len(start), FOREVER)
    return _backward(snapshot, start, times, way, np.ones(len(snapshot.row), bool))


def downstream(snapshot: Snapshot, start: Ints, way: Way) -> Walked:
    """Where the data of the nodes has gone, as far as it is there still.

    Three passes: everything that may hang on the nodes; of that, backward, what is in force; and forward
    again over those legs, in the order of time.
    """
    endless = Way(way.indirect, way.tables, way.ever)
    reach = _reach(snapshot, start, endless, np.ones(len(snapshot.row), bool))
    may = np.zeros(len(snapshot.row), bool)
    may[reach.rows] = True
    may[_siblings(snapshot, reach.rows)] = True
    legs = _Legs()
    force = _backward(snapshot, reach.nodes, np.full(len(reach.nodes), FOREVER), endless, may, legs)
    if way.ever:
        may[:] = False
        may[force.rows] = True
        return _reach(snapshot, start, way, may)
    return _follow(snapshot, start, way, *legs.gathered())


def _siblings(snapshot: Snapshot, rows: Ints) -> Ints:
    """Beside base rows the direct ones from views: by them is known whether the base rows count."""
    based = np.unique(snapshot.target[rows[snapshot.kind[rows] == BASE]])
    found, _ = snapshot.by_target.rows(based)
    of_view = (snapshot.kind[found] == DIRECT) & snapshot.is_view_node[snapshot.source[found]]
    return np.asarray(found[of_view])


def _rows_of(
    snapshot: Snapshot, index: Index, nodes: Ints, way: Way, may: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """The rows at one end of nodes that may be walked, those of base sources among them."""
    rows, owner = index.rows(nodes)
    kind = snapshot.kind[rows]
    keep = may[rows] & ((kind != INDIRECT) | way.indirect) & ((kind != TABLE) | way.tables)
    return rows[keep], owner[keep]


def _widened(snapshot: Snapshot, nodes: Ints, way: Way) -> tuple[Ints, Ints]:
    """The nodes, with the columns of whole objects and the whole objects of columns; and whose each is."""
    columns, of = snapshot.columns_of(nodes)
    found, owner = [nodes, columns], [np.arange(len(nodes)), of]
    if way.indirect or way.tables:
        at = np.flatnonzero(nodes < snapshot.columns)
        found.append(snapshot.whole(nodes[at]))
        owner.append(at)
    return np.concatenate(found), np.concatenate(owner)


def _backward(
    snapshot: Snapshot, start: Ints, times: Ints, way: Way, may: NDArray[np.bool_], legs: _Legs | None = None
) -> Walked:
    seen = np.zeros(len(snapshot.row), bool)
    done = _Done(len(snapshot.node_object), snapshot.is_view_node)
    levels = _Levels(start)
    nodes = start
    while len(nodes) and levels.within(way.depth):
        wide, owner = _widened(snapshot, nodes, way)
        wide, times = _latest(snapshot, wide, times[owner])
        nodes, times, lives = done.news(wide, times, snapshot.life(wide, times))
        rows, at = _rows_of(snapshot, snapshot.by_target, nodes, way, may)
        if not way.ever:
            held = snapshot.time[rows] <= times[at]
            rows, at = rows[held], at[held]
            held = snapshot.life(snapshot.target[rows], snapshot.time[rows]) == lives[at]
            rows, at = rows[held], at[held]
        into_view = snapshot.is_view_node[snapshot.target[rows]]
        read = np.where(into_view, times[at], snapshot.time[rows])
        # A view's definition serves everybody who reads the view, each at a time of his own.
        keep = _direct_or_undefined(snapshot, rows, read) & (~seen[rows] | into_view)
        rows, read = rows[keep], read[keep]
        seen[rows] = True
        if legs is not None:
            legs.add(rows, read)
        nodes, times = _latest(snapshot, snapshot.source[rows], read)
        levels.add(nodes)
    return levels.walked(np.flatnonzero(seen))


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
    key = snapshot.history.query[snapshot.row[rows]] * many + snapshot.target[rows]
    return np.asarray(keep | np.isin(key, key[opaque]))


def _latest(snapshot: Snapshot, nodes: Ints, times: Ints) -> tuple[Ints, Ints]:
    """Each node once for each of its lives, at the latest time; a view once for each time."""
    life = np.where(snapshot.is_view_node[nodes], times, snapshot.life(nodes, times))
    order = np.lexsort((times, life, nodes))
    nodes, times, life = nodes[order], times[order], life[order]
    last = np.ones(len(nodes), bool)
    last[:-1] = (nodes[1:] != nodes[:-1]) | (life[1:] != life[:-1])
    return nodes[last], times[last]


def _reach(snapshot: Snapshot, start: Ints, way: Way, may: NDArray[np.bool_]) -> Walked:
    """Everything that hangs on nodes by some row, whenever that was."""
    seen = np.zeros(len(snapshot.row), bool)
    met = np.zeros(len(snapshot.node_object), bool)
    levels = _Levels(start)
    nodes = start
    while len(nodes) and levels.within(way.depth):
        wide, _ = _widened(snapshot, nodes, way)
        wide = np.unique(wide)
        wide = wide[~met[wide]]
        met[wide] = True
        rows, _ = _rows_of(snapshot, snapshot.by_source, wide, way, may)
        seen[rows] = True
        nodes = np.unique(snapshot.target[rows])
        levels.add(nodes)
    return levels.walked(np.flatnonzero(seen))


def _follow(snapshot: Snapshot, start: Ints, way: Way, rows: Ints, moments: Ints) -> Walked:
    """Data forward over legs: a table passes on what has come to its life before, a view what is read of it.

    Args:
        snapshot: the graph.
        start: nodes to begin with, whose data was there at all times.
        way: how far, and over what.
        rows: each leg's row.
        moments: when its source was read.
    """
    source = snapshot.source[rows]
    lives = snapshot.life(source, moments)
    index = Index.of(source, len(snapshot.node_object))
    seen = np.zeros(len(rows), bool)
    levels = _Levels(start)
    nodes, times, life = start, np.full(len(start), -1), np.full(len(start), -1)
    while len(nodes) and levels.within(way.depth):
        wide, owner = _widened(snapshot, nodes, way)
        legs, at = index.rows(wide)
        at = owner[at]
        of_view = snapshot.is_view_node[source[legs]]
        passed = np.where(
            of_view, moments[legs] == times[at], (lives[legs] == life[at]) & (moments[legs] >= times[at])
        )
        legs = np.unique(legs[~seen[legs] & (passed | (times[at] < 0))])
        seen[legs] = True
        nodes, times = snapshot.target[rows[legs]], moments[legs]
        levels.add(nodes)
        nodes, times, life = _earliest(snapshot, nodes, times)
    return levels.walked(np.unique(rows[seen]))


def _earliest(snapshot: Snapshot, nodes: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Each node once for each of its lives, at the earliest time; a view once for each time."""
    life = np.where(snapshot.is_view_node[nodes], times, snapshot.life(nodes, times))
    order = np.lexsort((times, life, nodes))
    nodes, times, life = nodes[order], times[order], life[order]
    first = np.ones(len(nodes), bool)
    first[1:] = (np.diff(nodes) != 0) | (np.diff(life) != 0)
    return nodes[first], times[first], life[first]


class _Legs:
    """Rows as they were walked, each with the time at which its source was read."""

    def __init__(self) -> None:
        self._rows: list[Ints] = [np.zeros(0, np.int64)]
        self._moments: list[Ints] = [np.zeros(0, np.int64)]

    def add(self, rows: Ints, moments: Ints) -> None:
        """Note legs."""
        self._rows.append(rows)
        self._moments.append(moments)

    def gathered(self) -> tuple[Ints, Ints]:
        """All of them."""
        return np.concatenate(self._rows), np.concatenate(self._moments)


class _Done:
    """Which nodes were expanded up to which time of their newest life, so that none is without need again."""

    def __init__(self, number: int, is_view: NDArray[np.bool_]) -> None:
        self._time = np.full(number, -1, np.int64)
        self._life = np.full(number, -1, np.int64)
        self._is_view = is_view
        self._views: set[tuple[int, int]] = set()

    def news(self, nodes: Ints, times: Ints, lives: Ints) -> tuple[Ints, Ints, Ints]:
        """Those that were not expanded yet."""
        old = (self._life[nodes] == lives) & (self._time[nodes] >= times)
        views = np.flatnonzero(self._is_view[nodes])
        for at in views:
            key = int(nodes[at]), int(times[at])
            old[at] = key in self._views
            self._views.add(key)
        nodes, times, lives = nodes[~old], times[~old], lives[~old]
        order = np.lexsort((times, lives))  # of several lives the newest is remembered
        self._life[nodes[order]], self._time[nodes[order]] = lives[order], times[order]
        return nodes, times, lives


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

    def walked(self, rows: Ints) -> Walked:
        nodes, first = np.unique(np.concatenate(self._nodes), return_index=True)
        return Walked(rows, nodes, np.concatenate(self._hops)[first])
