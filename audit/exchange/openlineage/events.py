"""The events of statements: START, and how it ended.

In: recorded statements. Out: events of OpenLineage 2-0-2, two of each statement that has ended. DataHub needs
both, and breaks on RUNNING (its #13854), so nothing else is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from audit.exchange.catalog import CatalogFacts
from audit.exchange.history import RecordedStatement, Row, statements_by_id
from audit.exchange.names import DatasetNames
from audit.exchange.openlineage import datasets, jobs
from audit.exchange.openlineage.facets import RUN_EVENT, Json, producer
from audit.query.answer import Source

_ENDS = {"SUCCESS": "COMPLETE", "FAIL": "FAIL", "DENIED": "FAIL", "INCOMPLETE": "ABORT"}
"""The event of each execution_status; one that still runs has none yet."""
_AT_ONCE = 1_000


@dataclass(slots=True)
class Exporting:
    """Makes events of the statements of a root.

    Attributes:
        source: the audit tables, where parents are looked up.
        names: of datasets; jobs are in its own namespace.
        known: what the catalog says of objects.
    """

    source: Source
    names: DatasetNames
    known: CatalogFacts
    _parents: dict[str, Row] = field(default_factory=dict)

    def events(self, statements: Iterable[RecordedStatement]) -> Iterator[Json]:
        """The events of statements, in their order."""
        waiting = iter(statements)
        while part := list(islice(waiting, _AT_ONCE)):
            self._parents = self._parents_of(part)
            for statement in part:
                yield from self._of_statement(statement)

    def _of_statement(self, statement: RecordedStatement) -> Iterator[Json]:
        query = statement.query
        job = jobs.job(query, self.names.own)
        run = jobs.run(statement, self._of(query), self.names.own)
        inputs = datasets.inputs(statement, self.names, self.known)
        outputs = datasets.outputs(statement, self.names, self.known)
        started = {**run, "facets": {k: v for k, v in run["facets"].items() if k != "errorMessage"}}
        yield _event("START", query["start_time"], started, job, _named(inputs), _named(outputs))
        end = _ENDS.get(query["execution_status"])
        if end is not None:
            # Of one that a crash has ended nobody knows when.
            at = query["end_time"] or query["start_time"]
            yield _event(end, at, run, job, inputs, outputs)

    def _of(self, query: Row) -> tuple[Row | None, Row | None]:
        parent, root = query.get("parent_query_id"), query.get("root_query_id")
        return self._parents.get(parent or ""), self._parents.get(root or "")

    def _parents_of(self, statements: list[RecordedStatement]) -> dict[str, Row]:
        known = {one.query_id: one.query for one in statements}
        asked = {one.query.get(name) for one in statements for name in ("parent_query_id", "root_query_id")}
        wanted = {one for one in asked if one}
        return known | statements_by_id(self.source, wanted - known.keys())


def _event(kind: str, at: datetime, run: Json, job: Json, inputs: list[Json], outputs: list[Json]) -> Json:
    return {
        "eventType": kind,
        # Times of the tables are UTC, without a zone.
        "eventTime": f"{at.isoformat(timespec='microseconds')}Z",
        "producer": producer(),
        "schemaURL": RUN_EVENT,
        "run": run,
        "job": job,
        "inputs": inputs,
        "outputs": outputs,
    }


def _named(found: list[Json]) -> list[Json]:
    """Datasets without facets: what they say of a write is not so before it has been done."""
    return [{"namespace": one["namespace"], "name": one["name"]} for one in found]
