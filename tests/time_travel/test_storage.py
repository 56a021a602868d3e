"""What bytes are kept for, on a clock that is told the day; and what a purge frees."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from delta.tables import DeltaTable

import audit
from audit.core.actor import Actor
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.time_travel import errors
from audit.time_travel.attached import time_travel_of
from audit.time_travel.retention.periods import DAY

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(clocked):
    """Audited on a clock that is told the day."""
    return clocked


def purge(session, clock, *, dry=False):
    """What a purge of now frees in this schema, by object and kind; elsewhere lies what other tests left."""
    actor = Actor(clock.now(), "root", None, lambda: f"event-{clock.now()}")
    here = f"spark_catalog.{session.catalog.currentDatabase()}."
    freed = time_travel_of(session).maintenance.purge(actor, dry=dry)
    return {(one.object_name, one.kind): one for one in freed if one.object_name.startswith(here)}


def metrics(session, table):
    """Active, Time Travel, Fail-safe, retained for clones, purgeable."""
    (row,) = session.sql(
        "SELECT active_bytes, time_travel_bytes, failsafe_bytes, retained_for_clone_bytes, purgeable_bytes"
        f" FROM account_usage.table_storage_metrics WHERE table_name = '{table}'"
        " AND table_schema = current_schema()"
    ).collect()
    return tuple(row)


def files(session, table):
    """The data files on disk."""
    (row,) = session.sql(f"DESCRIBE DETAIL {table}").select("location").collect()
    return set(Path(row.location.removeprefix("file:")).glob("**/*.parquet")) - set(
        Path(row.location.removeprefix("file:")).glob("_delta_log/*")
    )


@pytest.fixture
def example(session, schema):
    """The table of the document: 200, of which 50 are deleted, in a window of seven days; a unit, the 50."""
    session.sql(f"ALTER SCHEMA {schema} SET OPTIONS (max_time_travel_hours = 168)")
    session.sql("CREATE TABLE example (part INT, a BIGINT) PARTITIONED BY (part)")
    session.sql("INSERT INTO example SELECT part, a FROM range(4) AS p(part), range(1000) AS r(a)")
    unit = metrics(session, "example")[0] / 200
    deleted = {path for path in files(session, "example") if path.parent.name == "part=2"}
    session.sql("DELETE FROM example WHERE part = 2")
    return unit, deleted


EXAMPLE = [[200, 0, 0], *([[150, 50, 0]] * 7), *([[150, 0, 50]] * 7), [150, 0, 0]]


def test_the_data_retention_example(session, schema, example):
    """The table of the document, day by day."""
    unit, _ = example
    now = time.time_ns() // 1000
    forecast = time_travel_of(session).maintenance.by_day(
        now - DAY // 2, 15, now, lambda one: one.name == ("spark_catalog", schema, "example")
    )
    days = [[round(size / unit) for size in (b.active, b.time_travel, b.fail_safe)] for _, b in forecast]
    assert days[1:] == EXAMPLE[1:]


@pytest.mark.long("fifteen days, measured and purged; the test above has the forecast")
def test_the_data_retention_example_by_the_clock(session, schema, clock, day, example):
    """What is measured on the day is what was foretold, and a purge takes it after its last day."""
    unit, deleted = example
    for number in (7, 8, 15):
        day(number - 0.5)
        assert [round(size / unit) for size in metrics(session, "example")[:3]] == EXAMPLE[number], number
    before = files(session, "example")
    day(13.5)
    assert ("spark_catalog." + schema + ".example", "VERSIONS") not in purge(session, clock)
    assert files(session, "example") == before
    day(14.5)
    would = purge(session, clock, dry=True)[f"spark_catalog.{schema}.example", "VERSIONS"]
    assert (would.files, round(would.bytes / unit)) == (len(deleted), 50)
    assert files(session, "example") == before
    assert purge(session, clock)[f"spark_catalog.{schema}.example", "VERSIONS"] == would
    assert before - files(session, "example") == deleted
    assert purge(session, clock) == {}
    assert metrics(session, "example")[4] == 0
    assert session.sql("SELECT count(*) FROM example").collect()[0][0] == 3000


@pytest.mark.slow("three purges")
def test_a_dropped_table_goes_after_fail_safe(session, schema, clock, day):
    """A day in Time Travel, seven in Fail-safe, then gone; a transient one has no Fail-safe."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE TRANSIENT TABLE brief AS SELECT 1 AS a")
    folder = next(iter(files(session, "t"))).parent
    session.sql("DROP TABLE t")
    session.sql("DROP TABLE brief")
    size = metrics(session, "t")[1]
    assert size > 0
    day(2)
    assert metrics(session, "t") == (0, 0, size, 0, 0)
    assert set(purge(session, clock)) == {(f"spark_catalog.{schema}.brief", "TABLE")}
    with pytest.raises(errors.NothingDroppedError, match="in Fail-safe until"):
        session.sql("UNDROP TABLE t")
    day(8.1)
    assert folder.exists()
    assert purge(session, clock)[f"spark_catalog.{schema}.t", "TABLE"].bytes == size
    assert not folder.exists()
    rows = session.sql(f"SELECT * FROM account_usage.tables WHERE table_schema = '{schema}'").collect()
    assert rows == []


