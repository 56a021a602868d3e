"""Points in time as Python values, and the clause that each becomes."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.clock import to_micros
from audit.time_travel.errors import BadMomentError, BadOffsetError
from audit.time_travel.versions.point_arguments import Before, before, clause_of
from audit.time_travel.versions.timestamp_eval import offset_of, text_of, timestamp_of, version_of
from lineage.sql.parse import parse

QUERY_ID = "01a202fe-74a7-7000-8000-0123456789ab"
TOKYO = ZoneInfo("Asia/Tokyo")


def parsed(point):
    """The clause of a point as the parser reads it in a statement."""
    (found,) = parse(f"SELECT * FROM t {clause_of(point)}").points
    return found


def never(sql):
    """A point of Python is a literal, and needs no Spark."""
    raise AssertionError(sql)


@pytest.mark.parametrize(
    ("point", "clause"),
    [
        (0, "AT (VERSION => 0)"),
        (np.int64(7), "AT (VERSION => 7)"),
        (-1, "AT (OFFSET => -1)"),
        (np.int32(-60), "AT (OFFSET => -60)"),
        (-0.5, "AT (OFFSET => -0.500000)"),
        (np.float64(-1.25), "AT (OFFSET => -1.250000)"),
        (timedelta(0), "AT (OFFSET => 0.000000)"),
        (timedelta(days=-1), "AT (OFFSET => -86400.000000)"),
        (pd.Timedelta(milliseconds=-1), "AT (OFFSET => -0.001000)"),
        (date(2026, 11, 20), "AT (TIMESTAMP => '2026-11-20')"),
        (datetime(2026, 11, 20, 9, tzinfo=TOKYO), "AT (TIMESTAMP => '2026-11-20 00:00:00+00:00')"),
        (pd.Timestamp("2026-11-20 09:00"), "AT (TIMESTAMP => '2026-11-20 09:00:00')"),
        (pd.Timestamp("2026-11-20 09:00", tz=TOKYO), "AT (TIMESTAMP => '2026-11-20 00:00:00+00:00')"),
        ("2026-11-20 09:00", "AT (TIMESTAMP => '2026-11-20 09:00')"),
        (QUERY_ID, f"AT (STATEMENT => '{QUERY_ID}')"),
        (QUERY_ID.upper(), f"AT (STATEMENT => '{QUERY_ID.upper()}')"),
        (before(QUERY_ID), f"BEFORE (STATEMENT => '{QUERY_ID}')"),
        (before(3), "BEFORE (VERSION => 3)"),
        (Before(timedelta(seconds=-1)), "BEFORE (OFFSET => -1.000000)"),
    ],
)
def test_a_value_becomes_the_clause_of_the_same_meaning(point, clause):
    """A datetime is a TIMESTAMP, a negative number an OFFSET, an int a VERSION, a query id a STATEMENT."""
    assert clause_of(point) == clause


def test_a_datetime_without_a_zone_is_in_the_zone_of_the_process():
    """PySpark's `collect` gives such a datetime."""
    naive = datetime(2026, 11, 20, 9, 30)  # noqa: DTZ001 - the subject
    assert timestamp_of(parsed(naive), "Asia/Tokyo", never) == to_micros(naive.astimezone())


def test_nanoseconds_of_pandas_are_cut_without_a_warning():
    """No TIMESTAMP of Spark has them."""
    moment = pd.Timestamp("2026-11-20 09:00:00.123456789", tz="UTC")
    assert clause_of(moment) == "AT (TIMESTAMP => '2026-11-20 09:00:00.123456+00:00')"


@pytest.mark.parametrize(
    "wrong",
    [
        None, True, False, 0.0, 1.5, float("nan"), float("inf"), float("-inf"), np.float64("nan"), 3j,
        b"2026", Decimal(-1), [3], (), object, pd.NaT, before(before(3)),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_point_in_time_is_refused(wrong):
    """The error names the value and what can be given."""
    named = wrong.point if isinstance(wrong, Before) else wrong
    with pytest.raises(BadMomentError, match=re.escape(f"{named!r} is no point in time")) as raised:
        clause_of(wrong)
    assert "negative timedelta" in raised.value.way_out


@pytest.mark.parametrize("ahead", [timedelta(microseconds=1), timedelta(days=1), timedelta.max])
def test_an_age_counts_back(ahead):
    """A positive one lies ahead, and the error shows a negative one."""
    with pytest.raises(BadOffsetError, match="lies ahead") as raised:
        clause_of(ahead)
    assert "timedelta(minutes=-5)" in raised.value.way_out


@pytest.mark.parametrize(
    "hostile", ["x') OR (1 = 1", "\\", "'", "\\'; DROP TABLE t --", "`", "名前", "--", "\n"]
)
def test_a_text_stays_one_literal(hostile):
    """Whatever is in it ends no clause, and Spark gets all of it to evaluate."""
    found = parsed(hostile)
    asked = []
    timestamp_of(found, "UTC", lambda sql: asked.append(sql) or 0)
    assert (found.kind, found.before, len(asked)) == ("TIMESTAMP", False, 1)
    assert text_of(found, never) == hostile.strip() if hostile.strip() else True


@settings(max_examples=50)
@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.timezones()))  # noqa: DTZ001
def test_a_moment_comes_through_the_clause(moment):
    """The clause is read back as the same microsecond, whatever the session's zone."""
    assert timestamp_of(parsed(moment), "America/New_York", never) == to_micros(moment)


@given(st.integers(-(10**15), 0))
def test_an_age_comes_through_the_clause(micros):
    """To the microsecond, up to thirty years."""
    read = offset_of(parsed(timedelta(microseconds=micros)), _number)
    assert round(read * 1_000_000) == micros


def _number(sql):
    """The value of a literal, as Spark gives it for `CAST((-1.5) AS DOUBLE)`."""
    return float(re.fullmatch(r"CAST\(\((-?[\d.]+)\) AS DOUBLE\)", sql)[1])


@given(st.integers(0, 10**30))
def test_a_version_comes_through_the_clause(version):
    """However large."""
    assert version_of(parsed(version)) == version
