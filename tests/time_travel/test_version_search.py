"""Which version a point leads to, over a log in memory: the edges of AT, BEFORE and of the retention."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spark.delta.values import DeltaTableState, Table
from audit.time_travel.errors import (
    BeforeCreationError,
    NoHistoryError,
    OutsideRetentionError,
    UnknownStatementError,
    UnknownVersionError,
)
from audit.time_travel.retention.periods import DAY
from audit.time_travel.versions.recorded import RecordedStatement, RecordedVersion
from audit.time_travel.versions.version_lookup import (
    EvaluatedPoint,
    VersionLimits,
    began,
    has_written,
    since,
    time_text,
    version_for,
)
from lineage.catalog.object_ids import object_id
from lineage.sql.commands.time_travel.at_before import VersionClause

MS = 1000
BEGIN = 20_000 * DAY  # 2024-10-04
TABLE = Table(("spark_catalog", "s", "sales"), "/t", "delta", managed=False)
NAME = r"spark_catalog\.s\.sales"


@dataclass
class Log:
    """Stands for the catalog of one Delta table: `times` of its commits in microseconds, by version."""

    times: list[int]
    earliest: int = 0
    writers: dict[str, tuple[int, int]] | None = None

    def state(self, location):
        """The versions of the table; None for another location."""
        return DeltaTableState("id", len(self.times) - 1, self.earliest, 0) if location == "/t" else None

    def version_at(self, _location, state, millis):
        """The newest version at a time, or the one before the earliest."""
        found = [v for v, time in enumerate(self.times) if v >= state.earliest and time // MS <= millis]
        return max(found, default=state.earliest - 1)

    def committed_at(self, _location, _state, version):
        """When a version was committed, in milliseconds."""
        return self.times[version] // MS

    def id_at(self, _location, _version):
        """Of all versions, but of those before a REPLACE."""
        return "id"

    def written_by(self, _location, _state, query_id, since):
        """The first and the last version of a statement, looked for from a version on."""
        found = (self.writers or {}).get(query_id)
        return found if found is not None and found[0] >= since else None


def recorded(start, end, *, read=(), written=(), status="SUCCESS"):
    """A statement from one day to another, with the versions that it read and wrote."""
    days = [None if day is None else BEGIN + round(day * DAY) for day in (start, end)]
    return RecordedStatement("q", "", "", status, ("c", "s"), *days, tuple(read), tuple(written))


def of(version, table="id", name="spark_catalog.s.sales"):
    """A version on record, of a table by Delta's id."""
    return RecordedVersion(name, version, object_id("TABLE", table))


def look(log, kind, value, *, before=False, limits=None, records=None):
    """The version of a point."""
    clause = VersionClause(("sales",), kind, before, str(value), own=True)
    field = {"TIMESTAMP": "micros", "STATEMENT": "query_id", "VERSION": "version"}[kind]
    point = EvaluatedPoint(clause, **{field: value})
    return version_for(point, TABLE, log, limits or VersionLimits(), (records or {}).get)


def at_days(*days):
    """A log with a commit on each of these days."""
    return Log([BEGIN + day * DAY for day in days])


@pytest.mark.parametrize(
    ("micros", "at", "before"),
    [
        (BEGIN, 0, None),
        (BEGIN + 1, 0, 0),
        (BEGIN + DAY - 1, 0, 0),
        (BEGIN + DAY, 1, 0),
        # Delta has milliseconds: within one the commit counts as before any later microsecond.
        (BEGIN + DAY + 1, 1, 1),
        (BEGIN + DAY + MS, 1, 1),
        (BEGIN + 400 * DAY, 2, 2),
    ],
)
def test_at_includes_its_moment_and_before_does_not(micros, at, before):
    """A time after the last change is the current state."""
    log = at_days(0, 1, 2)
    assert look(log, "TIMESTAMP", micros) == at
    if before is None:
        with pytest.raises(BeforeCreationError):
            look(log, "TIMESTAMP", micros, before=True)
    else:
        assert look(log, "TIMESTAMP", micros, before=True) == before


@given(
    st.lists(st.integers(1, 5 * MS), min_size=1, max_size=8),
    st.integers(0, 40 * MS),
    st.booleans(),
)
def test_the_version_is_the_last_commit_that_counts(gaps, later, before):
    """Against a count of the commits up to the moment, or strictly before it, in milliseconds."""
    times = [BEGIN + sum(gaps[:n]) * MS for n in range(len(gaps))]
    micros = BEGIN + later
    count = sum(time < micros if before else time <= micros for time in times)
    if count:
        assert look(Log(times), "TIMESTAMP", micros, before=before) == count - 1
    else:
        with pytest.raises(BeforeCreationError):
            look(Log(times), "TIMESTAMP", micros, before=before)


