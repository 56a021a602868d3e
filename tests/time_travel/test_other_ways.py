"""Statements of Time Travel by other ways than `spark.sql`: scripts, EXECUTE IMMEDIATE, the JVM, APIs."""

from __future__ import annotations

import pytest
from delta.tables import DeltaTable

from audit.time_travel import errors
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
pytestmark = pytest.mark.spark

WAYS = {
    "direct": lambda session, text: session.sql(text).collect(),
    "script": lambda session, text: session.sql(f"BEGIN {text}; END").collect(),
    "EXECUTE IMMEDIATE": lambda session, text: session.sql(f'EXECUTE IMMEDIATE "{text}"').collect(),
    "JVM": lambda session, text: session._jsparkSession.sql(text).collect(),
}
PINNED = "interval 36500 days"
FILES = "delta.deletedFileRetentionDuration"


def dropped(session, nouns="TABLES"):
    """What was dropped: name and time."""
    rows = session.sql(f"SHOW {nouns} HISTORY").collect()
    return {(row["name"], row["dropped_on"]) for row in rows if row["dropped_on"] is not None}


@pytest.mark.parametrize(
    "way",
    [
        way
        if way == "direct"
        else pytest.param(way, marks=pytest.mark.long("the same by others; the model sends scripts"))
        for way in WAYS
    ],
)
def test_the_statements(session, spark, schema, stored, way):
    """CREATE, CLONE, VACUUM, RESTORE, RENAME, DROP and UNDROP keep what they keep in `spark.sql`."""

    def run(text):
        return WAYS[way](session, text)

    run("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 2 AS SELECT 1 AS a")
    assert "/_tables/" in session.table("t").inputFiles()[0]
    assert stored("t")[FILES] == "interval 216 hours"
    run("CREATE TABLE c CLONE t")
    assert stored("t")[FILES] == PINNED
    with pytest.raises(Exception, match="clones of it may read its files"):
        run("VACUUM t RETAIN 0 HOURS")
    session.sql("INSERT INTO t VALUES (2)")
    run("RESTORE TABLE t TO VERSION AS OF 0")
    assert (stored("t")[FILES], session.table("t").count()) == (PINNED, 1)
    # Made where nobody listens, a table lies in its schema's folder, which a rename moves.
    # What a DROP keeps stays there, so each way has a name of its own.
    managed = f"m_{list(WAYS).index(way)}"
    spark.sql(f"CREATE TABLE {schema}.{managed} USING delta AS SELECT 1 AS a")
    run(f"CREATE TABLE of_m CLONE {managed}")
    run(f"ALTER TABLE {managed} RENAME TO n")
    assert session.table("of_m").count() == session.table("n").count() == 1
    before = dropped(session)  # by the other ways, in a schema of the same name
    run("DROP TABLE t")
    run("DROP TABLE n")
    assert {name for name, _ in dropped(session) - before} == {"t", "n"}
    run("UNDROP TABLE t")
    assert session.table("t").count() == session.table("c").count() == 1
    session.sql(f"CREATE SCHEMA {schema}_2")
    session.sql(f"CREATE TABLE {schema}_2.t AS SELECT 1 AS a")
    before = dropped(session, "SCHEMAS")
    run(f"DROP SCHEMA {schema}_2 CASCADE")
    assert {name for name, _ in dropped(session, "SCHEMAS") - before} == {f"{schema}_2"}
    run(f"UNDROP SCHEMA {schema}_2")
    assert session.table(f"{schema}_2.t").count() == 1
    session.sql(f"DROP SCHEMA {schema}_2 CASCADE")


