"""What goes wrong at the worst moment: drivers race, names bite, clocks jump, logs end."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

import audit
import lineage
from audit.analysis.sessions import Sessions
from audit.core.actor import Actor
from audit.core.clock import SystemClock
from audit.core.ids import IdGenerator
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.delta.event_table import HistoryTable
from audit.spark.sessions import own_session
from audit.time_travel import errors
from audit.time_travel.service import TimeTravel

pytestmark = pytest.mark.spark


class Killed(BaseException):
    """A driver stops here, without a last word."""


class Unrecorded:
    """Nothing is on record here, and nothing runs."""

    def recorded(self, _id):
        """No statement."""
        return

    def changes_since(self, _id):
        """No statement."""
        return

    def running_since(self):
        """No statement."""
        return


class Ungoverned:
    """No policies."""

    def copy(self, _new, _made=None):
        """There is nothing to protect."""

    def copy_views(self, _views, _made=None):
        """There is nothing to protect."""

    def dropped_since(self, _table_ids, _made):
        """None."""
        return ()

    def require_schema_drop(self, _spark, _name):
        """Anybody may."""

    def require_retention(self, _spark, _table_id):
        """Anybody may."""

    def require_undrop(self, _event, _by):
        """Anybody may."""

    def require_no_backup(self, _spark, _place):
        """There is none."""

    def grants_on(self, _domain, _name, _table_id):
        """None."""
        return ()

    def owner_of(self, _key):
        """Nobody was granted it."""
        return

    def shows_all_rows(self, _table_id):
        """Nothing is hidden."""
        return True

    def show(self, _spark, _text, _by, _run):
        """Nothing."""
        return


class Unguarded:
    """What fails here is to be seen."""

    def guard(self, ask, _otherwise):
        """What it raises goes on."""
        return ask()


class OtherDriver:
    """A second driver over the same root and metastore: it has seen nothing of what the first one does."""

    def __init__(self, spark, root, schema):
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.sources.default", "delta")
        self.spark.sql(f"USE {schema}")
        self.clock = SystemClock().now
        self.ids = IdGenerator(SystemClock())
        self.travel = TimeTravel(
            own_session(spark),
            str(root),
            "account_usage",
            self.clock,
            records=Unrecorded(),
            governance=Ungoverned(),
            sessions=Sessions(),
            failures=Unguarded(),
        )

    def sql(self, text, run=None):
        """A statement, as its front door runs it; `run` stands for Spark."""
        way = self.travel.handler_for(lineage.parse(text))
        actor = Actor(self.clock(), "bob", None, self.ids.new)
        return way(self.spark, text, actor, run or (lambda session, sent: session.sql(sent)))


@pytest.fixture
def other(spark, session, root, schema):
    """Beside the audited session."""
    session.sql("CREATE TABLE first (a INT)")
    session.sql("DROP TABLE first")  # the registry is there
    return OtherDriver(spark, root, schema)


def rows(session, sql):
    """As tuples, in order."""
    return sorted(tuple(row) for row in session.sql(sql).collect())


def dropped(frame):
    """Names that are dropped."""
    return sorted(row["name"] for row in frame.collect() if row["dropped_on"] is not None)


def at_once(*calls):
    """What each has raised, None for nothing."""
    start = threading.Barrier(len(calls))

    def one(call):
        start.wait()
        try:
            call()
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            return error
        return None

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def test_two_drivers_at_once(session, other):
    """Of two drops and of two restorations one wins; the other says why; both show the same truth."""
    session.sql("CREATE TABLE t AS SELECT 7 AS a")
    for drop in ("DROP TABLE t", "DROP TABLE IF EXISTS t"):
        failed = [e for e in at_once(partial(session.sql, drop), partial(other.sql, drop)) if e is not None]
        assert len(failed) <= 1
        assert all("TABLE_OR_VIEW_NOT_FOUND" in str(error) for error in failed)
        for each in (session, other):
            assert dropped(each.sql("SHOW TABLES HISTORY")) == ["first", "t"]
        undrop = "UNDROP TABLE t"
        (failed,) = (e for e in at_once(partial(session.sql, undrop), partial(other.sql, undrop)) if e)
        assert isinstance(failed, errors.ObjectExistsError)
        for each in (session, other):
            assert dropped(each.sql("SHOW TABLES HISTORY")) == ["first"]
        assert rows(session, "SELECT a FROM t") == [(7,)]


def test_a_table_that_is_restored_while_another_drops_it(session, other):
    """A drop that has begun may end after the other's drop and restoration: the table still comes back."""
    session.sql("CREATE TABLE t AS SELECT 7 AS a")

    def slowly(spark, text):
        session.sql("DROP TABLE t")
        session.sql("UNDROP TABLE t")
        return spark.sql(text)

    other.sql("DROP TABLE t", slowly)
    assert dropped(session.sql("SHOW TABLES HISTORY")) == ["first", "t"]
    other.sql("UNDROP TABLE t")
    assert rows(session, "SELECT a FROM t") == [(7,)]
    assert dropped(session.sql("SHOW TABLES HISTORY")) == ["first"]