def test_a_point_before_the_creation_names_the_earliest_moment():
    """The table, the point and the first moment that can be read, even of a point before all calendars."""
    for micros in (BEGIN - 1, -(1 << 63)):
        with pytest.raises(BeforeCreationError, match=NAME) as raised:
            look(at_days(0, 1), "TIMESTAMP", micros)
        assert time_text(micros) in raised.value.problem
        assert raised.value.way_out == f"the earliest moment that can be read is {time_text(BEGIN)}"


def test_a_log_that_was_cleaned_up_is_no_creation():
    """Delta has deleted the oldest entries: the table is older than what can be read."""
    log = Log([BEGIN + day * DAY for day in range(5)], earliest=3)
    with pytest.raises(OutsideRetentionError, match="no longer reaches back") as raised:
        look(log, "TIMESTAMP", BEGIN + DAY)
    assert time_text(BEGIN + 3 * DAY) in raised.value.way_out


def test_a_point_outside_the_retention_is_refused_though_the_log_has_it():
    """A point that "falls outside the data retention period" is an error that names the period."""
    limits = VersionLimits(BEGIN + 2 * DAY, days=1.0)
    log = at_days(0, 1, 3)
    assert look(log, "TIMESTAMP", BEGIN + 2 * DAY, limits=limits) == 1
    with pytest.raises(OutsideRetentionError, match=rf"{NAME}, 1 days") as raised:
        look(log, "TIMESTAMP", BEGIN + 2 * DAY - 1, limits=limits)
    assert time_text(BEGIN + 2 * DAY) in raised.value.way_out


@pytest.mark.parametrize(
    ("version", "readable"),
    # Replaced on day 1: outside. Replaced on day 3: it was current within the period. The newest: always.
    [(0, False), (1, True), (2, True)],
)
def test_a_version_is_readable_while_it_was_current_within_the_period(version, readable):
    """Its age counts from its replacement, not from its commit."""
    limits = VersionLimits(BEGIN + 2 * DAY, days=1.0)
    log = at_days(0, 1, 3)
    if readable:
        assert look(log, "VERSION", version, limits=limits) == version
    else:
        with pytest.raises(OutsideRetentionError, match=rf"version {version} \(until 2024-10-05"):
            look(log, "VERSION", version, limits=limits)


def test_without_retention_the_newest_version_is_readable_for_ever():
    """A period of 0 days deactivates Time Travel, not the table."""
    limits = VersionLimits(BEGIN + 9 * DAY, days=0.0)
    log = at_days(0, 1)
    assert look(log, "VERSION", 1, limits=limits) == 1
    with pytest.raises(OutsideRetentionError, match="0 days"):
        look(log, "VERSION", 0, limits=limits)


@pytest.mark.parametrize(("version", "before"), [(-1, False), (3, False), (3, True), (10**20, False)])
def test_a_version_that_is_not_there_is_named_with_those_that_are(version, before):
    """From the earliest in the log to the newest."""
    with pytest.raises(UnknownVersionError, match=f"has no version {version}; it has 0 to 2"):
        look(at_days(0, 1, 2), "VERSION", version, before=before)


def test_before_a_version_is_the_one_before_it():
    """Before the first one there is nothing."""
    log = at_days(0, 1, 2)
    assert look(log, "VERSION", 2, before=True) == 1
    with pytest.raises(BeforeCreationError, match=f"{NAME} was created by version 0"):
        look(log, "VERSION", 0, before=True)
    with pytest.raises(OutsideRetentionError, match="no longer reaches back to version 1"):
        look(Log(log.times, earliest=2), "VERSION", 2, before=True)


@pytest.mark.parametrize(("before", "version"), [(False, 3), (True, 1)])
def test_a_statement_may_commit_several_versions(before, version):
    """AT has all of its changes, BEFORE none of them."""
    log = Log([BEGIN + day * DAY for day in range(5)], writers={"q": (2, 3)})
    assert look(log, "STATEMENT", "q", before=before) == version


