"""The Python face of reading the past, on an audited session."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from pyspark.errors import AnalysisException

import audit
from audit import time_travel
from audit.time_travel import errors
from lineage.errors import BadNameError

pytestmark = pytest.mark.spark


@pytest.fixture
def told(session, schema):
    """A table of three versions: empty, one row, two; its commits by version."""
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    session.sql("INSERT INTO t VALUES (2, 'y')")
    return {row.version: row for row in session.sql("DESCRIBE HISTORY t").collect()}


def rows(frame):
    """As tuples, in order."""
    return sorted(tuple(row) for row in frame.collect())


def last_id(session, text):
    """The query id of the last statement with that text."""
    audit.flush(session)
    history = session.table("account_usage.query_history")
    return history.where(history.query_text == text).orderBy("start_time").collect()[-1].query_id


def test_read(session, told):
    """A point is a moment, an age, a statement or a version; before leaves out what it names."""
    moment, statement = told[1].timestamp, told[1].userMetadata
    for at in (1, moment, moment.astimezone(timezone.utc), f"{moment}", statement):
        assert rows(time_travel.read(session, "t", at=at)) == [(1, "x")], at
        assert rows(time_travel.read(session, "t", before=at)) == [], at
    assert rows(time_travel.read(session, "t", at=timedelta(0))) == [(1, "x"), (2, "y")]
    assert rows(time_travel.read(session, "t", at=-1e-6)) == [(1, "x"), (2, "y")]
    of_pandas = session.sql("DESCRIBE HISTORY t").toPandas().set_index("version").timestamp
    assert rows(time_travel.read(session, "t", at=of_pandas[1])) == [(1, "x")]


def test_a_moment_without_a_zone(session, told):
    """A datetime is in the zone of the process, as Spark gives it; a text is in the session's."""
    zone = session.conf.get("spark.sql.session.timeZone")
    session.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        assert rows(time_travel.read(session, "t", at=told[1].timestamp)) == [(1, "x")]
        of_pandas = session.sql("DESCRIBE HISTORY t").toPandas().set_index("version").timestamp
        assert rows(time_travel.read(session, "t", at=of_pandas[1])) == [(1, "x")]
        there = session.sql("DESCRIBE HISTORY t").selectExpr("version", "string(timestamp) AS at").collect()
        assert rows(time_travel.read(session, "t", at={row.version: row.at for row in there}[1])) == [
            (1, "x")
        ]
    finally:
        session.conf.set("spark.sql.session.timeZone", zone)


def test_read_gives_todays_columns(session, told):
    """Whatever the point, the columns are today's; SQL's VERSION AS OF has those of then."""
    session.sql("ALTER TABLE t ADD COLUMN (c INT)")
    assert rows(time_travel.read(session, "t", at=1)) == [(1, "x", None)]
    assert session.sql("SELECT * FROM t VERSION AS OF 1").columns == ["a", "b"]


def test_names(session, told, schema, tmp_path):
    """A path, and back-ticks, dots and other scripts in a name; what is no name is refused."""
    session.sql("CREATE TEMPORARY VIEW `größe.``x` AS SELECT a + 1 AS n FROM t")
    assert rows(time_travel.read(session, "`größe.``x`", at=1)) == [(2,)]
    session.sql("DROP VIEW `größe.``x`")
    path = f"{tmp_path}/größe.1 '§"
    for number in range(2):
        session.range(number, number + 1).write.format("delta").mode("append").save(path)
    assert rows(time_travel.read(session, f"delta.`{path}`", at=0)) == [(0,)]
    assert rows(time_travel.read(session, f"spark_catalog.{schema}.T", at=1)) == [(1, "x")]
    with pytest.raises(BadNameError):
        time_travel.read(session, "t`; DROP TABLE x", at=1)


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({"at": 77}, errors.UnknownVersionError),
        ({"before": 0}, errors.BeforeCreationError),
        ({"at": timedelta(seconds=1)}, errors.BadOffsetError),
        ({"at": 1.5}, errors.BadMomentError),
        ({"at": True}, errors.BadMomentError),
        ({"at": "it's"}, errors.BadMomentError),
        ({"at": datetime(2999, 1, 1, tzinfo=timezone.utc)}, errors.FutureMomentError),
        ({"at": "8e5d0ca9-005e-44e6-b858-a8f5b37c5726"}, errors.UnknownStatementError),
        ({}, errors.BadMomentError),
        ({"at": 1, "before": 1}, errors.BadMomentError),
    ],
)
def test_refused_points(session, schema, point, error):
    """Each wrong point has its error."""
    session.sql("CREATE TABLE t (a INT)")
    with pytest.raises(error):
        time_travel.read(session, "t", **point)


