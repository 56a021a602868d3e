"""Expressions of AT | BEFORE at their limits: forms of dates, zones, numbers beyond all times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.clock import to_micros
from audit.time_travel.errors import BadMomentError, BadOffsetError, FutureMomentError
from audit.time_travel.versions.timestamp_eval import offset_of, text_of, timestamp_of, version_of
from audit.time_travel.versions.version_lookup import evaluate, time_text
from lineage.sql.parse import parse

NOW = 1_763_629_200_000_000  # 2025-11-20T09:00:00Z


class Spark:
    """Stands for the user's session: one answer to every expression, and what was asked."""

    zone = "UTC"

    def __init__(self, answer=None):
        self.answer, self.asked = answer, []

    def evaluate(self, sql):
        """Evaluates SQL of a constant."""
        self.asked.append(sql)
        return self.answer


def clause(point):
    """The clause of a statement."""
    (found,) = parse(f"SELECT * FROM t AT ({point})").points
    return found


def utc(*parts):
    """Microseconds of a moment."""
    return to_micros(datetime(*parts, tzinfo=timezone.utc))


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        # Snowflake's RFC forms; without a zone the session's counts, and -0000 is UTC (RFC 2822).
        ("Thu, 21 Dec 2000 16:01:07 +0200", "Asia/Tokyo", utc(2000, 12, 21, 14, 1, 7)),
        ("Thu, 21 Dec 2000 16:01:07", "Asia/Tokyo", utc(2000, 12, 21, 7, 1, 7)),
        ("Thu, 21 Dec 2000 16:01:07", "UTC", utc(2000, 12, 21, 16, 1, 7)),
        ("Thu, 21 Dec 2000 16:01 +0200", "UTC", utc(2000, 12, 21, 14, 1)),
        ("Thu, 21 Dec 2000 16:01", "Europe/Berlin", utc(2000, 12, 21, 15, 1)),
        ("Thu, 21 Dec 2000 16:01:07 -0000", "Asia/Tokyo", utc(2000, 12, 21, 16, 1, 7)),
        ("Thu, 21 Dec 2000 16:01:07 GMT", "Asia/Tokyo", utc(2000, 12, 21, 16, 1, 7)),
        ("Thu,  1 Jun 2000 16:01:07 EST", "Asia/Tokyo", utc(2000, 6, 1, 21, 1, 7)),
        # ISO 8601.
        ("2000-12-21T16:01:07.5Z", "Asia/Tokyo", utc(2000, 12, 21, 16, 1, 7) + 500_000),
        ("2000-12-21 16:01:07.000001-0030", "Asia/Tokyo", utc(2000, 12, 21, 16, 31, 7) + 1),
        ("2000-12-21+09:00", "UTC", utc(2000, 12, 20, 15)),
        ("0001-01-01 00:00:00", "Asia/Tokyo", utc(1, 1, 1) - 33_539_000_000),  # local mean time, +09:18:59
        ("9999-12-31 23:59:59.999999", "UTC", utc(9999, 12, 31, 23, 59, 59, 999_999)),
        ("1970-01-01", "America/New_York", 5 * 3_600_000_000),
    ],
)
@pytest.mark.parametrize("written", ["'{}'", "'{}'::TIMESTAMP_LTZ", "'{}'::timestamp_tz", "TIMESTAMP '{}'"])
def test_a_literal_is_read_without_spark(text, zone, expected, written):
    """Alone, cast or typed, it is the same moment."""
    point = clause(f"TIMESTAMP => {written.format(text)}")
    spark = Spark(answer=expected)
    assert timestamp_of(point, zone, spark.evaluate) == expected
    # TIMESTAMP_LTZ after `::` is for Spark, which knows that type.
    assert bool(spark.asked) == written.endswith("_LTZ")


