"""CLONE: zero-copy, at a point in time, of tables and of schemas."""

from __future__ import annotations

import json
from datetime import timezone
from pathlib import Path
from urllib.parse import urlparse

import pytest

import audit
from audit.core.clock import SystemClock
from audit.testing import records
from audit.time_travel import errors

pytestmark = pytest.mark.spark


class Later:
    """The machine's clock, so many days on."""

    days = 0

    def now(self):
        """Microseconds since the epoch."""
        return SystemClock().now() + self.days * 86_400_000_000


@pytest.fixture
def later(spark, tmp_path):
    """A session on such a clock, of an audit of its own: ids of statements never go back."""
    session, clock = spark.newSession(), Later()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=str(tmp_path), clock=clock, schema="later_usage")
    yield session, clock
    audit.detach(session)
    for schema in ("copy", "kept", "later_usage"):
        session.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def told(session, schema):
    """A table of three versions."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    return {row.version: row.userMetadata for row in session.sql("DESCRIBE HISTORY t").collect()}


def rows(session, sql):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(sql).collect())


def test_a_table_at_a_point(session, told):
    """The clone has the state then; it lives on when its source is vacuumed, changed and dropped."""
    session.sql(f"CREATE TABLE then CLONE t BEFORE (STATEMENT => '{told[2]}')")
    session.sql("CREATE TABLE now CLONE t")
    assert (rows(session, "SELECT a FROM then"), rows(session, "SELECT a FROM now")) == ([1], [1, 2])
    session.sql("INSERT INTO then VALUES (9)")
    assert rows(session, "SELECT a FROM t") == [1, 2]
    session.sql("DELETE FROM t")
    session.sql("VACUUM t")
    session.sql("DROP TABLE t")
    assert (rows(session, "SELECT a FROM then"), rows(session, "SELECT a FROM now")) == ([1, 9], [1, 2])
    session.sql("DROP TABLE now")
    session.sql("UNDROP TABLE now")
    assert rows(session, "SELECT a FROM now") == [1, 2]


def test_the_source_keeps_its_files(session, told, stored):
    """Its own property says so to whoever calls VACUUM; another retention changes nothing of that."""
    session.sql("CREATE TABLE c CLONE t")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 3")
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 36500 days"
    session.sql("ALTER TABLE t UNSET DATA_RETENTION_TIME_IN_DAYS")
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 36500 days"


def test_a_clone_at_a_point_has_the_columns_of_then(session, told):
    """A clone is the object as it was."""
    session.sql("ALTER TABLE t ADD COLUMN b STRING")
    session.sql(f"CREATE TABLE c CLONE t AT (STATEMENT => '{told[1]}')")
    assert session.sql("SELECT * FROM c").columns == ["a"]


def test_a_schema(session, schema, told):
    """Tables at the point, views over the new ones, functions; what was made later is not there."""
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    session.sql("CREATE VIEW v AS SELECT plus(a) AS k FROM t")
    session.sql("CREATE VIEW a_first AS SELECT k FROM v")
    session.sql("CREATE TABLE later AS SELECT 1 AS a")
    session.sql(f"CREATE SCHEMA copy CLONE {schema} AT (STATEMENT => '{told[1]}')")
    shown = session.sql("SHOW TABLES IN copy").collect()
    assert sorted(row.tableName for row in shown) == ["a_first", "t", "v"]
    assert rows(session, "SELECT k FROM copy.a_first") == [2]
    # The views that it makes are no DDL of the statement's.
    (clone,) = [one for one in records(session) if one.query["query_text"].startswith("CREATE SCHEMA copy")]
    made = [row["object_modified_by_ddl"] for row in clone.access]
    assert [(ddl["objectDomain"], ddl["objectName"]) for ddl in made] == [("SCHEMA", "spark_catalog.copy")]
    session.sql("INSERT INTO copy.t VALUES (50)")
    assert (rows(session, "SELECT k FROM copy.v"), rows(session, "SELECT a FROM t")) == ([2, 51], [1, 2])
    with pytest.raises(errors.ObjectExistsError):
        session.sql(f"CREATE DATABASE copy CLONE {schema}")
    session.sql("DROP SCHEMA copy CASCADE")
    with pytest.raises(errors.UnknownObjectError):
        session.sql("CREATE DATABASE copy CLONE nothing")


def test_a_child_of_too_short_a_retention(later):
    """The clone of its schema fails, and nothing is made; with IGNORE TABLES … it is left out."""
    session, clock = later
    session.sql("CREATE SCHEMA kept")
    session.sql("CREATE TABLE kept.short AS SELECT 1 AS a")
    session.sql("CREATE TABLE kept.long DATA_RETENTION_TIME_IN_DAYS = 30 AS SELECT 2 AS a")
    then = session.sql("SELECT current_timestamp()").first()[0].isoformat(sep=" ")
    session.sql("INSERT INTO kept.long VALUES (3)")
    clock.days = 4
    clone = f"CREATE DATABASE copy CLONE kept AT (TIMESTAMP => '{then}')"
    with pytest.raises(errors.OutsideRetentionError, match=r"kept\.short, 1 days"):
        session.sql(clone)
    assert not session.catalog.databaseExists("copy")
    session.sql(f"{clone} IGNORE TABLES WITH INSUFFICIENT DATA RETENTION")
    assert [row.tableName for row in session.sql("SHOW TABLES IN copy").collect()] == ["long"]
    assert rows(session, "SELECT a FROM copy.long") == [2]


def created_on(session, name):
    """When a schema was made, as text with its zone."""
    shown = session.sql(f"SHOW SCHEMAS HISTORY LIKE '{name}' ->> SELECT created_on AS at FROM $1").first()
    return f"{shown.at.astimezone(timezone.utc):%F %T.%f}+00:00"


def test_a_point_before_the_schema(session, schema, told):
    """It fails, and nothing is made; a statement before the schema, too, and the moment of its creation."""
    session.sql("CREATE SCHEMA other")
    session.sql("CREATE TABLE other.u AS SELECT 1 AS a")
    exactly = f"(TIMESTAMP => '{created_on(session, 'other')}')"
    for point in (f"BEFORE (STATEMENT => '{told[2]}')", "AT (OFFSET => -3600)", f"AT {exactly}"):
        with pytest.raises(errors.BeforeCreationError, match="the schema other was created at"):
            session.sql(f"CREATE SCHEMA copy CLONE other {point}")
    with pytest.raises(errors.FutureMomentError):
        session.sql("CREATE SCHEMA copy CLONE other AT (TIMESTAMP => '2999-01-01')")
    assert not session.catalog.databaseExists("copy")
    session.sql("DROP SCHEMA other CASCADE")


def test_a_point_before_the_tables(session, spark):
    """A schema that was there without any is cloned so; nobody knows when another session's was made."""
    session.sql("CREATE SCHEMA other COMMENT 'ours'")
    then = session.sql("SELECT current_timestamp()").first()[0].isoformat(sep=" ")
    session.sql("CREATE TABLE other.u AS SELECT 1 AS a")
    session.sql(f"CREATE SCHEMA copy CLONE other AT (TIMESTAMP => '{then}')")
    assert session.sql("SHOW TABLES IN copy").collect() == []
    assert created_on(session, "copy") > created_on(session, "other")
    session.sql("DROP SCHEMA copy CASCADE")
    session.sql("DROP SCHEMA other CASCADE")
    spark.sql("CREATE SCHEMA other")
    session.sql("CREATE TABLE other.u AS SELECT 1 AS a")
    with pytest.raises(errors.BeforeCreationError, match="no table of the schema other was there"):
        session.sql(f"CREATE SCHEMA copy CLONE other AT (TIMESTAMP => '{then}')")
    session.sql("DROP SCHEMA other CASCADE")


