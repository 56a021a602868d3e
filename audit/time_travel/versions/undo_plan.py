"""A plan to undo a statement: the statements to run, in order, and warnings about what else they undo.

In: steps and warnings. Out: text for a person; recorded statements when it is run. A plan itself changes
nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from audit.spark.delta.values import Table
from audit.time_travel.attached import time_travel_of
from audit.time_travel.errors import StalePlanError
from lineage.names import split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.spark.delta.delta_catalog import DeltaCatalog


class PlanRunner(Protocol):
    """The part of `TimeTravel` that runs a plan."""

    def require_current(self, spark: SparkSession, plan: UndoPlan) -> None:
        """Raise StalePlanError if a table has changed since the plan was made."""

    def within(self, spark: SparkSession, schema: str) -> AbstractContextManager[None]:
        """A block with another current schema; "" keeps the current one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a plan.

    Attributes:
        table: the object that it restores, by its fully qualified name.
        from_version: the table's current version; None for a dropped one.
        to_version: the version that it is restored to; None for a DROP or an UNDROP.
        sql: the statement.
        because: why.
        within: the schema that must be current, "" for any: UNDROP restores into the current one.
    """

    table: str
    from_version: int | None
    to_version: int | None
    sql: str
    because: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """A plan to undo a statement.

    >>> step = Step("c.s.t", 5, 4, "RESTORE TABLE c.s.t TO VERSION AS OF 4", "DELETE … wrote it")
    >>> print(UndoPlan("01905b8e", (step,), ("version 5 goes, too",)))
    To undo 01905b8e, 1 statement:
      1. RESTORE TABLE c.s.t TO VERSION AS OF 4
         DELETE … wrote it
    Mind:
      - version 5 goes, too

    Attributes:
        query_id: of the statement.
        steps: the statements, upstream tables first.
        warnings: other changes that are lost, and effects that cannot be undone.
    """

    query_id: str
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()

    def run(self, spark: SparkSession) -> None:
        """Run the steps in order in an audited session; each is recorded.

        A failing step ends the run. The steps before it are done; a new plan has the rest.

        Raises:
            NotAttachedError: the session is not audited.
            StalePlanError: a table has changed since the plan was made; nothing has run.
        """
        travel: PlanRunner = time_travel_of(spark)
        # Before the first step, so that a plan that is out of date changes nothing.
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


def require_current(plan: UndoPlan, catalog: DeltaCatalog) -> None:
    """Check that no table of a plan has changed since the plan was made.

    Raises:
        StalePlanError: a table has changed.
    """
    for step in plan.steps:
        # An UNDROP, and the DROP of what left no version, have none that could have changed since.
        if step.from_version is None:
            continue
        table = catalog.find(split_name(step.table))
        location = table.location if isinstance(table, Table) else None
        state = catalog.state(location) if location else None
        if state is None or state.latest != step.from_version:
            raise StalePlanError(
                f"{step.table} is no longer at version {step.from_version}, as when the plan to undo"
                f" {plan.query_id} was made",
                "plan again: time_travel.plan_undo says what has come since",
            )
