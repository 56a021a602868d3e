"""How much of what ran was analysed, and what was lost on the way.

In: a driver's counters. Out: `Coverage`, for a person, a test or a monitor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audit.driver import Driver


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of successful statements since the driver was attached.

    `text`, `plan` and `listener` were analysed in full, by SQL text, by Spark's plan, or by a plan
    that the listener caught past the front door; `partial` and `opaque` were recorded with a reason.
    `disagreed` counts statements where text and plan differed and the plan was taken. `cross_checked` counts
    those that both engines analysed to the last column (`cross_check` in the configuration), `differed`
    those of them where the two said different things: such a record is partial and says what. `lost` counts
    executions whose events Spark dropped, and entries that the spool could not take.
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

    @property
    def total(self) -> int:
        """All successful statements."""
        return self.text + self.plan + self.listener + self.partial + self.opaque

    @property
    def full_percent(self) -> float:
        """The share that was analysed in full, 100 where nothing ran."""
        full = self.text + self.plan + self.listener
        return 100.0 * full / self.total if self.total else 100.0

    def __str__(self) -> str:
        return (
            f"{self.total} statements, {self.full_percent:.1f} % analysed in full"
            f" ({self.text} from text, {self.plan} from plans, {self.listener} by the listener),"
            f" {self.partial} partial, {self.opaque} opaque, {self.lost} lost"
        )


def measure_coverage(driver: Driver) -> Coverage:
    """The coverage of a driver, now."""
    counts = driver.analyst.counts
    lost = driver.spool.stats().lost + (driver.executions.lost if driver.executions else 0)
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
        failures=tuple(driver.analyst.failures),
    )
