"""How long `audit.session()` takes to start, against plain PySpark with Delta configured by hand.

In: two small programs, each in a process of its own. Out: from the start of the process to the session, to
the answer of a first statement, and to the end of the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from audit.embedded import jars
from benchmarks import sessions
from benchmarks.alternating import sides
from benchmarks.result import Options, Result, Row, Say

_SOURCE = Path(__file__).parents[1]
_STAGES = ("session", "answer", "end")
_FIRST = "spark.range(3).write.format('delta').mode('overwrite').save({table!r}); "
_ASK = "spark.sql('SELECT sum(id) FROM delta.`' + {table!r} + '`').collect(); print('answer', flush=True); "
_AUDITED = "import audit; spark = audit.session({root!r}, master={master!r}, user='bench'); "
_BY_HAND = (
    "from pyspark.sql import SparkSession; "
    "spark = (SparkSession.builder.master({master!r}).config('spark.jars', {jars!r})"
    ".config('spark.sql.extensions', 'io.delta.sql.DeltaSparkSessionExtension')"
    ".config('spark.sql.catalog.spark_catalog', 'org.apache.spark.sql.delta.catalog.DeltaCatalog')"
    ".getOrCreate()); "
)


def run(options: Options, say: Say) -> Result:
    """Starts both in turns."""
    passes = options.pick("passes", full=5, quick=1)
    found: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    with sessions.folder("start") as root:
        for audited in (False, True):  # afterwards the root exists, and the disk's cache is warm
            _start(root, audited=audited)
        for audited in sides(passes):
            found[audited].append(_start(root, audited=audited))
            say(f"{'audit.session()' if audited else 'by hand'}: {found[audited][-1]['session']:.2f} s")
    whats = ("to the session", "to the answer of a first statement", "to the end of the process")
    return Result(
        "The start of a session",
        ("audit.session()", "by hand"),
        tuple(_row(what, stage, found) for what, stage in zip(whats, _STAGES, strict=True)),
        f"Medians of {passes} processes on each side, A B B A …, after one of each, from the start of"
        " Python. By hand: a builder with Delta's jars, extension and catalog, and Spark's defaults (a"
        " catalog in memory). The first statement sums a Delta table of three rows.",
        (
            (
                "audit.session() also opens a metastore that keeps tables, and at the end takes records in:"
                " that is what the last two lines hold beside the start."
            ),
        ),
    )


def _row(what: str, stage: str, found: dict[bool, list[dict[str, float]]]) -> Row:
    ours, plain = (median(one[stage] for one in found[audited]) for audited in (True, False))
    target, met = ("≤ 1", ours <= plain) if stage == "session" else ("", None)
    return Row(what, f"{ours:.2f} s", f"{plain:.2f} s", ours / plain, target, met)


def _start(root: Path, *, audited: bool) -> dict[str, float]:
    """Seconds from the start of a process to each stage."""
    table = root / "table"
    paths = ",".join(str(path) for path in jars.resolve(os.environ))
    begin = (_AUDITED if audited else _BY_HAND).format(
        root=str(root / "audit"), master=sessions.MASTER, jars=paths
    )
    first = "" if table.exists() else _FIRST
    program = begin + "print('session', flush=True); " + (first + _ASK).format(table=str(table))
    began, seconds = time.perf_counter(), {}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=root,  # Spark leaves a warehouse where it starts
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_SOURCE), os.environ.get("PYTHONPATH", "")])},
    ) as process:
        for line in process.stdout or ():
            seconds[line.strip()] = time.perf_counter() - began
    seconds["end"] = time.perf_counter() - began
    if process.returncode or not seconds.keys() >= set(_STAGES):
        sys.exit(f"this did not run: {program}")
    return seconds
