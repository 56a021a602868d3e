"""`audit verify` over a year.

In: `benchmarks.year_data`. Out: the time of the command, over all days and over one week. The log of digests
is made of the year as if each day had been one ingest, and kept beside it.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.clock import SystemClock
from audit.evidence.bound_tables import BOUND_TABLES
from audit.evidence.digest_log import DigestLog
from audit.evidence.entries import Draft, Part, fingerprint
from audit.query.digests.check_rows import Place, keys_of_several, leaves_there
from audit.query.tables import opened
from audit.spark.sessions import own_session
from audit.store.tables import AUDIT_TABLES
from benchmarks import sessions, year_data
from benchmarks.result import DATA, Options, Result, Row, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MINUTES = 15
_WEEK = timedelta(days=6)


def run(options: Options, say: Say) -> Result:
    """Signs the year where that was not done, then verifies it."""
    days = options.pick("days", full=365, quick=20)
    records = options.pick("records", full=100_000, quick=500)
    with sessions.folder("verify") as folder, sessions.session(folder) as spark:
        root = _signed(spark, year_data.history(spark, days, records, say), days, say)
    say("verifying the year")
    last = year_data.FIRST_DAY + timedelta(days=days - 1)
    week = ("--from", str((last - _WEEK).date()), "--to", str(last.date()))
    whole, part = _verify(root), _verify(root, *week)
    rows = days * records
    return Result(
        f"audit verify, {days} days of {records:,} statements",
        ("seconds", "seconds of processors"),
        (
            Row(
                f"{rows:,} statements, all tables",
                *_shown(whole),
                target=f"≤ {_MINUTES} minutes",
                met=whole[0] <= 60 * _MINUTES,
            ),
            Row("the last week", *_shown(part)),
        ),
        "The whole process of the command, without Spark, on both cores; once. The log has an entry for each"
        f" day. The last {year_data.LINEAGE_DAYS} days have lineage.",
    )


def _shown(measured: tuple[float, float]) -> tuple[str, str]:
    return f"{measured[0]:.1f} s", f"{measured[1]:.1f} s"


def _verify(root: Path, *words: str) -> tuple[float, float]:
    """Seconds of the command, by the clock and by the processors."""
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "audit.cli", "verify", "--root", str(root), *words]
    subprocess.run(command, check=True)
    seconds, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used


def _signed(spark: SparkSession, history: Path, days: int, say: Say) -> Path:
    """A root with the tables of the year and their log."""
    root = DATA / f"signed-{history.name}"
    complete = root / "complete"
    if complete.exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for table in AUDIT_TABLES:
        (root / table.name).symlink_to(history / table.name)
    say("hashing the year")
    names = [table.name for table in AUDIT_TABLES]
    dates = [str((year_data.FIRST_DAY + timedelta(days=day)).date()) for day in range(days)]
    log = DigestLog(own_session(spark), str(root), root, SystemClock())
    log.prepare()
    columns = [draft for name in names for draft in log.columns(BOUND_TABLES[name].counted, log.head())]
    log.append([Draft("BEGIN", {"key": log.key, "unbound": {}}), *columns])
    wanted = [(str(history), Place(name, day)) for day in dates for name in names]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        # A day goes into the log, and out of memory, while later ones are hashed.
        found = pool.map(_part, wanted)
        for day in dates:
            parts = [part for part in islice(found, len(names)) if part.leaves.rows]
            log.append([Draft("ROWS", {"batch": f"year/{day}"}, parts)])
    complete.touch()
    return root


def _part(wanted: tuple[str, Place]) -> Part:
    """What an entry says of a table and day."""
    root, place = wanted
    counted = BOUND_TABLES[place.table].counted
    with opened(root, whole=False) as source:
        source.connection.execute("SET threads = 1")
        leaves = leaves_there(source, place, counted, keys_of_several(source, place))
    return Part(place.table, place.day, fingerprint(counted), leaves)
