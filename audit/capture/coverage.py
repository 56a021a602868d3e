"""The share of statements that were analysed, and what became of Spark's executions.

In: an application's counters. Out: `Coverage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.core.guard import Failures
    from audit.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of statements and of Spark's executions since the application was attached.

    Successful statements: `text`, `plan` and `listener` were analysed in full, by SQL text, by Spark's plan,
    or by a plan that the listener alone saw; `partial` and `opaque` were recorded with a reason. `disagreed`
    counts those where text and plan differed and the plan was taken. `cross_checked` counts those that both
    engines analysed to every column (configuration `cross_check`), `differed` those with different results;
    such a record is partial and tells the difference. `unsuccessful` counts all others: failed, denied.

    `executions` are those of Spark SQL that have begun. `of_statements` are a part of a statement's record;
    `of_their_own` have a record each: micro-batches, statements inside scripts, what the listener alone saw.
    Not recorded are `inside`, a part of another execution; `internal`, the audit's own; `of_delta`, in which
    Delta or a stream's source loads a table's state; `handed_over`, in which the result of a recorded
    statement goes to its caller. `open` is what is left: they run, or wait for their statement's record.

    `lost` counts executions whose events Spark dropped, and entries that the spool refused. `failed` counts
    guarded errors of the audit; `failures` has the newest of them: query id and error.
    """

    text: int
    plan: int
    listener: int
    partial: int
    opaque: int
    disagreed: int
    cross_checked: int
    differed: int
    lost: int
    failures: tuple[tuple[str, str], ...]
    failed: int
    unsuccessful: int
    executions: int
    of_statements: int
    of_their_own: int
    inside: int
    internal: int
    of_delta: int
    handed_over: int

    @property
    def total(self) -> int:
        """All successful statements."""
        return self.text + self.plan + self.listener + self.partial + self.opaque

    @property
    def open(self) -> int:
        """Executions that run, or wait for the record of their statement."""
        not_recorded = self.inside + self.internal + self.of_delta + self.handed_over
        return self.executions - self.of_statements - self.of_their_own - not_recorded

    @property
    def full_percent(self) -> float:
        """The percentage that was analysed in full; 100 if nothing ran."""
        full = self.text + self.plan + self.listener
        return 100.0 * full / self.total if self.total else 100.0

    def __str__(self) -> str:
        return (
            f"{self.total} statements, {self.full_percent:.1f} % analysed in full"
            f" ({self.text} from text, {self.plan} from plans, {self.listener} by the listener),"
            f" {self.partial} partial, {self.opaque} opaque, {self.lost} lost"
            + (f", {self.failed} failures beside statements" if self.failed else "")
        )


def measure_coverage(recorder: Recorder, failures: Failures) -> Coverage:
    """The coverage of an application, now."""
    counts, executions = recorder.analyst.counts, recorder.executions
    lost = recorder.spool.stats().lost + (executions.lost if executions else 0)
    return Coverage(
        text=counts.text,
        plan=counts.plan,
        listener=counts.listener,
        partial=counts.partial,
        opaque=counts.opaque,
        disagreed=counts.disagreed,
        cross_checked=counts.cross_checked,
        differed=counts.differed,
        lost=lost,
        failures=failures.recent,
        failed=failures.count,
        unsuccessful=counts.unsuccessful,
        executions=executions.seen if executions else 0,
        of_statements=counts.of_statements,
        of_their_own=counts.of_their_own,
        inside=executions.inside if executions else 0,
        internal=executions.internal if executions else 0,
        of_delta=counts.of_delta,
        handed_over=counts.handed_over,
    )
