"""Takes events in, each exactly once.

In: files of events. Out: rows of `imported_lineage`, then of `imported_events`. An import that is killed
between the two commits, or that runs twice, adds only what is missing: edges are compared with those of their
run, events by their id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from audit.core.clock import to_datetime
from audit.exchange.errors import ImportFailed
from audit.exchange.incoming import tables
from audit.exchange.incoming.events import ToldEvent, event_of, read_events
from audit.exchange.incoming.runs import ToldEdge, ToldEnd, ToldRun
from audit.exchange.names import Dataset, DatasetNames, NamedObject
from audit.store.later_tables import IMPORTED_EVENTS, IMPORTED_LINEAGE

if TYPE_CHECKING:
    from audit.core.clock import Clock

_AT_ONCE = 20_000  # events a commit
_TRIES = 10
_OF_EDGE = (
    "query_id", "query_start_time", "source_namespace", "source_dataset", "source_column_name",
    "target_namespace", "target_dataset", "target_column_name", "is_indirect", "transformation",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has done: events that were read, those of them that are new, and their edges."""

    read: int = 0
    taken: int = 0
    edges: int = 0


@dataclass(frozen=True, slots=True)
class Importing:
    """Takes events into a root.

    Attributes:
        root: folder of the audit tables.
        names: gives objects on record for datasets.
        clock: tells when.
        user: who does it.
        redact: takes secrets out of SQL.
    """

    root: str
    names: DatasetNames
    clock: Clock
    user: str
    redact: Callable[[str], str]

    def files(self, paths: Iterable[Path]) -> Imported:
        """All events of some files, or none where one of them is wrong.

        Raises:
            EventInvalid: a part of a file is no event.
            ImportFailed: a file cannot be read, or a table not be written.
        """
        named = list(paths)
        # Looked at first, so that a mistake at the end of the last file takes nothing in.
        number = sum(1 for path in named for _ in read_events(path))
        events = (event for path in named for event in read_events(path))
        done = Imported(number)
        while part := list(islice(events, _AT_ONCE)):
            taken = self._part(part)
            done = Imported(number, done.taken + taken.taken, done.edges + taken.edges)
        return done

    def _part(self, events: list[ToldEvent]) -> Imported:
        for _ in range(_TRIES):
            if (done := self._tried(events)) is not None:
                return done
        raise ImportFailed(
            f"other imports into {self.root} came first {_TRIES} times",
            "import the files again when they are done",
        )

    def _tried(self, events: list[ToldEvent]) -> Imported | None:
        """None where another import came first."""
        try:
            with tables.import_lock(self.root):
                return self._once(events)
        except tables.ImportRaced:
            return None

    def _once(self, events: list[ToldEvent]) -> Imported:
        of_events = tables.opened(self.root, IMPORTED_EVENTS)
        of_lineage = tables.opened(self.root, IMPORTED_LINEAGE)
        told = {one.event_id: one for one in events}
        known = {
            row["event_id"] for row in tables.rows_where(of_events, "event_id", list(told), ["event_id"])
        }
        new = [one for one in told.values() if one.event_id not in known]
        if not new:
            return Imported()
        edges = self._new_edges(new, of_events, of_lineage)
        if edges:
            tables.append(self.root, IMPORTED_LINEAGE, of_lineage, [_edge_row(edge) for edge in edges])
        tables.append(self.root, IMPORTED_EVENTS, of_events, [self._event_row(one) for one in new])
        return Imported(taken=len(new), edges=len(edges))

    def _new_edges(self, new: list[ToldEvent], of_events: Any, of_lineage: Any) -> list[ToldEdge]:
        runs: dict[str, list[ToldEvent]] = defaultdict(list)
        for one in new:
            runs[one.run_id].append(one)
        for row in tables.rows_where(of_events, "run_id", list(runs), ["run_id", "event"]):
            runs[row["run_id"]].append(event_of(orjson.loads(row["event"]), "an imported event"))
        there: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in tables.rows_where(of_lineage, "query_id", list(runs), _OF_EDGE):
            there[row["query_id"]].append(row)
        return [
            edge
            for run_id, of_run in runs.items()
            for edge in _missing(ToldRun.of(of_run), self.names, there[run_id])
        ]

    def _event_row(self, event: ToldEvent) -> dict[str, Any]:
        return {
            "event_id": event.event_id,
            "event_time": event.time,
            "event_type": event.kind,
            "run_id": event.run_id,
            "job_namespace": event.job_namespace,
            "job_name": event.job_name,
            "integration": event.integration,
            "producer": event.content.get("producer"),
            "parent_run_id": event.parent_run_id,
            "event": event.without_secrets(self.redact).decode(),
            "imported_on": to_datetime(self.clock.now()),
            "imported_by": self.user,
        }


def _missing(run: ToldRun, names: DatasetNames, there: list[dict[str, Any]]) -> Iterator[ToldEdge]:
    """The edges of a run that the table lacks."""
    daily = run.is_endless
    known = {_edge_of(row).key(daily=daily) for row in there}
    for edge in run.edges(names):
        key = edge.key(daily=daily)
        if key not in known:
            known.add(key)
            yield edge


def _edge_row(edge: ToldEdge) -> dict[str, Any]:
    return {
        "edge_id": edge.edge_id,
        "query_id": edge.run_id,
        "query_start_time": edge.time,
        "user_name": edge.job,
        "query_type": edge.query_type,
        **_end_row("source", edge.source),
        **_end_row("target", edge.target),
        "source_kind": None if edge.source is None else "direct",
        "is_indirect": edge.is_indirect,
        "transformation": edge.transformation,
        "overwrites": edge.overwrites,
    }


def _end_row(side: str, end: ToldEnd | None) -> dict[str, Any]:
    if end is None:
        return {}
    return {
        f"{side}_namespace": end.dataset.namespace,
        f"{side}_dataset": end.dataset.name,
        f"{side}_object_name": end.named.name,
        f"{side}_object_domain": end.named.domain,
        f"{side}_column_name": end.column,
    }


def _edge_of(row: dict[str, Any]) -> ToldEdge:
    """What makes a row's edge the same as another."""

    def end(side: str) -> ToldEnd | None:
        if row[f"{side}_namespace"] is None:
            return None
        dataset = Dataset(row[f"{side}_namespace"], row[f"{side}_dataset"])
        return ToldEnd(dataset, NamedObject("", ""), row[f"{side}_column_name"])

    target = end("target")
    assert target is not None  # noqa: S101 - each row has one
    return ToldEdge(
        row["query_id"], row["query_start_time"], "", "", end("source"), target,
        row["is_indirect"], row["transformation"], overwrites=False,
    )  # fmt: skip
