"""What a Delta table's properties hold for retention, and what its owner sees of it."""

from __future__ import annotations

import json

import pytest
from delta.tables import DeltaTable

from audit.time_travel import errors
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
pytestmark = pytest.mark.spark

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
OWN = "timeTravel.own."
KEPT = {FILES: "interval 192 hours", LOG: "interval 36500 days"}


def shown(session, table):
    """What each way of asking for the properties of a table shows, without Delta's protocol."""
    name = f"{session.catalog.currentDatabase()}.{table}"
    listed = {row.key: row.value for row in session.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    (text,) = (
        row.data_type
        for row in session.sql(f"DESCRIBE EXTENDED {table}").collect()
        if row.col_name == "Table Properties"
    )
    described = dict(pair.split("=") for pair in text.strip("[]").split(","))
    details = [
        session.sql(f"DESCRIBE DETAIL {table}").first().properties,
        DeltaTable.forName(session, table).detail().first().properties,
    ]
    assert described == listed == session.catalog.getTableProperties(name)
    assert details[0] == details[1] == {k: v for k, v in listed.items() if not k.startswith(PROTOCOL)}
    return details[0]


PROTOCOL = ("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion")


def test_a_user_sees_what_plain_delta_shows(session, spark, schema, stored):
    """Of a new table, one with own values, a replaced one, a clone and its source, in every way of asking."""
    spark.sql(f"CREATE TABLE {schema}.plain (a INT) USING delta TBLPROPERTIES ('x' = 'y')")
    plain = shown(session, "plain")
    assert plain == {"x": "y", "delta.enableInCommitTimestamps": "true"}
    session.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('x' = 'y')")
    assert shown(session, "t") == plain
    assert stored("t").items() >= KEPT.items()
    session.sql("CREATE TABLE c CLONE t DATA_RETENTION_TIME_IN_DAYS = 5")
    assert shown(session, "t") == shown(session, "c") == plain
    assert (stored("t")[FILES], stored("c")[FILES]) == ("interval 36500 days", "interval 288 hours")
    session.sql("CREATE TABLE pinned CLONE plain")
    assert shown(session, "plain") == plain
    session.sql(f"CREATE OR REPLACE TABLE t (a INT) TBLPROPERTIES ('{LOG}' = '90 days')")
    assert shown(session, "t") == {LOG: "90 days", "delta.enableInCommitTimestamps": "true"}
    (only,) = session.sql(f"SHOW TBLPROPERTIES t ('{FILES}')").collect()
    assert "does not have property" in only.value
    session.sql('EXECUTE IMMEDIATE \'CREATE TABLE inside (a INT) TBLPROPERTIES ("x" = "y")\'')
    assert shown(session, "inside") == plain


def test_a_history_shows_what_its_owner_has_set(session, spark, schema):
    """DESCRIBE HISTORY has what each commit has set, without what retention and clones add."""

    def told(run, table):
        rows = run.sql(f"DESCRIBE HISTORY {schema}.{table}").collect()
        return [row.operationParameters.get("properties") for row in reversed(rows)]

    spark.sql(f"CREATE TABLE {schema}.plain (a INT) USING delta TBLPROPERTIES ('x' = 'y')")
    session.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('x' = 'y')")
    session.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 60 days', 'z' = '1')")
    session.sql("ALTER TABLE t UNSET TBLPROPERTIES ('z')")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 2")
    created, altered, unset, *set_by_retention = told(session, "t")
    assert [created] == told(spark, "plain")
    assert json.loads(altered) == {FILES: "interval 60 days", "z": "1"}
    assert json.loads(unset) == ["z"]
    assert set_by_retention
    for one in set_by_retention:
        assert json.loads(one).items() <= {FILES: "interval 60 days"}.items()
    assert "timeTravel" in str(told(spark, "t"))


def test_a_schema_shows_what_its_owner_has_set(session, spark, schema):
    """DESCRIBE SCHEMA EXTENDED is as without audit, whoever asks; the schema keeps its period."""

    def told(run, name):
        rows = run.sql(f"DESCRIBE SCHEMA EXTENDED {name}").collect()
        return {row.info_name: row.info_value for row in rows} | {"Namespace Name": "", "Location": ""}

    spark.sql("CREATE SCHEMA plain_one WITH DBPROPERTIES ('x' = 'y')")
    session.sql("CREATE SCHEMA shown_one WITH DBPROPERTIES ('x' = 'y')")
    session.sql("ALTER SCHEMA shown_one SET DATA_RETENTION_TIME_IN_DAYS = 5")
    plain = told(spark, "plain_one")
    assert plain["Properties"] == "((x,y))"
    for name in ("shown_one", "SPARK_CATALOG.shown_one"):
        assert told(session, name) == plain
    assert "timeTravel" in told(spark, "shown_one")["Properties"]
    session.sql("DROP SCHEMA shown_one")
    session.sql("UNDROP SCHEMA shown_one")
    assert told(session, "shown_one") == plain
    for name in ("plain_one", "shown_one"):
        session.sql(f"DROP SCHEMA {name}")


@pytest.mark.one_in(3, "each way to give it")
@pytest.mark.parametrize(
    "create",
    [
        lambda session: session.sql(f"CREATE TABLE t (a INT) TBLPROPERTIES ('{FILES}' = 'interval 60 days')"),
        lambda session: session.sql(
            f"CREATE TABLE t OPTIONS ('{FILES}' = 'interval 60 days') AS SELECT 1 AS a"
        ),
        lambda session: session.range(1).write.option(FILES.upper(), "interval 60 days").saveAsTable("t"),
        lambda session: session.range(1).writeTo("t").tableProperty(FILES, "interval 60 days").create(),
        lambda session: session.range(1).writeTo("t").option(FILES, "interval 60 days").create(),
        lambda session: (
            DeltaTable.create(session)
            .tableName("t")
            .addColumn("a", "INT")
            .property(FILES, "interval 60 days")
            .execute()
        ),
    ],
    ids=["sql", "options", "saveAsTable", "tableProperty", "option", "builder"],
)
def test_an_owners_longer_value_is_in_force(session, schema, stored, create):
    """Whoever gives it; it is shown, and VACUUM obeys it."""
    create(session)
    assert (stored("t")[FILES], stored("t")[OWN + FILES]) == ("interval 60 days",) * 2
    assert shown(session, "t")[FILES] == "interval 60 days"
    with pytest.raises(errors.RetainedError, match="1440 hours"):
        session.sql("VACUUM t RETAIN 1439 HOURS")


def test_an_owner_changes_the_own_value(session, schema, stored):
    """ALTER TABLE, in every way of running it, keeps what retention and clones need."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 1 hour', 'x' = 'y')")
    assert stored("t").items() >= {**KEPT, OWN + FILES: "interval 1 hour", "x": "y"}.items()
    assert shown(session, "t")[FILES] == "interval 1 hour"
    session.sql(f"BEGIN ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 60 days'); END")
    assert (stored("t")[FILES], stored("t")[LOG]) == ("interval 60 days", KEPT[LOG])
    session.sql(f"ALTER TABLE t UNSET TBLPROPERTIES ('{FILES}', 'x')")
    assert shown(session, "t") == {"delta.enableInCommitTimestamps": "true"}
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 2")
    assert stored("t")[FILES] == "interval 216 hours"
    session.sql("CREATE TABLE c CLONE t")
    session._jsparkSession.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 0 hours')")
    assert stored("t").items() >= {FILES: "interval 36500 days", OWN + FILES: "interval 0 hours"}.items()
    with pytest.raises(errors.BadParameterError, match="'banana' is no interval"):
        session.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{LOG}' = 'banana')")
    for change in (
        "SET TBLPROPERTIES ('timeTravel.adopted' = 'x')",
        "UNSET TBLPROPERTIES ('TIMETRAVEL.own')",
    ):
        with pytest.raises(errors.BadParameterError, match="is Time Travel's own"):
            session.sql(f"ALTER TABLE t {change}")


def test_a_table_of_before_is_its_owners(session, spark, schema, stored):
    """Delta's properties of a table that is not adopted stay as they are, until a clone reads its files."""
    spark.sql(f"CREATE TABLE {schema}.t (a INT) USING delta TBLPROPERTIES ('{FILES}' = 'interval 9 days')")
    session.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 10 days')")
    assert (stored("t")[FILES], shown(session, "t")[FILES]) == ("interval 10 days",) * 2
    session.sql("CREATE TABLE c CLONE t")
    session.sql(f"ALTER TABLE t SET TBLPROPERTIES ('{FILES}' = 'interval 1 hour')")
    assert (stored("t")[FILES], shown(session, "t")[FILES]) == ("interval 36500 days", "interval 1 hour")


def test_every_writers_table_is_kept(session, spark, schema, tmp_path, stored):
    """Whoever makes it: writers, a stream, the catalog's API, LIKE, a script; with the schema's retention."""
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 3")
    session.sql("CREATE TABLE five (a INT) DATA_RETENTION_TIME_IN_DAYS = 5")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    session.range(1).writeTo("written").create()
    session.catalog.createTable("made", schema=session.range(1).schema)
    stream = session.readStream.format("rate").load().writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", f"{tmp_path}/at").toTable("streamed").awaitTermination()
    session.sql("CREATE TABLE of_view LIKE v")
    session.sql("CREATE TABLE of_five LIKE five")
    session.sql("BEGIN CREATE TABLE inside (a INT); END")
    session._jsparkSession.sql("CREATE TABLE of_jvm AS SELECT 1 AS a")
    session.sql(f"CREATE TABLE placed (a INT) LOCATION '{tmp_path}/placed'")
    days = {row["name"]: row["retention_time"] for row in session.sql("SHOW TABLES HISTORY").collect()}
    assert days.pop("five") == days.pop("of_five") == 5
    assert set(days.values()) == {3}
    for table in days:
        assert stored(table)[FILES] == "interval 240 hours", table
        with pytest.raises(errors.RetainedError):
            session.sql(f"VACUUM {table} RETAIN 0 HOURS")
    assert stored("of_five")[FILES] == "interval 288 hours"


def test_a_table_without_a_name_keeps_what_the_account_says(session, spark, schema, tmp_path):
    """Written to a path, or created by it: Delta's seven days are the least, and a table of before stays."""

    def kept(name):
        return spark.sql(f"DESCRIBE DETAIL delta.`{tmp_path}/{name}`").first().properties.get(FILES)

    session.range(1).write.format("delta").save(f"{tmp_path}/before")
    session.sql("ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 30")
    try:
        session.range(1).write.format("delta").save(f"{tmp_path}/saved")
        session.range(1).write.format("delta").option(FILES, "interval 60 days").save(f"{tmp_path}/longer")
        session.range(1).write.format("delta").mode("append").save(f"{tmp_path}/before")
        session.sql(f"CREATE TABLE delta.`{tmp_path}/made` (a INT)")
        session.range(1).write.format("parquet").save(f"{tmp_path}/parquet")
    finally:
        session.sql("ALTER ACCOUNT UNSET DATA_RETENTION_TIME_IN_DAYS")
    assert (kept("before"), kept("longer")) == (None, "interval 60 days")
    assert kept("saved") == kept("made") == f"interval {24 * (30 + 7)} hours"
    assert session.read.format("delta").load(f"{tmp_path}/saved").count() == 1


def test_a_table_without_a_past_says_so(session, schema):
    """A retention of a table that is none of Delta's is refused; TRANSIENT is no promise, and is not."""
    with pytest.raises(errors.NoHistoryError, match="would be no Delta table"):
        session.sql("CREATE TABLE p (a INT) USING parquet DATA_RETENTION_TIME_IN_DAYS = 3")
    with pytest.raises(errors.NoHistoryError, match="would be no Delta table"):
        session.sql("BEGIN CREATE TABLE p (a INT) USING parquet DATA_RETENTION_TIME_IN_DAYS = 3; END")
    session.sql("CREATE TRANSIENT TABLE p (a INT) USING parquet")
