"""What all events of a run together say about where data went.

In: the events of one run. Out: edges. Events of OpenLineage add up: a START may name the inputs, a COMPLETE
the outputs. A run counts when it is complete; one that has no end, from its beginning on, once for each day.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from audit.exchange.incoming.events import INDIRECT, ToldDataset, ToldEvent, column_inputs
from audit.exchange.names import Dataset, DatasetNames, NamedObject

_COUNTED = frozenset({"COMPLETE", "JOB", "DATASET"})
_WROTE_NOTHING = frozenset({"FAIL", "ABORT"})
_REPLACES = frozenset({"OVERWRITE", "CREATE", "TRUNCATE"})
_MADE_ANEW = frozenset({"table", "view"})
"""Materializations of dbt that hold nothing of what was there before."""
_TOLD, _DROPPED = "OPENLINEAGE", "DROP_TABLE"


@dataclass(frozen=True, slots=True)
class ToldEnd:
    """One end of an edge: as the event has it, and on record."""

    dataset: Dataset
    named: NamedObject
    column: str | None = None


@dataclass(frozen=True, slots=True)
class ToldEdge:
    """An edge of a run; without a source it says that the target lost what it held.

    Attributes:
        run_id: the run.
        time: when it started.
        job: namespace and name.
        query_type: OPENLINEAGE or DROP_TABLE.
        source: None for one that only ends.
        target: what was written.
        is_indirect: no value went into the target.
        transformation: None where nobody says.
        overwrites: nothing stayed of what was in the target.
    """

    run_id: str
    time: datetime
    job: str
    query_type: str
    source: ToldEnd | None
    target: ToldEnd
    is_indirect: bool
    transformation: str | None
    overwrites: bool

    def key(self, *, daily: bool) -> tuple[Any, ...]:
        """What makes it the same edge when it is told again."""
        source = (self.source.dataset, self.source.column) if self.source else None
        day: date | None = self.time.date() if daily else None
        return (
            self.run_id,
            source,
            self.target.dataset,
            self.target.column,
            self.is_indirect,
            self.transformation,
            day,
        )

    @property
    def edge_id(self) -> str:
        """SHA-256 of what makes it the same edge on its day."""
        return hashlib.sha256(json.dumps(self.key(daily=True), default=_as_json).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ToldRun:
    """The events of a run, oldest first."""

    events: tuple[ToldEvent, ...]

    @classmethod
    def of(cls, events: Iterable[ToldEvent]) -> ToldRun:
        """Events in any order, each once."""
        once = {one.event_id: one for one in events}
        return cls(tuple(sorted(once.values(), key=lambda one: (one.time, one.event_id))))

    @property
    def is_endless(self) -> bool:
        """Whether it goes on without an end."""
        return any(one.is_endless for one in self.events)

    @property
    def _is_done(self) -> bool:
        kinds = {one.kind for one in self.events}
        if kinds & _COUNTED:
            return True
        return any(one.is_submitted for one in self.events) and not kinds & _WROTE_NOTHING

    def edges(self, names: DatasetNames) -> list[ToldEdge]:
        """Its edges.

        Args:
            names: gives objects on record for datasets.
        """
        if not (self.is_endless or self._is_done):
            return []
        made = [*_Merged.of(self.events).edges(self.events[0], names)]
        if not self.is_endless:
            return made
        days = {one.time.date(): one.time for one in reversed(self.events)}
        return [replace(edge, time=time) for _, time in sorted(days.items()) for edge in made]


@dataclass(frozen=True, slots=True)
class _Merged:
    """The datasets of all events of a run, each with all facets that were told of it."""

    inputs: Mapping[Dataset, ToldDataset]
    outputs: Mapping[Dataset, ToldDataset]

    @classmethod
    def of(cls, events: Iterable[ToldEvent]) -> _Merged:
        inputs: dict[Dataset, ToldDataset] = {}
        outputs: dict[Dataset, ToldDataset] = {}
        for event in events:
            for told, into in ((event.inputs, inputs), (event.outputs, outputs)):
                for one in told:
                    before = into.get(one.dataset)
                    facets = {**before.facets, **one.facets} if before else one.facets
                    into[one.dataset] = ToldDataset(one.dataset, facets)
        return cls(inputs, outputs)

    def edges(self, first: ToldEvent, names: DatasetNames) -> Iterator[ToldEdge]:
        known = {
            one.dataset: names.object(one.names) for one in (*self.inputs.values(), *self.outputs.values())
        }

        def end(dataset: Dataset, column: str | None = None) -> ToldEnd:
            return ToldEnd(dataset, known.get(dataset) or names.object((dataset,)), column)

        job = "/".join(part for part in (first.job_namespace, first.job_name) if part)
        for target, output in self.outputs.items():
            state = _state(output)
            anew = state in _REPLACES or _materialized(output) in _MADE_ANEW
            kind = _DROPPED if state == "DROP" else _TOLD
            edge = ToldEdge(
                first.run_id, first.time, job, kind, None, end(target),
                is_indirect=False, transformation=None, overwrites=anew,
            )  # fmt: skip
            columns = [*column_inputs(output)]
            shaped = {source for source, _, _, how in columns if how == INDIRECT}
            gave = {source for source, _, _, how in columns if how != INDIRECT}
            sources = dict.fromkeys((*self.inputs, *(source for source, _, _, _ in columns)))
            if kind == _DROPPED or not sources:
                if kind == _DROPPED or anew:
                    yield edge
                continue
            for source in sources:
                yield replace(edge, source=end(source), is_indirect=source in shaped and source not in gave)
            for source, field, column, how in columns:
                yield replace(
                    edge,
                    source=end(source, field),
                    target=end(target, column),
                    is_indirect=how == INDIRECT,
                    transformation=how,
                    overwrites=False,
                )


def _as_json(value: Dataset | date) -> list[str] | str:
    return [value.namespace, value.name] if isinstance(value, Dataset) else value.isoformat()


def _state(output: ToldDataset) -> str | None:
    facet = output.facets.get("lifecycleStateChange")
    return facet.get("lifecycleStateChange") if isinstance(facet, dict) else None


def _materialized(output: ToldDataset) -> str | None:
    facet = output.facets.get("dbt_model")
    config = facet.get("config") if isinstance(facet, dict) else None
    return config.get("materialized") if isinstance(config, dict) else None
