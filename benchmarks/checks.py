"""How long `audit check` takes for a day.

In: a day of records, ingested as a driver leaves them. Out: seconds from the call to the result, with what of
them the parts take.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING

from audit.checks import check_history
from audit.checks.engine import great_expectations
from audit.ingest.folder import ingest_folder
from audit.spool import Spool
from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables
from benchmarks import sessions
from benchmarks.ingest import SPOOL_BYTES, fill
from benchmarks.result import Options, Result, Row, Say

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_TARGET = 30.0
_MASTER = f"spark.master={sessions.MASTER}"


def run(options: Options, say: Say) -> Result:
    """Fills a day, checks it, several times over."""
    records = options.pick("records", full=100_000, quick=2_000)
    passes = options.pick("passes", full=5, quick=1)
    seconds = []
    with sessions.folder("checks") as root:
        with sessions.session(root) as spark:
            say(f"{records:,} records")
            _fill(spark, root, records)
            began = time.perf_counter()
            great_expectations()
            imported = time.perf_counter() - began
            for number in range(passes + 1):
                sessions.settle(spark)
                began = time.perf_counter()
                result = check_history(spark, str(root))
                took = time.perf_counter() - began
                say(f"pass {number} of {passes}: {took:.2f} s, {result.summary}")
                if result.totals["records"] != records or not result.success:
                    raise SystemExit(result.summary)
                seconds.append(took)
        say("from the shell")
        began = time.perf_counter()
        command = [sys.executable, "-m", "audit.cli", "check", "--root", str(root), "--conf", _MASTER]
        subprocess.run(command, check=True, capture_output=True)
        shell = time.perf_counter() - began
    cold, warm = seconds[0], seconds[1:]
    rows = (
        Row(
            f"a day of {records:,} records, in a JVM that has checked before",
            f"{median(warm):,.1f} s",
            f"{min(warm):,.1f} to {max(warm):,.1f} s",
            target=f"< {_TARGET:.0f} s",
            met=median(warm) < _TARGET,
        ),
        Row("the first check of a process", f"{cold:,.1f} s"),
        Row("importing Great Expectations, once", f"{imported:,.1f} s"),
        Row("audit check on the shell, the whole process, with the start of Spark", f"{shell:,.1f} s"),
    )
    return Result(
        "audit check",
        ("seconds", "fastest and slowest pass"),
        rows,
        f"Median of {passes} passes on {sessions.MASTER} after a first one: from the call to the result, all"
        " expectations, the hash of each record worked out anew. The records are those of the benchmark"
        " ingest; making and ingesting them is not timed, nor is the start of Spark but in the last line.",
    )


def _fill(spark: SparkSession, root: Path, records: int) -> None:
    with commit_lock(spark, str(root)):
        create_tables(spark, str(root))
    with Spool.open(root, max_bytes=SPOOL_BYTES) as spool:
        fill(spool, records)
        spool.rotate()
        ingest_folder(spark, spool.path, str(root))
