"""Sentences of the documents that no larger example shows, on a clock that is told the day."""

from __future__ import annotations

import time
from datetime import datetime, timezone

import pytest

from audit.time_travel import errors
from audit.time_travel.clones.create import properties_of
from audit.time_travel.retention.parameters import parameter_change_of
from lineage.sql.parse import typed_of
from tests.time_travel.test_storage import metrics

pytestmark = pytest.mark.spark
SHARES = """SELECT current_physical_bytes AS active, time_travel_physical_bytes AS past,
                   fail_safe_physical_bytes AS safe, long_term_physical_bytes AS long_term,
                   billable_physical_bytes AS physical, billable_logical_bytes AS logical,
                   total_logical_bytes AS whole
            FROM account_usage.table_storage WHERE table_name = '{}' AND table_schema = '{}'"""


@pytest.fixture(scope="module")
def session(clocked):
    """Audited on a clock that is told the day."""
    return clocked


def names(session, text):
    """The names that a SHOW gives."""
    return [row["name"] for row in session.sql(text).collect()]


def last_id(session):
    """Of the newest change of a table t."""
    return session.sql("DESCRIBE HISTORY t LIMIT 1").collect()[0].userMetadata


@pytest.mark.slow("many points of one table")
def test_points_by_offset_and_statement(session, schema, clock, day):
    """OFFSET counts from now; neither it nor a statement reaches beyond the retention period.

    The first test here: ids of statements never go back in time, though this clock does.
    """
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    inserted = last_id(session)
    clock.set(time.time_ns() // 1000)
    began = clock.now()
    time.sleep(1.1)
    session.sql("UPDATE t SET a = 2")
    updated = last_id(session)
    clock.set(began + 300_000_000)
    assert session.sql("SELECT a FROM t AT (OFFSET => -60*5)").collect() == [(1,)]
    assert session.sql("SELECT a FROM t AT (OFFSET => -60*4)").collect() == [(2,)]
    session.sql("CREATE SCHEMA earlier CLONE points_by_offset_and_statement AT (OFFSET => -60*5)")
    assert session.sql("SELECT a FROM earlier.t").collect() == [(1,)]
    session.sql("DROP SCHEMA earlier CASCADE")
    moment = f"{datetime.fromtimestamp(began / 1e6, timezone.utc):%Y-%m-%d %H:%M:%S.%f}"
    session.sql(f"CREATE TABLE copy CLONE t AT (TIMESTAMP => '{moment}'::timestamp_tz)")
    assert session.sql("SELECT a FROM copy").collect() == [(1,)]
    session.sql(f"CREATE DATABASE earlier CLONE {schema} BEFORE (STATEMENT => '{updated}')")
    assert session.sql("SELECT a FROM earlier.t").collect() == [(1,)]
    session.sql("DROP SCHEMA earlier CASCADE")
    day(3)
    for point in (f"OFFSET => -{2 * 86400}", f"STATEMENT => '{inserted}'"):
        with pytest.raises(errors.OutsideRetentionError, match="points_by_offset"):
            session.sql(f"SELECT a FROM t AT ({point})")
    old = "DATEADD(days, -4, current_timestamp)::timestamp_tz"
    with pytest.raises((errors.OutsideRetentionError, errors.BeforeCreationError)):
        session.sql(f"CREATE SCHEMA earlier CLONE {schema} AT (TIMESTAMP => {old})")


def test_transient_schemas(session, schema):
    """What they hold is transient, too: 0 or 1 day, whatever is set nearer."""
    session.sql("CREATE TRANSIENT SCHEMA short")
    with pytest.raises(errors.BadParameterError, match="which is transient"):
        session.sql("ALTER SCHEMA short SET DATA_RETENTION_TIME_IN_DAYS = 2")
    with pytest.raises(errors.BadParameterError, match="which is transient"):
        session.sql("CREATE TABLE short.t (a INT) DATA_RETENTION_TIME_IN_DAYS = 30")
    session.sql("CREATE TABLE short.t (a INT)")
    with pytest.raises(errors.BadParameterError, match="which is transient"):
        session.sql("ALTER TABLE short.t SET DATA_RETENTION_TIME_IN_DAYS = 30")
    session.sql("DROP SCHEMA short CASCADE")
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 30")
    session.sql("CREATE TRANSIENT TABLE brief (a INT)")
    shown = session.sql("SHOW TABLES HISTORY").collect()
    assert [(row["kind"], row["retention_time"]) for row in shown] == [("TRANSIENT", 1)]


def test_no_retention(session, schema, day):
    """Zero days: "Time Travel is deactivated": what is replaced goes to Fail-safe at once."""
    session.sql("CREATE TABLE gone_at_once DATA_RETENTION_TIME_IN_DAYS = 0 AS SELECT id FROM range(10)")
    size = metrics(session, "gone_at_once")[0]
    session.sql("DELETE FROM gone_at_once")
    day(0.01)
    assert metrics(session, "gone_at_once")[:3] == (0, 0, size)


def test_dropped_objects_are_not_altered(session, schema):
    """First "restore it": the retention of what was dropped cannot be changed."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("DROP TABLE t")
    with pytest.raises(errors.UnknownObjectError):
        session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 5")
    session.sql("UNDROP TABLE t")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 5")
    session.sql("CREATE SCHEMA away")
    session.sql("DROP SCHEMA away")
    with pytest.raises(errors.UnknownObjectError):
        session.sql("ALTER SCHEMA away SET OPTIONS (max_time_travel_hours = 48)")


def test_containers_override_their_children(session, schema, day):
    """A child's own period counts if it was dropped before its schema, else the schema's."""
    session.sql("CREATE SCHEMA box")
    session.sql("USE box")
    for table in ("before", "within"):
        session.sql(f"CREATE TABLE {table} DATA_RETENTION_TIME_IN_DAYS = 90 AS SELECT 1 AS a")
    session.sql("DROP TABLE before")
    session.sql("USE default")
    session.sql("DROP DATABASE box CASCADE")
    session.sql("UNDROP DATABASE box")
    assert names(session, "SHOW TABLES HISTORY IN box") == ["within", "before"]
    session.sql("DROP DATABASE box CASCADE")
    day(2)
    with pytest.raises(errors.NothingDroppedError, match="in Fail-safe until"):
        session.sql("UNDROP SCHEMA box")
    session.sql("CREATE SCHEMA box")
    assert names(session, "SHOW TABLES HISTORY IN box") == ["before"]
    session.sql("USE box")
    session.sql("UNDROP TABLE before")
    with pytest.raises(errors.NothingDroppedError):
        session.sql("UNDROP TABLE within")
    assert session.sql("SELECT a FROM before").collect() == [(1,)]
    session.sql("USE default")
    session.sql("DROP SCHEMA box CASCADE")


def test_names_are_resolved_in_the_current_place(session, schema, day):
    """UNDROP restores where one is; SHOW … IN looks there; what is past its retention is not shown."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("DROP TABLE t")
    session.sql("USE default")
    with pytest.raises(errors.NothingDroppedError, match="not in the current schema"):
        session.sql(f"UNDROP TABLE {schema}.t")
    with pytest.raises(errors.NothingDroppedError):
        session.sql(f"UNDROP SCHEMA other.{schema}")
    assert names(session, f"SHOW SCHEMAS HISTORY LIKE '{schema}' IN spark_catalog") == [schema]
    assert names(session, f"SHOW SCHEMAS HISTORY IN DATABASE {schema}") == [schema]
    with pytest.raises(errors.UnknownObjectError, match="nowhere"):
        session.sql("SHOW SCHEMAS HISTORY IN nowhere")
    assert names(session, f"SHOW TABLES HISTORY IN {schema}") == ["t"]
    session.sql("CREATE SCHEMA for_a_moment DATA_RETENTION_TIME_IN_DAYS = 0")
    found = session.sql("""SHOW SCHEMAS ->> SELECT "name" FROM $1 WHERE "retention_time" = 0""").collect()
    assert "for_a_moment" in [row["name"] for row in found]
    session.sql("DROP SCHEMA for_a_moment")
    day(2)
    assert names(session, f"SHOW TABLES HISTORY IN {schema}") == []
    assert "for_a_moment" not in names(session, "SHOW SCHEMAS HISTORY")


def test_an_older_schema_under_a_taken_name(session, schema):
    """What the error of UNDROP advises leads to it: a schema cannot be renamed in Spark."""
    session.sql("CREATE SCHEMA twice")
    session.sql("CREATE TABLE twice.old AS SELECT 1 AS a")
    session.sql("DROP SCHEMA twice CASCADE")
    session.sql("CREATE SCHEMA twice")
    session.sql("CREATE TABLE twice.new AS SELECT 2 AS a")
    with pytest.raises(errors.ObjectExistsError, match="CREATE SCHEMA … CLONE twice"):
        session.sql("UNDROP SCHEMA twice")
    session.sql("CREATE SCHEMA aside CLONE twice")
    session.sql("ALTER SCHEMA twice SET DATA_RETENTION_TIME_IN_DAYS = 0")
    session.sql("DROP SCHEMA twice CASCADE")
    session.sql("UNDROP SCHEMA twice")
    assert session.sql("SELECT a FROM twice.old").collect() == [(1,)]
    assert session.sql("SELECT a FROM aside.new").collect() == [(2,)]
    session.sql("DROP SCHEMA twice CASCADE")
    session.sql("DROP SCHEMA aside CASCADE")


@pytest.mark.parametrize("hours", ["24", "192", "50"])
def test_bounds_of_a_window(hours):
    """A window is "between 2 days and 7 days", in multiples of 24 hours, at CREATE as at ALTER."""
    with pytest.raises(errors.BadParameterError, match="48, 72"):
        properties_of(typed_of(f"CREATE SCHEMA s OPTIONS (max_time_travel_hours = {hours})"))
    with pytest.raises(errors.BadParameterError, match="48, 72"):
        parameter_change_of(typed_of(f"ALTER SCHEMA s SET OPTIONS (max_time_travel_hours = {hours})"))


def test_a_window_from_the_beginning(session, schema, day):
    """CREATE SCHEMA … OPTIONS; a longer window does not reach what a shorter one gave up."""
    session.sql("CREATE SCHEMA narrow OPTIONS (max_time_travel_hours = 48)")
    session.sql("USE narrow")
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("DROP TABLE t")
    session.sql("ALTER SCHEMA narrow SET OPTIONS (max_time_travel_hours = 168)")
    day(3)
    with pytest.raises(errors.NothingDroppedError, match="in Fail-safe until"):
        session.sql("UNDROP TABLE t")
    session.sql("USE default")
    session.sql("DROP SCHEMA narrow CASCADE")


@pytest.mark.long("measured over 91 days; test_storage::test_the_data_retention_example has fifteen")
def test_storage_by_both_billing_models(session, schema, day):
    """One changed cell moves the whole file; physical billing counts it, logical billing does not."""
    session.sql("CREATE TABLE cells AS SELECT /*+ REPARTITION(1) */ id, 'x' AS c FROM range(1000)")
    assert metrics(session, "cells")[1:] == (0, 0, 0, 0)
    whole = metrics(session, "cells")[0]
    session.sql("UPDATE cells SET c = 'y' WHERE id = 500")
    day(0.01)
    assert metrics(session, "cells")[1] == whole
    session.sql("DELETE FROM cells WHERE id = 7")
    day(0.02)
    (row,) = session.sql(SHARES.format("cells", schema)).collect()
    assert (row.past > whole, row.safe, row.physical) == (True, 0, row.active + row.past)
    assert row.logical == row.whole
    day(91)
    (row,) = session.sql(SHARES.format("cells", schema)).collect()
    assert (row.past, row.safe, row.long_term > 0) == (0, 0, True)
    day(3)
    (row,) = session.sql(SHARES.format("cells", schema)).collect()
    assert (row.past, row.safe > whole, row.physical) == (0, True, row.active + row.safe)


def test_fail_safe_is_not_configurable(session, schema, stored):
    """Seven days, whatever somebody tries."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        session.sql("ALTER TABLE t SET FAIL_SAFE_DAYS = 9")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 3")
    assert stored("t")["delta.deletedFileRetentionDuration"] == f"interval {24 * (3 + 7)} hours"


@pytest.mark.long("a JVM of its own with a metastore")
@pytest.mark.hive("a catalog in memory knows no owner")
def test_columns_of_show(session, schema):
    """As the document's example has them, of a table that is there and of one that was dropped."""
    session.sql("CREATE TABLE plain (a INT) COMMENT 'as it is'")
    session.sql(
        "CREATE TABLE clustered (a INT, b STRUCT<c: INT>) CLUSTER BY (b.c, a)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    session.sql("INSERT INTO clustered VALUES (1, struct(2))")
    session.sql("ALTER TABLE clustered RENAME COLUMN a TO d")
    session.sql("DROP TABLE clustered")
    plain, clustered = session.sql("SHOW TABLES HISTORY").collect()
    for row in (plain, clustered):
        assert (row.database_name, row.schema_name, row.kind) == ("spark_catalog", schema, "TABLE")
        assert row.owner
    assert (plain.comment, plain.cluster_by, plain.rows, plain.bytes) == ("as it is", "", 0, 0)
    assert (clustered.comment, clustered.cluster_by, clustered.rows) == ("", "b.c, d", 1)
    assert clustered.bytes > 0
    assert (plain.dropped_on is None, clustered.dropped_on is None) == (True, False)
    with pytest.raises(errors.UnknownObjectError, match="nowhere"):
        session.sql("SHOW TABLES HISTORY IN nowhere")


def test_when_a_schema_was_made(session):
    """SHOW SCHEMAS HISTORY and account_usage.schemata say so, of a dropped one, too."""
    session.sql("CREATE SCHEMA IF NOT EXISTS made WITH DBPROPERTIES ('mine' = '1')")
    session.sql("CREATE SCHEMA IF NOT EXISTS made")
    (shown,) = session.sql("SHOW SCHEMAS HISTORY LIKE 'made'").collect()
    assert shown.created_on is not None
    session.sql("DROP SCHEMA made")
    (gone,) = session.sql("SHOW SCHEMAS HISTORY LIKE 'made'").collect()
    assert (gone.created_on, gone.created_on < gone.dropped_on) == (shown.created_on, True)
    (row,) = session.sql("SELECT * FROM account_usage.schemata WHERE schema_name = 'made'").collect()
    assert (row.created, row.deleted) == (gone.created_on, gone.dropped_on)
    session.sql("UNDROP SCHEMA made")
    assert session.sql("SHOW SCHEMAS HISTORY LIKE 'made'").first().created_on == shown.created_on
    session.sql("DROP SCHEMA made")
    assert session.sql("SHOW SCHEMAS HISTORY LIKE 'default'").first().created_on is None
