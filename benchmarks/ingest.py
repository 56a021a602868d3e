"""How fast records come from the spool into committed Delta.

In: records written through the real spool, starts and ends between them as a driver leaves them. Out:
records a second, from the sealed segments to all tables.
"""

from __future__ import annotations

import random
import time
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from audit.core.clock import SystemClock
from audit.core.ids import IdGenerator
from audit.ingest.folder import ingest_folder, prepare
from audit.record.access_record import build_row
from audit.spool import Spool
from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables
from benchmarks import sessions
from benchmarks.result import Options, Result, Row, Say
from benchmarks.workload import USERS, ended, templates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TARGET = 30_000
_FEW = 20
_SMALL_PASSES = 7
_TEMPLATES = 2_000
SPOOL_BYTES = 16 << 30


def run(options: Options, say: Say) -> Result:
    """Fills a spool, takes it in, several times over."""
    records = options.pick("records", full=100_000, quick=2_000)
    passes = options.pick("passes", full=5, quick=1)
    rates, by_processor, megabytes = [], [], 0.0
    with sessions.folder("ingest") as root, sessions.session(root) as spark:
        with commit_lock(spark, str(root)):
            create_tables(spark, str(root))
        prepare(spark)  # as the attach of a driver does
        first, *small = (_pass(spark, root, _FEW) for _ in range(_SMALL_PASSES))
        _pass(spark, root, max(500, records // 10))
        for number in range(passes):
            say(f"pass {number + 1} of {passes}: {records:,} records")
            seconds, processor, megabytes = _pass(spark, root, records)
            rates.append(records / seconds)
            by_processor.append(records / processor)
            say(f"{seconds:.2f} s, {rates[-1]:,.0f} records a second")
    rate = median(rates)
    rows = (
        Row(
            f"{records:,} records, {megabytes:,.0f} MB in the spool",
            f"{rate:,.0f}",
            f"{min(rates):,.0f} to {max(rates):,.0f}",
            target=f"≥ {_TARGET:,}",
            met=rate >= _TARGET,
        ),
        Row(
            "the same by a second of one core's work",
            f"{median(by_processor):,.0f}",
            f"{min(by_processor):,.0f} to {max(by_processor):,.0f}",
        ),
        _small("the first ingest of a driver", [first]),
        _small("a later one", small),
    )
    return Result(
        "From the spool to committed Delta",
        ("records a second", "slowest and fastest pass"),
        rows,
        f"Median of {passes} passes on {sessions.MASTER} after a warm-up with a tenth of the records,"
        " each a new spool: sealed segments, in which the start and the end of each statement stand"
        " beside its record, to the return of the ingest, which has then committed to all tables,"
        " removed the segments and compacted where that was due. Statements read 3 objects of 5"
        " columns; one in eight is an INSERT with the sources of 8 columns. Making the records is not"
        " timed.",
    )


def _small(which: str, passes: list[tuple[float, float, float]]) -> Row:
    """How long a few records take, and the work of the processors on it."""
    seconds, processor = (median(one[at] for one in passes) for at in (0, 1))
    return Row(f"{_FEW} records: {which}", f"{seconds:.2f} s, {processor:.2f} s of processors", "")


def _pass(spark: SparkSession, root: Path, records: int) -> tuple[float, float, float]:
    """Seconds of one ingest by the clock and by the processor, and the megabytes that it read."""
    with Spool.open(root, max_bytes=SPOOL_BYTES) as spool:
        fill(spool, records)
        spool.rotate()
        size = sum(path.stat().st_size for path in spool.sealed())
        sessions.settle(spark)
        began, before = time.perf_counter(), sessions.processor_seconds(spark)
        done = ingest_folder(spark, spool.path, str(root))
        seconds, processor = time.perf_counter() - began, sessions.processor_seconds(spark) - before
    if done.statements != records:
        raise SystemExit(f"{done.statements:,} of {records:,} records were taken in")
    return seconds, processor, size / 1e6


def fill(spool: Spool, records: int) -> None:
    """Write records as a driver does: the start and the end of each statement beside it."""
    clock, ids = SystemClock(), IdGenerator()
    chance = random.Random(1)  # noqa: S311 - data, no secret
    for template in islice(cycle(tuple(templates(_TEMPLATES))), records):
        started = template.started(ids.new(), clock.now(), f"user_{chance.randrange(USERS)}")
        query_id, end = started.query_id, ended(started.start_time)
        spool.append("S", query_id, started.to_dict(), "later")
        spool.append("E", query_id, end.to_dict(), "later")
        spool.record(query_id, build_row(started, end, template.finding()))