def test_not_attached(spark):
    """A session that is not audited has no Time Travel."""
    other = spark.newSession()
    for call in (
        lambda: time_travel.read(other, "t", at=1),
        lambda: time_travel.diff(other, "t", 1),
        lambda: time_travel.replay(other, "q"),
    ):
        with pytest.raises(errors.NotAttachedError, match=r"audit\.attach"):
            call()


def test_read_is_on_record(session, told):
    """As the statement of SQL that it is, with the version that it read."""
    time_travel.read(session, "t", at=1).collect()
    audit.flush(session)
    (row,) = session.sql(
        "SELECT a.analysis, a.object_versions FROM account_usage.access_history a"
        " JOIN account_usage.query_history q USING (query_id)"
        " WHERE query_text = 'SELECT * FROM `t` AT (VERSION => 1)' AND database_name = 'spark_catalog'"
        " AND schema_name = 'read_is_on_record'"
    ).collect()
    assert (row.analysis, [(v.access, v.version) for v in row.object_versions]) == ("full", [("read", 1)])


def test_diff_of_rows(session, told):
    """Without keys rows are a bag: of what was there twice and is there once, one was removed."""
    session.sql("INSERT INTO t VALUES (2, 'y'), (NULL, NULL)")
    session.sql("DELETE FROM t WHERE a = 1")
    assert rows(time_travel.diff(session, "t", 1, 2)) == [("added", 2, "y")]
    assert rows(time_travel.diff(session, "t", 2, 1)) == [("removed", 2, "y")]
    found = time_travel.diff(session, "t", told[2].userMetadata)
    assert [tuple(row) for row in found.orderBy("change", "a").collect()] == [
        ("added", None, None), ("added", 2, "y"), ("removed", 1, "x"),
    ]  # fmt: skip


def test_diff_by_key(session, schema):
    """With keys a row with other values has changed, from and to; keys may be NULL, or doubled."""
    session.sql("CREATE TABLE t (id INT, v STRING)")
    session.sql("INSERT INTO t VALUES (1, 'same'), (2, 'old'), (3, 'gone'), (NULL, 'n'), (5, 'p'), (5, 'q')")
    session.sql("UPDATE t SET v = 'new' WHERE id = 2 OR id IS NULL OR v = 'q'")
    session.sql("DELETE FROM t WHERE id = 3")
    session.sql("INSERT INTO t VALUES (4, 'here')")
    found = time_travel.diff(session, "t", 1, keys="ID")
    assert [tuple(row) for row in found.orderBy("id", "change").collect()] == [
        ("changed_from", None, "n"), ("changed_to", None, "new"),
        ("changed_from", 2, "old"), ("changed_to", 2, "new"),
        ("removed", 3, "gone"), ("added", 4, "here"),
        ("changed_from", 5, "q"), ("changed_to", 5, "new"),
    ]  # fmt: skip
    with pytest.raises(errors.UnknownColumnError, match="has no column 'key'"):
        time_travel.diff(session, "t", 1, keys=["id", "key"])


def test_diff_of_a_statement(session, told):
    """Before and at a statement: what it has changed."""
    session.sql("UPDATE t SET b = 'z' WHERE a = 2")
    update = session.sql("DESCRIBE HISTORY t LIMIT 1").collect()[0].userMetadata
    assert rows(time_travel.diff(session, "t", time_travel.before(update), update, keys=["a"])) == [
        ("changed_from", 2, "y"), ("changed_to", 2, "z"),
    ]  # fmt: skip


