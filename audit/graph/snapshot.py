"""What the rows say as of a moment: names, generations of objects, and an index to walk by.

In: a `History` and a moment. Out: a `Snapshot`: rows up to then, sorted by target and by source. An object
has generations: each time that all that is in it is replaced, truncated or dropped, a new one begins. A table
that is dropped and made again under its name has another id, yet is one node here: whoever asks by name means
whatever bears it, and a table that is made anew each night would else be a node a night.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lineage.catalog.object_ids import column_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from audit.graph.history import Events, History, Ints

FOREVER = np.iinfo(np.int64).max
_NEVER = -1


@dataclass(frozen=True, slots=True)
class Index:
    """Rows in the order of one of their ends: those of node `n` are `order[starts[n]:starts[n + 1]]`."""

    order: Ints
    starts: Ints

    @classmethod
    def of(cls, nodes: Ints, number: int) -> Index:
        """Sort rows by node."""
        # A sparse matrix' row index: the rows of a node stand from starts[node] to starts[node + 1].
        starts = np.zeros(number + 1, np.int64)
        np.cumsum(np.bincount(nodes, minlength=number), out=starts[1:])
        return cls(np.argsort(nodes), starts)

    def rows(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The rows of nodes, and for each the position of its node."""
        first, count = self.starts[nodes], self.starts[nodes + 1] - self.starts[nodes]
        owner = np.repeat(np.arange(len(nodes)), count)
        # 0, 1, 2, … for each node: the positions among its rows.
        within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        return self.order[first[owner] + within], owner


