"""What Spark counted while a statement ran.

In: the executions of a statement. Out: rows and bytes, None where Spark does not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark import scala_values

if TYPE_CHECKING:
    from audit.spark.plans.executions import Execution


@dataclass(frozen=True, slots=True)
class Metrics:
    """Rows written, bytes of files read and written."""

    rows_written: int | None = None
    bytes_scanned: int | None = None
    bytes_written: int | None = None


def execution_metrics(executions: Sequence[Execution]) -> Metrics:
    """The metrics of the last execution's physical plan."""
    if not executions or executions[-1].error:
        return Metrics()
    plan = executions[-1].query_execution.executedPlan()
    scanned = [size for leaf in _scans(plan) if (size := _size(leaf, "filesSize")) is not None]
    return Metrics(
        _written(plan, "numOutputRows"), sum(scanned) if scanned else None, _written(plan, "numOutputBytes")
    )


def _scans(plan: Any) -> list[Any]:
    # The final plan of adaptive execution: `executedPlan` of the QueryExecution keeps the wrapper (Spark
    # 4.2).
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    found = [leaves.apply(i) for i in range(leaves.size())]
    # With adaptive execution a leaf may be a finished stage, which holds the scan.
    return [_inside(leaf) for leaf in found]


def _inside(leaf: Any) -> Any:
    while leaf.getClass().getSimpleName().endswith("QueryStageExec"):
        below = leaf.plan().collectLeaves()
        leaf = below.apply(0)
    return leaf


def _written(plan: Any, name: str) -> int | None:
    """A metric of the command itself, wherever Spark's wrapper has put it."""
    kind = plan.getClass().getSimpleName()
    # A command that `spark.sql` ran at once: its rows are in the plan, the plan that ran beside them.
    if kind == "CommandResultExec":
        plan = plan.commandPhysicalPlan()
        kind = plan.getClass().getSimpleName()
    return _value(plan, name) if kind in _COMMANDS else None


_COMMANDS = frozenset(
    {"ExecutedCommandExec", "DataWritingCommandExec", "AppendDataExec", "OverwriteByExpressionExec"}
)


def _size(plan: Any, name: str) -> int | None:
    """A size; None, too, where Spark has not set it: a plan that runs again has forgotten its files."""
    metric = scala_values.option(plan.metrics().get(name))
    # An SQLMetric that was never set is zero, or -1 for sizes: isZero tells both (Spark 4.2).
    return None if metric is None or metric.isZero() else int(metric.value())


def _value(plan: Any, name: str) -> int | None:
    metric = scala_values.option(plan.metrics().get(name))
    return None if metric is None else int(metric.value())