@pytest.mark.long("test_a_schema has the usual one")
def test_what_was_dropped_since(session, schema, told, root, spark, stored):
    """The clone of a schema has it, as it was, whatever bears its name now; UNDROP still brings it back."""
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("CREATE TABLE never AS SELECT 1 AS a")
    session.sql("DROP TABLE never")
    then = session.sql("SELECT current_timestamp()").first()[0].isoformat(sep=" ")
    session.sql("DELETE FROM t WHERE a = 1")
    session.sql("DROP VIEW v")
    session.sql("DROP TABLE t")
    (dropped,) = (
        spark.read.load(f"{root}/object_history")
        .where(f"object_name = 't' AND schema_name = '{schema}' AND event = 'DROPPED'")
        .collect()
    )
    session.sql("CREATE TABLE t AS SELECT 'new' AS b")
    for point, there, content in (
        (f"AT (TIMESTAMP => '{then}')", ["t", "v"], [1, 2]),
        (f"BEFORE (STATEMENT => '{dropped.query_id}')", ["t"], [2]),
    ):
        session.sql(f"CREATE SCHEMA copy CLONE {schema} {point}")
        assert [row.tableName for row in session.sql("SHOW TABLES IN copy").collect()] == there
        assert rows(session, f"SELECT a FROM copy.{there[-1]}") == content
        session.sql("DROP SCHEMA copy CASCADE")
    with pytest.raises(errors.BeforeCreationError):
        session.sql(f"CREATE TABLE c CLONE t AT (TIMESTAMP => '{then}')")
    session.sql("ALTER TABLE t RENAME TO other")
    session.sql("UNDROP TABLE t")
    assert rows(session, "SELECT a FROM t") == [2]
    assert stored("t")["delta.deletedFileRetentionDuration"] == "interval 36500 days"