@pytest.mark.long("a rare layout; the model has clones and dropped schemas")
def test_only_a_clone_needs_it(session, spark, schema, clock, day):
    """A source in its schema's own folder, dropped, purged but for that, stays when the schema is dropped."""
    session.sql("CREATE SCHEMA emptied")
    spark.sql("CREATE TABLE emptied.t USING delta AS SELECT 1 AS a")
    session.sql("CREATE TABLE c CLONE emptied.t")
    session.sql("DROP TABLE emptied.t")
    day(20)
    purge(session, clock)
    session.sql("DROP SCHEMA emptied")
    assert session.sql("SELECT a FROM c").collect()[0][0] == 1


@pytest.mark.long("four purges over days; the model has clones, days and purges")
def test_what_a_clone_needs_stays(session, schema, clock, day):
    """The source is emptied, purged, dropped, purged: the clone reads on, until it is past it all, too."""
    session.sql("CREATE TABLE t AS SELECT /*+ REPARTITION(1) */ id AS a FROM range(100)")
    session.sql("INSERT INTO t SELECT 1000")
    shared = files(session, "t")
    session.sql("CREATE TABLE c CLONE t")
    session.sql("DELETE FROM c WHERE a = 1000")
    session.sql("DELETE FROM t")
    day(9)
    active, _, _, retained, purgeable = metrics(session, "t")
    assert (active, retained > purgeable, purgeable > 0) == (0, True, True)
    freed = purge(session, clock)[f"spark_catalog.{schema}.t", "VERSIONS"]
    assert (freed.bytes, freed.kept_for_clones) == (purgeable, retained)
    assert len(files(session, "t") & shared) == 1
    assert session.sql("SELECT count(*) FROM c").collect()[0][0] == 100
    session.sql("DROP TABLE t")
    day(18)
    assert f"spark_catalog.{schema}.t" not in {name for name, _ in purge(session, clock)}
    assert session.sql("SELECT count(*) FROM c").collect()[0][0] == 100
    session.sql("DROP TABLE c")
    day(27)
    assert set(purge(session, clock)) == {
        (f"spark_catalog.{schema}.t", "TABLE"), (f"spark_catalog.{schema}.c", "TABLE"),
    }  # fmt: skip


def test_a_running_query_keeps_what_it_may_read(session, schema, clock, day):
    """It "will delay moving any data … into Fail-safe, until the query completes"."""
    session.sql("CREATE TRANSIENT TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 0")
    session.sql("INSERT INTO t VALUES (1)")
    began, done = threading.Event(), threading.Event()

    @audit.procedure
    def waits(session):
        began.set()
        done.wait()

    running = threading.Thread(target=waits, args=(session,))
    running.start()
    began.wait()
    session.sql("DELETE FROM t")
    day(0.1)
    assert purge(session, clock) == {}
    audit.flush(session)
    running_rows = "SELECT * FROM account_usage.query_history WHERE execution_status = 'RUNNING'"
    assert session.sql(running_rows).count() > 0  # which stay so until the next ingest
    done.set()
    running.join()
    day(0.2)
    assert set(purge(session, clock)) == {(f"spark_catalog.{schema}.t", "VERSIONS")}


