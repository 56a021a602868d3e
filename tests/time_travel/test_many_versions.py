"""A table of many versions, a checkpoint each ten: every point leads to the file of its version."""

from __future__ import annotations

import random
from datetime import datetime, timezone

import pytest

from audit.time_travel import errors
from benchmarks import time_travel_data

pytestmark = pytest.mark.spark


def at(millis):
    """A moment as a clause has it."""
    return f"TIMESTAMP => '{datetime.fromtimestamp(millis / 1000, timezone.utc):%F %T.%f}+00:00'"


@pytest.mark.parametrize(
    ("many", "picked"),
    [
        pytest.param(150, 2, marks=pytest.mark.slow("150 commits")),
        pytest.param(10_000, 5, marks=pytest.mark.long("10,000 commits: four minutes")),
    ],
)
def test_many_versions(session, schema, many, picked):
    """By time at, between and before commits, by statement, from end to end; what is too early says so."""
    session.sql(time_travel_data.MAKE_VERSIONS.format("t"))
    session.sql("INSERT INTO t VALUES (1, 'one')")
    made = time_travel_data.more_versions(session, "t", many)

    def version(clause):
        (row,) = session.sql(f"SELECT _metadata.file_name AS file FROM t {clause}").collect()
        return int(row.file.split("-")[1])

    pick = random.Random(11)  # noqa: S311  which version is no secret
    # The file of version 1 is the one that Spark has written.
    for number in (2, many - 1, *(pick.randrange(3, many - 1) for _ in range(picked))):
        assert version(f"AT ({at(made.times[number])})") == number
        assert version(f"AT ({at(made.times[number] + 59_999)})") == number
        assert version(f"AT (STATEMENT => '{made.statements[number]}')") == number
        if number > 2:
            assert version(f"BEFORE ({at(made.times[number])})") == number - 1
            assert version(f"BEFORE (STATEMENT => '{made.statements[number]}')") == number - 1
    with pytest.raises(errors.BeforeCreationError):
        session.sql(f"SELECT * FROM t AT ({at(made.times[0] - 1)})")
