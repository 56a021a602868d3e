"""Each commit of Delta's names the statement that made it, and nothing else about the session changes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql.functions import expr

import audit
from audit.spark.delta.delta_log import commits_since
from audit.testing import records
from tests.sessions import NO_TABLES, attached

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
MARK = "spark.databricks.delta.commitInfo.userMetadata"


def marks(session, table="t"):
    """Who made each version, oldest first."""
    with audit.suppress():
        rows = session.sql(f"DESCRIBE HISTORY {table}").orderBy("version").collect()
    return [row.userMetadata for row in rows]


def last(session):
    """The id of the newest statement."""
    return records(session)[-1].query.query_id


@pytest.fixture
def table(session, schema):
    """A table that nobody has marked yet."""
    with audit.suppress():
        session.sql("CREATE TABLE t (a INT, b STRING)")
        session.sql("INSERT INTO t VALUES (1, 'one')")
        session.sql("INSERT INTO t VALUES (2, 'two')")
    assert marks(session) == [None] * 3
    return f"{schema}.t"


def rows_of(session):
    """Three rows for the table."""
    return session.range(3).selectExpr("CAST(id AS INT) a", "'x' b")


WRITES = {
    "INSERT": lambda s, t: s.sql("INSERT INTO t VALUES (2, 'two')"),
    "UPDATE": lambda s, t: s.sql("UPDATE t SET b = 'x'"),
    "DELETE": lambda s, t: s.sql("DELETE FROM t WHERE a = 1"),
    "MERGE": lambda s, t: s.sql("MERGE INTO t USING (SELECT 1 a) s ON t.a = s.a WHEN MATCHED THEN DELETE"),
    "ALTER": lambda s, t: s.sql("ALTER TABLE t ADD COLUMN c INT"),
    "OPTIMIZE": lambda s, t: s.sql("OPTIMIZE t"),
    "by name": lambda s, t: rows_of(s).write.mode("append").saveAsTable(t),
    "insertInto": lambda s, t: rows_of(s).write.insertInto(t),
    "writeTo": lambda s, t: rows_of(s).writeTo(t).append(),
    "mergeInto": lambda s, t: (
        rows_of(s).alias("s").mergeInto(t, expr("t.a = s.a + 9")).whenNotMatched().insertAll().merge()
    ),
    "DeltaTable.update": lambda s, t: DeltaTable.forName(s, t).update(set={"b": "'y'"}),
    "DeltaTable.merge": lambda s, t: (
        DeltaTable.forName(s, t).merge(s.range(3).alias("s"), "a = s.id").whenMatchedDelete().execute()
    ),
    "optimize": lambda s, t: DeltaTable.forName(s, t).optimize().executeCompaction(),
    "EXECUTE IMMEDIATE": lambda s, t: s.sql("EXECUTE IMMEDIATE 'UPDATE t SET b = 5'"),
}  # fmt: skip


@pytest.mark.one_in(3, "each way to write")
@pytest.mark.parametrize("way", WRITES)
def test_each_way_to_write(session, table, way):
    """The commits carry the id of the statement; of a statement that runs others, its own."""
    before = len(marks(session))
    WRITES[way](session, table)
    made = marks(session)[before:]
    known = {one.query.query_id for one in records(session) if one.query.parent_query_id is None}
    assert made
    assert set(made) <= known, (made, known)
    assert len(set(made)) == 1


def test_a_new_table(session, schema):
    """By SQL, by a writer and by Delta's builder."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    ids = [last(session)]
    session.range(3).write.saveAsTable("u")
    ids.append(last(session))
    DeltaTable.create(session).tableName("v").addColumn("a", "INT").execute()
    ids.append(last(session))
    assert [marks(session, one)[-1] for one in ("t", "u", "v")] == ids


def test_a_script(session, table):
    """All its commits carry the id of the script, whose children are on record beside it."""
    session.sql("BEGIN INSERT INTO t VALUES (2, 'b'); UPDATE t SET a = 3; END")
    made = marks(session)[-2:]
    (script,) = {one.query.root_query_id for one in records(session)[-2:]}
    assert set(made) == {script}


@pytest.mark.long("tests/jobs has threads")
def test_threads_of_one_session(session, table):
    """Each has its own, though they share all settings."""
    found = {}

    def write(number):
        for turn in range(3):
            session.sql(f"INSERT INTO t VALUES ({number}, '{turn}')")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    made = [mark for mark in marks(session) if mark is not None]
    found = {one.query.query_id for one in records(session) if one.query.query_type == "INSERT"}
    assert len(set(made)) == 9
    assert set(made) <= found


