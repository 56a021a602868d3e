"""Periods over time, the properties that hold them, and the values that are allowed."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spark.delta.values import Table
from audit.time_travel.clones.create import folder_of, path_part, place_in, properties_of
from audit.time_travel.errors import BadParameterError, RetainedError
from audit.time_travel.retention.parameters import (
    parameter_change_of,
    require_object,
    require_transient,
)
from audit.time_travel.retention.periods import (
    DAY,
    DELTAS_FILES,
    DELTAS_LOG,
    EARLIER,
    OWN,
    Retention,
    days_of,
    earlier_property,
    in_force,
    is_transient,
)
from audit.time_travel.retention.retention_rule import has_retention
from audit.time_travel.retention.table_properties import (
    PINNED,
    delta_properties,
    is_pinned,
    pinned_properties,
    shown,
)
from audit.time_travel.retention.vacuum import require_kept
from lineage.sql.parse import typed_of

TABLE = Table(("spark_catalog", "s", "t"), "/t", "delta", managed=False)
DAYS = st.integers(0, 90)


@st.composite
def histories(draw):
    """A retention that was changed a few times, and the day of its last change."""
    today, periods = 0, Retention(draw(DAYS), draw(st.sampled_from([0, 7])), "TABLE")
    for _ in range(draw(st.integers(0, 5))):
        today += draw(st.integers(0, 30))
        periods = Retention(draw(DAYS), periods.fail_safe, "TABLE").after(periods, today * DAY)
    return periods, today


@given(histories(), st.integers(0, 200), st.integers(0, 30))
def test_what_has_left_never_comes_back(history, ahead, more):
    """Both horizons only move on, and Fail-safe's is never ahead of Time Travel's."""
    periods, today = history
    now, later = (today + ahead) * DAY, (today + ahead + more) * DAY
    assert periods.horizon(now) <= periods.horizon(later)
    assert periods.kept_horizon(now) <= periods.kept_horizon(later)
    assert periods.kept_horizon(now) <= periods.horizon(now) <= now


@given(histories(), st.integers(0, 200))
def test_delta_keeps_what_is_not_past_fail_safe(history, ahead):
    """A VACUUM by Delta's own property deletes what was replaced so long ago, and nothing later."""
    periods, today = history
    now = (today + ahead) * DAY
    assert now - periods.longest(now) * DAY <= periods.kept_horizon(now)
    hours = days_of(delta_properties(periods, now)[DELTAS_FILES]) * 24
    assert hours == periods.longest(now) * 24
    assert delta_properties(periods, now)[DELTAS_LOG] == PINNED


@given(histories())
def test_former_periods_come_back_from_their_property(history):
    """Written to the table and read again they are the same."""
    periods, _ = history
    assert in_force(earlier_property(periods), {}, {}).earlier == periods.earlier


def test_a_period_that_is_set_again_has_no_end():
    """The same number of days is no change."""
    first = Retention(5, 7, "SCHEMA").after(Retention(10, 7, ""), 100 * DAY)
    assert Retention(5, 7, "TABLE").after(first, 200 * DAY).earlier == ((100 * DAY, 10),)
    assert earlier_property(Retention(5, 7, "TABLE")) == {}


def test_a_window_in_hours_is_the_schemas():
    """It counts before the table's own setting, and the account's minimum does not count (BigQuery)."""
    table = properties_of(typed_of("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 30"))
    schema = properties_of(typed_of("CREATE SCHEMA s OPTIONS (max_time_travel_hours = 72)"))
    found = in_force(table, schema, {"MIN_DATA_RETENTION_TIME_IN_DAYS": 10})
    assert (found.days, found.fail_safe, found.level) == (3, 7, "SCHEMA")


@pytest.mark.parametrize(
    ("own", "days", "fail_safe"),
    [("interval 30 days", 5, 25), ("interval 1 week", 5, 7), ("interval 365 days", 90, 275), (None, 5, 7)],
)
def test_an_owners_longer_period_is_a_longer_fail_safe(own, days, fail_safe):
    """What users see as retention stays; Delta keeps the files as long as their owner wanted."""
    table = {OWN + DELTAS_FILES: own} if own else {}
    found = in_force(table, {"timeTravel.dataRetentionTimeInDays": str(days)}, {})
    assert (found.days, found.fail_safe) == (days, fail_safe)
    assert found.longest(0) == days + fail_safe


@pytest.mark.parametrize(
    ("interval", "days"),
    [
        ("interval 7 days", 7), ("INTERVAL 1 WEEK", 7), ("2 weeks 1 day", 15), ("interval 36 hours", 1.5),
        ("interval 90 minutes", 1 / 16), ("interval 43200 seconds", 0.5), ("interval 36500 days", 36_500),
        ("", 0),
    ],
)  # fmt: skip
def test_intervals_of_delta_in_days(interval, days):
    """In every unit of a fixed length."""
    assert days_of(interval) == pytest.approx(days)


