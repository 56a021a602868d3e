"""Retention set and shown on an audited session."""

from __future__ import annotations

import pytest

from audit.time_travel import errors
from audit.time_travel.retention.parameters import parameter_change_of
from lineage.sql.parse import typed_of
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

pytestmark = pytest.mark.spark


def parameter(session, of):
    """Value and level of DATA_RETENTION_TIME_IN_DAYS."""
    (row,) = session.sql(f"SHOW PARAMETERS LIKE 'DATA_RETENTION%' IN {of}").collect()
    return row["value"], row["level"]


def test_inherited_downwards(session, schema, stored):
    """Account, schema, table; the minimum of the account; UNSET; Delta's own properties follow."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE TABLE own (a INT) DATA_RETENTION_TIME_IN_DAYS = 90")
    assert (parameter(session, "TABLE t"), parameter(session, "TABLE own")) == (("1", ""), ("90", "TABLE"))
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 192 hours"
    session.sql("ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 2")
    assert (parameter(session, "ACCOUNT"), parameter(session, "TABLE t")) == (
        ("2", "ACCOUNT"),
        ("2", "ACCOUNT"),
    )
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 216 hours"
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 5")
    assert (parameter(session, f"SCHEMA {schema}"), parameter(session, "TABLE t")) == (("5", "SCHEMA"),) * 2
    session.sql("ALTER ACCOUNT SET MIN_DATA_RETENTION_TIME_IN_DAYS = 10")
    # It "does not alter or replace" the value; what is in force is the greater.
    assert parameter(session, f"SCHEMA {schema}") == parameter(session, "TABLE t") == ("5", "SCHEMA")
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 408 hours"
    assert {row["name"]: row["retention_time"] for row in session.sql("SHOW TABLES HISTORY").collect()} == {
        "t": 10,
        "own": 90,
    }
    session.sql("ALTER ACCOUNT UNSET DATA_RETENTION_TIME_IN_DAYS, MIN_DATA_RETENTION_TIME_IN_DAYS")
    session.sql(f"ALTER SCHEMA {schema} UNSET DATA_RETENTION_TIME_IN_DAYS")
    session.sql("ALTER TABLE own SET DATA_RETENTION_TIME_IN_DAYS=30")
    assert (parameter(session, "TABLE t"), parameter(session, "TABLE own")) == (("1", ""), ("30", "TABLE"))
    # What leaves Time Travel by this stays in Fail-safe: 90 + 7 days, until seven days have passed.
    assert stored("own")["delta.deletedFileRetentionDuration"] == "interval 2328 hours"
    session.sql("ALTER TABLE own UNSET DATA_RETENTION_TIME_IN_DAYS")
    assert parameter(session, "TABLE own") == ("1", "")
    assert stored("own")["timeTravel.earlierRetention"].endswith(":30")


def test_transient(session, schema, stored):
    """A day at most, and no Fail-safe; the schema's kind is its tables'."""
    session.sql("CREATE TRANSIENT TABLE t (a INT) TBLPROPERTIES ('mine' = '1')")
    assert stored("t")["mine"] == "1"
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 24 hours"
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 0")
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 0 hours"
    with pytest.raises(errors.BadParameterError, match="which is transient"):
        session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 2")
    assert [row.kind for row in session.sql("SHOW TABLES HISTORY").collect()] == ["TRANSIENT"]
    session.sql("DROP TABLE t")
    with pytest.raises(errors.NothingDroppedError):
        session.sql("UNDROP TABLE t")


def test_a_window_in_hours(session, schema):
    """The other document's model, chosen for a schema."""
    session.sql(f"ALTER SCHEMA {schema} SET OPTIONS (max_time_travel_hours = 48)")
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 30")
    assert parameter(session, "TABLE t") == ("2", "SCHEMA")
    found = session.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'").collect()
    assert [(row["name"], row["retention_time"], row["dropped_on"]) for row in found] == [(schema, 2, None)]


def test_what_was_dropped_keeps_its_own(session, schema):
    """A schema's retention that changes later changes nothing for a table that was dropped before."""
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 90")
    session.sql("CREATE TABLE t1 (a INT)")
    session.sql("DROP TABLE t1")
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 1")
    assert [row.retention_time for row in session.sql("SHOW TABLES HISTORY").collect()] == [90]


def test_nothing_is_retained(session, schema):
    """0 turns Time Travel off: the past cannot be read, the present can."""
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    session.sql("INSERT INTO t VALUES (1)")
    assert session.sql("SELECT a FROM t VERSION AS OF 1").collect()[0][0] == 1
    with pytest.raises(errors.OutsideRetentionError, match="0 days; the earliest moment that can be read"):
        session.sql("SELECT a FROM t VERSION AS OF 0")


def test_what_is_shown_flows_on(session, schema):
    """The three examples of the newer document."""
    session.sql("CREATE TABLE my_table1 (a INT) DATA_RETENTION_TIME_IN_DAYS = 3")
    session.sql("CREATE TABLE my_table2 (a INT)")
    session.sql("CREATE TABLE my_table3 (a INT)")
    found = session.sql(
        """SHOW TABLES
             ->> SELECT "name", "retention_time"
                   FROM $1
                   WHERE "name" IN ('my_table1', 'my_table2')"""
    )
    assert sorted(tuple(row) for row in found.collect()) == [("my_table1", 3), ("my_table2", 1)]
    off = session.sql('SHOW SCHEMAS ->> SELECT "name", "retention_time" FROM $1 WHERE "retention_time" = 0')
    assert off.collect() == []
    session.sql("CREATE SCHEMA gone DATA_RETENTION_TIME_IN_DAYS = 40")
    session.sql("DROP SCHEMA gone")
    longer = session.sql(
        'SHOW DATABASES HISTORY ->> SELECT "name", "retention_time", "dropped_on" FROM $1'
        ' WHERE "retention_time" > 30'
    ).collect()
    assert [(row["name"], row["retention_time"], row["dropped_on"] is None) for row in longer] == [
        ("gone", 40, False)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 91",
        "ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = -1",
        "ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = many",
        "ALTER TABLE t SET MIN_DATA_RETENTION_TIME_IN_DAYS = 1",
        "ALTER SCHEMA s SET OPTIONS (max_time_travel_hours = 50)",
        "ALTER ACCOUNT SET MAX_TIME_TRAVEL_HOURS = 48",
        "ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 1 COMMENT = 'x'",
    ],
)
def test_bounds(text):
    """What cannot be is refused, and the error says what can."""
    with pytest.raises(errors.BadParameterError, match=r"0 to 90|one of 48|it is set on|of their own"):
        parameter_change_of(typed_of(text))


def test_unknown_objects(session, schema):
    """A name that stands for nothing, with and without IF EXISTS."""
    for text in (
        "ALTER TABLE nothing SET DATA_RETENTION_TIME_IN_DAYS = 1",
        "ALTER SCHEMA nothing SET DATA_RETENTION_TIME_IN_DAYS = 1",
        "SHOW PARAMETERS IN TABLE nothing",
    ):
        with pytest.raises(errors.UnknownObjectError, match="nothing"):
            session.sql(text)
    session.sql("ALTER TABLE IF EXISTS nothing SET DATA_RETENTION_TIME_IN_DAYS = 1")
