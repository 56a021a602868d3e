"""A walk: operations one after the other, and after each the reads that are promised.

In: steps. Out: nothing, or `BrokenPromise`. A step is the name of an operation and its arguments. Where it
makes no sense it does nothing, so any part of a walk is a walk, and a failing one can be cut down to its
shortest form.

All promised reads are made after each step: Spark resolves them to versions. The rows of a version are read
when its files are new to the walk, from the files themselves, which takes no job of Spark's; from then on
these files have to be there. At the end Spark reads all rows.
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
READS_OF_A_QUERY = 16
"""One query resolves so many reads: a query of its own for each took most of the time of a walk."""
OF_HISTORIES = 0.3
"""The share of the steps, of those which may change a history, after which all histories are listed."""


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
        # To list the history of a table that exists takes a job of Spark's.
        if last or name == "purge" or (name in {"days_pass", "vacuum"} and self.pick.random() < OF_HISTORIES):
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
        parts = [reads[at : at + READS_OF_A_QUERY] for at in range(0, len(reads), READS_OF_A_QUERY)]
        resolved = [files for part in parts for files in self._resolved(part)]
        unread = [number for number, files in enumerate(resolved) if last or files not in self._rows]
        if unread:
            found = self.session.sql(self._query([reads[number] for number in unread])).collect()
        for number, (read, files) in enumerate(zip(reads, resolved, strict=True)):
            if number in unread:
                at = unread.index(number)
                self._rows[files] = tuple(sorted(row.i for row in found if row.k == at))
            if self._rows[files] != tuple(sorted(read.rows)):
                raise BrokenPromise(f"{read} gives {self._rows[files]} instead of {read.rows}")

    def _query(self, reads: Sequence[Read]) -> str:
        return " UNION ALL ".join(
            f"SELECT {number} AS k, i FROM {self.sql(read.name)} {read.clause}"
            for number, read in enumerate(reads)
        )

    def _resolved(self, reads: Sequence[Read]) -> Iterator[frozenset[File]]:
        """The files of the versions to which Spark resolves reads of one query."""
        try:
            frame = self.session.sql(self._query(reads))
        except Exception as error:
            if len(reads) == 1:
                raise BrokenPromise(f"{reads[0]} is out of reach: {str(error)[:600]}") from error
            for read in reads:
                list(self._resolved([read]))
            raise BrokenPromise(f"each alone, but not together: {[*map(str, reads)]}: {error}") from error
        leaves = sequence(frame._jdf.queryExecution().analyzed().collectLeaves())
        # A reference to a CTE is a leaf, too.
        tables = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRelation"]
        for read, table in zip(reads, tables, strict=True):
            index = table.relation().location()
            folder, version = index.path().toUri().getPath(), index.getSnapshot().version()
            log = self._logs.setdefault(folder, TableLog(folder))
            if missing := log.missing(version):
                raise BrokenPromise(f"{read}, version {version}: its files {missing} are gone")
            files = log.files(version)
            if files not in self._rows and (rows := log.rows(version)) is not None:
                self._rows[files] = rows
            yield files

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
            self.refused(lambda: self.session.sql(text), errors.OutsideRetentionError, text)

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
