"""What the front door adds to a short statement on the thread that runs it.

In: small Delta tables. Out: for each kind of statement the added milliseconds, and the whole statement
attached against detached.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import audit
from benchmarks import sessions
from benchmarks.alternating import sides
from benchmarks.result import Options, Result, Row, Say, milliseconds
from benchmarks.timers import PARTS, Timers, on_the_way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[[], Any]
Samples = list[dict[str, float]]

QUERY = (
    "SELECT c.nation, count(*) AS orders, sum(o.total) AS total, avg(o.total) AS mean_total"
    " FROM bench.orders o JOIN bench.customers c ON o.customer_id = c.customer_id"
    " WHERE o.total > {} AND o.status IN ('O', 'F') GROUP BY c.nation HAVING count(*) > 1"
    " ORDER BY total DESC LIMIT 10"
)
INSERT = (
    "INSERT INTO bench.totals SELECT c.nation, sum(o.total) AS total FROM bench.orders o"
    " JOIN bench.customers c ON o.customer_id = c.customer_id WHERE o.total > {} GROUP BY c.nation"
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of statement: `make` gives one for a number that no other has, `limit` is in milliseconds.

    `share` divides how often it runs. `paced`: the next one waits until the worker has written the record of
    the last, as with a person at a prompt; else they follow each other without a pause, as in a loop.
    """

    name: str
    limit: float
    make: Callable[[SparkSession, int], Run]
    share: int = 1
    paced: bool = False


def _unseen(spark: SparkSession, number: int) -> Run:
    return lambda: spark.sql(QUERY.format(number)).collect()


def _repeated(spark: SparkSession, _number: int) -> Run:
    return lambda: spark.sql(QUERY.format(0)).collect()


def _insert(spark: SparkSession, number: int) -> Run:
    return lambda: spark.sql(INSERT.format(number))


def _frame(spark: SparkSession, number: int) -> Run:
    orders, customers = spark.table("bench.orders"), spark.table("bench.customers")
    joined = orders.where(orders.total > number).join(customers, "customer_id")
    return joined.groupBy("nation").count().collect


KINDS = (
    Kind("query, not seen before", 3.0, _unseen, paced=True),
    Kind("query, not seen before, in a loop without pause", 3.0, _unseen),
    Kind("query, repeated", 1.0, _repeated, paced=True),
    Kind("query, repeated, in a loop without pause", 1.0, _repeated),
    Kind("DataFrame, collect", 3.0, _frame, paced=True),
    Kind("INSERT … SELECT, not seen before", 3.0, _insert, share=4, paced=True),
)


def run(options: Options, say: Say) -> Result:
    """Measures attached and detached in turns, in one process."""
    rounds = options.pick("passes", full=8, quick=2)
    count = 4 if options.quick else 40
    found: dict[tuple[str, bool], list[Samples]] = {}
    with sessions.folder("front_door") as root, sessions.session(root) as spark:
        make_tables(spark)
        timers, numbers = on_the_way(), itertools.count(1)
        for attached in (False, True):  # a round to warm up
            _round(spark, root / "audit", timers, numbers, max(1, count // 2), attached=attached)
        for number, attached in enumerate(sides(rounds)):
            say(f"round {number // 2 + 1} of {rounds}, {'attached' if attached else 'detached'}")
            measured = _round(spark, root / "audit", timers, numbers, count, attached=attached)
            for name, samples in measured.items():
                found.setdefault((name, attached), []).append(samples)
        timers.restore()
    rows = [row for kind in KINDS for row in _rows(kind, found[kind.name, True], found[kind.name, False])]
    return Result(
        "What the front door adds to a short statement",
        ("attached", "detached"),
        tuple(rows),
        f"Medians of {rounds} rounds on each side, in one process, in the order A B B A …, each round"
        f" {count} statements of a kind ({max(1, count // 4)} INSERTs) on Delta tables of 10,000 and 500"
        " rows, collected; a round before them is not counted. The added time is that of the whole call"
        " less that of PySpark's own `sql` and `collect` inside it, on the thread that runs the"
        " statement.",
        (
            (
                "The whole statement differs by more than what the front door adds where the worker"
                " analyses the last one meanwhile: it shares the cores and Python's interpreter lock with"
                " the thread that measures."
            ),
            (
                "In a loop without pause the worker is always at work; else it has finished before the next"
                " begins."
            ),
        ),
    )


def make_tables(spark: SparkSession) -> None:
    """Orders, customers, and a table to write to, in a schema `bench`."""
    spark.sql("CREATE SCHEMA bench")
    spark.range(10_000).selectExpr(
        "id AS order_id",
        "id % 500 AS customer_id",
        "CAST(hash(id) % 100000 AS DOUBLE) AS total",
        "element_at(array('O', 'F', 'P'), CAST(id % 3 AS INT) + 1) AS status",
    ).write.format("delta").saveAsTable("bench.orders")
    spark.range(500).selectExpr("id AS customer_id", "concat('nation ', id % 25) AS nation").write.format(
        "delta"
    ).saveAsTable("bench.customers")
    spark.sql("CREATE TABLE bench.totals (nation STRING, total DOUBLE) USING delta")


def _round(
    spark: SparkSession, root: Path, timers: Timers, numbers: Iterator[int], count: int, *, attached: bool
) -> dict[str, Samples]:
    """Every kind of statement on one side."""
    with _side(spark, root, attached=attached) as pause:
        return {kind.name: _samples(spark, kind, timers, numbers, count, pause) for kind in KINDS}


def _samples(
    spark: SparkSession,
    kind: Kind,
    timers: Timers,
    numbers: Iterator[int],
    count: int,
    pause: Callable[[], object],
) -> Samples:
    samples = []
    sessions.settle(spark)
    kind.make(spark, next(numbers))()
    for number in itertools.islice(numbers, max(1, count // kind.share)):
        if kind.paced:
            pause()
        samples.append(timers.measure(kind.make(spark, number)))
    pause()
    return samples


@contextmanager
def _side(spark: SparkSession, root: Path, *, attached: bool) -> Iterator[Callable[[], object]]:
    """Attached or not; gives what waits for the worker. Neither the attach nor the detach is measured."""
    if not attached:
        yield lambda: None
        return
    interceptor = audit.attach(spark, user="bench", root=str(root))
    audit.flush(spark)  # the ingest thread has made its tables
    try:
        yield interceptor.recorder.worker.drain
    finally:
        audit.detach(spark)


def _rows(kind: Kind, attached: list[Samples], detached: list[Samples]) -> Iterator[Row]:
    added = _median(attached, "added") - _median(detached, "added")  # a stopwatch costs a microsecond, too
    parts = {part: _median(attached, part) for part in PARTS}
    parts["the rest"] = added - sum(parts.values())
    shown = ", ".join(f"{name} {milliseconds(value)}" for name, value in parts.items())
    yield Row(
        f"{kind.name}: added",
        f"{milliseconds(added)} ({shown})",
        target=f"≤ {kind.limit:g} ms",
        met=added * 1e3 <= kind.limit,
    )
    on, off = _median(attached, "total"), _median(detached, "total")
    yield Row(f"{kind.name}: whole statement", milliseconds(on), milliseconds(off), on / off)


def _median(rounds: list[Samples], label: str) -> float:
    """The median over the rounds of the medians in each."""
    return median(median(sample.get(label, 0.0) for sample in samples) for samples in rounds)
