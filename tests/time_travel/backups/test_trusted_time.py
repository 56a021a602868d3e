"""The trusted time: a clock that is set alone moves nothing, and no time counts twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.clock import ManualClock
from audit.time_travel.backups.model import witnesses
from audit.time_travel.backups.model.trusted_time import Boot, Observation, TrustedTime, observed

HOUR = 3_600_000_000
YEAR = 365 * 24 * HOUR
NOON = 500_000 * HOUR


def after(*looks):
    """The mark after looks, in hours since the first."""
    time = TrustedTime()
    marks = []
    for look in looks:
        time = observed(time, look)
        marks.append(time.mark)
    return [(mark - marks[0]) / HOUR for mark in marks]


def here(machine, age, boot="a", store=None):
    """A look, in hours after noon."""
    at = None if store is None else NOON + store * HOUR
    return Observation(NOON + machine * HOUR, Boot(boot, age * HOUR), at)


def test_time_that_both_clocks_saw_counts():
    """Machine and boot go on together."""
    assert after(here(0, 5), here(1, 6), here(30, 35)) == [0, 1, 30]


def test_a_clock_set_forward_counts_what_the_boot_saw():
    """Ten years forward, an hour later: one hour. Set back, time goes on from there."""
    assert after(here(0, 5), here(87600, 6), here(2, 7), here(3, 8)) == [0, 1, 1, 2]


def test_a_clock_set_back_stops_the_mark():
    """It never takes it back; once both clocks go on it goes on."""
    assert after(here(0, 5), here(-100, 6), here(-99, 7)) == [0, 0, 1]


def test_a_new_boot_witnesses_from_its_first_look():
    """The machine was off, or was set forward and booted: the time between does not count."""
    assert after(here(0, 5), here(87600, 1, "b"), here(87601, 2, "b")) == [0, 0, 1]


def test_a_wrong_clock_at_the_first_look_changes_no_duration():
    """It was 1970, or 2040: what follows counts as it passes."""
    assert after(here(-400_000, 5), here(1, 6), here(2, 7)) == [0, 1, 2]
    assert after(here(87600, 5), here(1, 6), here(2, 7)) == [0, 0, 1]


def test_a_store_with_a_clock_witnesses_without_the_boot():
    """The earlier of the two counts, whatever was off meanwhile."""
    assert after(here(0, 1, "a", 0), here(100, 1, "b", 100)) == [0, 100]
    assert after(here(0, 1, "a", 0), here(87600, 1, "b", 3)) == [0, 3]
    assert after(here(0, 1, "a", 0), here(5, 1, "b", 87600)) == [0, 5]


def test_a_wrong_clock_at_the_first_look_beside_a_store():
    """Ten years back, then right: else setting it right would open each lock that was set meanwhile."""
    assert after(here(-87600, 1, "a", 0), here(1, 1, "b", 1)) == [0, 1]
    assert after(here(87600, 1, "a", 0), here(1, 1, "b", 1), here(2, 1, "c", 2)) == [0, 0, 1]


def test_the_dates_of_a_store_that_differ_do_not_add_up():
    """Its servers are a second apart; after many looks the mark is where the latest date is."""
    second = 1_000_000
    looks = [Observation(NOON + at * second, None, NOON + at % 2 * second) for at in range(1000)]
    assert after(*looks)[-1] * HOUR == second


def test_a_late_date_beside_a_boot_does_not_add_up():
    """Of the time that the boot has seen pass: a date that is right again counts from the first."""
    looks = [here(0, 0), here(-1, 0, store=-1), here(0, 0, store=0), here(2, 2), here(2, 2, store=1)]
    # At most the hour that the first date was late.
    assert after(*looks, here(3, 2, store=2))[-1] == 3


def test_without_a_witness_nothing_counts():
    """The machine's clock alone moves no mark."""
    assert after(Observation(NOON), Observation(NOON + YEAR)) == [0, 0]


def test_machines_that_share_a_mark_count_no_time_twice():
    """Both have seen the same hour."""
    assert after(here(0, 5, "a"), here(0, 9, "b"), here(1, 6, "a"), here(1, 10, "b")) == [0, 0, 1, 1]


def test_a_boot_that_is_forgotten_begins_anew():
    """Of many boots the newest are remembered."""
    looks = [here(at, 1, f"boot-{at}") for at in range(100)]
    assert after(*looks, here(100, 101, "boot-0"))[-1] == 0
    assert after(*looks, here(100, 101, "boot-99"))[-1] == 1


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),  # hours that pass
            st.sampled_from("ab"),  # which machine looks
            st.integers(-100, 87600),  # how wrong its clock is
            st.booleans(),  # whether it has booted meanwhile
            st.sampled_from([None, -1, 0]),  # the store's clock: none, an hour late, right
        ),
        max_size=40,
    )
)
def test_the_mark_only_advances_and_never_faster_than_time(steps):
    """Whatever clocks of machines say; the store's is right or late, and boots are known by their ids."""
    time, real, booted = TrustedTime(), 1000, {"a": (0, 0), "b": (0, 0)}
    first = None
    for passed, machine, wrong, boots, store in steps:
        real += passed
        if boots:
            booted[machine] = (booted[machine][0] + 1, real)
        number, since = booted[machine]
        before = time.mark
        look = Observation(
            NOON + (real + wrong) * HOUR,
            Boot(f"{machine}{number}", (real - since) * HOUR),
            None if store is None else NOON + (real + store) * HOUR,
        )
        time = observed(time, look)
        if before is None:
            first = time.mark - real * HOUR
        else:
            assert time.mark >= before
            # An hour is how late the store may have been at its first look.
            assert time.mark - first <= (real + 1) * HOUR


def test_the_clocks_of_this_machine(tmp_path):
    """Linux tells its boot; a machine that does not has none."""
    clock = ManualClock(7)
    seen = witnesses.observation(clock, 9)
    assert (seen.machine, seen.store) == (7, 9)
    again = witnesses.boot()
    assert (seen.boot is None) == (again is None)
    if seen.boot is not None:
        assert again.identity == seen.boot.identity
        assert again.age >= seen.boot.age > 0
    assert witnesses.boot(tmp_path / "none") is None