def test_the_longer_of_two_periods_is_kept():
    """Of the owner and of this system; the log stays until a purge."""
    for own, files in (("interval 60 days", "interval 60 days"), ("interval 1 day", "interval 192 hours")):
        found = delta_properties(Retention(1, 7, ""), 0, {DELTAS_FILES: own, DELTAS_LOG: "interval 50 days"})
        assert found == {DELTAS_FILES: files, DELTAS_LOG: PINNED}


def test_a_pin_is_seen_and_shows_the_owners_values():
    """On a table that retention keeps, and on any other one."""
    pinned = pinned_properties()
    assert (is_pinned(pinned), is_pinned({}), is_pinned({DELTAS_LOG: PINNED})) == (True, False, False)
    for is_kept in (True, False):
        assert shown({**pinned, OWN + DELTAS_LOG: "1 day", "a": "b"}, is_kept=is_kept) == {
            DELTAS_LOG: "1 day",
            "a": "b",
        }


@given(histories(), st.integers(0, 120), st.integers(0, 200))
def test_when_a_replaced_version_has_left(history, replaced, ahead):
    """The periods in turn tell the same as the horizon: a purge goes by the one, Time Travel by the other."""
    periods, today = history
    now = (today + ahead) * DAY
    leaves = min(
        max(begin, (replaced + days) * DAY)
        for begin, until, days in periods.in_turn()
        if until is None or (replaced + days) * DAY <= until
    )
    assert (leaves <= now) == (replaced * DAY <= periods.horizon(now))


@pytest.mark.parametrize(("value", "is_so"), [("true", True), ("TRUE", True), ("false", False), ("", False)])
def test_a_property_tells_what_is_transient(value, is_so):
    """Whatever the case of its letters."""
    assert is_transient({"timeTravel.transient": value}) is is_so


@pytest.mark.parametrize(
    ("hours", "periods", "kept"),
    [
        (192, Retention(1, 7, ""), True),
        (191.9, Retention(1, 7, ""), False),
        (168, Retention(0, 7, ""), True),
        (24, Retention(1, 0, ""), True),
        (0, Retention(0, 0, ""), True),
        (0, Retention(0, 7, ""), False),
        # Ten days until yesterday: what was replaced then is in Fail-safe for six more days.
        (192, Retention(1, 7, "", ((99 * DAY, 10),)), False),
        (408, Retention(1, 7, "", ((99 * DAY, 10),)), True),
        (192, Retention(1, 7, "", ((93 * DAY, 10),)), True),
    ],
)
def test_a_vacuum_that_would_delete_what_is_retained_is_refused(hours, periods, kept):
    """Retention and Fail-safe, former periods included; the error has the hours that are needed."""
    if kept:
        require_kept(TABLE, hours, periods, 100 * DAY, {})
        return
    with pytest.raises(RetainedError, match=rf"spark_catalog\.s\.t RETAIN {hours:g} HOURS") as raised:
        require_kept(TABLE, hours, periods, 100 * DAY, {})
    assert f"{periods.longest(100 * DAY) * 24:g} hours" in raised.value.problem


def test_a_vacuum_of_what_clones_read_is_refused_however_long():
    """Only a purge knows which files they need."""
    with pytest.raises(RetainedError, match=r"clones of it.*audit purge"):
        require_kept(TABLE, 10**9, Retention(0, 0, ""), 0, {DELTAS_FILES: PINNED})


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 0", {"DATA_RETENTION_TIME_IN_DAYS": 0}),
        ("ALTER SCHEMA s SET DATA_RETENTION_TIME_IN_DAYS = '90'", {"DATA_RETENTION_TIME_IN_DAYS": 90}),
        ("ALTER ACCOUNT SET MIN_DATA_RETENTION_TIME_IN_DAYS=7", {"MIN_DATA_RETENTION_TIME_IN_DAYS": 7}),
        ("ALTER TABLE t UNSET DATA_RETENTION_TIME_IN_DAYS", {"DATA_RETENTION_TIME_IN_DAYS": None}),
        ("ALTER SCHEMA s SET OPTIONS (max_time_travel_hours = 168)", {"MAX_TIME_TRAVEL_HOURS": 168}),
    ],
)
def test_values_within_their_bounds(text, values):
    """0 to 90 days, 48 to 168 hours; an UNSET has no value."""
    assert parameter_change_of(typed_of(text)).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 91", "= 91 is out of bounds; 0 to 90 days"),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = -1", "= -1 is no whole number"),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 1.5", "= 1.5 is no whole number"),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = '²'", "= '²' is no whole number"),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS", "= nothing is no whole number"),
        ("ALTER SCHEMA s SET OPTIONS (max_time_travel_hours = 49)", "one of 48, 72, 96, 120, 144, 168 hours"),
        ("ALTER SCHEMA s SET OPTIONS (max_time_travel_hours = 24)", "is out of bounds"),
        ("ALTER TABLE t SET MIN_DATA_RETENTION_TIME_IN_DAYS=1", "cannot be set on a table; it is set on A"),
        ("ALTER TABLE t SET MAX_TIME_TRAVEL_HOURS = 48", "cannot be set on a table; it is set on SCHEMA"),
        ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 1 COMMENT = 'x'", "no whole number"),
    ],
)  # fmt: skip
def test_other_values_are_refused(text, message):
    """The error names the parameter, the value and what can be."""
    with pytest.raises(BadParameterError, match=message):
        parameter_change_of(typed_of(text))