@dataclass(frozen=True, slots=True)
class Generations:
    """When each object's generations began; tells in which one it was at a time."""

    keys: Ints
    moments: Ints

    @classmethod
    def of(cls, objects: Ints, times: Ints) -> Generations:
        """From the moments at which objects were emptied."""
        moments = np.unique(times)
        rank = np.searchsorted(moments, times, "right")
        # One integer for object and moment, so that one binary search finds both.
        return cls(np.unique(objects * (len(moments) + 1) + rank), moments)

    def at(self, objects: Ints, times: Ints) -> Ints:
        """A number that two times of one object share when nothing emptied it between them."""
        rank = np.searchsorted(self.moments, times, "right")
        return np.searchsorted(self.keys, objects * (len(self.moments) + 1) + rank, "right")

    def began(self, objects: Ints, times: Ints) -> NDArray[np.bool_]:
        """Whether any of an object's moments lies at or before each time."""
        rank = np.searchsorted(self.moments, times, "right")
        low = np.searchsorted(self.keys, objects * (len(self.moments) + 1))
        high = np.searchsorted(self.keys, objects * (len(self.moments) + 1) + rank, "right")
        return np.asarray(high > low)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The graph as of a moment.

    A node is a column's number, or `columns + object` for an object as a whole. `row` points into the
    history; the other arrays run beside it. `dropped` has for each object when it was dropped, or -1.
    """

    history: History
    row: Ints
    time: Ints
    kind: NDArray[np.int8]
    source: Ints
    target: Ints
    node_object: Ints
    columns: int
    generations: Generations
    defined: Generations
    by_target: Index
    by_source: Index
    members: Index
    successor: Ints
    name_of: Ints
    dropped: Ints
    is_view_node: NDArray[np.bool_]

    @classmethod
    def of(cls, history: History, moment: int = FOREVER) -> Snapshot:
        """What is known at a moment (UTC microseconds)."""
        events = history.events
        known = np.flatnonzero(events.time <= moment)
        names = _names(events, known, len(history.object_ids))
        successor = _successors(history, events, known, names)
        row = np.flatnonzero(history.time <= moment)
        columns = len(history.column_ids)
        column_successor, column_object = _column_successors(history, successor, moment)
        node_object = np.concatenate([column_object, np.arange(len(successor))])
        source = _node(history.source[row], successor[history.source_object[row]], column_successor, columns)
        target = _node(history.target[row], successor[history.target_object[row]], column_successor, columns)
        # A rewrite of an object into itself is no edge.
        moves = source != target
        row, source, target = row[moves], source[moves], target[moves]
        resets = known[events.resets[known]]
        resets, dropped = _undropped(events, known, resets, successor)
        anew_object, anew_time = _made_anew(events, known, successor)
        number = columns + len(successor)
        living = column_successor == np.arange(columns)
        # Columns that another one stands for are gathered under a number beyond the last object.
        member_of = np.where(living, column_object, len(successor))
        return cls(
            history=history,
            row=row,
            time=history.time[row],
            kind=history.kind[row],
            source=source,
            target=target,
            node_object=node_object,
            columns=columns,
            generations=Generations.of(
                np.concatenate([successor[events.obj[resets]], anew_object]),
                np.concatenate([events.time[resets], anew_time]),
            ),
            defined=Generations.of(
                successor[events.obj[known[events.defines[known]]]], events.time[known[events.defines[known]]]
            ),
            by_target=Index.of(target, number),
            by_source=Index.of(source, number),
            members=Index.of(member_of, len(successor) + 1),
            successor=successor,
            name_of=names,
            dropped=dropped,
            is_view_node=history.is_view[node_object],
        )

    def generation(self, nodes: Ints, times: Ints) -> Ints:
        """In which of its generations a node's object was."""
        return self.generations.at(self.node_object[nodes], times)

    def whole(self, nodes: Ints) -> Ints:
        """The nodes of the objects as a whole."""
        return self.columns + self.node_object[nodes]

    def columns_of(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The columns of those nodes that are whole objects, and the position of each one's object."""
        at = np.flatnonzero(nodes >= self.columns)
        found, owner = self.members.rows(nodes[at] - self.columns)
        return found, at[owner]


def _node(column: Ints, objects: Ints, column_successor: Ints, columns: int) -> Ints:
    if not len(column_successor):
        return objects + columns
    return np.where(column >= 0, column_successor[column], objects + columns)


def _names(events: Events, known: Ints, number: int) -> Ints:
    """The newest name of each object; -1 for one that nobody had heard of."""
    # Stable: events of one microsecond keep the order of the table.
    order = known[np.argsort(events.time[known], kind="stable")]
    names = np.full(number, _NEVER, np.int64)
    names[events.obj[order]] = events.name[order]  # of several, the last one stays
    return names


def _first_seen(events: Events, known: Ints, number: int) -> Ints:
    first = np.full(number, FOREVER, np.int64)
    np.minimum.at(first, events.obj[known], events.time[known])
    return first


def _successors(history: History, events: Events, known: Ints, names: Ints) -> Ints:
    """For each object the one that bears its name last: itself, unless it was made anew."""
    successor = np.arange(len(names))
    folded: dict[str, int] = {}
    # A location's letters count as they are.
    texts = (text if "/" in text else text.casefold() for text in history.object_names)
    fold = np.array([folded.setdefault(text, len(folded)) for text in texts], int)
    named = np.flatnonzero(names >= 0)
    code = fold[names[named]] if len(named) else named
    # The usual root: no name has been used twice.
    if len(np.unique(code)) == len(named):
        return successor
    first = _first_seen(events, known, len(names))[named]
    # The last key of `lexsort` is the most important one.
    order = np.lexsort((first, code))
    group, named = code[order], named[order]
    last = np.searchsorted(group, group, "right") - 1
    successor[named] = named[last]
    return successor


def _made_anew(events: Events, known: Ints, successor: Ints) -> tuple[Ints, Ints]:
    """Where another id took over a name: the new object, and since when."""
    alone = np.arange(len(successor))
    if (successor == alone).all():
        return alone[:0], alone[:0]
    shared = np.flatnonzero(np.bincount(successor, minlength=len(successor))[successor] > 1)
    first = _first_seen(events, known, len(successor))[shared]
    order = np.lexsort((first, successor[shared]))
    shared, first = shared[order], first[order]
    later = np.concatenate([[False], successor[shared][1:] == successor[shared][:-1]])
    return successor[shared[later]], first[later]


def _column_successors(history: History, successor: Ints, moment: int) -> tuple[Ints, Ints]:
    """For each column the one of its object's successor that has its name; and each column's object."""
    objects, successors = history.column_object, np.arange(len(history.column_ids))
    if (successor == np.arange(len(successor))).all():
        return successors, objects
    shared = np.bincount(successor, minlength=len(successor))[successor] > 1
    mine = np.flatnonzero(shared[objects])
    labels = column_labels(history, mine, moment)
    kept: dict[tuple[int, str], int] = {}
    # The successor's own columns first, then those that only its predecessors had.
    for column in sorted(mine.tolist(), key=lambda c: objects[c] != successor[objects[c]]):
        if column in labels:
            key = int(successor[objects[column]]), labels[column].casefold()
            successors[column] = kept.setdefault(key, column)
    return successors, successor[objects]


def column_labels(history: History, columns: Ints, moment: int = FOREVER) -> dict[int, str]:
    """The newest names of columns; a struct's field goes by its column."""
    wanted = np.zeros(len(history.column_ids) + 1, bool)  # the last one is for -1, an object as a whole
    wanted[columns] = True
    until = history.time <= moment
    newest: dict[int, tuple[int, int]] = {}
    texts = history.column_names
    whole: dict[int, set[str]] = {}
    for ends, labels, is_target in (
        (history.target, history.target_name, True),
        (history.source, history.source_name, False),
    ):
        rows = np.flatnonzero(wanted[ends] & until)
        rows = rows[np.argsort(history.time[rows], kind="stable")]
        latest = np.full(len(wanted), -1, np.int64)
        latest[ends[rows]] = rows
        for column in np.flatnonzero(latest >= 0).tolist():
            row = latest[column]
            text = int(labels[row])
            if is_target:
                whole[column] = {texts[text]}
            newest[column] = max(newest.get(column, (_NEVER, _NEVER)), (int(history.time[row]), text))
    return {
        column: column_of_path(texts[text], whole.get(column, set()), history, column)
        for column, (_, text) in newest.items()
    }


def column_of_path(path: str, whole: set[str], history: History, column: int) -> str:
    """The column of a struct field's path `a.b.c`; a name that itself holds dots stays as it is."""
    # A source's path may name a struct's field; a target's name is always a whole column.
    if "." not in path or path in whole:
        return path
    for name in whole:
        if path.startswith(f"{name}."):
            return name
    of_object = int(history.object_ids[history.column_object[column]])
    parts = path.split(".")
    heads = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    known = int(history.column_ids[column])
    return next((head for head in heads if column_id(of_object, head) == known), parts[0])


def _undropped(events: Events, known: Ints, resets: Ints, successor: Ints) -> tuple[Ints, Ints]:
    """The resets but for drops that an UNDROP undid; and since when each object has been dropped, or -1."""
    for at in known[events.undrops[known]]:
        before = resets[
            events.drops[resets]
            & (successor[events.obj[resets]] == successor[events.obj[at]])
            & (events.time[resets] < events.time[at])
        ]
        if len(before):
            # UNDROP restores the newest drop.
            undone = before[np.argmax(events.time[before])]
            resets = resets[resets != undone]
    last = np.full(len(successor), _NEVER, np.int64)
    others = known[~events.drops[known]]
    # `maximum.at` counts each of several equal indices; an assignment would keep the last one.
    np.maximum.at(last, successor[events.obj[others]], events.time[others])
    dropped = np.full(len(successor), _NEVER, np.int64)
    drops = known[events.drops[known]]
    np.maximum.at(dropped, successor[events.obj[drops]], events.time[drops])
    dropped[dropped < last] = _NEVER
    return resets, dropped