def test_fail_safe_brings_back(session, schema, clock, day):
    """A dropped table under another name, a schema with its table, an older state of a table."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    then = time.time_ns() // 1000
    session.sql("CREATE TABLE lost AS SELECT 7 AS a")
    session.sql("UPDATE t SET a = 2")
    session.sql("DROP TABLE lost")
    session.sql("CREATE SCHEMA gone")
    session.sql("CREATE TABLE gone.t AS SELECT 3 AS a")
    session.sql("DROP SCHEMA gone CASCADE")
    maintenance = time_travel_of(session).maintenance

    def actor():
        return Actor(clock.now(), "root", None, lambda: f"event-{clock.now()}")

    assert maintenance.recoverable(actor()) == []
    day(3)
    listed = {
        (one.object_name.removeprefix("spark_catalog."), one.kind) for one in maintenance.recoverable(actor())
    }
    assert {one for one in listed if one[0].startswith((schema, "gone"))} == {
        (f"{schema}.lost", "TABLE"), ("gone", "SCHEMA"), ("gone.t", "TABLE"), (f"{schema}.t", "VERSIONS"),
    }  # fmt: skip
    with pytest.raises(errors.OutsideRetentionError):
        session.sql(f"SELECT * FROM t AT (TIMESTAMP => timestamp_micros({then}))")
    fail_safe = maintenance.fail_safe(actor())
    fail_safe.restore((schema, "lost"), (schema, "found"))
    fail_safe.restore(("gone",))
    fail_safe.restore_version((schema, "t"), time.time_ns() // 1000 - 1, (schema, "now"))
    fail_safe.restore_version((schema, "t"), then, (schema, "then"))
    assert [
        session.sql(f"SELECT a FROM {name}").collect()[0][0] for name in ("found", "gone.t", "now", "then")
    ] == [7, 3, 2, 1]
    with pytest.raises(errors.NothingDroppedError):
        maintenance.fail_safe(actor()).restore((schema, "lost"))
    session.sql("DROP SCHEMA gone CASCADE")


def test_vacuum_keeps_what_is_kept(session, schema):
    """Whatever it is told; what is kept for less, or not under this rule, is Delta's to judge."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(errors.RetainedError, match="192 hours"):
        session.sql("VACUUM t RETAIN 0 HOURS")
    with pytest.raises(errors.RetainedError, match="192 hours"):
        DeltaTable.forName(session, "t").vacuum(1)
    session.sql("VACUUM t RETAIN 200 HOURS")
    session.sql("VACUUM t")
    session.sql("CREATE TABLE c CLONE t")
    with pytest.raises(errors.RetainedError, match="clones of it"):
        session.sql("VACUUM t RETAIN 1000 HOURS")


