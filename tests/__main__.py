"""Runs the tests on both catalogs at once: `python -m tests`, and options of pytest; see the Makefile.

One run is on a catalog in memory; beside it another process runs the tests marked `hive`, since a JVM has
one catalog. Out: both reports, that of Hive at the end; the exit status of the first run that failed.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

ON_HIVE = ("--hive-alone", "--quiet", "--numprocesses", "0")
UNTIMED = ("--limit-seconds", "0")
OF_ONE_RUN = {"--store-durations"}
# JVMs that warm up at the same time wait for each other's compilers: two take twice as long beside a third.
# So the third begins later; how long a test takes in it says nothing.
HEAD_START_SECONDS = 240


def main(arguments: list[str]) -> int:
    """Run both; options may choose tests of one kind alone."""
    of_hive = [one for one in arguments if one not in OF_ONE_RUN]
    with tempfile.TemporaryFile() as report, ended(command(*arguments)) as first:
        with contextlib.suppress(subprocess.TimeoutExpired):
            first.wait(HEAD_START_SECONDS)
        on_hive = command(*of_hive, *ON_HIVE, *UNTIMED)
        with ended(on_hive, stdout=report, stderr=subprocess.STDOUT) as second:
            statuses = [first.wait(), second.wait()]
        report.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(b"\nOn a Hive metastore:\n" + report.read())
    return status_of_both(statuses)


@contextlib.contextmanager
def ended(words: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block: after Ctrl-C nothing runs on."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def command(*options: str) -> list[str]:
    """How to run pytest with this Python."""
    return [sys.executable, "-m", "pytest", *options]


def status_of_both(statuses: list[int]) -> int:
    """The first failure; a run without a test is one only where the other has none either.

    >>> status_of_both([0, 5]), status_of_both([5, 0]), status_of_both([5, 1]), status_of_both([5, 5])
    (0, 0, 1, 5)
    """
    nothing = int(pytest.ExitCode.NO_TESTS_COLLECTED)
    return next((one for one in statuses if one not in (0, nothing)), min(statuses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
