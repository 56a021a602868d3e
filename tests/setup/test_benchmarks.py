"""The benchmarks find what they measure: modules import, and stopwatches know the methods by their names."""

from __future__ import annotations

import importlib

import lineage
from audit.spool import Spool
from benchmarks.one import NAMES
from benchmarks.timers import on_the_way


def test_every_benchmark_has_a_run():
    """`python -m benchmarks NAME` calls it."""
    for name in NAMES:
        assert callable(importlib.import_module(f"benchmarks.{name}").run)


def test_stopwatches_go_as_they_came():
    """What a statement passes is watched, and is itself again afterwards."""
    before = lineage.parse, Spool.append
    timers = on_the_way()
    assert (lineage.parse, Spool.append) != before
    seconds = timers.measure(lambda: lineage.parse("SELECT 1 AS stopwatch"))
    assert 0 < seconds["parse"] <= seconds["total"]
    timers.restore()
    assert (lineage.parse, Spool.append) == before