@pytest.mark.parametrize(
    "text",
    [
        "Thu, 21 Dec 2000 04:01:07 PM +0200", "Thu, 21 Dec 2000 04:01:07 PM", "Thu, 21 Dec 2000 ",
        "Thu, 32 Dec 2000 16:01:07 +0200", "Thu, 21 Dec 2000 16:01:07 Mars", "Thu, 21 Foo 2000 16:01:07 Z",
        "2000-13-01", "2000-02-30 10:00:00", "2000-12-21 25:00:00", "2000-12-21 16:01:07+99:00", "20001221",
        "2000-12-21 16:01:07 Mars/Olympus", "٢٠٠٠-١٢-٢١", "now", "",
    ],
)  # fmt: skip
def test_what_is_not_read_here_is_sparks(text):
    """No part of a text is ignored: Spark gets all of it, and says what it is."""
    spark = Spark(answer=5)
    assert timestamp_of(clause(f"TIMESTAMP => '{text}'"), "UTC", spark.evaluate) == 5
    assert spark.asked == [f"unix_micros(CAST(('{text}') AS TIMESTAMP))"]


def test_a_zone_that_python_does_not_know_is_sparks():
    """A session's zone may be one of Spark's own names."""
    spark = Spark(answer=5)
    assert timestamp_of(clause("TIMESTAMP => '2000-12-21'"), "UTC+01:00:30", spark.evaluate) == 5


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("DATEADD(hours, -1, 'Thu, 21 Dec 2000 16:01:07 +0200')", "'2000-12-21 16:01:07+02:00'"),
        ("DATEADD(hours, -1, 'Thu, 21 Dec 2000 16:01:07')", "'2000-12-21 16:01:07'"),
        ("DATEADD(hours, -1, 'Thu, 21 Dec 2000 04:01:07 PM')", "'Thu, 21 Dec 2000 04:01:07 PM'"),
    ],
)
def test_a_date_of_rfc_2822_in_an_expression_is_rewritten(written, sent):
    """Spark reads no such text; without a zone it stays in the session's."""
    spark = Spark(answer=5)
    timestamp_of(clause(f"TIMESTAMP => {written}"), "Asia/Tokyo", spark.evaluate)
    assert spark.asked == [f"unix_micros(CAST((DATEADD(HOUR, -1, {sent})) AS TIMESTAMP))"]


@given(st.datetimes(datetime(1900, 1, 1), datetime(9998, 1, 1)), st.integers(-14 * 60, 14 * 60))  # noqa: DTZ001
def test_dates_of_rfc_2822_are_read_as_they_were_written(moment, minutes):
    """Python's own writer of the form is the model; it has whole seconds."""
    written = moment.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    point = clause(f"TIMESTAMP => '{format_datetime(written)}'")
    assert timestamp_of(point, "Asia/Tokyo", Spark().evaluate) == to_micros(written)


@pytest.mark.parametrize("value", [None, "2000-12-21", 1.5, datetime(2000, 12, 21, tzinfo=timezone.utc)])
def test_a_timestamp_that_spark_does_not_give_is_refused(value):
    """The error has the clause, its table and the value."""
    with pytest.raises(BadMomentError, match=r"AT \(TIMESTAMP => f\(\)\) of t is no timestamp") as raised:
        timestamp_of(clause("TIMESTAMP => f()"), "UTC", lambda _sql: value)
    assert repr(value) in raised.value.problem


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_an_offset_is_finite(value):
    """Spark's DOUBLE has values that are no number of seconds."""
    with pytest.raises(BadMomentError, match="number of seconds"):
        offset_of(clause("OFFSET => -1e999"), lambda _sql: value)


@pytest.mark.parametrize(
    ("expression", "answer", "expected"),
    [
        ("-1.5", -1.5, -1.5),
        ("-60 * 5 - 1", -301.0, -301.0),
        ("-v", -3.0, -3.0),
        ("0.0", 0.0, 0),
        ("-" + "9" * 400, None, -(10**400 - 1)),
    ],
)
def test_other_offsets_are_evaluated(expression, answer, expected):
    """A product of whole numbers is read here, anything else by Spark as a DOUBLE."""
    spark = Spark(answer)
    assert offset_of(clause(f"OFFSET => {expression}"), spark.evaluate) == expected
    assert spark.asked == ([] if answer is None else [f"CAST(({expression}) AS DOUBLE)"])


@pytest.mark.parametrize("ahead", ["1", "60*5", "9" * 400])
def test_an_offset_ahead_is_refused(ahead):
    """However far."""
    with pytest.raises(BadOffsetError, match="below zero"):
        offset_of(clause(f"OFFSET => {ahead}"), Spark().evaluate)


