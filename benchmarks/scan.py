"""What a query has opened, from the metrics of its own scans.

In: a DataFrame that has run. Out: files and partitions that Spark read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.scala_values import sequence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Opened:
    """What the scans of a query opened.

    Attributes:
        files: of all scans; one that two of them open counts twice.
        partitions: of the scan that opened the most.
        megabytes: the size of the files, not what was read of them.
    """

    files: int
    partitions: int
    megabytes: float


def opened(frame: DataFrame) -> Opened:
    """What the metrics of all file scans of a plan that has run say."""
    scans = [s.metrics() for s in _scans(frame._jdf.queryExecution().executedPlan())]
    files, size = (sum(_value(one, name) for one in scans) for name in ("numFiles", "filesSize"))
    partitions = max((_value(one, "numPartitions") for one in scans), default=0)
    return Opened(files, partitions, size / 1e6)


def _scans(plan: Any) -> Iterator[Any]:
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _scans(plan.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _scans(plan.plan())
    elif kind == "FileSourceScanExec":
        yield plan
    for child in sequence(plan.children()):
        yield from _scans(child)


def _value(metrics: Any, name: str) -> int:
    return int(metrics.apply(name).value()) if metrics.contains(name) else 0
