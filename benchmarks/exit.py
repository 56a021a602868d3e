"""What a short driver pays for the audit when it exits.

In: small programs, each in a process of its own, on one root: a Spark that is audited, and the same one that
is not. Out: from the answer of the last statement to the end of the process. Nothing has been ingested
before, so the exit takes in all that the driver had open; one driver in sixteen puts small files together.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

from benchmarks import sessions
from benchmarks.result import Options, Result, Row, Say

_STATEMENTS = 20
_SEVERAL = 4
"""Audited drivers to one that is not."""
_AUDITED = "import audit; spark = audit.session({root!r}, master={master!r}, user='bench'); "
_PLAIN = "from audit.spark.embedded.spark import embedded; spark = embedded({root!r}, master={master!r}); "
_WORK = (
    "[spark.sql(f'SELECT {{n}} AS n, sum(id) FROM range({{n}} + 100)').collect()"
    " for n in range({statements})]; print('answer', flush=True)"
)


def run(options: Options, say: Say) -> Result:
    """Starts drivers one after the other, and looks how they end."""
    passes = options.pick("passes", full=20, quick=2)
    audited, plain = [], []
    with sessions.folder("exit") as root:
        for number in range(passes):
            if number % _SEVERAL == 0:
                plain.append(_end(root, _PLAIN))
            seconds = _end(root, _AUDITED)
            if number:  # the first one has made the tables
                audited.append(seconds)
            say(f"driver {number + 1} of {passes}: {seconds:.2f} s")
    bare = median(plain)
    paid = [seconds - bare for seconds in audited]
    return Result(
        "The exit of a short driver",
        ("audited", "not audited"),
        (
            Row(
                "from the last answer to the end of the process", f"{median(audited):.2f} s", f"{bare:.2f} s"
            ),
            Row(
                "what the audit takes of it",
                f"{median(paid):.2f} s",
                target="≤ 1 s",
                met=median(paid) <= 1,
            ),
            Row("the slowest", f"{max(paid):.2f} s", target="≤ 1 s", met=max(paid) <= 1),
        ),
        f"{len(audited)} drivers of {_STATEMENTS} statements each, on {sessions.MASTER}, one after the other,"
        f" and {len(plain)} between them whose Spark is not audited. Each is a process of its own that ends"
        " without `audit.detach`, before its first ingest: the exit takes in all that it had open. The"
        " slowest is nearly always the one in sixteen that also puts the small files of all tables together.",
    )


def _end(root: Path, begin: str) -> float:
    """Seconds from the last answer to the end of a process."""
    program = (begin + _WORK).format(root=str(root / "root"), master=sessions.MASTER, statements=_STATEMENTS)
    with sessions.driver(program, root) as process:
        answered = (process.stdout.readline() if process.stdout else "").strip() == "answer"
        since = time.perf_counter()
    seconds = time.perf_counter() - since
    if process.returncode or not answered:
        sys.exit(f"this did not run: {program}")
    return seconds