def test_a_path_leads_to_a_table_that_is_kept(session, schema, tmp_path):
    """A link and a path with dots are the table itself: no VACUUM by them deletes what is kept."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("INSERT OVERWRITE t SELECT 2")
    place = Path(session.sql("DESCRIBE DETAIL t").first().location.removeprefix("file:"))
    (tmp_path / "link").symlink_to(place)
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        for path in (place, tmp_path / "link", f"{place.parent}/../{place.parent.name}//{place.name}/"):
            for text in (f"VACUUM delta.`{path}` RETAIN 0 HOURS", f"VACUUM '{path}' RETAIN 0 HOURS"):
                with pytest.raises(errors.RetainedError, match="192 hours"):
                    session.sql(text)
            with pytest.raises(errors.RetainedError, match="192 hours"):
                DeltaTable.forPath(session, str(path)).vacuum(0)
            read = session.sql(f"SELECT a FROM delta.`{path}` AT (VERSION => 0)")
            assert read.first().a == 1
    finally:
        session.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


@pytest.mark.slow("four purges")
def test_a_purge_that_was_broken_off(session, schema, clock, day, monkeypatch):
    """Half a folder deleted, its log damaged; past versions deleted in part: the next purge ends it."""
    session.sql("CREATE TABLE kept AS SELECT id AS a FROM range(4) DISTRIBUTE BY id")
    session.sql("CREATE TABLE gone AS SELECT 1 AS a")
    session.sql("INSERT INTO gone VALUES (2)")
    folder = next(iter(files(session, "gone"))).parent
    past = files(session, "kept")
    session.sql("DELETE FROM kept WHERE a < 10")
    session.sql("INSERT INTO kept VALUES (7)")
    session.sql("DROP TABLE gone")
    day(9)

    def half(catalog, location):
        assert Path(location.removeprefix("file:")) == folder
        (folder / "_delta_log" / "00000000000000000000.json").unlink()
        for path in list(folder.glob("*.parquet"))[:1]:
            path.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(DeltaCatalog, "delete", half)
    with pytest.raises(KeyboardInterrupt):
        purge(session, clock)
    monkeypatch.undo()
    for path in [path for path in past if path.exists()][:1]:
        path.unlink()
    assert metrics(session, "kept")[0] > 0
    with pytest.raises(errors.NothingDroppedError):
        session.sql("UNDROP TABLE gone")
    left = purge(session, clock, dry=True)
    assert left[f"spark_catalog.{schema}.gone", "TABLE"].files > 0
    assert purge(session, clock) == left
    assert not folder.exists()
    assert not any(path.exists() for path in past)
    assert purge(session, clock) == {}
    assert session.sql("SELECT a FROM kept").collect() == [(7,)]


@pytest.mark.long("a rare layout; test_a_dropped_table_goes_after_fail_safe has the usual one")
def test_tables_in_tables_folders(session, schema, clock, day, tmp_path):
    """What lies in the folder of a table that was dropped stays as long as it is a table of its own."""
    session.sql("CREATE TABLE outer_one AS SELECT 1 AS a")
    folder = next(iter(files(session, "outer_one"))).parent
    session.sql(f"CREATE TABLE inner_one USING delta LOCATION '{folder}/inside' AS SELECT 2 AS a")
    session.sql("DROP TABLE outer_one")
    day(9)
    assert (f"spark_catalog.{schema}.outer_one", "TABLE") in purge(session, clock)
    assert session.sql("SELECT a FROM inner_one").collect() == [(2,)]
    assert list(folder.glob("*.parquet")) == []
    session.sql("DROP TABLE inner_one")
    day(18)
    purge(session, clock)
    assert not folder.exists()


@pytest.mark.long("one more link than in test_what_a_clone_needs_stays")
def test_clones_of_clones(session, schema, clock, day):
    """The middle one goes first, then the oldest: the youngest reads on."""
    session.sql("CREATE TABLE a AS SELECT 1 AS x")
    session.sql("CREATE TABLE b CLONE a")
    session.sql("INSERT INTO b VALUES (2)")
    session.sql("CREATE TABLE c CLONE b")
    for number, name in ((9, "b"), (18, "a")):
        session.sql(f"DROP TABLE {name}")
        day(number)
        purge(session, clock)
        assert session.sql("SELECT x FROM c ORDER BY x").collect() == [(1,), (2,)]
    session.sql("DROP TABLE c")
    day(27)
    gone = {name.rpartition(".")[2] for name, _ in purge(session, clock)}
    assert gone == {"a", "b", "c"}


@pytest.mark.parametrize(
    "has_checksum", [False, pytest.param(True, marks=pytest.mark.long("the checksum is one more witness"))]
)
@pytest.mark.slow("three purges")
def test_a_damaged_log(session, schema, clock, day, has_checksum):
    """The views leave the table out and say so; a purge deletes nothing: it may be a clone of any."""
    cut, fine = (f"{name}_{has_checksum}".lower() for name in ("cut", "fine"))
    session.sql(f"CREATE TABLE {fine} AS SELECT 1 AS a")
    session.sql(f"CREATE TABLE {cut} AS SELECT 1 AS a")
    log = next(iter(files(session, cut))).parent / "_delta_log" / "00000000000000000000.json"
    text = log.read_text()
    session.sql(f"DROP TABLE {fine}")
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    log.write_text(text[: len(text) // 2])
    if not has_checksum:  # which tells Delta the state without the log
        log.with_suffix(".crc").unlink()
    cache = session._jvm.org.apache.spark.sql.delta.DeltaLog
    cache.clearCache()
    with pytest.warns(UserWarning, match=rf"{cut}.*cannot be read"):
        assert metrics(session, fine)[1] > 0
    day(9)
    with pytest.raises(errors.UnreadableTableError, match=cut):
        purge(session, clock)
    session.sql(f"DROP TABLE {cut}")
    with pytest.raises(errors.UnreadableTableError, match=cut):
        purge(session, clock)
    shown = session.sql(f"SHOW TABLES HISTORY LIKE '{cut}'").collect()
    assert [row["dropped_on"] is not None for row in shown] == [True]
    log.write_text(text)
    cache.clearCache()
    session.sql(f"UNDROP TABLE {cut}")
    assert session.sql(f"SELECT a FROM {cut}").collect() == [(1,)]
    assert (f"spark_catalog.{schema}.{fine}", "TABLE") in purge(session, clock)


@pytest.mark.long("vectors are found as the files of test_what_a_clone_needs_stays are")
def test_deletion_vectors(session, schema, clock, day):
    """A clone needs the source's vectors as it needs its files; others go with their versions."""
    session.sql(
        "CREATE TABLE t TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        " AS SELECT /*+ REPARTITION(1) */ id AS a FROM range(1000)"
    )
    folder = next(iter(files(session, "t"))).parent

    def vectors():
        return set(folder.glob("**/deletion_vector_*.bin"))

    session.sql("DELETE FROM t WHERE a % 7 = 3")
    first = vectors()
    session.sql("DELETE FROM t WHERE a % 7 = 4")
    session.sql("CREATE TABLE c CLONE t")
    cloned = vectors() - first
    session.sql("DELETE FROM t WHERE a % 7 = 5")
    assert (len(first), len(cloned), len(vectors())) == (1, 1, 3)
    day(16)
    freed = purge(session, clock)[f"spark_catalog.{schema}.t", "VERSIONS"]
    assert (freed.files, vectors() & (first | cloned)) == (1, cloned)
    session.sql("DROP TABLE t")
    day(32)
    purge(session, clock)
    assert vectors() == cloned
    session.catalog.refreshTable("c")
    assert session.sql("SELECT count(*), count_if(a % 7 IN (3, 4)) FROM c").collect() == [(714, 0)]