def test_the_catalogs_api_drops_as_sql_does(session, spark, schema):
    """What it drops comes back: a table of before attach, a view, a schema."""
    spark.sql(f"CREATE TABLE {schema}.t USING delta AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    session.catalog.dropTable(f"{schema}.t", purge=True)
    session.catalog.dropTable("t", ifExists=True)
    session.catalog.dropView("v")
    session.sql("UNDROP TABLE t")
    session.sql("UNDROP VIEW v")
    assert session.table("t").count() == session.table("v").count() == 1
    session.sql(f"CREATE SCHEMA {schema}_2")
    session.sql(f"CREATE TABLE {schema}_2.t AS SELECT 1 AS a")
    session.catalog.dropDatabase(f"{schema}_2", cascade=True)
    session.sql(f"UNDROP SCHEMA {schema}_2")
    assert session.table(f"{schema}_2.t").count() == 1
    session.catalog.dropDatabase(f"{schema}_2", cascade=True)
    with pytest.raises(Exception, match="cannot be found"):
        session.catalog.dropTable("nothing")


def test_deltas_api_clones_and_restores_as_sql_does(session, schema, tmp_path, stored):
    """`clone…` pins its source, `restoreTo…` keeps the retention, and both are bound by it."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 2 AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (2)")
    table = DeltaTable.forName(session, "t")
    made = table.clone("c", isShallow=True, properties={"x": "y"})
    assert (made.toDF().count(), stored("t")[FILES], stored("c")["x"]) == (2, PINNED, "y")
    table.cloneAtVersion(0, f"{tmp_path}/c", isShallow=True)
    assert session.read.format("delta").load(f"{tmp_path}/c").count() == 1
    table.cloneAtVersion(0, "c", isShallow=True, replace=True)
    assert session.table("c").count() == 1
    table.restoreToVersion(0)
    assert (stored("t")[FILES], session.table("t").count()) == (PINNED, 1)
    assert table.restoreToVersion(session.sql("DESCRIBE HISTORY t").first().version).collect() is not None
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 0")
    session.sql("INSERT INTO t VALUES (3)")
    with pytest.raises(errors.OutsideRetentionError):
        table.restoreToVersion(0)
    with pytest.raises(errors.OutsideRetentionError):
        table.cloneAtVersion(0, "late", isShallow=True)


def test_deltas_api_at_a_time(session, schema, stored):
    """`cloneAtTimestamp` and `restoreToTimestamp` do as the statements, and are bound by the retention."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 2 AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (2)")
    table = DeltaTable.forName(session, "t")
    made = session.sql("DESCRIBE HISTORY t").collect()[-1].timestamp.isoformat(sep=" ")
    assert table.cloneAtTimestamp(made, "c", isShallow=True).toDF().count() == 1
    assert stored("t")[FILES] == PINNED
    table.restoreToTimestamp(made)
    assert (stored("t")[FILES], session.table("t").count()) == (PINNED, 1)
    session.sql("INSERT INTO t VALUES (3)")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 0")
    with pytest.raises(errors.OutsideRetentionError):
        table.restoreToTimestamp(made)
    with pytest.raises(errors.OutsideRetentionError):
        table.cloneAtTimestamp(made, "late", isShallow=True)


def test_another_schemas_table_in_the_folder(session, spark, schema):
    """A table elsewhere whose LOCATION lies in the folder of a dropped schema outlives it."""
    session.sql(f"CREATE SCHEMA {schema}_2")
    (place,) = (
        row.info_value
        for row in session.sql(f"DESCRIBE SCHEMA {schema}_2").collect()
        if row.info_name == "Location"
    )
    session.sql(f"CREATE TABLE guest LOCATION '{place}/guest' AS SELECT 1 AS a")
    session.sql(f"CREATE TABLE other USING parquet LOCATION '{place}/other' AS SELECT 2 AS a")
    spark.sql(f"CREATE TABLE {schema}_2.own USING delta AS SELECT 3 AS a")
    session.sql(f"DROP SCHEMA {schema}_2 CASCADE")
    assert (session.table("guest").first().a, session.table("other").first().a) == (1, 2)
    session.sql(f"UNDROP SCHEMA {schema}_2")
    assert session.table(f"{schema}_2.own").first().a == 3
    session.sql(f"DROP SCHEMA {schema}_2 CASCADE")
