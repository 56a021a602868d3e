"""TPC-H attached against detached: what the audit costs where statements are long.

In: Delta tables of a scale factor and Spark's own 22 texts (`benchmarks.tpch_data`). Out: the time of all
22 on both sides, and what the front door added to each on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import audit
from benchmarks import sessions, tpch_data
from benchmarks.alternating import sides
from benchmarks.result import Options, Result, Row, Say, milliseconds
from benchmarks.timers import Timers, on_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Passes = list[dict[str, dict[str, float]]]

_TARGET = 1.01


def run(options: Options, say: Say) -> Result:
    """Measures passes over the 22 queries, attached and detached in turns."""
    scale = options.scale if options.scale is not None else 0.01 if options.quick else 1.0
    passes = options.pick("passes", full=5, quick=1)
    queries = tpch_data.queries(say)
    found: dict[bool, Passes] = {False: [], True: []}
    with sessions.folder("tpch") as root, sessions.session(root) as spark:
        tpch_data.register(spark, scale, say)
        timers = on_the_way()
        for attached in (False, True, True, False):
            say(f"warm-up, {'attached' if attached else 'detached'}")
            _pass(spark, root / "audit", queries, timers, attached=attached)
        for attached in sides(passes):
            measured = _pass(spark, root / "audit", queries, timers, attached=attached)
            found[attached].append(measured)
            total = sum(one["total"] for one in measured.values())
            say(
                f"pass {len(found[attached])} of {passes}, {'attached' if attached else 'detached'}:"
                f" {total:.1f} s"
            )
        timers.restore()
    return Result(
        f"TPC-H at scale {scale:g}",
        ("attached", "detached"),
        tuple(_rows(found[True], found[False])),
        "The 22 queries of Spark's own tests over Delta tables, one after the other, results collected,"
        f" on {sessions.MASTER} in one process: {passes} passes on each side in the order A B B A …,"
        " after two of each to warm up. Timed from the text to the rows; attaching and detaching (which"
        " takes the records in) are not.",
        (
            (
                "Medians of each query, summed, are steadier than the median of whole passes, which one"
                " slow query moves. Passes of one side differ among themselves by"
                f" {_spread(found[False]):.1%} (detached) and {_spread(found[True]):.1%} (attached)."
            ),
        ),
    )


def _pass(
    spark: SparkSession, root: Path, queries: dict[str, str], timers: Timers, *, attached: bool
) -> dict[str, dict[str, float]]:
    if attached:
        audit.attach(spark, user="bench", root=str(root))
        audit.flush(spark)
    sessions.settle(spark)
    measured = {name: timers.measure(_collected(spark, text)) for name, text in queries.items()}
    if attached:
        audit.detach(spark)
    return measured


def _collected(spark: SparkSession, text: str) -> Callable[[], object]:
    return lambda: spark.sql(text).collect()


def _rows(attached: Passes, detached: Passes) -> list[Row]:
    on, off = _of_queries(attached), _of_queries(detached)
    total_on, total_off = (median(_totals(passes)) for passes in (attached, detached))
    added = {name: median(one[name]["added"] for one in attached) for name in on}
    slowest = max(on, key=lambda name: on[name] / off[name])
    return [
        Row(
            "22 queries, the sum of their medians",
            f"{sum(on.values()):.2f} s",
            f"{sum(off.values()):.2f} s",
            sum(on.values()) / sum(off.values()),
            f"≤ {_TARGET}",
            sum(on.values()) <= sum(off.values()) * _TARGET,
        ),
        Row(
            "22 queries, median of the passes",
            f"{total_on:.2f} s",
            f"{total_off:.2f} s",
            total_on / total_off,
        ),
        Row(
            "Added on the caller's thread, 22 queries",
            milliseconds(sum(added.values())),
            "",
            1 + sum(added.values()) / sum(off.values()),
        ),
        Row(f"The query that differs most, {slowest}", *_both(on[slowest], off[slowest])),
    ]


def _both(on: float, off: float) -> tuple[str, str, float]:
    return f"{on:.2f} s", f"{off:.2f} s", on / off


def _of_queries(passes: Passes) -> dict[str, float]:
    """The median time of each query."""
    return {name: median(one[name]["total"] for one in passes) for name in passes[0]}


def _totals(passes: Passes) -> list[float]:
    return [sum(query["total"] for query in one.values()) for one in passes]


def _spread(passes: Passes) -> float:
    """How far the slowest pass lies above the fastest."""
    totals = _totals(passes)
    return max(totals) / min(totals) - 1