@pytest.mark.parametrize("value", [None, 5, "", "  ", True])
def test_a_query_id_is_a_text_that_is_not_empty(value):
    """Whatever an expression gives."""
    with pytest.raises(BadMomentError, match="query id"):
        text_of(clause("STATEMENT => LAST_QUERY_ID()"), lambda _sql: value)


@pytest.mark.parametrize("wrong", ["'x'", "-1", "1.5", "'²'", "''", "NULL"])
def test_a_version_is_a_whole_number(wrong):
    """The error names the clause and its table."""
    with pytest.raises(BadMomentError, match="of t is no version"):
        version_of(clause(f"VERSION => {wrong}"))


def test_an_offset_counts_from_the_start_of_the_statement():
    """All clauses of one statement have the same now, whatever the clock says meanwhile."""
    point = evaluate(clause("OFFSET => -1.5"), Spark(-1.5), NOW, lambda: NOW + 9_000_000)
    assert point.micros == NOW - 1_500_000


def test_a_time_may_be_the_present_and_not_later():
    """`current_timestamp()` is later than the statement's start, so the clock is asked after it."""
    times = iter([NOW + 7])
    point = clause("TIMESTAMP => current_timestamp()")
    assert evaluate(point, Spark(NOW + 7), NOW, lambda: next(times)).micros == NOW + 7
    with pytest.raises(FutureMomentError, match=r"of t is 2025-11-20 09:00:00\.000008 UTC, and now"):
        evaluate(point, Spark(NOW + 8), NOW, lambda: NOW + 7)


@pytest.mark.parametrize("micros", [253_402_300_800_000_000, (1 << 63) - 1])
def test_a_time_after_the_year_9999_is_in_the_future(micros):
    """Spark has such timestamps, Python has not."""
    with pytest.raises(FutureMomentError, match="ask for a time that has passed"):
        evaluate(clause("TIMESTAMP => v"), Spark(micros), NOW, lambda: NOW)


def test_an_offset_before_all_times_fits_spark():
    """It is the earliest TIMESTAMP then, which no table reaches."""
    point = evaluate(clause("OFFSET => -" + "9" * 40), Spark(), NOW, lambda: NOW)
    assert point.micros == -(1 << 63)


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (-1, "1969-12-31 23:59:59.999999 UTC"),
        (1_500_000, "1970-01-01 00:00:01.5 UTC"),
        (1_000_010, "1970-01-01 00:00:01.00001 UTC"),
        (10_000_000, "1970-01-01 00:00:10 UTC"),
        (utc(44, 3, 15), "0044-03-15 00:00:00 UTC"),
        (utc(9999, 12, 31, 23, 59, 59, 999_999), "9999-12-31 23:59:59.999999 UTC"),
        (utc(9999, 12, 31, 23, 59, 59, 999_999) + 1, "10000-01-01 00:00:00 UTC"),
        (utc(1, 1, 1) - 1, "0000-12-31 23:59:59.999999 UTC"),
        # The limits of a 64-bit number of microseconds, which is Spark's TIMESTAMP.
        (-(1 << 63), "-290308-12-21 19:59:05.224192 UTC"),
        ((1 << 63) - 1, "294247-01-10 04:00:54.775807 UTC"),
    ],
)
def test_errors_show_every_moment(micros, text):
    """Fractions without trailing zeros; all years that Spark has, which are more than Python's."""
    assert time_text(micros) == text


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("to_timestamp_tz('2024-06-05 12:00:00')", "TO_TIMESTAMP('2024-06-05 12:00:00')"),
        ("TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 1 HOUR)", "(CURRENT_TIMESTAMP() - INTERVAL 1 HOUR)"),
        (
            "timestamp_add(TIMESTAMP_SUB(now(), INTERVAL 2 DAY), INTERVAL 1 HOUR)",
            "((now() - INTERVAL 2 DAY) + INTERVAL 1 HOUR)",
        ),
        ("date_sub(current_date(), 3)", "date_sub(current_date(), 3)"),
    ],
)
def test_functions_of_the_documents_are_written_as_sparks(written, sent):
    """Snowflake's by Spark's name, BigQuery's of an interval as an operator; Spark's own stay."""
    spark = Spark(5)
    assert timestamp_of(clause(f"TIMESTAMP => {written}"), "UTC", spark.evaluate) == 5
    assert spark.asked == [f"unix_micros(CAST(({sent}) AS TIMESTAMP))"]