@pytest.mark.long("test_diff_of_rows has the usual types")
def test_diff_of_types_without_equality(session, schema):
    """MAP and VARIANT, inside others as well: equal where their entries are."""
    inside = "ARRAY<STRUCT<m: MAP<INT, VARIANT>>>"
    session.sql(f"CREATE TABLE t (id INT, m MAP<STRING, INT>, v VARIANT, s {inside}, d DOUBLE)")
    made = "array(named_struct('m', map(1, parse_json('[1]'))))"
    session.sql(
        "INSERT INTO t"
        f" SELECT 1, map('a', 1, 'b', 2), parse_json('{{\"x\": 1, \"y\": 2}}'), {made}, double('NaN')"
        f" UNION ALL SELECT 2, map('a', 1), NULL, {made}, 0 UNION ALL SELECT 3, NULL, NULL, NULL, 0"
    )
    session.sql("UPDATE t SET m = map('b', 2, 'a', 1), v = parse_json('{\"y\": 2, \"x\": 1}') WHERE id = 1")
    assert rows(time_travel.diff(session, "t", 1)) == []
    session.sql("UPDATE t SET s = array(named_struct('m', map(1, parse_json('[2]')))) WHERE id = 2")
    session.sql("UPDATE t SET v = parse_json('null') WHERE id = 3")
    found = time_travel.diff(session, "t", 1, keys="id").selectExpr(
        "change", "id", "to_json(s)", "to_json(v)"
    )
    assert sorted(found.collect(), key=lambda row: (row.id, row.change)) == [
        ("changed_from", 2, '[{"m":{"1":[1]}}]', None),
        ("changed_to", 2, '[{"m":{"1":[2]}}]', None),
        ("changed_from", 3, None, None),
        ("changed_to", 3, None, "null"),
    ]


def test_diff_over_changed_columns(session, schema):
    """Both sides are in today's columns; where the table has a column `change`, the answer's is `_change`."""
    session.sql("CREATE TABLE t (id INT, change INT)")
    session.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    session.sql("ALTER TABLE t ADD COLUMN (c STRING)")
    session.sql("UPDATE t SET c = 'set' WHERE id = 1")
    found = time_travel.diff(session, "t", 1, keys="id")
    assert found.columns == ["_change", "id", "change", "c"]
    assert rows(found) == [("changed_from", 1, 1, None), ("changed_to", 1, 1, "set")]


def test_diff_is_fixed(session, told):
    """Now is when it was asked for, not when it is used; both versions are on record."""
    found = time_travel.diff(session, "t", 1)
    session.sql("DELETE FROM t")
    assert rows(found) == [("added", 2, "y")]
    audit.flush(session)
    read = session.sql(
        "SELECT v.version, v.objectName FROM account_usage.access_history"
        " LATERAL VIEW inline(array(struct(object_versions))) AS vs LATERAL VIEW explode(vs) AS v"
        " WHERE captured_by = 'plan' AND v.objectName LIKE '%diff_is_fixed.t'"
    )
    assert sorted(row.version for row in read.collect()) == [1, 2]


def test_replay(session, told, schema):
    """A query runs again on what it read, whatever has happened since, in another current schema."""
    session.sql("CREATE VIEW v AS SELECT a AS n FROM t")
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 100")
    text = "WITH c AS (SELECT * FROM v) SELECT plus(n), b, t.a FROM c JOIN t ON t.a = n"
    before = rows(session.sql(text))
    session.sql("DELETE FROM t WHERE a = 1")
    session.sql("ALTER TABLE t ADD COLUMN (d INT)")
    session.sql("USE default")
    query_id = last_id(session, text)
    assert rows(time_travel.replay(session, query_id)) == before == [(101, "x", 1), (102, "y", 2)]
    session.sql(f"USE {schema}")


def test_replay_reads_views_as_spark_resolves_them(session, told):
    """Through a CTE named as the table, a function, a version that the view names."""
    session.sql("CREATE FUNCTION most() RETURNS INT RETURN (SELECT max(a) FROM t)")
    session.sql("CREATE VIEW v AS WITH t AS (SELECT a FROM t) SELECT t.a, most() AS m FROM t")
    session.sql("CREATE VIEW w AS SELECT x.a FROM t@v1 x")
    session.sql(
        "CREATE TEMPORARY VIEW mine AS SELECT /*+ BROADCAST(w) */ v.a, m, w.a AS b FROM v JOIN w ON TRUE"
    )
    text = "SELECT a, m, b FROM mine WHERE a > 0"
    before = rows(session.sql(text))
    session.sql("INSERT INTO t (a) SELECT m + 1 FROM v")
    session.sql("UPDATE t SET a = -a")
    assert rows(time_travel.replay(session, last_id(session, text))) == before != []
    write = "INSERT INTO t (a) SELECT m + 1 FROM v"
    assert rows(time_travel.replay(session, last_id(session, write))) == [(3,), (3,)]
    session.sql("DROP VIEW mine")


