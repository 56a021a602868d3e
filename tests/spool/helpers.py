"""What several tests of the spool need: completing a statement, reading what a spool has recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import audit
from audit.spool import read_segment

HERE = Path(__file__).parent


def complete(start, end, facts):
    """The record that tests make of a statement without one."""
    status = end.payload["status"] if end else "INCOMPLETE"
    return {"status": status, "facts": [fact.payload["fact"] for fact in facts], "text": start.payload.get("text")}


def sealed_entries(spool_dir, kind="R"):
    """Entries of one kind in the sealed segments of a spool."""
    paths = sorted((Path(spool_dir) / "sealed").glob("*.jsonl"))
    return [entry for path in paths for entry in read_segment(path).entries if entry.kind == kind]


def records(spool_dir):
    """How many records each query id has in the sealed segments."""
    return Counter(entry.query_id for entry in sealed_entries(spool_dir))


def abandon(spool):
    """Ends a spool as a SIGKILL would: its lock is freed, nothing is written or closed."""
    spool.disown()


def run_python(*arguments, **options):
    """Runs a script beside this file in a process of its own; what it wrote on stdout."""
    environment = {**os.environ, "PYTHONPATH": str(Path(audit.__file__).parents[1])}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
