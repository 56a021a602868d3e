"""When backups are due: intervals, cron expressions, daylight saving, missed runs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.clock import to_datetime, to_micros
from audit.time_travel.backups.model.schedule import (
    Cron,
    Interval,
    last_run,
    next_run,
    parse_schedule,
    run_due,
)
from audit.time_travel.errors import BadBackupPolicyError

HOUR = 3_600_000_000
BERLIN = ZoneInfo("Europe/Berlin")


def at(text, zone=timezone.utc):
    """A moment in microseconds."""
    return to_micros(datetime.fromisoformat(text).replace(tzinfo=zone))


def shown(micros, zone=BERLIN):
    """A moment as the clock on the wall shows it."""
    return to_datetime(micros).astimezone(zone).strftime("%m-%d %H:%M %z")


def runs(text, first, last, zone=BERLIN):
    """All runs between two moments of a time zone."""
    schedule, moment, found = parse_schedule(text), at(first, zone), []
    while (moment := next_run(schedule, at(first, zone), moment)) <= at(last, zone):
        found.append(shown(moment, zone))
    return found


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("60 MINUTE", Interval(60)),
        (" 90  minutes ", Interval(90)),
        ("1 HOUR", Interval(60)),
        ("87672 HOURS", Interval(87672 * 60)),
        ("USING CRON 0 2 * * * UTC", Cron("0 2 * * *", "UTC")),
        ("using cron  0 0 L * SUN,MON  America/Los_Angeles", Cron("0 0 L * SUN,MON", "America/Los_Angeles")),
        ("USING CRON 30 */2 1-15 JAN,jul * Europe/Berlin", Cron("30 */2 1-15 JAN,jul *", "Europe/Berlin")),
        ("USING CRON 0 0 29 2 * UTC", Cron("0 0 29 2 *", "UTC")),
    ],
)
def test_what_is_a_schedule(text, schedule):
    """Snowflake, CREATE BACKUP POLICY, SCHEDULE."""
    assert parse_schedule(text) == schedule


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no schedule"),
        ("daily", "no schedule"),
        ("MINUTE 60", "no schedule"),
        ("-60 MINUTE", "no schedule"),
        ("1.5 HOUR", "no schedule"),
        ("٦٠ MINUTE", "no schedule"),
        ("1 DAY", "no schedule"),
        ("59 MINUTE", "more often than each 60 minutes"),
        ("0 HOUR", "more often"),
        ("9" * 5000 + " HOUR", "longer than ten years"),
        ("87673 HOUR", "longer than ten years"),
        ("USING CRON", "five fields"),
        ("USING CRON 0 2 * * *", "five fields"),
        ("USING CRON 0 0 2 * * * UTC", "five fields"),
        ("USING CRON 0 2 * * * Mars/Olympus", "unknown time zone, Mars/Olympus"),
        ("USING CRON 0 2 * * * ../../etc/passwd", "unknown time zone"),
        ("USING CRON 0 25 * * * UTC", "no cron expression: Bad hour"),
        ("USING CRON 0 0 31 2 * UTC", "no cron expression"),
        ("USING CRON * * * * * UTC", "more often"),
        ("USING CRON 0,59 3 * * * UTC", "more often"),
        ("USING CRON */30 * * * * UTC", "more often"),
    ],
)
def test_what_is_none(text, problem):
    """The error says why, and how to write one."""
    with pytest.raises(BadBackupPolicyError, match=problem) as error:
        parse_schedule(text)
    assert error.value.way_out


def test_an_interval_begins_when_it_comes_into_force():
    """Its first run is one interval later; a run is never the moment asked about."""
    schedule = Interval(90)
    assert next_run(schedule, 10, 10) == 10 + 90 * HOUR // 60
    assert next_run(schedule, 10, next_run(schedule, 10, 10)) == 10 + 3 * HOUR
    assert next_run(schedule, 5 * HOUR, 0) == 5 * HOUR + 90 * HOUR // 60
    assert last_run(schedule, 10, 10 + 3 * HOUR - 1) == 10 + 90 * HOUR // 60
    assert last_run(schedule, 10, 10 + HOUR) is None


def test_a_time_that_clocks_skip_runs_when_they_go_on():
    """On 28 March 2027 half past two does not come in Berlin."""
    assert runs("USING CRON 30 2 * * * Europe/Berlin", "2027-03-27 00:00", "2027-03-30 00:00") == [
        "03-27 02:30 +0100", "03-28 03:00 +0200", "03-29 02:30 +0200",
    ]  # fmt: skip


def test_a_time_that_clocks_show_twice_runs_once():
    """On 31 October 2027 half past two comes twice."""
    found = runs("USING CRON 30 2 * * * Europe/Berlin", "2027-10-30 12:00", "2027-11-01 12:00")
    assert found == ["10-31 02:30 +0200", "11-01 02:30 +0100"]


@pytest.mark.parametrize("minutes", [0, 10, 29, 30, 31, 59])
def test_in_the_second_of_two_hours_the_next_run_is_tomorrows(minutes):
    """Else a run of the first hour would be due again, an hour after it was made."""
    schedule = parse_schedule("USING CRON 30 2 * * * Europe/Berlin")
    second = at("2027-10-31 01:00") + minutes * HOUR // 60  # 02:00 +0100
    assert shown(next_run(schedule, 0, second)) == "11-01 02:30 +0100"
    assert shown(last_run(schedule, 0, second)) == "10-31 02:30 +0200"


def test_each_real_hour_has_its_run():
    """An expression without an hour runs in both of the hours that clocks show alike; none is skipped."""
    text = "USING CRON 0 * * * * Europe/Berlin"
    assert runs(text, "2027-10-31 01:30", "2027-10-31 03:30") == [
        "10-31 02:00 +0200", "10-31 02:00 +0100", "10-31 03:00 +0100",
    ]  # fmt: skip
    assert runs(text, "2027-03-28 00:30", "2027-03-28 04:00") == [
        "03-28 01:00 +0100", "03-28 03:00 +0200", "03-28 04:00 +0200",
    ]  # fmt: skip


def test_an_interval_does_not_know_daylight_saving():
    """24 HOUR is a day of real time."""
    schedule, since = Interval(1440), at("2027-03-27 12:00", BERLIN)
    assert shown(next_run(schedule, since, since)) == "03-28 13:00 +0200"


def test_what_is_missed_is_made_up_once():
    """After a week without a runner one backup is due, for the newest run; then none."""
    schedule = parse_schedule("USING CRON 0 2 * * * UTC")
    since, now = at("2027-01-01 12:00"), at("2027-01-09 01:00")
    made = [at("2027-01-02 02:00")]
    due = run_due(schedule, since, now, made)
    assert due == at("2027-01-08 02:00")
    assert run_due(schedule, since, now, [*made, due]) is None
    assert run_due(schedule, since, at("2027-01-09 02:00"), [*made, due]) == at("2027-01-09 02:00")


def test_nothing_is_due_from_before_it_came_into_force():
    """A schedule that begins now owes no backup, even at the very minute."""
    schedule = parse_schedule("USING CRON 0 2 * * * UTC")
    assert run_due(schedule, at("2027-01-01 02:00"), at("2027-01-01 12:00"), []) is None
    assert run_due(Interval(60), 0, HOUR - 1, []) is None


def test_a_clock_that_was_set_forward_does_not_stop_the_schedule():
    """Neither a run of the far future nor a schedule that began there keeps a backup from being made."""
    future = at("2040-01-01 00:00")
    now = at("2027-01-02 03:00")
    for text in ("24 HOUR", "USING CRON 0 2 * * * UTC"):
        schedule = parse_schedule(text)
        due = run_due(schedule, future, now, [future])
        assert due is not None
        assert now - 24 * HOUR < due <= now
        assert run_due(schedule, future, now, [future, due]) is None


def test_a_run_of_years_ago_is_found():
    """29 February."""
    schedule = parse_schedule("USING CRON 0 0 29 2 * UTC")
    assert last_run(schedule, 0, at("2027-05-01 00:00")) == at("2024-02-29 00:00")
    assert last_run(schedule, 0, at("2104-02-28 00:00")) == at("2096-02-29 00:00")
    assert last_run(schedule, at("2024-03-01 00:00"), at("2027-05-01 00:00")) is None


ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Asia/Kathmandu")
FIELDS = ("0 * * * *", "30 2 * * *", "15 1,2,3 * * *", "0 0 L * *", "5 3 * * SUN", "0 */5 * * *")
SCHEDULES = st.one_of(
    st.builds("USING CRON {} {}".format, st.sampled_from(FIELDS), st.sampled_from(ZONES)),
    st.sampled_from(["60 MINUTE", "7 HOUR"]),
)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)).map(  # noqa: DTZ001  made UTC below
    lambda moment: to_micros(moment.replace(tzinfo=timezone.utc))
)


@settings(max_examples=200)
@given(SCHEDULES, MOMENTS, st.integers(0, 60 * 24 * HOUR))
def test_next_and_last_agree(text, since, later):
    """Between the last run and the next one there is none; runs strictly rise."""
    schedule, now = parse_schedule(text), since + later
    following = next_run(schedule, since, now)
    assert following > now
    newest = last_run(schedule, since, now)
    if newest is None:
        assert next_run(schedule, since, since) == following
    else:
        assert since < newest <= now
        assert next_run(schedule, since, newest) == following
        assert last_run(schedule, since, newest) == newest
    assert run_due(schedule, since, now, [] if newest is None else [newest]) is None


def test_runs_are_never_closer_than_half_an_hour():
    """Daylight saving may bring two runs of a cron expression together; nothing else does."""
    schedule = parse_schedule("USING CRON 30 1,2,3 * * * Europe/Berlin")
    moment, found = at("2027-01-01 00:00"), []
    while moment < at("2028-01-01 00:00"):
        moment = next_run(schedule, 0, moment)
        found.append(moment)
    close = [shown(b) for a, b in pairwise(found) if b - a < timedelta(hours=1) // timedelta(microseconds=1)]
    assert close == ["03-28 03:00 +0200", "03-28 03:30 +0200"]
