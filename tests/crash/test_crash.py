"""Drivers die by SIGKILL at random points; the next ones and `audit ingest` make it good."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.ops.helpers import ingest_all, make_tables, read, statements

from .supervisor import run

pytestmark = [pytest.mark.spark, pytest.mark.crash]


@pytest.mark.parametrize(
    ("kills", "seed"),
    [
        pytest.param(3, 1, marks=pytest.mark.slow("starts four drivers")),
        pytest.param(200, None, marks=pytest.mark.long("starts 201 drivers: about 20 minutes")),
    ],
)
def test_nothing_that_returned_is_lost_and_nothing_is_twice(spark, tmp_path, kills, seed):
    """Every statement that returned stands once in both tables; one that ran at a kill is INCOMPLETE.

    AUDIT_CRASH_SEED repeats the kills of a long run, AUDIT_CRASH_KILLS sets their number.
    """
    if seed is None:
        seed = int(os.environ.get("AUDIT_CRASH_SEED") or random.randrange(1 << 32))  # noqa: S311
        kills = int(os.environ.get("AUDIT_CRASH_KILLS") or kills)
    print(f"AUDIT_CRASH_SEED={seed}")  # noqa: T201 - pytest shows it when the test fails
    outcome = run(tmp_path, kills, seed)
    root = tmp_path / "audit"
    make_tables(spark, root)
    done = ingest_all(spark, root)
    assert [one.error for one in done if one.error] == []
    assert list((root / "spool").iterdir()) == []
    rows = statements(spark, root)
    statuses = Counter((row.user_name, row.execution_status) for row in rows)
    records = Counter(row.user_name for row in read(spark, root, "access_history"))
    assert outcome.faults(statuses, records) == []
    assert outcome.kills == kills
    assert len(outcome.returned) >= kills // 2
    # Those that ran when their driver died, the ones aside whose start was not on record yet.
    ran = outcome.begun - outcome.returned
    assert {user for user, status in statuses if status == "INCOMPLETE"} <= ran
    assert any(status == "INCOMPLETE" for _, status in statuses)
