"""The benchmarks find what they measure: modules import, and stopwatches know the methods by their names."""

from __future__ import annotations

import importlib

import lineage
from audit.spool import Spool
from benchmarks import cost
from benchmarks.cost_process import OURS, PLAIN
from benchmarks.one import NAMES
from benchmarks.timers import on_the_way

_ROUNDS = ((10.0, 11.0), (20.0, 22.0), (100.0, 130.0))
"""Seconds of plain Spark and of ours."""


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


def test_a_cost_is_that_beside_plain_spark_in_the_same_round():
    """The ratio is the median of the rounds' own, whatever the machine did between them."""
    rounds = [{PLAIN: {"processor": plain}, OURS: {"processor": ours}} for plain, ours in _ROUNDS]
    assert cost._ratio(rounds, OURS) == 1.1
    assert cost._each(rounds, OURS) == 22.0


def test_families_repeat_only_what_they_say():
    """Texts of a family are new ones, also after others were asked for; of the repeated one all are equal."""
    unseen, repeated, *_ = cost._short(20)
    texts = [*unseen.texts(unseen.warm), *unseen.texts(unseen.statements)]
    assert len({*texts}) == len(texts)
    assert len({*repeated.texts(repeated.statements)}) == 1