def test_what_nobody_has_recorded(session, spark, table):
    """A session that is not attached, and a block that is suppressed."""
    spark.sql(f"INSERT INTO {table} VALUES (5, 'outside')")
    with audit.suppress():
        session.sql("INSERT INTO t VALUES (6, 'suppressed')")
    assert marks(session)[-2:] == [None, None]


def test_a_stream(session, table, tmp_path):
    """Its micro-batches are its own; a statement of foreachBatch is a statement."""
    reader = session.readStream.table(table)
    reader.writeStream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).toTable(
        "copy"
    ).awaitTermination()
    assert marks(session, "copy")[1:] == [None]

    def write(batch, _number):
        batch.write.mode("append").saveAsTable("other")

    stream = reader.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "d"))
    stream.trigger(availableNow=True).start().awaitTermination()
    (mark,) = set(marks(session, "other"))
    assert mark in {one.query.query_id for one in records(session)}


def test_what_the_user_has_set_stays(session, table):
    """As a setting, and as an option of a writer."""
    session.conf.set(MARK, "mine")
    session.sql("INSERT INTO t VALUES (2, 'b')")
    session.conf.unset(MARK)
    rows = session.range(1).selectExpr("CAST(id AS INT) a", "'x' b")
    rows.write.mode("append").option("userMetadata", "ours").saveAsTable("t")
    assert marks(session)[-2:] == ["mine", "ours"]


def test_nobody_sees_it_among_the_settings(session, table):
    """Inside of a statement, too."""
    session.sql("INSERT INTO t VALUES (2, 'b')")
    assert session.conf.get(MARK, None) is None
    assert session.sql(f"SET {MARK}").first().value == "<undefined>"
    assert MARK not in {row.key for row in session.sql("SET").collect()}
    assert not session._jsparkSession.cloneSession().conf().getOption(MARK).isDefined()


def test_the_session_is_the_users(session, table):
    """What a write leaves in its session stays there: no clone of the session runs it."""
    session.sql("CREATE TABLE p (a INT) USING parquet")
    assert session.table("p").count() == 0
    session.sql("INSERT INTO p VALUES (2)")
    assert [row.a for row in session.table("p").collect()] == [2]
    session.sql("DECLARE VARIABLE v INT DEFAULT 3")
    session.sql("INSERT INTO t SELECT v, 'of a variable'")
    assert session.table("t").where("a = 3").count() == 1
    session.sql("DROP TEMPORARY VARIABLE v")


@pytest.mark.long("test_each_way_to_write has sessions that are attached")
def test_after_the_audit(spark, tmp_path, table):
    """A session that is attached no longer writes as any other."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        session.sql(f"INSERT INTO {table} VALUES (8, 'within')")
        audit.detach(session)
        session.sql(f"INSERT INTO {table} VALUES (9, 'after')")
        assert [mark is None for mark in marks(session, table)[-2:]] == [False, True]
        audit.attach(session, root=str(tmp_path), durable=False, **NO_TABLES)


def test_code_in_the_jvm(session, table):
    """What the gateway runs is marked; of what only the listener sees nobody knows the id while it runs."""
    before = len(marks(session))
    session._jsparkSession.sql(f"INSERT INTO {table} VALUES (9, 'java')")
    session._jsparkSession.sql(f"ALTER TABLE {table} SET DATA_RETENTION_TIME_IN_DAYS = 2")
    inserted, *altered = marks(session)[before:]
    assert inserted is None
    assert set(altered) == {last(session)}


def test_commits_that_deltas_cached_state_does_not_know(session, schema):
    """Another object of Delta's may have made them: the newest commit is the newest file of the log."""
    session.sql("CREATE TABLE seen_late (a INT)")
    location = session.sql("DESCRIBE DETAIL seen_late").first().location
    assert [one.version for one in commits_since(session, location, 0)] == [0]
    log = Path(location.removeprefix("file:")) / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    said = next(one for one in first if "commitInfo" in one)
    said["commitInfo"] |= {"operation": "WRITE", "userMetadata": "q-late"}
    (log / f"{1:020}.json").write_text(json.dumps(said) + "\n")
    found = [(one.version, one.query_id) for one in commits_since(session, location, 0)]
    assert found == [(1, "q-late"), (0, found[1][1])]
