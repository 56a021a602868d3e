"""What bytes are kept for at a moment: the rules of the documents, and files that age."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.time_travel.dropped.drop_registry import ObjectEvent
from audit.time_travel.retention.periods import DAY, Retention
from audit.time_travel.retention.storage import FOREVER, FileSpan, StorageBytes, StoredTable, bytes_at

NAME = ("spark_catalog", "s", "t")
PURPOSES = ("active", "time_travel", "fail_safe", "retained_for_clone", "purgeable")


def table(days=1, fail_safe=7, *, dropped=None, purged=(-1, -1), earlier=()):
    """A table with these periods; `dropped` is the day of its drop."""
    event = None
    if dropped is not None:
        event = ObjectEvent(dropped * DAY, "DROPPED", "e", "TABLE", NAME, retention_days=days)
    periods = Retention(days, fail_safe, "TABLE", earlier)
    return StoredTable(NAME, "/t", periods, {"root": "file:///t"}, dropped=event, purged=purged)


def span(came=0, went=None, *, others=0, size=1):
    """A file of one byte, by the days of its addition and removal."""
    until = others if others in (0, FOREVER) else others * DAY
    return FileSpan(came * DAY, None if went is None else went * DAY, until, size)


def purpose(one, file, day, **more):
    """The purpose of a file on a day; None where it is not counted."""
    found = bytes_at(one, [file], day * DAY, **more)
    kinds = [kind for kind in PURPOSES if getattr(found, kind)]
    assert len(kinds) <= 1
    return kinds[0] if kinds else None


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (10, "active"),
        (99.9, "active"),
        (100, "time_travel"),
        (109.9, "time_travel"),
        (110, "fail_safe"),
        (116.9, "fail_safe"),
        (117, "purgeable"),
        (400, "purgeable"),
    ],
)
def test_a_replaced_file_ages_by_retention_and_fail_safe(day, expected):
    """Ten days of Time Travel after its removal on day 100, then seven of Fail-safe."""
    assert purpose(table(days=10), span(came=5, went=100), day) == expected


@pytest.mark.parametrize(
    ("one", "day", "expected"),
    [
        (table(days=0), 100, "fail_safe"),  # "moved into Fail-safe (for permanent tables)"
        (table(days=0, fail_safe=0), 100, "purgeable"),  # "or deleted (for transient tables)"
        (table(days=1, fail_safe=0), 100.5, "time_travel"),
        (table(days=1, fail_safe=0), 101, "purgeable"),
        # Shortened from ten days to one on day 105: "data from days 2 to 10 will be moved into Fail-safe".
        (table(days=1, earlier=((105 * DAY, 10.0),)), 104, "time_travel"),
        (table(days=1, earlier=((105 * DAY, 10.0),)), 105, "fail_safe"),
        (table(days=1, earlier=((105 * DAY, 10.0),)), 111.9, "fail_safe"),
        (table(days=1, earlier=((105 * DAY, 10.0),)), 112, "purgeable"),
        # Lengthened from one day to ninety on day 105: it had moved on day 101, and does not come back.
        (table(days=90, earlier=((105 * DAY, 1.0),)), 106, "fail_safe"),
        (table(days=90, earlier=((105 * DAY, 1.0),)), 108, "purgeable"),
    ],
)
def test_the_documents_sentences_about_a_file_removed_on_day_100(one, day, expected):
    """Retention of zero, transient tables, a period that was shortened or lengthened."""
    assert purpose(one, span(went=100), day) == expected


@pytest.mark.parametrize(
    ("file", "day", "expected"),
    [
        (span(), 99, "active"),
        (span(), 100, "time_travel"),
        (span(), 105, "fail_safe"),
        (span(), 112, "purgeable"),
        # A version had removed it before the drop: its age counts from there.
        (span(went=95), 99.9, "time_travel"),
        (span(went=95), 100, "fail_safe"),
        (span(went=95), 107, "purgeable"),
    ],
)
def test_a_drop_removes_what_no_version_has_removed_before(file, day, expected):
    """The table has five days of retention and was dropped on day 100."""
    assert purpose(table(days=5, dropped=100), file, day) == expected


def test_a_clone_keeps_what_is_past_both_periods():
    """Until it no longer needs the file; before that the table's own purpose counts."""
    file = span(went=100, others=200)
    found = [purpose(table(), file, day) for day in (100.5, 105, 150, 199.9, 200)]
    assert found == ["time_travel", "fail_safe", "retained_for_clone", "retained_for_clone", "purgeable"]
    assert purpose(table(), span(went=100, others=FOREVER), 10**6) == "retained_for_clone"


def test_what_was_purged_is_gone_unless_a_clone_needs_it():
    """A purge until day 150 deleted all that was replaced by then."""
    one = table(purged=(150 * DAY, 160 * DAY))
    assert purpose(one, span(went=150), 300) is None
    assert purpose(one, span(went=151), 300) == "purgeable"
    assert purpose(one, span(went=100, others=FOREVER), 300) == "retained_for_clone"


def test_a_past_day_has_no_later_files():
    """The present has all, as writers' clocks may be ahead of this one."""
    assert purpose(table(), span(came=10), 9, is_past=True) is None
    assert purpose(table(), span(came=10), 10, is_past=True) == "active"
    assert purpose(table(), span(came=10), 9) == "active"


def test_bytes_of_many_files_are_summed_by_purpose():
    """A file belongs to one purpose; the total has all of them."""
    files = [span(size=1), span(size=2), span(went=100, size=4), span(went=95, size=8), span(went=1, size=16)]
    found = bytes_at(table(), [*files, span(went=1, others=FOREVER, size=32)], 100 * DAY)
    assert found == StorageBytes(active=3, time_travel=4, fail_safe=8, retained_for_clone=32, purgeable=16)
    assert found.total == 63
    assert bytes_at(table(), [], 0) == StorageBytes()


@given(
    st.integers(0, 90), st.sampled_from([0, 7]), st.integers(0, 200), st.integers(0, 200), st.integers(0, 400)
)  # fmt: skip
def test_a_file_never_grows_younger(days, fail_safe, went, day, more):
    """From one moment to a later one its purpose only moves on."""
    one, file = table(days, fail_safe), span(went=went)
    assert PURPOSES.index(purpose(one, file, day)) <= PURPOSES.index(purpose(one, file, day + more))


def test_days_long_before_the_first_file_are_empty():
    """`audit storage --past` goes back as far as it is told, before 1970 too."""
    assert purpose(table(), span(came=1), -30_000, is_past=True) is None
    assert purpose(table(), span(came=1), -3, is_past=True) is None


def test_a_root_is_a_full_uri_with_one_slash():
    """As Spark writes the paths of files."""
    assert table().root == "file:/t"
