"""Names as people write them, found among those on record.

In: text such as `schema.table.column`. Out: the nodes that it means, or an error with what is near. Names are
compared as Spark does, without regard to case; the catalog, and the schema, may be left out where only one
object answers.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from audit.graph.errors import LineageNameAmbiguous, LineageNameUnknown
from audit.graph.snapshot import column_labels
from lineage.names import split_recorded

if TYPE_CHECKING:
    from audit.graph.history import Ints
    from audit.graph.snapshot import Snapshot

_COMPARED = 20_000  # names that an error looks through for near ones


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """What a name means: nodes to begin with; an object's are itself as a whole and all of its columns."""

    nodes: Ints
    is_object: bool


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a dotted name, case folded; back-ticks protect dots.

    >>> parts_of("S.`a.b`.C")
    ('s', 'a.b', 'c')
    """
    return split_recorded(text.casefold())


def resolve(snapshot: Snapshot, text: str, moment: int) -> ResolvedName:
    """The nodes that a name means.

    Of several readings the one wins that names the object in full.

    Raises:
        LineageNameUnknown: nothing of that name is on record.
        LineageNameAmbiguous: several things are.
    """
    asked = parts_of(text)
    # Of several objects that bore a name one after another the last one answers to it.
    named = np.flatnonzero(
        (snapshot.name_of >= 0) & (snapshot.successor == np.arange(len(snapshot.successor)))
    )
    names = {int(obj): snapshot.history.object_names[snapshot.name_of[obj]] for obj in named}
    known = {obj: parts_of(name) for obj, name in names.items()}
    exact = [obj for obj, name in names.items() if name.casefold() == text.strip().casefold()]
    readings = [(obj, ()) for obj in exact] or _readings(asked, known)
    objects = [obj for obj, column in readings if not column]
    columns = {obj: dict(_matching(snapshot, obj, column, moment)) for obj, column in readings if column}
    matches: list[tuple[int, int | None]] = [(obj, None) for obj in objects]
    matches += [(obj, column) for obj, found in columns.items() for column in found]
    if not matches:
        raise _unknown(snapshot, text, asked, names, [obj for obj, _ in readings], moment)
    fullest = _fullest(matches, known, asked)
    if len(fullest) > 1:
        labels = [names[obj] + ("" if c is None else f".{columns[obj][c]}") for obj, c in fullest]
        raise LineageNameAmbiguous(
            f"{text!r} may be {_listed(labels)}",
            "write the one that you mean in full, with catalog and schema",
        )
    ((obj, column),) = fullest
    if column is not None:
        return ResolvedName(np.array([column]), is_object=False)
    members, _ = snapshot.members.rows(np.array([obj]))
    return ResolvedName(np.concatenate([[snapshot.columns + obj], members]), is_object=True)


def _readings(asked: tuple[str, ...], known: dict[int, tuple[str, ...]]) -> list[tuple[int, tuple[str, ...]]]:
    """Each object that the first parts of a name may mean, with the parts that are left for a column."""
    by_parts: dict[tuple[str, ...], list[int]] = {}
    for obj, name in known.items():
        for at in range(len(name)):
            by_parts.setdefault(name[at:], []).append(obj)
    # A name may be catalog, schema, table and column: each cut between object and column is tried, the
    # longest object first.
    return [(obj, asked[cut:]) for cut in range(len(asked), 0, -1) for obj in by_parts.get(asked[:cut], ())]


def _matching(snapshot: Snapshot, obj: int, path: tuple[str, ...], moment: int) -> list[tuple[int, str]]:
    """The column that a path means: of that name, else the one that has the field."""
    members, _ = snapshot.members.rows(np.array([obj]))
    labels = column_labels(snapshot.history, members, moment)
    asked = ".".join(path)
    same = [(c, label) for c, label in labels.items() if label.casefold() == asked]
    return same or [(c, label) for c, label in labels.items() if label.casefold() == path[0]]


def _fullest(
    matches: list[tuple[int, int | None]], known: dict[int, tuple[str, ...]], asked: tuple[str, ...]
) -> list[tuple[int, int | None]]:
    """Those whose object is named with its catalog, if any is."""
    full = [(obj, c) for obj, c in matches if asked[: len(known[obj])] == known[obj]]
    return full or matches


def _unknown(
    snapshot: Snapshot,
    text: str,
    asked: tuple[str, ...],
    names: dict[int, str],
    objects: list[int],
    moment: int,
) -> LineageNameUnknown:
    renamed = _renamed(snapshot, asked, names)
    if renamed:
        return LineageNameUnknown(f"{text!r} is a former name", f"it is {renamed} now")
    if objects:
        members, _ = snapshot.members.rows(np.array(objects[:1]))
        labels = sorted(column_labels(snapshot.history, members, moment).values())
        column = ".".join(asked[-1:])
        near = difflib.get_close_matches(column, labels, 5, cutoff=0.5) or labels[:5]
        return LineageNameUnknown(
            f"no statement on record has moved data into or out of a column {text!r}",
            f"columns of {names[objects[0]]} that it has: {_listed(near)}"
            if near
            else f"none has for any column of {names[objects[0]]}",
        )
    near = _near(asked, list(names.values()))
    return LineageNameUnknown(
        f"{text!r} is in no lineage on record" + ("" if moment >= _LATE else " as of then"),
        f"near it: {_listed(near)}" if near else "is it spelled schema.table or schema.table.column?",
    )


_LATE = np.iinfo(np.int64).max


def _near(asked: tuple[str, ...], names: list[str]) -> list[str]:
    """Names like the one asked for, with and without a column at its end."""
    tails = {".".join(parts_of(name)[-2:]): name for name in names[:_COMPARED]}
    wanted = {".".join(asked[-2:]), ".".join(asked[:-1][-2:])} - {""}
    # By the last two parts: people leave the catalog out.
    found = [near for one in sorted(wanted) for near in difflib.get_close_matches(one, tails, 3, cutoff=0.6)]
    return list(dict.fromkeys(tails[near] for near in found))


def _renamed(snapshot: Snapshot, asked: tuple[str, ...], names: dict[int, str]) -> str | None:
    """The newest name of the object that bore a name once."""
    events, texts = snapshot.history.events, snapshot.history.object_names
    for code, text in enumerate(texts):
        parts = parts_of(text)
        if parts[-len(asked) :] == asked or (len(asked) > 1 and parts[-len(asked) + 1 :] == asked[:-1]):
            for obj in np.unique(snapshot.successor[events.obj[events.name == code]]):
                now = names.get(int(obj))
                if now is not None and now.casefold() != text.casefold():
                    return now
    return None


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")  # noqa: PLR2004 - as many as an eye takes in
