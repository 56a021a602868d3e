"""How long `audit.session()` takes to start, against plain PySpark with Delta configured by hand.

In: small programs, each in a process of its own: `audit.session()` without and with the archive of
classes that `audit setup --archive` makes, and a builder. Out: from the start of the process to the
session, to the answer of a first statement, and to the end of the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from audit.spark.embedded import jars
from benchmarks import sessions
from benchmarks.result import Options, Result, Row, Say

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


_BARE, _ARCHIVE, _HAND = "audit.session()", "audit.session(), class archive", "by hand"


def run(options: Options, say: Say) -> Result:
    """Starts all three in turns."""
    passes = options.pick("passes", full=5, quick=1)
    sides = (_BARE, _ARCHIVE, _HAND)
    found: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    subprocess.run([sys.executable, "-m", "audit.cli", "setup", "--archive"], check=True, capture_output=True)
    with sessions.folder("start") as root:
        (root / "jars").mkdir()
        for jar in jars.resolve(os.environ):  # what setup without --archive leaves
            (root / "jars" / jar.name).hardlink_to(jar)
        for side in sides:  # afterwards the root exists, and the disk's cache is warm
            _start(root, side)
        for number in range(passes):
            for side in sides if number % 2 else sides[::-1]:
                found[side].append(_start(root, side))
                say(f"{side}: {found[side][-1]['session']:.2f} s")
    whats = ("to the session", "to the answer of a first statement", "to the end of the process")
    return Result(
        "The start of a session",
        ("audit.session()", "by hand"),
        tuple(
            _row(
                f"{what}{', with a class archive' if side is _ARCHIVE else ''}",
                stage,
                found[side],
                found[_HAND],
            )
            for side in (_BARE, _ARCHIVE)
            for what, stage in zip(whats, _STAGES, strict=True)
        ),
        f"Medians of {passes} processes of each kind, in turns, A B C C B A …, after one of each, from the"
        " start of Python. By hand: a builder with Delta's jars, extension and catalog, and Spark's defaults"
        " (a catalog in memory). The first statement sums a Delta table of three rows. The class archive is"
        " what `audit setup --archive` makes.",
        (
            (
                "audit.session() also opens a metastore that keeps tables, and at the end takes records in:"
                " that is what the lines after the first hold beside the start."
            ),
        ),
    )


def _row(what: str, stage: str, ours: list[dict[str, float]], hand: list[dict[str, float]]) -> Row:
    one, plain = (median(times[stage] for times in side) for side in (ours, hand))
    target, met = ("≤ 1", one <= plain) if stage == "session" else ("", None)
    return Row(what, f"{one:.2f} s", f"{plain:.2f} s", one / plain, target, met)


def _start(root: Path, side: str) -> dict[str, float]:
    """Seconds from the start of a process to each stage."""
    table = root / "table"
    paths = ",".join(str(path) for path in jars.resolve(os.environ))
    begin = (_BY_HAND if side is _HAND else _AUDITED).format(
        root=str(root / "audit"), master=sessions.MASTER, jars=paths
    )
    bare = {"AUDIT_JARS_DIR": str(root / "jars")} if side is _BARE else {}
    first = "" if table.exists() else _FIRST
    program = begin + "print('session', flush=True); " + (first + _ASK).format(table=str(table))
    began, seconds = time.perf_counter(), {}
    with sessions.driver(program, root, bare) as process:
        for line in process.stdout or ():
            seconds[line.strip()] = time.perf_counter() - began
    seconds["end"] = time.perf_counter() - began
    if process.returncode or not seconds.keys() >= set(_STAGES):
        sys.exit(f"this did not run: {program}")
    return seconds