def test_two_drivers_restore_a_schema(session, other, schema):
    """Both may say that they have; everything is there once."""
    session.sql("CREATE TABLE t AS SELECT 7 AS a")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    undrop = f"UNDROP SCHEMA {schema}"
    raised = at_once(partial(session.sql, undrop), partial(other.sql, undrop))
    assert all(error is None or isinstance(error, errors.ObjectExistsError) for error in raised)
    assert raised.count(None) >= 1
    assert rows(session, f"SELECT a FROM {schema}.v") == [(7,)]
    for each in (session, other):
        assert dropped(each.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'")) == []
        assert dropped(each.sql(f"SHOW TABLES HISTORY IN {schema}")) == ["first"]


@contextmanager
def metastore_does(what, monkeypatch):
    """The metastore, which is asked where a schema's folder stays, stops like Spark."""
    with monkeypatch.context() as patch:
        patch.setattr(DeltaCatalog, "drop_schema", lambda catalog, _name: what(catalog.spark, None))
        yield


def test_a_schema_half_dropped(session, spark, other, schema, monkeypatch):
    """Killed between two tables: UNDROP SCHEMA brings back what is gone, after another drop, too."""
    half_dropped(session, spark, other, schema, monkeypatch, shared=False)


@pytest.mark.long("the test before, with clones elsewhere")
def test_a_schema_half_dropped_in_place(session, spark, other, schema, monkeypatch):
    """So it does where clones elsewhere read the files in its folder."""
    half_dropped(session, spark, other, schema, monkeypatch, shared=True)


def half_dropped(session, spark, other, schema, monkeypatch, *, shared):
    """Drops a schema half, twice."""
    for name in ("t", "u"):
        spark.sql(f"CREATE TABLE {schema}.{name} USING delta AS SELECT '{name}' AS a")  # in its own folder
        if shared:
            session.sql(f"CREATE TABLE default.clone_of_{name} CLONE {name}")
    before = session.sql(f"DESCRIBE SCHEMA {schema}").collect()
    session.sql("CREATE FUNCTION one() RETURNS INT RETURN 1")
    session.sql("CREATE VIEW v AS SELECT a, one() AS n FROM t")

    def killed(spark, _text):
        with audit.suppress():  # the parts of Spark's own DROP SCHEMA are no statements
            spark.sql("DROP TABLE t")
            spark.sql("DROP VIEW v")
        raise Killed

    for second in (False, True):
        with pytest.raises(Killed), metastore_does(killed, monkeypatch):
            other.sql(f"DROP SCHEMA {schema} CASCADE", killed)
        session.sql("USE default")
        assert dropped(session.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'")) == []
        assert rows(session, f"SELECT a FROM {schema}.u") == [("u",)]
        if second:
            session.sql(f"DROP SCHEMA {schema} CASCADE")
            assert dropped(session.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'")) == [schema]
        session.sql(f"UNDROP SCHEMA {schema}")
        session.sql(f"USE {schema}")
        assert rows(session, "SELECT v.a, n, u.a FROM v, u") == [("t", 1, "u")]
        assert dropped(session.sql("SHOW TABLES HISTORY")) == ["first"]
        assert session.sql(f"DESCRIBE SCHEMA {schema}").collect() == before
    with pytest.raises(errors.ObjectExistsError):
        session.sql(f"UNDROP SCHEMA {schema}")
    for name in ("t", "u") if shared else ():
        assert rows(session, f"SELECT a FROM default.clone_of_{name}") == [(name,)]
        session.sql(f"DROP TABLE default.clone_of_{name}")


@pytest.mark.long("test_a_schema_half_dropped has the drop of ours")
def test_a_schema_that_spark_half_drops(session, spark, other, schema, monkeypatch):
    """Where Spark fails between two tables, the one that is gone was dropped; the schema was not."""
    half_failed(session, spark, other, schema, monkeypatch, shared=False)


@pytest.mark.long("test_a_schema_half_dropped has the usual place")
def test_a_schema_that_is_half_dropped_in_place(session, spark, other, schema, monkeypatch):
    """So it is where clones elsewhere read the files in its folder, and the metastore fails."""
    half_failed(session, spark, other, schema, monkeypatch, shared=True)


def half_failed(session, spark, other, schema, monkeypatch, *, shared):
    """Drops one of two tables, and fails."""
    spark.sql(f"CREATE TABLE {schema}.t USING delta AS SELECT 1 AS a")
    session.sql("CREATE TABLE u AS SELECT 2 AS a")
    if shared:
        session.sql("CREATE TABLE default.clone_of_t CLONE t")
    before = session.sql(f"DESCRIBE SCHEMA {schema}").collect()

    def fails(spark, _text):
        with audit.suppress():  # the parts of Spark's own DROP SCHEMA are no statements
            spark.sql("DROP TABLE t")
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"), metastore_does(fails, monkeypatch):
        other.sql(f"DROP SCHEMA {schema} CASCADE", fails)
    assert dropped(session.sql("SHOW TABLES HISTORY")) == ["first", "t"]
    assert dropped(session.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'")) == []
    assert session.sql(f"DESCRIBE SCHEMA {schema}").collect() == before
    session.sql("UNDROP TABLE t")
    assert rows(session, "SELECT t.a, u.a FROM t, u") == [(1, 2)]
    if shared:
        assert rows(session, "SELECT a FROM default.clone_of_t") == [(1,)]
        session.sql("DROP TABLE default.clone_of_t")


def test_a_restoration_that_was_killed(session, other, schema):
    """Between two tables, too: UNDROP SCHEMA goes on where it stopped."""
    for name in ("t", "u"):
        session.sql(f"CREATE TABLE {name} AS SELECT '{name}' AS a")
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    made = []

    class UpToTheSecondTable:
        """A session, as long as its driver lives."""

        def __getattr__(self, name):
            return getattr(other.spark, name)

        def sql(self, text):
            made.append(text)
            if len(made) > 2:
                raise Killed
            return other.spark.sql(text)

    other.travel._own = UpToTheSecondTable()
    with pytest.raises(Killed):
        other.sql(f"UNDROP SCHEMA {schema}")
    assert len(session.sql(f"SHOW TABLES IN {schema}").collect()) == 1
    session.sql(f"UNDROP SCHEMA {schema}")
    assert rows(session, f"SELECT t.a, u.a FROM {schema}.t, {schema}.u") == [("t", "u")]


def test_a_view_over_what_was_dropped(session, schema):
    """It fails as in Spark, names the table, and works again with it; nothing of its schema is lost by it."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE TABLE u AS SELECT 2 AS a")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("DROP TABLE t")
    for point in ("", "AT (OFFSET => 0)", "AT (STATEMENT => '01905b8e-c280-7000-8000-000000000000')"):
        with pytest.raises(Exception, match=rf"`?t`? .*(cannot be found|is no table)|{schema}.t is no table"):
            session.sql(f"SELECT * FROM v {point}")
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    (said,) = session.sql(f"UNDROP SCHEMA {schema}").collect()
    assert "view v" in said[0]
    session.sql(f"USE {schema}")
    assert rows(session, "SELECT a FROM u") == [(2,)]
    session.sql("UNDROP TABLE t")
    session.sql("UNDROP VIEW v")
    assert rows(session, "SELECT a FROM v") == [(1,)]


def test_read_while_it_is_dropped(session, schema):
    """A reader that has begun, and one that has only resolved its table, go on and have all rows."""
    session.sql("CREATE TABLE t AS SELECT /*+ REPARTITION(8) */ id FROM range(80)")
    begun = session.sql("SELECT id FROM t").toLocalIterator()
    found = [next(begun).id]
    resolved = session.sql("SELECT id FROM t")
    session.sql("DROP TABLE t")
    session.sql("CREATE TABLE t AS SELECT -1L AS id")
    found += [row.id for row in begun]
    assert sorted(found) == list(range(80))
    assert sorted(row.id for row in resolved.collect()) == list(range(80))


def test_the_first_events_of_several_at_once(spark, tmp_path):
    """Who comes second finds the folder of the table made, and waits for its first commit."""
    columns = (("event_time", "TIMESTAMP", "when"),)
    for number in range(4):
        tables = [HistoryTable(own_session(spark), f"{tmp_path}/{number}", columns) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(HistoryTable.create, tables))
        assert [table.version() for table in tables] == [0] * 4


@pytest.mark.slow("many statements at once")
def test_threads_of_one_session(session, schema):
    """Each drops and restores its own tables; what one does is not another's."""

    def one(number):
        session.sql(f"CREATE TABLE t{number} AS SELECT {number} AS a")
        for _ in range(2):
            session.sql(f"DROP TABLE t{number}")
            session.sql(f"UNDROP TABLE t{number}")
        session.sql(f"INSERT INTO t{number} VALUES (-1)")
        session.sql(f"DROP TABLE t{number}")
        return number

    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(one, range(8)))
    assert dropped(session.sql("SHOW TABLES HISTORY")) == [f"t{n}" for n in numbers]
    session.sql("UNDROP TABLE t5")
    assert rows(session, "SELECT a FROM t5") == [(-1,), (5,)]


def test_renamed_altered_and_overwritten(session, schema):
    """The document's form gives today's columns until a REPLACE, Spark's those of then, all the time."""
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, '2024-05-06')")
    session.sql("ALTER TABLE t RENAME TO u")
    session.sql("ALTER TABLE u ADD COLUMN (c DOUBLE)")
    commits = {row.version: row for row in session.sql("DESCRIBE HISTORY u").collect()}
    at, then = f"SELECT * FROM u AT (STATEMENT => '{commits[1].userMetadata}')", "SELECT * FROM u@v1"
    assert rows(session, at) == [(1, "2024-05-06", None)]
    assert rows(session, then) == [(1, "2024-05-06")]
    session.sql("CREATE OR REPLACE TABLE u (b DATE, a BIGINT, d STRING)")
    session.sql("INSERT INTO u VALUES (DATE'2025-01-01', 2, 'd')")
    for text in (at, then):
        assert session.sql(text).schema.simpleString() == "struct<a:int,b:string>"
        assert rows(session, text) == [(1, "2024-05-06")]
    with pytest.raises(PySparkException, match="does not support REPLACE"):
        session.sql("CREATE OR REPLACE TABLE u (b DATE) USING parquet")
    session.sql("DROP TABLE u")
    session.sql("UNDROP TABLE u")
    assert rows(session, "SELECT a FROM u@v1") == [(1,)]


def test_partitions(session, schema):
    """A partition that is gone is read in the past, pruned; one that is named anew keeps its place."""
    session.sql("CREATE TABLE t (a INT, day DATE) PARTITIONED BY (day)")
    session.sql("INSERT INTO t VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02')")
    session.sql("DELETE FROM t WHERE day = DATE'2024-01-01'")
    session.sql("INSERT INTO t VALUES (3, DATE'2024-01-03')")
    then = "t BEFORE (STATEMENT => '{}')".format(
        session.sql("DESCRIBE HISTORY t").where("version = 2").collect()[0].userMetadata
    )
    assert rows(session, f"SELECT a FROM {then} WHERE day <= DATE'2024-01-01'") == [(1,)]
    session.sql(f"CREATE TABLE c CLONE {then}")
    session.sql("INSERT OVERWRITE t SELECT * FROM c WHERE day = DATE'2024-01-01'")
    assert rows(session, "SELECT a FROM c") == [(1,), (2,)]
    assert rows(session, "SELECT a FROM t") == [(1,)]
    assert rows(session, f"SELECT count(*) FROM {then}") == [(2,)]


@pytest.mark.parametrize("mapped", ["from the start", "later"])
def test_a_column_dropped_and_added_again(session, schema, mapped):
    """Under one name it is another column: the past has nothing in it. A renamed one has its values."""
    mode = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    session.sql(f"CREATE TABLE t (a INT, b INT) {mode if mapped != 'later' else ''}")
    session.sql("INSERT INTO t VALUES (1, 2)")
    if mapped == "later":
        session.sql(f"ALTER TABLE t SET {mode}")
    session.sql("ALTER TABLE t DROP COLUMN b")
    session.sql("ALTER TABLE t ADD COLUMN b INT")
    written = session.sql("DESCRIBE HISTORY t").where("version = 1").collect()[0].userMetadata
    at = f"SELECT * FROM t AT (STATEMENT => '{written}')"
    assert rows(session, at) == [(1, None)]
    session.sql("ALTER TABLE t RENAME COLUMN a TO k")
    assert session.sql(at).columns == ["k", "b"]
    assert rows(session, at) == [(1, None)]
    assert rows(session, "SELECT a, b FROM t VERSION AS OF 1") == [(1, 2)]


def commits_of(path):
    """The files of the commits of a table, in order."""
    return sorted(path.glob("_delta_log/*.json"))


def at_times(path, *times):
    """Make commits as old as that; their own clock is the file's."""
    for file, time in zip(commits_of(path), times, strict=True):
        moment = datetime.fromisoformat(time).replace(tzinfo=timezone.utc).timestamp()
        os.utime(file, (moment, moment))


def test_a_copied_folder(session, schema, tmp_path):
    """With in-commit timestamps the past is where it was, though every file is as old as the copy."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    commit = session.sql("DESCRIBE HISTORY t").where("version = 1").collect()[0]
    location = session.sql("DESCRIBE DETAIL t").collect()[0].location.removeprefix("file:")
    shutil.copytree(location, tmp_path / "t", copy_function=shutil.copyfile)
    later = datetime.now(tz=timezone.utc) + timedelta(hours=1)
    for file in commits_of(tmp_path / "t"):
        os.utime(file, (later.timestamp(), later.timestamp()))
    session.sql(f"CREATE TABLE copy USING delta LOCATION '{tmp_path}/t'")
    then = commit.timestamp.isoformat(sep=" ")
    assert rows(session, f"SELECT a FROM copy AT (TIMESTAMP => '{then}')") == [(1,)]
    assert rows(session, f"SELECT a FROM copy BEFORE (TIMESTAMP => '{then}')") == []
    assert rows(session, f"SELECT a FROM copy AT (STATEMENT => '{commit.userMetadata}')") == [(1,)]


@pytest.mark.long("tests/lineage has the times of zones")
def test_daylight_saving(session, spark, schema, tmp_path):
    """The hour that comes twice and the one that never does; without in-commit timestamps."""
    path = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE {schema}.t USING delta LOCATION '{path}' TBLPROPERTIES"
        " ('delta.deletedFileRetentionDuration' = 'interval 9999 days',"
        " 'delta.logRetentionDuration' = 'interval 9999 days',"
        " 'delta.enableInCommitTimestamps' = 'false') AS SELECT 0 AS a"
    )
    for number in range(1, 4):
        spark.sql(f"INSERT INTO {schema}.t VALUES ({number})")
    # New York goes to summer time at 07:00 UTC on 2024-03-10, and back at 06:00 UTC on 2024-11-03.
    at_times(path, "2024-03-10 06:59", "2024-03-10 07:30", "2024-11-03 05:30", "2024-11-03 06:30")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    try:
        for point, newest in (
            ("'2024-03-10 01:59:00'", 0),
            ("'2024-03-10 02:29:00'", 0),  # never: 03:29 summer time
            ("'2024-03-10 02:30:00'", 1),  # never: 03:30 summer time
            ("'2024-03-10 03:30:00'", 1),
            ("'2024-11-03 01:30:00'", 2),  # twice: the first
            ("'2024-11-03 01:30:00-04:00'", 2),
            ("'2024-11-03 01:29:00-05:00'", 2),
            ("'2024-11-03 01:30:00-05:00'", 3),
            ("'Sun, 3 Nov 2024 01:30:00 -0500'", 3),
            ("TIMESTAMP '2024-11-03 06:30:00Z'", 3),
            ("to_timestamp('2024-11-03 01:30:00')", 2),
        ):
            found = rows(session, f"SELECT max(a) FROM t AT (TIMESTAMP => {point})")
            assert found == [(newest,)], point
            if "Nov" not in point:
                assert rows(session, f"SELECT max(a) FROM t TIMESTAMP AS OF {point}") == [(newest,)], point
        with pytest.raises(errors.BeforeCreationError, match="2024-03-10 06:59:00 UTC"):
            session.sql("SELECT a FROM t AT (TIMESTAMP => '2024-03-10 01:58:00')")
    finally:
        session.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    "timed", [True, pytest.param(False, marks=pytest.mark.long("the same by the times of files"))]
)
@pytest.mark.slow("forty commits")
def test_a_log_that_has_been_cleaned(session, spark, schema, timed):
    """Forty versions, a checkpoint each ten, the oldest gone: what is left is read, what is gone says so."""
    session.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('delta.checkpointInterval' = '10')")
    if not timed:
        session.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')")
    for number in range(1, 40):
        session.sql(f"INSERT INTO t VALUES ({number})")
    commits = {row.version: row for row in session.sql("DESCRIBE HISTORY t").collect()}
    location = session.sql("DESCRIBE DETAIL t").collect()[0].location.removeprefix("file:")
    for file in Path(location, "_delta_log").iterdir():
        number = file.name.lstrip(".")[:20]
        if number.isdigit() and int(number) < 20:
            file.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    first = min(v for v in commits if v >= 20)
    shift = len(commits) - 40
    for version in (first, 25, 33):
        time = commits[version].timestamp.isoformat(sep=" ")
        expected = [(version - shift,)]
        assert rows(session, f"SELECT max(a) FROM t AT (TIMESTAMP => '{time}')") == expected
        assert rows(session, f"SELECT max(a) FROM t VERSION AS OF {version}") == expected
        assert rows(session, f"SELECT max(a) FROM t AT (STATEMENT => '{commits[version].userMetadata}')") == (
            expected
        )
    time = commits[12].timestamp.isoformat(sep=" ")
    with pytest.raises(errors.OutsideRetentionError, match="no longer reaches back"):
        session.sql(f"SELECT a FROM t AT (TIMESTAMP => '{time}')")
    with pytest.raises(errors.UnknownVersionError, match="it has 20 to"):
        session.sql("SELECT a FROM t VERSION AS OF 12")
    session.sql("DROP TABLE t")
    session.sql("UNDROP TABLE t")
    assert rows(session, "SELECT count(*) FROM t") == [(39,)]


@pytest.mark.one_in(3, "each word of the grammar")
@pytest.mark.parametrize("name", ["at", "before", "history", "clone", "t" * 200])
def test_names_of_tables(session, schema, name):
    """Words of this grammar, and the longest that the metastore takes, through all statements."""
    session.sql(f"CREATE TABLE {name} AS SELECT 1 AS a")
    assert rows(session, f"SELECT a FROM {name} AT (OFFSET => 0)") == [(1,)]
    assert rows(session, f"SELECT a FROM {name} BEFORE (OFFSET => 0) x JOIN {name}@v0 USING (a)") == [(1,)]
    session.sql(f"DROP TABLE {name}")
    assert dropped(session.sql(f"SHOW TABLES HISTORY LIKE '{name}'")) == [name]
    session.sql(f"UNDROP TABLE {name}")
    session.sql(f"CREATE TABLE other CLONE {name}")
    session.sql(f"ALTER TABLE {name} RENAME TO {name[:9]}_old")
    session.sql(f"CREATE TABLE {name} CLONE other AT (OFFSET => 0)")
    assert rows(session, f"SELECT a FROM {name}") == [(1,)]


@pytest.mark.hive("names that a metastore refuses")
@pytest.mark.long("tests/time_travel/test_object_names.py and test_names_of_tables have names that it takes")
@pytest.mark.parametrize("name", ["`a b`", "`a.b`", "`ü`", "`it's`", "`a``b`", "``"])
def test_names_that_spark_refuses(session, spark, schema, name):
    """The metastore takes letters, digits and _: Spark's own error comes through."""
    full = f"{schema}.{name}"
    for text in (f"CREATE TABLE {full} (a INT) USING delta", f"DROP TABLE {full}", f"DROP VIEW {full}"):
        told = []
        for each in (session, spark):
            with pytest.raises(PySparkException) as caught:
                each.sql(text)
            told.append((type(caught.value), caught.value.getCondition()))
        assert told[0] == told[1], text
    assert session.sql("SHOW TABLES HISTORY").collect() == []


def test_names_of_columns_paths_and_views(session, schema, tmp_path):
    """Dots, blanks, quotes, back-ticks and letters of elsewhere, where Spark takes them."""
    path = tmp_path / "it's a 100% path ü"
    session.sql(
        "CREATE TABLE t (`a.b` INT, `c d` STRING, `e``f` STRUCT<`x y`: INT, `p'q`: INT>)"
        f""" LOCATION "{path}" TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"""
    )
    session.sql("INSERT INTO t VALUES (1, 'x', named_struct('x y', 2, 'p\\'q', 3))")
    session.sql("ALTER TABLE t RENAME COLUMN `c d` TO `d.ü`")
    session.sql("ALTER TABLE t ADD COLUMN (`e``f`.`n'w` INT, `new``one` DATE)")
    written = session.sql("DESCRIBE HISTORY t").where("version = 1").collect()[0].userMetadata
    session.sql("CREATE TEMPORARY VIEW `v w.x``y'ü` AS SELECT * FROM t")
    for source in ("t", f"delta.`{path}`", "`v w.x``y'ü`"):
        frame = session.sql(f"SELECT * FROM {source} AT (STATEMENT => '{written}') `t.t`")
        assert frame.columns == ["a.b", "d.ü", "e`f", "new`one"], source
        assert [tuple(row) for row in frame.collect()] == [(1, "x", (2, 3, None), None)]
    session.sql("DROP TABLE t")
    session.sql("UNDROP TABLE t")
    assert rows(session, "SELECT `d.ü` FROM t") == [("x",)]


def test_a_schema_in_an_odd_place(session, spark, schema, tmp_path):
    """Its folder, its comment and its tables come back as they were, those inside the folder, too."""
    path = tmp_path / "it's 100% ü"
    session.sql(f"""CREATE SCHEMA odd COMMENT 'it\\'s \\\\ "x"' LOCATION "{path}" """)
    spark.sql("CREATE TABLE odd.inside USING delta AS SELECT 1 AS a")
    session.sql("CREATE TABLE odd.t AS SELECT 2 AS b")
    session.sql("CREATE VIEW odd.v AS SELECT 'it''s' AS `c d`, a, b FROM odd.inside, odd.t")
    before = session.sql("DESCRIBE SCHEMA odd").collect()
    session.sql("DROP SCHEMA odd CASCADE")
    session.sql("UNDROP SCHEMA odd")
    assert session.sql("DESCRIBE SCHEMA odd").collect() == before
    assert rows(session, "SELECT * FROM odd.v") == [("it's", 1, 2)]
    session.sql("DROP SCHEMA odd CASCADE")


def test_an_empty_table(session, schema):
    """Without a file: read, dropped, shown, cloned, restored."""
    session.sql("CREATE TABLE t (a INT)")
    assert rows(session, "SELECT * FROM t AT (OFFSET => 0)") == []
    session.sql("CREATE TABLE c CLONE t")
    session.sql("DROP TABLE t")
    (shown,) = (row for row in session.sql("SHOW TABLES HISTORY").collect() if row["name"] == "t")
    assert (shown["rows"], shown["bytes"]) == (0, 0)
    session.sql("UNDROP TABLE t")
    assert (rows(session, "SELECT * FROM t"), rows(session, "SELECT * FROM c")) == ([], [])


def test_drop_if_exists_of_nothing(session, schema):
    """Of a table, a view, a schema, in a schema that is not there: it is a statement that did nothing."""
    for text in (
        "DROP TABLE IF EXISTS nothing",
        "DROP VIEW IF EXISTS nothing",
        "DROP TABLE IF EXISTS nowhere.nothing",
        "DROP SCHEMA IF EXISTS nowhere CASCADE",
    ):
        session.sql(text)
    assert session.sql("SHOW TABLES HISTORY").collect() == []
    audit.flush(session)
    told = session.sql("SELECT query_text, execution_status FROM account_usage.query_history").collect()
    assert {row.execution_status for row in told if "IF EXISTS no" in row.query_text} == {"SUCCESS"}
