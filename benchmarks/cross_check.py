"""What it costs to compare text and plan, column by column, on a live statement.

In: small Delta tables. Out: for each kind of statement the processor's milliseconds, in this process and its
JVM, with every statement compared and with none: the worker compares them beside the caller.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import audit
from benchmarks import sessions
from benchmarks.alternating import sides
from benchmarks.front_door import QUERY, make_tables
from benchmarks.result import Options, Result, Row, Say, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KINDS = {
    "query, not seen before": QUERY,
    "CREATE … AS SELECT": "CREATE OR REPLACE TABLE bench.made USING delta AS " + QUERY,
    "MERGE": (
        "MERGE INTO bench.totals t USING (SELECT nation, count(*) AS n FROM bench.customers"
        " WHERE customer_id > {} GROUP BY nation) s ON t.nation = s.nation"
        " WHEN NOT MATCHED THEN INSERT (nation, total) VALUES (s.nation, s.n)"
    ),
}


def run(options: Options, say: Say) -> Result:
    """Measures with all statements compared and with none in turns, in one process."""
    rounds = options.pick("passes", full=6, quick=2)
    count = 4 if options.quick else 30
    found: dict[tuple[str, bool], list[float]] = {}
    with sessions.folder("cross_check") as root, sessions.session(root) as spark:
        make_tables(spark)
        numbers = itertools.count(1)
        for compared in (False, True):  # a round to warm up
            _round(spark, root / "audit", numbers, count, compared=compared)
        for number, compared in enumerate(sides(rounds)):
            say(f"round {number // 2 + 1} of {rounds}, {'compared' if compared else 'not compared'}")
            for name, spent in _round(spark, root / "audit", numbers, count, compared=compared).items():
                found.setdefault((name, compared), []).append(spent)
    return Result(
        "What it costs to compare text and plan of a live statement",
        ("each compared", "none compared"),
        tuple(_row(name, median(found[name, True]), median(found[name, False])) for name in _KINDS),
        f"Processor time of one statement, its record included, of this process and its JVM on all cores:"
        f" medians of {rounds} rounds on each side, in one process, in the order A B B A …, each round"
        f" {count} statements of a kind on Delta tables of 10,000 and 500 rows.",
        ("`cross_check` is the share of statements that pay the difference; no caller waits for it.",),
    )


def _round(
    spark: SparkSession, root: Path, numbers: Iterator[int], count: int, *, compared: bool
) -> dict[str, float]:
    """Seconds of the processor for each kind of statement."""
    interceptor = audit.attach(
        spark, user="bench", root=str(root), cross_check=float(compared), ingest="external"
    )
    drain = interceptor.recorder.worker.drain
    spent = {}
    try:
        for name, text in _KINDS.items():
            drain()
            sessions.settle(spark)
            before = sessions.processor_seconds(spark)
            for number in itertools.islice(numbers, count):
                spark.sql(text.format(number)).collect()
            drain()
            spent[name] = (sessions.processor_seconds(spark) - before) / count
    finally:
        audit.detach(spark)
    return spent


def _row(name: str, compared: float, plain: float) -> Row:
    return Row(
        f"{name}: whole statement and record (the comparison: {milliseconds(compared - plain)})",
        milliseconds(compared),
        milliseconds(plain),
        compared / plain,
    )
