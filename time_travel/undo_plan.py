"""A plan to take a statement back: what would be run, in order, and what else would go with it.

In: steps and warnings. Out: text for a person; statements on record when it is run. A plan changes nothing by
itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from time_travel.attached import travel_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a plan.

    Attributes:
        table: the object that it brings back, by its fully qualified name.
        from_version: that a table has now; None for what is dropped.
        to_version: that it gets back; None where it is dropped or comes back from a drop.
        sql: the statement.
        because: why.
        within: the schema that must be the current one, "" for any: UNDROP restores in no other.
    """

    table: str
    from_version: int | None
    to_version: int | None
    sql: str
    because: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """How to take a statement back.

    >>> step = Step("c.s.t", 5, 4, "RESTORE TABLE c.s.t TO VERSION AS OF 4", "DELETE … wrote it")
    >>> print(UndoPlan("01905b8e", (step,), ("version 5 goes, too",)))
    To undo 01905b8e, 1 statement:
      1. RESTORE TABLE c.s.t TO VERSION AS OF 4
         DELETE … wrote it
    Mind:
      - version 5 goes, too

    Attributes:
        query_id: of the statement.
        steps: what to run, what is upstream first.
        warnings: what is lost with it, and what cannot be taken back.
    """

    query_id: str
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()

    def run(self, spark: SparkSession) -> None:
        """Run the steps in order through an audited session, each a statement on record.

        A step that fails ends it: those before it have been taken, and a new plan says what is left.

        Raises:
            NotAttachedError: the session is not audited.
            StalePlanError: a table has changed since the plan was made; nothing has run.
        """
        travel = travel_of(spark)
        travel.require_current(spark, self)
        for step in self.steps:
            with travel.within(spark, step.within):
                spark.sql(step.sql)

    def __str__(self) -> str:
        count = len(self.steps)
        lines = [f"To undo {self.query_id}, {count or 'no'} statement{'' if count == 1 else 's'}:"]
        for number, step in enumerate(self.steps, 1):
            lines += [f"  {number}. {step.sql}", f"     {step.because}"]
        if self.warnings:
            lines += ["Mind:", *(f"  - {warning}" for warning in self.warnings)]
        return "\n".join(lines)
