"""TPC-H attached against detached: what the audit costs where statements are long.

In: Delta tables of a scale factor and Spark's own 22 texts (`benchmarks.corpus`). Out: the time of all
22 on both sides, the processor's and the clock's, and what the front door added on the caller's thread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import audit
from benchmarks import sessions, tpch_data
from benchmarks.alternating import sides
from benchmarks.corpus import Corpus
from benchmarks.result import Options, Result, Row, Say, milliseconds
from benchmarks.timers import Timers, on_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Runs = dict[str, list[dict[str, float]]]
"""Of each query its runs: seconds by label, "total", "added" and "processor" among them."""

_TARGET = 1.01


def run(options: Options, say: Say) -> Result:
    """Measures each of the 22 queries attached and detached in turns."""
    scale = options.scale if options.scale is not None else 0.01 if options.quick else 1.0
    passes = options.pick("passes", full=3, quick=1)
    queries = Corpus(say).tpch()
    runs: dict[bool, Runs] = {False: defaultdict(list), True: defaultdict(list)}
    with sessions.folder("tpch") as root, sessions.session(root) as spark:
        tpch_data.register(spark, scale, say)
        timers = on_the_way()
        for name, text in queries.items():
            for _ in _alternating(spark, root / "audit", text, timers, 1):
                pass
            say(f"{name} is warm")
        for number, (name, text) in enumerate(queries.items()):
            # A side that is always first pays for what still gets faster.
            turned = number % 2 == 1
            for attached, measured in _alternating(
                spark, root / "audit", text, timers, passes, turned=turned
            ):
                runs[attached][name].append(measured)
            on, off = (median(one["total"] for one in runs[side][name]) for side in (True, False))
            say(f"{name}: attached {on:.2f} s, detached {off:.2f} s")
        timers.restore()
    return Result(
        f"TPC-H at scale {scale:g}",
        ("attached", "detached"),
        tuple(_rows(runs[True], runs[False])),
        "The 22 queries of Spark's own tests over Delta tables, results collected, on"
        f" {sessions.MASTER} in one process. Each query runs {passes} times on each side, in the order"
        " A B B A …, before the next one does, which begins with the other side; all have run once on each"
        " side before. Sums of the queries'"
        " medians. The clock's time is that from the text to the rows; the processor's that of Python and"
        " the JVM, until the worker has made the record. Attaching and detaching (which takes the records"
        " in) are in neither.",
        ("The processor's time does not hold what the host gave to others; the clock's does.",),
    )


def _alternating(
    spark: SparkSession, root: Path, text: str, timers: Timers, passes: int, *, turned: bool = False
) -> Iterator[tuple[bool, dict[str, float]]]:
    """Runs of one query on both sides; `turned`: attached first."""
    for attached, block in groupby(side != turned for side in sides(passes)):
        interceptor = audit.attach(spark, user="bench", root=str(root)) if attached else None
        if attached:
            audit.flush(spark)
        for _ in block:
            sessions.settle(spark)
            began = sessions.processor_seconds(spark)
            measured = timers.measure(lambda: spark.sql(text).collect())
            if interceptor is not None:
                interceptor.recorder.worker.drain()
            yield attached, {**measured, "processor": sessions.processor_seconds(spark) - began}
        if attached:
            audit.detach(spark)


def _rows(attached: Runs, detached: Runs) -> Iterator[Row]:
    on, off = _medians(attached, "total"), _medians(detached, "total")
    yield _sums("22 queries, by the clock", on, off)
    yield _sums("22 queries, by the processor", *(_medians(r, "processor") for r in (attached, detached)))
    added = sum(_medians(attached, "added").values())
    yield Row(
        "Added on the caller's thread, 22 queries", milliseconds(added), "", 1 + added / sum(off.values())
    )
    slowest = max(on, key=lambda name: on[name] / off[name])
    yield Row(
        f"The query that differs most, {slowest}",
        f"{on[slowest]:.2f} s",
        f"{off[slowest]:.2f} s",
        on[slowest] / off[slowest],
    )


def _sums(what: str, on: dict[str, float], off: dict[str, float]) -> Row:
    first, second = sum(on.values()), sum(off.values())
    return Row(
        what, f"{first:.2f} s", f"{second:.2f} s", first / second, f"≤ {_TARGET}", first <= second * _TARGET
    )


def _medians(runs: Runs, label: str) -> dict[str, float]:
    return {name: median(one[label] for one in each) for name, each in runs.items()}
