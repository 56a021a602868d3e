"""RESTORE on an audited session: the rule of reads, and what stays as it is."""

from __future__ import annotations

import pytest

import audit
from audit.time_travel import errors

pytestmark = pytest.mark.spark


@pytest.fixture
def told(session, schema):
    """A table of three versions, with one row more in each; the statements that made them, by version."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    return {row.version: row for row in session.sql("DESCRIBE HISTORY t").collect()}


def rows(session, table="t"):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(f"SELECT a FROM {table}").collect())


@pytest.mark.slow("RESTORE takes three seconds")
def test_every_form(session, schema, told):
    """Delta's words and those of AT | BEFORE lead to the same version, by name, in full and by path."""
    location = session.sql("DESCRIBE DETAIL t").collect()[0].location.removeprefix("file:")
    for table, point, found in [
        ("TABLE t", "TO VERSION AS OF 1", [1]),
        (f"spark_catalog.{schema}.t", f"TIMESTAMP AS OF '{told[2].timestamp}'", [1, 2]),
        ("t", f"TO BEFORE (STATEMENT => '{told[1].userMetadata}')", []),
        ("TABLE `t`", f"TO AT (STATEMENT => '{told[1].userMetadata}');", [1]),
        (
            f"TABLE delta.`{location}`",
            f"TO AT (TIMESTAMP => '{told[2].timestamp}'::timestamp) -- was",
            [1, 2],
        ),
    ]:
        session.sql(f"/* back */ RESTORE {table} {point}")
        assert rows(session) == found


@pytest.mark.long("test_reading has what is on record, and test_every_form RESTORE")
def test_is_on_record(session, told):
    """The commit carries the query id, so that a RESTORE can be undone by it; its record has the text."""
    text = f"RESTORE TABLE t TO BEFORE (STATEMENT => '{told[2].userMetadata}')"
    session.sql(text)
    audit.flush(session)
    query_id = session.sql("DESCRIBE HISTORY t LIMIT 1").collect()[0].userMetadata
    (record,) = session.sql(
        "SELECT q.query_text, q.query_type, a.objects_modified[0].objectName AS modified"
        " FROM account_usage.query_history q JOIN account_usage.access_history a USING (query_id)"
        f" WHERE query_id = '{query_id}'"
    ).collect()
    assert tuple(record) == (text, "RESTORE", "spark_catalog.is_on_record.t")
    session.sql(f"RESTORE TABLE t TO BEFORE (STATEMENT => '{query_id}')")
    assert rows(session) == [1, 2]


@pytest.mark.one_in(3, "each error")
@pytest.mark.parametrize(
    ("point", "error", "text"),
    [
        ("VERSION AS OF 77", errors.UnknownVersionError, "it has 0 to 2"),
        ("VERSION AS OF 2", errors.NothingToRestoreError, "is at version 2"),
        ("AT (OFFSET => 0)", errors.NothingToRestoreError, "is at version 2"),
        ("TIMESTAMP AS OF '2999-01-01'", errors.FutureMomentError, "2999-01-01 00:00:00 UTC"),
        ("TIMESTAMP AS OF '2001-01-01'", errors.BeforeCreationError, "the earliest moment"),
        ("AT (OFFSET => 60)", errors.BadOffsetError, "60 seconds ahead"),
        ("AT (STATEMENT => '8e5d')", errors.UnknownStatementError, "no statement on record"),
        ("AT (OFFSET => -1) AND MORE", errors.BadClauseError, "cannot go on with"),
    ],
)
def test_refused(session, told, point, error, text):
    """A point that cannot be read is not restored, for the same reason; the table stays as it is."""
    with pytest.raises(error, match=text):
        session.sql(f"RESTORE TABLE t TO {point}")
    assert rows(session) == [1, 2]


def test_outside_retention(session, schema):
    """What has left the retention period is past; a parquet table, a view and an unknown name have none."""
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    session.sql("INSERT INTO t VALUES (1)")
    with pytest.raises(errors.OutsideRetentionError, match="0 days"):
        session.sql("RESTORE TABLE t TO VERSION AS OF 0")
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    with pytest.raises(errors.NoHistoryError, match="a table of parquet"):
        session.sql("RESTORE TABLE p TO VERSION AS OF 0")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    for name in ("v", "nothing"):
        with pytest.raises(errors.UnknownObjectError, match=name):
            session.sql(f"RESTORE TABLE {name} TO AT (OFFSET => -1)")


@pytest.mark.long("the model has retention and RESTORE")
def test_retention_is_not_restored(session, schema, told, stored):
    """What is kept, and for how long, is no part of the past: a clone counts on it, and so does a user."""
    session.sql("CREATE TABLE c CLONE t")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 30")
    session.sql("RESTORE TABLE t TO VERSION AS OF 1")
    properties = stored("t")
    assert properties["timeTravel.dataRetentionTimeInDays"] == "30"
    assert properties["delta.deletedFileRetentionDuration"] == "interval 36500 days"
    session.sql("VACUUM t")
    assert (rows(session), rows(session, "c")) == ([1], [1, 2])
    session.sql("ALTER TABLE t UNSET DATA_RETENTION_TIME_IN_DAYS")
    (pinned,) = session.sql("DESCRIBE HISTORY t").where("version = 4").collect()
    session.sql(f"RESTORE TABLE t TO AT (STATEMENT => '{pinned.userMetadata}')")
    assert session.sql("SHOW PARAMETERS IN TABLE t").collect()[0]["value"] == "1"
