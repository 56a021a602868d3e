"""Tables that were there before: adopted without a copy, dropped without a loss."""

from __future__ import annotations

import pytest

import audit
from audit import time_travel
from audit.time_travel import errors

pytestmark = pytest.mark.spark

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


@pytest.fixture
def before(spark, schema, tmp_path):
    """A managed and an external Delta table, made where nobody listens."""
    spark.sql(f"CREATE TABLE {schema}.managed USING delta AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {schema}.outside USING delta LOCATION '{tmp_path}/outside' AS SELECT 2 AS a")
    return schema


def commits(session, table):
    """The operations on a table, the first one first."""
    return [row.operation for row in session.sql(f"DESCRIBE HISTORY {table}").collect()][::-1]


def files(session, table):
    """The data files of a table."""
    return sorted(session.table(table).inputFiles())


@pytest.mark.one_in(2, "each place of a table")
@pytest.mark.parametrize("table", ["managed", "outside"])
def test_adopted_with_no_copy(session, before, table, stored):
    """One commit of properties, by a statement on record; again changes nothing; then the rule holds."""
    there = files(session, table)
    assert time_travel.adopt(session, table) == (f"spark_catalog.{before}.{table}",)
    assert time_travel.adopt(session, f"{before}.{table}") == ()
    assert files(session, table) == there
    assert commits(session, table) == ["CREATE TABLE AS SELECT", "SET TBLPROPERTIES"]
    found = stored(table)
    assert (found["timeTravel.adopted"], found[FILES], found[LOG]) == (
        "true", "interval 192 hours", "interval 36500 days",
    )  # fmt: skip
    audit.flush(session)
    by = session.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].userMetadata
    asked = session.sql(f"SELECT query_type FROM account_usage.query_history WHERE query_id = '{by}'")
    assert asked.collect()[0].query_type == "ALTER_TABLE"
    session.sql(f"ALTER TABLE {table} SET DATA_RETENTION_TIME_IN_DAYS = 0")
    with pytest.raises(errors.OutsideRetentionError):
        session.sql(f"SELECT * FROM {table} VERSION AS OF 0")


def test_a_longer_time_stays(session, before, stored):
    """What the owner keeps for longer is kept, when adopted and when the retention of the schema changes."""
    session.sql(f"ALTER TABLE managed SET TBLPROPERTIES ({FILES} = '5 weeks', {LOG} = '36 days')")
    time_travel.adopt(session, "managed")
    found = stored("managed")
    assert (found[FILES], found[LOG]) == ("5 weeks", "interval 36500 days")
    session.sql(f"ALTER SCHEMA {before} SET DATA_RETENTION_TIME_IN_DAYS = 5")
    assert stored("managed")[FILES] == "5 weeks"
    with pytest.raises(errors.RetainedError, match="840 hours"):
        session.sql("VACUUM managed RETAIN 839 HOURS")
    session.sql(f"ALTER SCHEMA {before} SET DATA_RETENTION_TIME_IN_DAYS = 30")
    found = stored("managed")
    assert (found[FILES], found[LOG]) == ("interval 888 hours", "interval 36500 days")


def test_a_schema(session, before):
    """All Delta tables that are not under the rule; views and other tables are passed over."""
    session.sql("CREATE TABLE own (a INT)")
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    found = time_travel.adopt(session, schema=before)
    assert sorted(found) == [f"spark_catalog.{before}.managed", f"spark_catalog.{before}.outside"]
    assert time_travel.adopt(session, schema=before) == ()


def test_refused(session, spark, before):
    """What cannot be adopted, with the reason."""
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    with pytest.raises(errors.NoHistoryError, match=r"refused.p is a table of parquet"):
        time_travel.adopt(session, "p")
    with pytest.raises(errors.NoHistoryError, match=r"refused.v is a view"):
        time_travel.adopt(session, "v")
    for wrong in ({"table": "nothing"}, {"schema": "nothing"}):
        with pytest.raises(errors.UnknownObjectError, match="nothing"):
            time_travel.adopt(session, **wrong)
    with pytest.raises(errors.BadParameterError, match="a table or a schema"):
        time_travel.adopt(session)
    with pytest.raises(errors.NotAttachedError):
        time_travel.adopt(spark, "p")


@pytest.mark.one_in(2, "each place of a table")
@pytest.mark.parametrize("table", ["managed", "outside"])
@pytest.mark.parametrize("adopted", [False, True])
def test_dropped_and_back(session, before, table, adopted):
    """DROP of a table of before leaves its files, whoever manages them; UNDROP has its versions."""
    if adopted:
        time_travel.adopt(session, table)
    there, history = files(session, table), commits(session, table)
    session.sql(f"DROP TABLE {table}")
    session.sql(f"UNDROP TABLE {table}")
    assert (files(session, table), commits(session, table)) == (there, history)
    assert session.table(table).count() == 1
    session.sql(f"DROP TABLE {table}")
    session.sql(f"UNDROP TABLE {table}")
    assert files(session, table) == there
