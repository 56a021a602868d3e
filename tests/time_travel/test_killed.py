"""A driver dies by SIGKILL in the middle of its drops; the next one finds everything, and finishes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.spark,
    pytest.mark.crash,
    # test_hard_cases breaks drops off at these points in one process.
    pytest.mark.long("a driver that is killed, and the one after it: a minute"),
]
ABOVE = Path(__file__).parents[2]


def driver(root, task, log):
    """A process of its own, with its JVM."""
    with log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.time_travel.killed", str(root), task],
            cwd=ABOVE,
            env={**os.environ, "PYTHONPATH": str(ABOVE)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            text=True,
        )


def test_killed_at_each_point(tmp_path):
    """After the event, after the table was made external, after its folder moved, where it stays."""
    log = tmp_path / "log"
    first = driver(tmp_path / "root", "work", log)
    assert first.stdout.readline() == "here\n", log.read_text()
    first.kill()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    second = driver(tmp_path / "root", "mend", log)
    said, _ = second.communicate(timeout=300)
    assert second.returncode == 0, log.read_text()
    found = json.loads(said.splitlines()[-1])
    assert list(found) == ["told", "freed", "renamed", "moved", "shared"]
    for schema, seen in found.items():
        assert seen == {
            "tables": [["t", False]],
            "schemas": [False],
            "rows": [[schema]],
            "cloned": [["shared"]],
            "again": [[schema]],
            "left": 0,
        }, schema
