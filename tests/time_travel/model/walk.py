"""A walk: operations one after the other, and after each the reads that are promised.

In: steps. Out: nothing, or `BrokenPromise`. A step is the name of an operation and its arguments. Where it
makes no sense it does nothing, so any part of a walk is a walk, and a failing one can be cut down to its
shortest form.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.time_travel import errors

from .operations import NAMES, BrokenPromise, Operations, timestamp

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

    def take(self, step: Step, *, all_reads: bool = False) -> bool:
        """One step, and the reads after it; False where the step makes no sense."""
        name, *arguments = step
        self.began = self.clock.now()
        if getattr(self, name)(*arguments) is False:
            return False
        # Half an hour to the next step, so that each moment has one state.
        self.clock.advance(seconds=1800)
        self.model.pass_time(self.clock.now())
        self.compare(all_reads=all_reads or name in {"days_pass", "vacuum", "purge"})
        return True

    def compare(self, *, all_reads: bool) -> None:
        """Make the promised reads in one query, those that must be refused, and SHOW TABLES HISTORY."""
        reads = list(self._promised(all_reads=all_reads))
        if reads:
            self._compare_reads(reads)
        self._compare_refusals()
        if all_reads:
            for schema in self.model.schemas:
                self._compare_history(schema)

    def _promised(self, *, all_reads: bool) -> Iterator[Read]:
        for name, table in self.model.tables.items():
            yield Read(name, "", table.rows)
            states = table.states if all_reads else self.pick.sample(table.states, min(2, len(table.states)))
            for state in states:
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

    def _compare_reads(self, reads: Sequence[Read]) -> None:
        texts = [
            f"SELECT {number} AS k, i FROM {self.sql(read.name)} {read.clause}"
            for number, read in enumerate(reads)
        ]
        self.checks += len(reads)
        try:
            found = self.session.sql(" UNION ALL ".join(texts)).collect()
        except Exception:
            # One of them: which one?
            for read, text in zip(reads, texts, strict=True):
                try:
                    self.session.sql(text).collect()
                except Exception as error:  # noqa: PERF203  one read at a time
                    raise BrokenPromise(f"{read} is out of reach: {str(error)[:600]}") from error
            raise
        for number, read in enumerate(reads):
            rows = tuple(sorted(row.i for row in found if row.k == number))
            if rows != tuple(sorted(read.rows)):
                raise BrokenPromise(f"{read} gives {rows} instead of {read.rows}")

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