def test_what_was_dropped_and_is_past_its_retention(later):
    """No child any more: nothing fails for it, and the answer names it."""
    session, clock = later
    session.sql("CREATE SCHEMA kept")
    session.sql("CREATE TABLE kept.short AS SELECT 1 AS a")
    session.sql("CREATE TABLE kept.long DATA_RETENTION_TIME_IN_DAYS = 30 AS SELECT 2 AS a")
    then = session.sql("SELECT current_timestamp()").first()[0].isoformat(sep=" ")
    session.sql("DROP TABLE kept.short")
    clock.days = 4
    said = session.sql(f"CREATE SCHEMA copy CLONE kept AT (TIMESTAMP => '{then}')").first()
    without = "Without tables whose retention does not reach back: short."
    assert said.status == f"Schema copy successfully created. {without}"
    assert [row.tableName for row in session.sql("SHOW TABLES IN copy").collect()] == ["long"]


def test_other_tables_are_left_out(session, schema, told, tmp_path):
    """What is not of Delta has no versions: the document's external tables, and Spark's own."""
    session.sql(f"CREATE TABLE external (a INT) USING parquet LOCATION '{tmp_path}/p'")
    session.sql("CREATE TABLE managed USING parquet AS SELECT 1 AS a")
    session.sql(f"CREATE SCHEMA copy CLONE {schema}")
    assert [row.tableName for row in session.sql("SHOW TABLES IN copy").collect()] == ["t"]
    session.sql("DROP SCHEMA copy CASCADE")


def test_a_table_may_have_the_name_of_a_word(session, told):
    """`shallow`, `deep` and `clone` are no reserved words."""
    for name in ("shallow", "deep", "clone"):
        session.sql(f"CREATE TABLE {name} CLONE t")
        assert rows(session, f"SELECT a FROM {name}") == [1, 2]


def actions(session, table):
    """What the first commit of a table says: its files, protocol, schema and domains."""
    folder = Path(urlparse(session.sql(f"DESCRIBE DETAIL {table}").first().location).path)
    lines = (folder / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    found = [next(iter(json.loads(line).items())) for line in lines]
    files = [one for kind, one in found if kind == "add"]
    # No tags and none are the same.
    files = sorted(({"tags": {}, **one} for one in files), key=lambda one: one["path"])
    # In which order rows got their numbers is nobody's concern.
    for one in files:
        one["baseRowId"] = "baseRowId" in one
    (protocol,) = (one for kind, one in found if kind == "protocol")
    (metadata,) = (one for kind, one in found if kind == "metaData")
    features = [sorted(protocol.get(key, ())) for key in ("readerFeatures", "writerFeatures")]
    domains = sorted(one["domain"] for kind, one in found if kind == "domainMetadata")
    return files, features, (metadata["schemaString"], metadata["partitionColumns"]), domains


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(
            "PARTITIONED BY (p) TBLPROPERTIES (",
            marks=pytest.mark.long("a clustered, mapped table has more to copy"),
            id="partitioned",
        ),
        pytest.param(
            "CLUSTER BY (k) TBLPROPERTIES ('delta.columnMapping.mode' = 'name', ", id="clustered and mapped"
        ),
        pytest.param(
            "TBLPROPERTIES ('delta.enableRowTracking' = 'true', ",
            marks=pytest.mark.long("one more feature of the protocol"),
            id="rows tracked",
        ),
    ],
)
def test_a_clone_is_as_deltas_own(session, schema, spark, table):
    """File by file, deletion vectors and names of partitions included; of a short log and of a checkpoint."""
    session.sql(f"CREATE TABLE t (k INT, p STRING) {table}'delta.enableDeletionVectors' = 'true')")
    session.sql("INSERT INTO t SELECT id, IF(id < 50, 'ä %41/b', NULL) FROM range(100)")
    session.sql("DELETE FROM t WHERE k = 7")
    for checkpointed in (False, True):
        if checkpointed:
            location = session.sql("DESCRIBE DETAIL t").first().location
            log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, location)
            log.checkpoint(log.unsafeVolatileSnapshot(), spark._jvm.scala.Option.empty())
            spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        session.sql("CREATE TABLE ours CLONE t")
        spark.sql(f"CREATE TABLE {schema}.deltas SHALLOW CLONE {schema}.t")
        files, *_ = ours = actions(session, "ours")
        assert ours == actions(session, "deltas")
        assert any("deletionVector" in one for one in files)
        session.sql("DROP TABLE ours")
        spark.sql(f"DROP TABLE {schema}.deltas")
