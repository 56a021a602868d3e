"""A walk: operations one after the other, and after each the reads that are promised.

In: steps. Out: nothing, or `BrokenPromise`. A step is the name of an operation and its arguments. Where it
makes no sense it does nothing, so any part of a walk is a walk, and a failing one can be cut down to its
shortest form.

All promised reads are made after each step: Spark resolves them to versions. The rows of a version are read
when its files are new to the walk; from then on these files have to be there. At the end all rows are read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.scala_values import sequence
from audit.time_travel import errors

from .operations import NAMES, BrokenPromise, Operations, timestamp
from .table_log import File, TableLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.clock.moving import MovingClock

    from .promises import Rows, State, Table

Step = tuple[Any, ...]


@dataclass(frozen=True)
class Read:
    """A read that is promised: of a table or view, with a clause, and the rows that it has to give."""

    name: str
    clause: str
    rows: Rows

    def __str__(self) -> str:
        return f"{self.name} {self.clause}"


class Walk(Operations):
    """Operations, compared with what the model promises.

    Args:
        session, outside, clock, number: as of `Operations`.
        seed: chooses what is read after a step.
    """

    def __init__(
        self, session: SparkSession, outside: SparkSession, clock: MovingClock, number: str, seed: object = 0
    ) -> None:
        super().__init__(session, outside, clock, number)
        self.pick = random.Random(f"{number} {seed}")  # noqa: S311  which read is no secret
        self._logs: dict[str, TableLog] = {}
        self._rows: dict[frozenset[File], Rows] = {}

    def take(self, step: Step, *, last: bool = False) -> bool:
        """One step, and the reads after it; False where the step makes no sense."""
        name, *arguments = step
        self.began = self.clock.now()
        if getattr(self, name)(*arguments) is False:
            return False
        # Half an hour to the next step, so that each moment has one state.
        self.clock.advance(seconds=1800)
        self.model.pass_time(self.clock.now())
        self._compare_reads(list(self._promised()), last=last)
        self._compare_refusals()
        if last or name in {"days_pass", "vacuum", "purge"}:
            for schema in self.model.schemas:
                self._compare_history(schema)
        return True

    def _promised(self) -> Iterator[Read]:
        """Each state of each table, by one of its clauses; each view, at one of its table's states."""
        for name, table in self.model.tables.items():
            yield Read(name, "", table.rows)
            for state in table.states:
                clauses = list(self._clauses(table, state))
                if clauses:
                    yield Read(name, self.pick.choice(clauses), state.rows)
        for view, name in self.model.views.items():
            below = self.model.tables.get(name)
            if below is not None:
                state = self.pick.choice(below.states)
                for moment in below.moments(state, self.model.now):
                    if self.model.is_promised(below, moment):
                        yield Read(view, f"AT ({timestamp(moment)})", state.rows)

    def _clauses(self, table: Table, state: State) -> Iterator[str]:
        """All ways to ask for a state that are promised."""
        for moment in table.moments(state, self.model.now):
            if self.model.is_promised(table, moment):
                yield f"AT ({timestamp(moment)})"
                yield f"AT (OFFSET => -{(self.clock.now() - moment) // 1_000_000})"
        if self.model.is_promised(table, state.began):
            yield f"VERSION AS OF {state.version}"
            if state.query_id is not None:
                yield f"AT (STATEMENT => '{state.query_id}')"
        replaced = table.next_of(state)
        if replaced is not None and replaced.query_id and self.model.is_promised(table, replaced.began):
            yield f"BEFORE (STATEMENT => '{replaced.query_id}')"

    def _compare_reads(self, reads: Sequence[Read], *, last: bool) -> None:
        self.checks += len(reads)
        resolved = [self._resolved(read) for read in reads]
        unread = [number for number, files in enumerate(resolved) if last or files not in self._rows]
        if unread:
            texts = (f"SELECT {number} AS k, i FROM {self._from(reads[number])}" for number in unread)
            found = self.session.sql(" UNION ALL ".join(texts)).collect()
        for number, (read, files) in enumerate(zip(reads, resolved, strict=True)):
            if number in unread:
                self._rows[files] = tuple(sorted(row.i for row in found if row.k == number))
            if self._rows[files] != tuple(sorted(read.rows)):
                raise BrokenPromise(f"{read} gives {self._rows[files]} instead of {read.rows}")

    def _from(self, read: Read) -> str:
        return f"{self.sql(read.name)} {read.clause}"

    def _resolved(self, read: Read) -> frozenset[File]:
        """The files of the version to which Spark resolves a read."""
        try:
            frame = self.session.sql(f"SELECT i FROM {self._from(read)}")
        except Exception as error:
            raise BrokenPromise(f"{read} is out of reach: {str(error)[:600]}") from error
        relations = sequence(frame._jdf.queryExecution().analyzed().collectLeaves())
        # A reference to a CTE is a leaf, too.
        (of_table,) = (leaf for leaf in relations if leaf.getClass().getSimpleName() == "LogicalRelation")
        index = of_table.relation().location()
        folder, version = index.path().toUri().getPath(), index.getSnapshot().version()
        log = self._logs.setdefault(folder, TableLog(folder))
        if missing := log.missing(version):
            raise BrokenPromise(f"{read}, version {version}: its files {missing} are gone")
        return log.files(version)

    def _compare_refusals(self) -> None:
        """One moment beyond retention; its rows may be there still, and nobody may read them."""
        found = [
            (name, moment)
            for name, table in self.model.tables.items()
            for state in table.states
            for moment in table.moments(state, self.model.now)
            if self.model.is_refused(table, moment)
        ]
        if found:
            name, moment = self.pick.choice(found)
            text = f"SELECT * FROM {self.sql(name)} AT ({timestamp(moment)})"
            self.refused(lambda: self.session.sql(text), errors.OutsideRetentionError)

    def _compare_history(self, schema: str) -> None:
        there, must, may = self.model.listed(schema)
        rows = self.session.sql(f"SHOW TABLES HISTORY IN {self.sql(schema)}").collect()
        self.checks += 1
        alive = {f"{schema}.{row['name']}" for row in rows if row["dropped_on"] is None}
        gone = [f"{schema}.{row['name']}" for row in rows if row["dropped_on"] is not None]
        if alive != there:
            raise BrokenPromise(f"SHOW TABLES HISTORY has {sorted(alive)} instead of {sorted(there)}")
        for name in NAMES:
            if not must.count(name) <= gone.count(name) <= may.count(name):
                raise BrokenPromise(f"SHOW TABLES HISTORY lists {gone} as dropped, and should list {must}")
