"""Clocks and query ids."""

import threading
import time
import uuid

from hypothesis import given
from hypothesis import strategies as st

from audit.core.clock import Clock, ManualClock, SystemClock, to_datetime, to_iso, to_micros
from audit.core.ids import IdGenerator, id_micros

MICROS = st.integers(0, 4_000_000_000_000_000)


@given(MICROS)
def test_times_come_back(micros):
    """Microseconds to datetime and back, and to text, lose nothing."""
    assert to_micros(to_datetime(micros)) == micros
    assert to_iso(micros) == to_datetime(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")


def test_both_clocks_are_clocks():
    """The system clock tells the system's time; the manual one what it was told."""
    assert isinstance(SystemClock(), Clock)
    assert abs(SystemClock().now() - time.time_ns() // 1000) < 1_000_000
    clock = ManualClock(5, tick=2)
    assert [clock.now(), clock.now()] == [5, 7]
    clock.set(0)
    clock.advance(days=365, seconds=1, micros=1)
    assert clock.now() == 365 * 86_400_000_000 + 1_000_001


@given(st.lists(MICROS, min_size=1, max_size=50))
def test_ids_rise_whatever_the_clock_does(times):
    """A clock that stands or goes back still gives rising UUIDs of version 7."""
    clock = ManualClock()
    ids = IdGenerator(clock)
    made = []
    for now in times:
        clock.set(now)
        made += [ids.new(), ids.new()]
    assert made == sorted(set(made))
    assert {(one.version, one.variant) for one in map(uuid.UUID, made)} == {(7, uuid.RFC_4122)}


@given(MICROS)
def test_an_id_tells_when_it_was_made(micros):
    """The time in an id is the clock's, to the microsecond."""
    assert id_micros(IdGenerator(ManualClock(micros)).new()) == micros


def test_ids_of_many_threads_differ():
    """Eight threads make distinct ids, each thread's own rising."""
    ids = IdGenerator()
    made = [[] for _ in range(8)]
    threads = [
        threading.Thread(target=lambda mine=mine: mine.extend(ids.new() for _ in range(500))) for mine in made
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({query_id for mine in made for query_id in mine}) == 4000
    assert all(mine == sorted(mine) for mine in made)
