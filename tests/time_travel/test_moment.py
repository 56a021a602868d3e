"""The value of a point in time, as far as it is read without Spark."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from audit.time_travel.errors import BadMomentError, BadOffsetError
from audit.time_travel.versions.timestamp_eval import offset_of, text_of, timestamp_of
from lineage.sql.parse import parse


def clause(point):
    """The clause of a statement."""
    sql = f"SELECT * FROM t AT ({point})"
    return parse(sql).points[0]


def never(sql):
    """A literal needs no Spark."""
    raise AssertionError(sql)


def utc(*parts):
    """Microseconds."""
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("point", "zone", "expected"),
    [
        ("'Wed, 26 Jun 2024 09:20:00 -0700'::timestamp_tz", "UTC", utc(2024, 6, 26, 16, 20)),
        ("'Wed, 26 Jun 2024 09:20:00-0700'::timestamp_tz", "UTC", utc(2024, 6, 26, 16, 20)),
        ("'Wed, 26 Jun 2024 01:01:00 +0300'::timestamp_tz", "Asia/Tokyo", utc(2024, 6, 25, 22, 1)),
        ("'2024-06-26 09:20:00'", "UTC", utc(2024, 6, 26, 9, 20)),
        ("'2024-06-26 09:20:00'", "America/New_York", utc(2024, 6, 26, 13, 20)),
        ("TIMESTAMP '2024-06-26T09:20:00Z'", "America/New_York", utc(2024, 6, 26, 9, 20)),
        ("'2024-06-26'", "UTC", utc(2024, 6, 26)),
        ("'2024-06-26 09:20:00.5 +02:00'", "UTC", utc(2024, 6, 26, 7, 20) + 500_000),
        # Clocks go back at 03:00 on 2024-10-27 in Berlin: 02:30 comes twice, and the first is meant.
        ("'2024-10-27 02:30:00'", "Europe/Berlin", utc(2024, 10, 27, 0, 30)),
        # They go forward at 02:00 on 2024-03-31: 02:30 is never, and 03:30 summer time is meant, as in Spark.
        ("'2024-03-31 02:30:00'", "Europe/Berlin", utc(2024, 3, 31, 1, 30)),
    ],
)
def test_timestamps(point, zone, expected):
    """The document's dates and ISO 8601, in the session's zone where they name none."""
    assert timestamp_of(clause(f"TIMESTAMP => {point}"), zone, never) == expected


def test_other_expressions_are_evaluated_in_sparks_words():
    """Snowflake's types and units reach Spark under its own names."""
    asked = []

    def evaluate(sql):
        asked.append(sql)
        return 7

    point = clause("TIMESTAMP => DATEADD(days, -4, current_timestamp)::timestamp_tz")
    assert timestamp_of(point, "UTC", evaluate) == 7
    assert asked == ["unix_micros(CAST((DATEADD(DAY, -4, current_timestamp)::TIMESTAMP) AS TIMESTAMP))"]


@pytest.mark.parametrize(
    ("point", "expected"), [("-60*5", -300), ("-300", -300), ("0", 0), ("- 60 * 60 * 2", -7200)]
)
def test_offsets(point, expected):
    """Seconds back from now."""
    assert offset_of(clause(f"OFFSET => {point}"), never) == expected


def test_an_offset_leads_back():
    """One above zero would be the future."""
    with pytest.raises(BadOffsetError, match="below zero"):
        offset_of(clause("OFFSET => 60"), never)


@pytest.mark.parametrize("value", [None, "x", float("nan"), True])
def test_an_offset_is_a_number(value):
    """Whatever Spark gives for it."""
    with pytest.raises(BadMomentError, match="number of seconds"):
        offset_of(clause("OFFSET => f()"), lambda _sql: value)


def test_a_statement_is_a_text():
    """An id, in quotes or from a variable."""
    assert text_of(clause("STATEMENT => '8e5d'"), never) == "8e5d"
    assert text_of(clause("STATEMENT => v"), lambda _sql: " 8e5d ") == "8e5d"
    with pytest.raises(BadMomentError, match="query id"):
        text_of(clause("STATEMENT => 1"), lambda _sql: 1)