@pytest.mark.long("odd names of folders; test_what_a_clone_needs_stays has ordinary ones")
def test_hostile_partitions(session, schema, clock, day):
    """Whatever a path holds: what a clone needs is found under its name, and no table's own file goes."""
    values = ["a b", "a+b", "a%20b", "a%2Bb", "ü/ß", "a:b=c", "it''s", "#?&", "雪"]
    session.sql("CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES " + ", ".join(f"({n}, '{p}')" for n, p in enumerate(values)))
    session.sql("CREATE TABLE c CLONE t")
    session.sql("CREATE TABLE own (a INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO own SELECT * FROM t")
    session.sql("DELETE FROM t")
    session.sql("DELETE FROM own WHERE a > 0")
    day(16)
    freed = purge(session, clock)
    assert f"spark_catalog.{schema}.t" not in {name for name, _ in freed}
    assert freed[f"spark_catalog.{schema}.own", "VERSIONS"].files == len(values) - 1
    assert session.sql("SELECT count(*), count(DISTINCT p) FROM c").collect() == [(len(values), len(values))]
    assert session.sql("SELECT a, p FROM own").collect() == [(0, values[0])]
    assert len(files(session, "own")) == 1


@pytest.mark.long("tests/views/test_measured.py has owners")
def test_the_owner_is_who_was_granted_the_table(session, schema):
    """As SHOW GRANTS says, and not who started the driver; the view is there without an install."""
    session.sql("CREATE ROLE keepers")
    session.sql("CREATE TABLE owned AS SELECT 1 AS a")
    session.sql("GRANT OWNERSHIP ON TABLE owned TO ROLE keepers")
    found = session.sql(f"SELECT table_owner FROM account_usage.tables WHERE table_schema = '{schema}'")
    assert [row.table_owner for row in found.collect()] == ["KEEPERS"]
    session.sql("DROP ROLE keepers")
