"""The period in force."""

from __future__ import annotations

import pytest

from time_travel.retention import HOURS, MINIMUM, RETENTION, TRANSIENT, in_force, key

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