@pytest.mark.long("test_replay_reads_views_as_spark_resolves_them has a write")
def test_replay_of_a_write(session, told):
    """Of INSERT … SELECT and CREATE TABLE … AS SELECT it is the query, over what was before the write."""
    text = "INSERT INTO t (a, b) SELECT a + 10, b FROM t"
    session.sql(text)
    assert rows(time_travel.replay(session, last_id(session, text))) == [(11, "x"), (12, "y")]
    text = "CREATE TABLE u USING delta AS (SELECT max(a) AS m FROM t)"
    session.sql(text)
    session.sql("DELETE FROM t")
    assert rows(time_travel.replay(session, last_id(session, text))) == [(12,)]


@pytest.mark.long("replay by path; test_replay is by name")
def test_replay_by_path(session, told, tmp_path):
    """What was read by path is there under the name of the table that lies there, or under the path."""
    registered = session.sql("DESCRIBE DETAIL t").collect()[0].location
    session.sql(f"CREATE TABLE delta.`{tmp_path}/other` AS SELECT 7 AS a")
    for path, answer in ((registered, [(1,), (2,)]), (f"{tmp_path}/other", [(7,)])):
        text = f"SELECT a FROM delta.`{path}`"
        session.sql(text).collect()
        session.sql(f"DELETE FROM delta.`{path}`")
        assert rows(time_travel.replay(session, last_id(session, text))) == answer


@pytest.mark.long("two points at once; test_replay and test_replay_of_a_write have one")
def test_replay_of_two_versions(session, told):
    """One table read at two points: each is bound to its own version on record, an OFFSET's as well."""
    text = (
        f"SELECT x.a, y.a FROM t@v1 x JOIN t y ON x.a < y.a JOIN t AT (TIMESTAMP => '{told[1].timestamp}') z"
    )
    before = rows(session.sql(text))
    offset = "SELECT y.a FROM t@v1 x JOIN t AT (OFFSET => 0) y ON x.a < y.a"
    session.sql(offset).collect()
    session.sql("UPDATE t SET a = 0")
    assert rows(time_travel.replay(session, last_id(session, text))) == before == [(1, 2)]
    assert rows(time_travel.replay(session, last_id(session, offset))) == [(2,)]


@pytest.mark.long("several replays; test_replay has the usual one")
def test_replay_refuses(session, told):
    """What cannot be run again is an error of its own that says why."""
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("SELECT a FROM t WHERE a = :n", args={"n": 1}).collect()
    session.sql("SELECT a FROM p").collect()
    session.sql("SELECT a FROM v").collect()
    session.sql("CREATE VIEW v2 AS SELECT a FROM t")
    session.sql("SELECT a FROM v2").collect()
    session.table("t").where("a = 1").count()
    session.sql("CREATE TABLE w (a INT)")
    session.sql("CREATE OR REPLACE VIEW v AS SELECT a FROM w")
    session.sql("CREATE OR REPLACE VIEW v2 AS SELECT 1 AS a")
    session.sql("UPDATE t SET a = 9")
    with pytest.raises(AnalysisException):
        session.sql("SELECT nothing FROM t")
    for text, error, match in (
        ("SELECT a FROM t WHERE a = :n", errors.NotRepeatableError, "had parameters"),
        ("SELECT a FROM p", errors.NotRepeatableError, "a table of parquet"),
        ("SELECT a FROM v", errors.NotRepeatableError, r"no version of \S+\.w is on record .* redefined"),
        ("SELECT a FROM v2", errors.NotRepeatableError, r"read \S+\.t, to which its text no longer leads"),
        ("UPDATE t SET a = 9", errors.NotAQueryError, "no query but UPDATE"),
        ("SELECT nothing FROM t", errors.NotAQueryError, "ended as FAIL"),
    ):
        with pytest.raises(error, match=match):
            time_travel.replay(session, last_id(session, text))
    history = session.table("account_usage.query_history")
    counted = (
        history.where("action = 'DataFrame.count' AND query_text LIKE '%Filter%'").collect()[-1].query_id
    )
    with pytest.raises(errors.NotAQueryError, match=r"the DataFrame action DataFrame\.count"):
        time_travel.replay(session, counted)
    with pytest.raises(errors.UnknownStatementError, match="no statement on record"):
        time_travel.replay(session, "8e5d0ca9-005e-44e6-b858-a8f5b37c5726")