@pytest.mark.parametrize(
    ("statement", "at", "before"),
    [
        # Its commits carry another mark, or those of statements in it: the record tells.
        (recorded(1.5, 2.5, written=[of(2)]), 2, 1),
        (recorded(0.5, 3.5, written=[of(1), of(3)]), 3, 0),
        # The table had another name, or another id before a REPLACE.
        (recorded(1.5, 2.5, written=[of(2, name="spark_catalog.s.old")]), 2, 1),
        # What it read, unless that was older than what there was.
        (recorded(1.5, 1.6, read=[of(1)]), 1, 1),
        (recorded(2.5, 2.6, read=[of(1)]), 2, 2),
        (recorded(1.5, 2.1, read=[of(2)]), 2, 2),
        # A table that it did not touch: as of its time, whatever became of it.
        (recorded(1.5, 2.5), 2, 1),
        (recorded(1.5, 2.5, status="FAIL", read=[of(3, "other", "spark_catalog.s.other")]), 2, 1),
        (recorded(1, 2), 2, 0),
    ],
)
def test_a_statement_on_record_leads_to_a_version(statement, at, before):
    """Any that has ended: what it wrote, else what it read, else the state at its time."""
    log = at_days(0, 1, 2, 3)
    found = [look(log, "STATEMENT", "q", before=b, records={"q": statement}) for b in (False, True)]
    assert found == [at, before]


def test_a_statement_of_a_table_that_is_gone_is_none_of_the_table_of_its_name():
    """The numbers of its versions are not those of the new table; the error names both."""
    log = at_days(5, 6, 7)
    for versions in ({"read": [of(1, "old")]}, {"written": [of(1, "old")]}):
        ids = rf"object {object_id('TABLE', 'old')};.*object {object_id('TABLE', 'id')}"
        with pytest.raises(BeforeCreationError, match=ids):
            look(log, "STATEMENT", "q", records={"q": recorded(1, 2, **versions)})
    with pytest.raises(BeforeCreationError, match="created at 2024-10-09"):
        look(log, "STATEMENT", "q", records={"q": recorded(1, 2)})


def test_before_the_statement_that_created_the_table_there_is_nothing():
    """The error says how to have what it created."""
    log = Log([BEGIN], writers={"q": (0, 0)})
    with pytest.raises(BeforeCreationError, match="created by statement q") as raised:
        look(log, "STATEMENT", "q", before=True)
    assert raised.value.way_out == "ask for AT (STATEMENT => …) to have what it created"


def test_an_unknown_statement_and_one_that_runs_are_no_points():
    """A typing error in an id, and a statement whose end is not known."""
    log = at_days(0)
    with pytest.raises(UnknownStatementError, match=r"'nobody'.*query_history"):
        look(log, "STATEMENT", "nobody")
    with pytest.raises(UnknownStatementError, match=r"statement q.*has no end on record: it is RUNNING"):
        look(log, "STATEMENT", "q", records={"q": recorded(0, None, status="RUNNING")})


@pytest.mark.parametrize(
    "table",
    [
        Table(TABLE.name, "/t", "parquet", managed=True),
        Table(TABLE.name, None, "delta", managed=True),
        Table(TABLE.name, "/elsewhere", "delta", managed=True),
    ],
)
def test_only_a_delta_table_has_versions(table):
    """The error names the table and the way to make one of it."""
    point = EvaluatedPoint(
        VersionClause(("sales",), "VERSION", before=False, expression="0", own=True), version=0
    )
    with pytest.raises(NoHistoryError, match=f"{NAME}.*USING delta"):
        version_for(point, table, at_days(0), VersionLimits(), {}.get)


def uuid7(micros):
    """A query id of a statement that began at a time."""
    digits = f"{micros // MS:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"


@given(st.integers(0, (1 << 48) - 1))
def test_a_query_id_tells_when_its_statement_began(millis):
    """A UUIDv7 begins with its time (RFC 9562)."""
    assert began(uuid7(millis * MS)) == began(uuid7(millis * MS).upper()) == millis * MS


@pytest.mark.parametrize(
    "wrong", ["", "q", "01905b8e-c280-4000-8000-000000000000", "01905b8e-c280-7000-0000-000000000000"]
)
def test_another_id_tells_no_time(wrong):
    """It is no id of this system, and the error names it."""
    with pytest.raises(UnknownStatementError, match=f"'{wrong}' is no query id"):
        began(wrong)


def test_the_search_for_a_statement_begins_a_minute_before_it():
    """Clocks of drivers and stores differ; an id without a time is looked for in all of the log."""
    log = Log([BEGIN + n * 30_000_000 for n in range(10)])
    state = log.state("/t")
    assert since(uuid7(log.times[6]), "/t", state, log) == 4
    assert since("foreign", "/t", state, log) == 0


def test_a_statement_has_written_what_it_committed():
    """No other table, and nothing that is no Delta table."""
    log = Log([BEGIN, BEGIN + DAY], writers={"q": (1, 1)})
    assert has_written("q", TABLE, log)
    assert not has_written("other", TABLE, log)
    assert not has_written("q", Table(TABLE.name, None, "delta", managed=True), log)
