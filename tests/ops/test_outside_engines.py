"""delta-rs and DuckDB, without a JVM, read the audit tables and write to them; Spark goes on after them."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone

import duckdb
import pytest
from deltalake import DeltaTable, write_deltalake

from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables
from audit.store.tables import AUDIT_TABLES, QUERY_HISTORY
from tests.evidence.tampering import log_of, newest

from .helpers import WRITE, ingest_all, read

pytestmark = pytest.mark.spark

OLD_DAY = "DATE_ADD(DATE'1970-01-01', CAST(CAST({time} AS BIGINT) DIV 86400 AS INT))"
BY_NAME = pytest.mark.parametrize("table", AUDIT_TABLES, ids=lambda one: one.name)
LATE = datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc)


@pytest.fixture
def root(spark, source, tmp_path):
    """Rows in each table."""
    source.run(3)
    source.access = WRITE
    source.run(2)
    source.spool.rotate()
    ingest_all(spark, tmp_path)
    return tmp_path


def texts(rows):
    """Rows of any engine as text that can be compared."""
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


def of_spark(spark, root, table):
    """What Spark reads."""
    return texts(row.asDict(recursive=True) for row in read(spark, root, table.name))


def of_arrow(found):
    """What an engine gives as Arrow; its times have UTC as their zone, those of Spark none."""
    rows = found.to_pylist()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, datetime):
                row[name] = value.replace(tzinfo=None)
    return texts(rows)


@BY_NAME
def test_they_read(spark, root, table):
    """All rows and columns, as Spark does."""
    known = of_spark(spark, root, table)
    there = DeltaTable(root / table.name)
    assert len(known) > 1
    assert of_arrow(there.to_pyarrow_table()) == known
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("history", there.to_pyarrow_dataset())
        assert of_arrow(connection.sql("SELECT * FROM history").to_arrow_table()) == known


@BY_NAME
@pytest.mark.parametrize("has_day", [True, False])
def test_they_append(spark, root, table, has_day):
    """A row that DuckDB makes of one that is there, by delta-rs; who leaves out the day gets it, in UTC."""
    known = of_spark(spark, root, table)
    there = DeltaTable(root / table.name)
    with duckdb.connect() as connection:
        connection.register("history", there.to_pyarrow_table())
        day = "REPLACE (DATE '2025-12-31' AS query_date, " if has_day else "EXCLUDE (query_date) REPLACE ("
        new = connection.sql(
            f"SELECT * {day} 'new' AS query_id, $1::TIMESTAMPTZ AS {table.time}) FROM history LIMIT 1",
            params=[LATE],
        ).to_arrow_table()
    write_deltalake(there, new, mode="append")
    rows = [row for row in read(spark, root, table.name) if row.query_id == "new"]
    assert [(row[table.time], row.query_date) for row in rows] == [
        (LATE.replace(tzinfo=None), date(2025, 12, 31))
    ]
    assert len(of_spark(spark, root, table)) == len(known) + 1


@BY_NAME
def test_a_wrong_day_is_refused(root, table):
    """The table says how its day is made, and delta-rs looks."""
    there = DeltaTable(root / table.name)
    rows = there.to_pyarrow_table().slice(0, 1)
    column = rows.schema.get_field_index("query_date")
    moved = rows.set_column(column, "query_date", [[date(2020, 1, 1)]]).cast(rows.schema)
    with pytest.raises(Exception, match="1 rows failed validation"):
        write_deltalake(there, moved, mode="append")


def test_spark_goes_on(spark, root, source):
    """They change, compact, checkpoint and vacuum; the next ingest takes in what comes."""
    source.access = WRITE
    for table in AUDIT_TABLES:
        DeltaTable(root / table.name).update({"user_name": "'bob'"}, predicate="user_name = 'ann'")
        DeltaTable(root / table.name).optimize.compact()
        DeltaTable(root / table.name).create_checkpoint()
        DeltaTable(root / table.name).vacuum(retention_hours=200, dry_run=False)
        known = len(of_spark(spark, root, table))
        source.run(1)
        source.spool.rotate()
        ingest_all(spark, root)
        assert len(of_spark(spark, root, table)) > known
        DeltaTable(root / table.name).delete("user_name = 'bob'")
        assert {row.user_name for row in read(spark, root, table.name)} == {"ann"}


@BY_NAME
def test_a_table_of_an_older_version_gets_a_day_that_they_read(spark, root, table):
    """Its expression was one that Spark alone reads; no file of data changes, and Spark writes as before."""
    first = log_of(root, table.name) / f"{0:020}.json"
    old = OLD_DAY.format(time=table.time)
    first.write_text(first.read_text().replace(table.day, old))
    (first.with_name(f".{first.name}.crc")).unlink(missing_ok=True)
    for crc in log_of(root, table.name).glob("*.crc"):
        crc.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert old in DeltaTable(root / table.name).schema().to_json()
    version, known = newest(root, table.name), of_spark(spark, root, table)
    for _ in range(2):
        with commit_lock(spark, str(root)):
            create_tables(spark, str(root))
    assert newest(root, table.name) == version + 1
    assert (
        table.day
        in json.loads(DeltaTable(root / table.name).schema().to_json())["fields"][2]["metadata"].values()
    )
    assert of_spark(spark, root, table) == known
    new = DeltaTable(root / table.name).to_pyarrow_table().slice(0, 1).drop_columns(["query_date"])
    write_deltalake(root / table.name, new, mode="append")
    assert len(of_spark(spark, root, table)) == len(known) + 1


def test_spark_and_they_agree_on_the_day(spark):
    """Whatever the zone of the session, at both ends of a day, before the epoch, and far off."""
    times = [
        "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1970-01-01 23:59:59.999999",
        "2026-02-28 00:00:00", "2026-02-28 23:59:59.999999", "2200-12-31 23:59:59.999999",
    ]  # fmt: skip
    day = QUERY_HISTORY.day.replace("start_time", "t")
    values = ", ".join(f"(TIMESTAMP'{one}Z')" for one in times)
    for zone in ("UTC", "Asia/Tokyo", "America/Los_Angeles"):
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        found = session.sql(f"SELECT CAST({day} AS STRING) AS day FROM VALUES {values} AS v (t)").collect()
        assert [row.day for row in found] == [one[:10] for one in times]