@pytest.mark.long("several replays; test_replay has the usual one")
def test_replay_of_what_is_gone(session, told):
    """The error names the table, the version, and why it cannot be read."""
    session.sql("SELECT count(*) FROM t").collect()
    query_id = last_id(session, "SELECT count(*) FROM t")
    session.sql("DROP TABLE t")
    with pytest.raises(
        errors.VersionGoneError, match=r"version 2 of spark_catalog\.\w+\.t.*no table of that"
    ):
        time_travel.replay(session, query_id)
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    with pytest.raises(errors.VersionGoneError, match="is another one now"):
        time_travel.replay(session, query_id)
    session.sql("ALTER TABLE t RENAME TO other")
    session.sql("UNDROP TABLE t")
    assert rows(time_travel.replay(session, query_id)) == [(2,)]


@pytest.mark.long("test_read has one reader, and test_readers_obey_retention the errors")
def test_readers(session, told):
    """Options of a DataFrameReader, names and paths with a point: versions and times, as in SQL."""
    path = session.sql("DESCRIBE DETAIL t").collect()[0].location
    delta = session.read.format("delta")
    moment = f"{told[1].timestamp:%Y%m%d%H%M%S%f}"[:17]
    for frame in (
        session.read.option("versionAsOf", 1).table("t"),
        session.read.option("timestampAsOf", f"{told[1].timestamp}").table("t"),
        session.read.table("t@v1"),
        session.table(f"t@{moment}"),
        delta.load(path, versionAsOf=1),
        session.read.format("delta").load(f"{path}@v1"),
        session.read.format("delta").option("path", f"{path}@{moment}").load(),
        session.sql(f"SELECT * FROM delta.`{path}@v1` x WHERE x.a > 0"),
    ):
        assert rows(frame) == [(1, "x")]
    now = session.sql("SELECT string(current_timestamp())").collect()[0][0]
    reader = session.read.option("timestampAsOf", now)
    assert rows(reader.table("t")) == [(1, "x"), (2, "y")]  # the current state (delta #6827)
    assert rows(reader.format("delta").load(path)) == [(1, "x"), (2, "y")]
    session.sql("INSERT INTO t VALUES (3, 'z')")
    assert rows(reader.table("t")) == [(1, "x"), (2, "y")]  # the reader is as it was
    assert rows(session.table("t")) == rows(session.read.format("delta").load(path))


def test_readers_obey_retention(session, told):
    """By whatever way, the errors are those of SQL; a path has the retention of the table that lies there."""
    path = session.sql("DESCRIBE DETAIL t").collect()[0].location
    session.sql("ALTER SCHEMA readers_obey_retention SET DATA_RETENTION_TIME_IN_DAYS = 0")
    for read in (
        lambda: session.read.option("versionAsOf", 1).table("t"),
        lambda: session.read.option("timestampAsOf", f"{told[1].timestamp}").table("t"),
        lambda: session.read.format("delta").option("versionAsOf", "1").load(path),
        lambda: session.read.format("delta").load(path, timestampAsOf=f"{told[1].timestamp}"),
        lambda: session.read.format("delta").load(f"{path}@v1"),
        lambda: session.read.table("t@v1"),
        lambda: session.table("t@v1"),
        lambda: session.sql(f"SELECT * FROM delta.`{path}@v1`"),
        lambda: session.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF 1"),
        lambda: time_travel.read(session, "t", at=1),
    ):
        with pytest.raises(errors.OutsideRetentionError, match="0 days"):
            read()
    assert rows(session.read.option("versionAsOf", 3).table("t")) == [(1, "x"), (2, "y")]
    with pytest.raises(errors.FutureMomentError):
        session.read.option("timestampAsOf", "2999-01-01").table("t")
    with pytest.raises(errors.UnknownVersionError, match="it has 0 to 3"):
        session.read.option("versionAsOf", 9).table("t")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        session.read.option("versionAsOf", 9).table("nothing")


def test_a_folder_named_like_a_point(session, schema, tmp_path):
    """Where a folder has the name, it is read and no version: as Delta does."""
    session.range(3).write.format("delta").save(f"{tmp_path}/t@v1")
    assert session.read.format("delta").load(f"{tmp_path}/t@v1").count() == 3
    assert session.sql(f"SELECT * FROM delta.`{tmp_path}/t@v1`").count() == 3
