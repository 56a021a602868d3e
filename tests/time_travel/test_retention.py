"""The period in force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.time_travel.retention.periods import DAY, TRANSIENT, Retention, in_force, key
from lineage.sql.commands.time_travel.retention import HOURS, MINIMUM, RETENTION

DAYS, LEAST = key(RETENTION), key(MINIMUM)


@pytest.mark.parametrize(
    ("table", "schema", "account", "days", "level"),
    [
        ({}, {}, {}, 1, ""),
        ({}, {}, {RETENTION: 30}, 30, "ACCOUNT"),
        ({}, {DAYS: "5"}, {RETENTION: 30}, 5, "SCHEMA"),
        ({DAYS: "90"}, {DAYS: "5"}, {RETENTION: 30}, 90, "TABLE"),
        ({DAYS: "0"}, {}, {RETENTION: 30}, 0, "TABLE"),
        ({DAYS: "0"}, {}, {MINIMUM: 3}, 3, "TABLE"),
        ({DAYS: "10"}, {}, {MINIMUM: 3}, 10, "TABLE"),
        ({}, {key(HOURS): "48"}, {MINIMUM: 30}, 2, "SCHEMA"),
        ({key(TRANSIENT): "true"}, {}, {RETENTION: 30, MINIMUM: 30}, 1, "ACCOUNT"),
        ({key(TRANSIENT): "true"}, {DAYS: "30"}, {}, 1, "SCHEMA"),
        ({DAYS: "30"}, {key(TRANSIENT): "true"}, {}, 1, "TABLE"),
        ({}, {}, {RETENTION: 0}, 0, "ACCOUNT"),
        ({DAYS: "5"}, {}, {RETENTION: 0}, 5, "TABLE"),
    ],
)
def test_the_nearest_setting_counts_and_the_minimum_of_the_account(table, schema, account, days, level):
    """MAX(DATA_RETENTION_TIME_IN_DAYS, MIN_DATA_RETENTION_TIME_IN_DAYS), inherited downwards."""
    found = in_force(table, schema, account)
    assert (found.days, found.level) == (days, level)


def test_what_is_transient_has_no_fail_safe():
    """The table itself, or its schema."""
    assert in_force({}, {}, {}).fail_safe == 7
    assert in_force({key(TRANSIENT): "true"}, {}, {}).fail_safe == 0
    assert in_force({}, {key(TRANSIENT): "true"}, {}).fail_safe == 0


def test_a_shorter_period_moves_what_is_older_into_fail_safe():
    """Ten days, then one: days 2 to 10 go to Fail-safe, where they stay for seven days."""
    periods = Retention(1, 7, "TABLE").after(Retention(10, 7, "TABLE"), 100 * DAY)
    assert periods.horizon(100 * DAY) == 99 * DAY
    assert periods.kept_horizon(100 * DAY) == 83 * DAY  # what had left before
    assert periods.kept_horizon(107 * DAY - 1) == 90 * DAY - 1
    assert periods.kept_horizon(107 * DAY) == 99 * DAY
    assert (periods.longest(100 * DAY), periods.longest(107 * DAY)) == (17, 8)


def test_a_longer_period_brings_nothing_back():
    """What is older than the shorter period "has already moved into Fail-safe"."""
    periods = Retention(20, 7, "TABLE").after(Retention(10, 7, "TABLE"), 100 * DAY)
    assert periods.horizon(100 * DAY) == 90 * DAY
    assert periods.horizon(105 * DAY) == 90 * DAY
    assert periods.horizon(112 * DAY) == 92 * DAY


changes = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20)), max_size=5)


@given(changes, st.integers(0, 20), st.integers(0, 60), st.integers(0, 60))
def test_the_horizon_is_what_a_daily_look_would_find(changes, last, removed, at):
    """A day by day simulation: what is older than the period of that day has left for good."""
    periods, today = Retention(changes[0][1] if changes else last, 7, "TABLE"), 0
    table = []
    for days_on, days in [*changes[1:], (1, last)]:
        table += [periods.days] * days_on
        today += days_on
        periods = Retention(days, 7, "TABLE").after(periods, today * DAY)
    table += [periods.days] * 100
    at = max(at, today)
    left = any(day - removed >= min(table[day - 1], table[day]) for day in range(max(removed, 1), at + 1))
    assert (removed * DAY <= periods.horizon(at * DAY)) == left or removed > at