def test_what_is_transient_has_a_day_at_most():
    """An UNSET is fine; what is permanent may have more."""
    for days, transient in ((1, True), (0, True), (None, True), (90, False)):
        require_transient(("s", "t"), days, transient=transient)
    with pytest.raises(BadParameterError, match=r"= 2 is too long for s\.t, which is transient; 0 or 1"):
        require_transient(("s", "t"), 2, transient=True)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("SHOW PARAMETERS", True), ("SHOW PARAMETERS LIKE 'DATA%' IN ACCOUNT", True),
        ("SHOW PARAMETERS IN TABLE s.t", True), ("SHOW PARAMETERS FOR DATABASE s", True),
        ("SHOW PARAMETERS IN TABLE", False), ("SHOW PARAMETERS IN SCHEMA", False),
        ("SHOW PARAMETERS IN ACCOUNT now", False), ("SHOW PARAMETERS IN s.t", False),
    ],
)  # fmt: skip
def test_show_parameters_names_its_object(text, whole):
    """All but the account has a name, and a word that tells what it names."""
    if whole:
        assert require_object(typed_of(text)) == typed_of(text)
    else:
        with pytest.raises(BadParameterError, match=r"IN ACCOUNT \| SCHEMA name \| TABLE name"):
            require_object(typed_of(text))


PLACES = [
    ("file:/w/s.db", "file:/w"), ("file:/w", "file:/w/"), ("file:/w/deep/s.db", "file:/w"),
    ("s3a://bucket/finance", "file:/w"), ("s3a://bucket/finance/", "/w"), ("hdfs://n:1/it's 100% ü", "/w"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "warehouse"), PLACES)
@pytest.mark.parametrize("name", ["t", "Umsätze 2026", "a/../b", "x" * 300, "", "`"])
def test_a_new_table_lies_outside_its_schema_and_is_known_by_its_place(schema, warehouse, name):
    """A DROP SCHEMA deletes the schema's folder, and retention holds for every table that is made here."""
    place = place_in(schema, warehouse, name)
    inside = f"{schema.rstrip('/')}/"
    assert not place.startswith(inside) or schema.rstrip("/") == warehouse.rstrip("/")
    assert place.startswith(f"{folder_of(schema, warehouse)}/{path_part(name)}-")
    assert has_retention(place, {})
    assert has_retention(f"{place}/", {})


def test_two_tables_of_one_name_have_two_places():
    """Unless a name-based id is given, with which a second run finds the first one's folder."""
    assert place_in("/w/s.db", "/w", "t") != place_in("/w/s.db", "/w", "t")
    known = uuid.uuid5(uuid.NAMESPACE_OID, "x")
    assert place_in("/w/s.db", "/w", "t", known) == f"/w/_tables/t-{known}"


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        ("file:/w/s.db/t", {}), ("/data/my_tables/t", {}), ("/data/my_tables/t-1", {}),
        ("/_tables", {}),
        (f"/data/my_tables/{uuid.UUID(int=0)}", {}), (f"/data/tables/t-{uuid.UUID(int=0)}", {}),
        ("", {}),
        (f"/data/my_tables/t-{uuid.UUID(int=0)}/part", {}), ("/w/t", {"delta.x": "timeTravel.own"}),
    ],
)  # fmt: skip
def test_a_folder_that_this_system_did_not_make_is_not_its_own(location, properties):
    """A purge never deletes it, whatever its name resembles."""
    assert not has_retention(location, properties)


def test_an_adopted_table_is_known_by_its_properties():
    """Wherever it lies."""
    assert has_retention("/anywhere", {"timeTravel.adopted": "true"})
    assert EARLIER.startswith("timeTravel.")
