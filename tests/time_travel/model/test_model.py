"""Random operations: nothing that is promised is out of reach, and nothing is read at a wrong version.

`TIME_TRAVEL_OPERATIONS` and `TIME_TRAVEL_SEED` choose another walk, `TIME_TRAVEL_WORLD` the world that it
begins with: a long one can be walked in parts. A failure names the shortest steps that it needs: put them in
test_found.py.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.ledger import balanced
from tests.sessions import NO_TABLES

from .operations import PLAIN, BrokenPromise
from .sequences import shortest, steps_of
from .walk import Walk

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
SEED = os.environ.get("TIME_TRAVEL_SEED", "1")
FIRST_WORLD = int(os.environ.get("TIME_TRAVEL_WORLD", "1"))
OF_A_WORLD = 30
"""Steps after which a new world begins."""
TRIES = int(os.environ.get("TIME_TRAVEL_TRIES", "40"))
WITHOUT = tuple(filter(None, os.environ.get("TIME_TRAVEL_WITHOUT", "").split(",")))
"""Operations that are left out, and ways of sending a statement (script, immediate)."""
CI = 300
_world = count(1)


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param(CI, id="ci", marks=pytest.mark.slow("a step with its reads takes most of a second")),
        pytest.param(
            int(os.environ.get("TIME_TRAVEL_OPERATIONS", "10000")),
            marks=pytest.mark.long("two hours or more"),
        ),
    ],
)
def test_what_is_promised_can_be_read(moving_session, spark, moving_clock, operations):
    """After each of so many random operations."""
    done, worlds = 0, count(FIRST_WORLD)
    while done < operations:
        seed = f"{SEED} {next(worlds)}"
        done += walk(moving_session, spark, moving_clock, seed, min(OF_A_WORLD, operations - done))


@pytest.mark.parametrize("broken", ["a file is gone", "other rows are promised"])
def test_a_walk_sees_what_is_broken(moving_session, spark, moving_clock, broken):
    """A file of the past that is deleted by hand; a state that the model has otherwise."""
    world = Walk(moving_session, spark, moving_clock, str(next(_world)))
    try:
        assert world.take(("create", "x.a", PLAIN, None, False))
        files = moving_session.table(world.sql("x.a")).inputFiles()
        assert world.take(("write", "x.a", "overwrite", PLAIN))
        states = world.model.tables["x.a"].states
        if broken == "a file is gone":
            Path(urlsplit(files[0]).path).unlink()
        else:
            states[0] = replace(states[0], rows=(77,))
        with pytest.raises(BrokenPromise, match=r"files .* are gone|instead of \(77,\)"):
            world.take(("write", "x.a", "insert", PLAIN))
    finally:
        world.close()


def walk(session, outside, clock, seed, length):
    """The steps of one world that make sense."""
    steps, began = [], time.monotonic()
    world = Walk(session, outside, clock, str(next(_world)), seed)
    try:
        # A ledger keeps what Spark tells of each execution, plans included: one for each world.
        with balanced(session):
            for step in islice(steps_of(seed, without=WITHOUT), 50 * length):
                if len(steps) == length:
                    break
                if set(step) & set(WITHOUT):
                    continue
                steps.append(step)
                if not world.take(step, last=len(steps) == length):
                    steps.pop()
        return len(steps)
    except Exception as error:
        if type(error) is AssertionError:  # of the ledger, which a replay does not have
            raise AssertionError(f"seed {seed}: {error}\n{_listed(steps)}") from error
        raise AssertionError(_told(session, outside, clock, seed, steps, error)) from error
    finally:
        print(f"{seed}: {len(steps)} steps, {world.checks} checks, {time.monotonic() - began:.0f} s")  # noqa: T201
        world.close()


def _told(session, outside, clock, seed, steps, error):
    def fails(part):
        try:
            replay(session, outside, clock, part)
        except Exception as other:  # noqa: BLE001  any failure of the same kind is this one
            return _kind(other) == _kind(error)
        return False

    needed = shortest(steps, fails, TRIES)
    return f"seed {seed}: {type(error).__name__}: {str(error)[:1500]}\n{_listed(needed)}"


def _kind(error):
    """What an error says without names and numbers: another one is no shorter form of it."""
    return type(error), re.sub(r"\S*\d\S*|'[^']*'", "", str(error))[:80]


def _listed(steps):
    return "".join(f"    {step!r},\n" for step in steps)


def replay(session, outside, clock, steps):
    """Steps in a world of their own; after the last the rows of all reads are read."""
    world = Walk(session, outside, clock, str(next(_world)))
    try:
        for step in steps:
            world.take(step, last=step is steps[-1])
    finally:
        world.close()
