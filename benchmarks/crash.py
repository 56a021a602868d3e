"""Two hundred drivers killed: is any statement that returned lost, or on record twice?

In: the supervisor of the crash test (`tests/crash`), which needs a checkout of the project. Out: what was
counted.
"""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import sessions
from benchmarks.result import Options, Result, Row, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED = ("tests", "tests.crash", "tests.crash.supervisor", "tests.ops", "tests.ops.helpers")


def run(options: Options, say: Say) -> Result:
    """Kills drivers, takes in what they left, compares."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"the crash test is not here ({missing[0]}): run this in a checkout of the project")
    supervisor = importlib.import_module("tests.crash.supervisor")
    kills, seed = options.pick("kills", full=200, quick=3), random.randrange(1 << 32)  # noqa: S311 - no secret
    with sessions.folder("crash") as root:
        say(f"killing {kills} drivers, seed {seed}")
        began = time.monotonic()
        outcome = supervisor.run(root, kills, seed)
        say(f"{kills} killed in {time.monotonic() - began:,.0f} s; taking in what they left")
        with sessions.session(root / "reader") as spark:
            statuses, records, errors = _tables(spark, root / "audit")
    faults = [*errors, *outcome.faults(statuses, records)]
    for fault in faults[:20]:
        say(fault)
    incomplete = sum(number for (_, status), number in statuses.items() if status == "INCOMPLETE")
    rows = (
        Row("statements begun", f"{len(outcome.begun):,}"),
        Row("statements returned", f"{len(outcome.returned):,}"),
        Row("INCOMPLETE: ran when their driver died", f"{incomplete:,}"),
        Row("lost, twice, or otherwise wrong", f"{len(faults):,}", target="0", met=not faults),
    )
    return Result(
        f"{outcome.kills:,} drivers killed",
        ("counted", ""),
        rows,
        f"SIGKILL at random points (seed {seed}), two drivers at a time on one root, each second one"
        " together with its JVM; then `audit ingest` over what they left, and every statement that a"
        " driver said had returned is looked up in both tables.",
    )


def _tables(spark: SparkSession, root: Path) -> tuple[Counter[tuple[str, str]], Counter[str], list[str]]:
    """Take in the dead drivers' spools; the tables by the marker of each statement; what went wrong."""
    helpers = importlib.import_module("tests.ops.helpers")
    helpers.make_tables(spark, root)
    errors = [str(one.error) for one in helpers.ingest_all(spark, root) if one.error]
    rows = helpers.statements(spark, root)
    statuses = Counter((row.user_name, row.execution_status) for row in rows)
    return statuses, Counter(row.user_name for row in helpers.read(spark, root, "access_history")), errors
