"""Times are exact from the first to the last day that Python knows, in any zone and from any thread."""

from __future__ import annotations

import re
import threading
from datetime import datetime, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.clock import ManualClock, to_datetime, to_iso, to_micros
from audit.core.ids import IdGenerator, id_micros

FIRST = datetime(1, 1, 1, tzinfo=timezone.utc)
LAST = datetime.max.replace(tzinfo=timezone.utc)
MOMENTS = st.datetimes(timezones=st.just(timezone.utc))
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (1_643_127_467_388_000, "2022-01-25T16:17:47.388000Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
        (2**31 * 1_000_000, "2038-01-19T03:14:08.000000Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000000Z"),
        (-30_610_224_000_000_001, "0999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_has_one_text(micros, text):
    """ISO 8601: four digits of the year, six of the second, Z."""
    assert to_iso(micros) == text
    assert to_micros(to_datetime(micros)) == micros


@given(MOMENTS)
def test_the_text_tells_the_time_back(moment):
    """The text has 27 characters and names the same microsecond."""
    text = to_iso(to_micros(moment))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
    assert datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z") == moment


@given(MOMENTS, MOMENTS)
def test_texts_sort_as_their_times_do(one, other):
    """A reader that compares texts compares times."""
    earlier, later = sorted([one, other])
    assert to_iso(to_micros(earlier)) <= to_iso(to_micros(later))


@given(MOMENTS.filter(lambda moment: FIRST + timedelta(days=2) < moment < LAST - timedelta(days=2)))
@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Europe/Dublin"])
def test_the_zone_of_a_datetime_does_not_matter(zone, moment):
    """The same instant told elsewhere, summer time and odd offsets included, has the same microseconds."""
    assert to_micros(moment.astimezone(ZoneInfo(zone))) == to_micros(moment)


def test_an_hour_that_comes_twice_is_told_apart():
    """At the end of summer time the fold says which of the two hours is meant."""
    first = datetime(2025, 10, 26, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert to_micros(second) - to_micros(first) == 3_600_000_000


def test_a_datetime_without_a_zone_is_refused():
    """Nobody can say which instant it is."""
    with pytest.raises(TypeError):
        to_micros(datetime(2022, 1, 25))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize(
    ("step", "micros"),
    [
        ({"days": 1}, DAY),
        ({"days": -1}, -DAY),
        ({"days": 0.5, "seconds": 0.5}, DAY // 2 + 500_000),
        ({"seconds": 0.000001}, 1),
        ({"micros": -3}, -3),
        ({}, 0),
    ],
)
def test_a_manual_clock_moves_by_what_it_is_told(step, micros):
    """Fractions count, and the clock may go back, as a machine's does."""
    clock = ManualClock(10 * DAY)
    clock.advance(**step)
    assert clock.now() - 10 * DAY == micros


def test_a_ticking_clock_tells_no_two_threads_the_same():
    """Each answer moves it on, whoever asks."""
    clock = ManualClock(tick=1)
    seen = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(clock.now() for _ in range(500)))
        for mine in seen
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(now for mine in seen for now in mine) == list(range(2000))


def test_the_example_of_the_rfc_is_read():
    """RFC 9562, appendix A.6: the id of 2022-02-22T19:22:22Z."""
    assert id_micros("017F22E2-79B0-7CC3-98C4-DC0C0C07398F") // 1000 == 1_645_557_742_000


@pytest.mark.parametrize("noise", [b"\x00", b"\xff"])
def test_an_id_has_the_fields_of_the_rfc(noise):
    """RFC 9562, section 5.7: 48 bits of milliseconds, version 7, variant 10, whatever the random bytes."""
    number = UUID(IdGenerator(ManualClock(1_645_557_742_000_000), lambda size: noise * size).new()).int
    assert number >> 80 == 1_645_557_742_000
    assert (number >> 76 & 0xF, number >> 62 & 0b11) == (7, 0b10)


@given(st.tuples(*[st.integers(0, 2**48 * 1000 - 1)] * 2).filter(lambda pair: pair[0] != pair[1]))
def test_ids_of_different_drivers_sort_by_time(pair):
    """A microsecond between them is enough, even where the random bits say otherwise."""
    earlier, later = sorted(pair)
    first = IdGenerator(ManualClock(earlier), lambda size: b"\xff" * size).new()
    second = IdGenerator(ManualClock(later), lambda size: b"\x00" * size).new()
    assert first < second
    assert (id_micros(first), id_micros(second)) == (earlier, later)


def test_a_clock_that_goes_back_a_day_holds_up_the_ids_and_no_more():
    """Until it has caught up each id is a 4,096th of a millisecond after the one before it."""
    clock = ManualClock(2 * DAY)
    ids = IdGenerator(clock, bytes)
    made = [ids.new()]
    clock.set(DAY)
    made += [ids.new() for _ in range(5000)]
    assert made == sorted(set(made))
    assert id_micros(made[-1]) - id_micros(made[0]) <= 5000 // 4 + 250
    clock.set(3 * DAY)
    assert id_micros(ids.new()) == 3 * DAY
