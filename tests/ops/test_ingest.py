"""Ingest: exactly one row a statement, whoever runs and whatever was in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.core.errors import IngestError, RecordLossWarning
from audit.evidence.digest_log import DigestLog
from audit.ingest import folder as ingest
from audit.ingest.folder import ingest_folder
from audit.ingest.running import Published, publish, running_in
from audit.record.access_record import Ended, build_row
from audit.spool import Spool
from audit.store.commit_lock import commit_lock
from audit.store.tables import AUDIT_TABLES, AuditTable

from .helpers import (
    DAY,
    NOON,
    WRITE,
    Source,
    edges,
    ingest_all,
    make_tables,
    read,
    recorded,
    statuses,
)

pytestmark = pytest.mark.spark


def take(spark, source, root):
    """Seal and ingest, showing what runs."""
    source.spool.rotate()
    return ingest_folder(spark, source.spool.path, str(root), lambda: running_in(source.spool.path))


def take_and_die(spark, source, root, monkeypatch, committed):
    """Seal and ingest, killed behind the commit of a table."""

    def append(session, table, at, *args, **kwargs):
        appended(session, table, at, *args, **kwargs)
        if table.name == committed and at == str(root):  # not the shared driver's own ingest
            raise RuntimeError("killed")

    appended = ingest._append
    monkeypatch.setattr(ingest, "_append", append)
    with pytest.raises(RuntimeError, match="killed"):
        take(spark, source, root)
    monkeypatch.undo()


def test_an_ingest_starts_no_spark_job(spark, source, tmp_path):
    """Nor does the first one of a root, whose log of digests is empty: a driver's first job takes seconds."""

    def started():
        return spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()

    DigestLog(spark, str(tmp_path), tmp_path, source.clock).prepare()  # as an attach does
    for _ in range(2):
        source.run(3)
        before = started()
        take(spark, source, tmp_path)
        assert started() == before
    assert len(statuses(spark, tmp_path)) == 6
    assert started() > before


def test_a_running_statement_shows_once_and_ends_once(spark, source, tmp_path):
    """RUNNING at each ingest while it runs, and one final row when its record has come."""
    (done,) = source.run()
    running, failing = source.start(), source.start()
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {
        done: "SUCCESS",
        running.query_id: "RUNNING",
        failing.query_id: "RUNNING",
    }
    take(spark, source, tmp_path)
    source.end(running)
    source.end(failing, "FAIL")
    later = source.run(2)
    take(spark, source, tmp_path)
    final = {done: "SUCCESS", running.query_id: "SUCCESS", failing.query_id: "FAIL"}
    assert statuses(spark, tmp_path) == final | dict.fromkeys(later, "SUCCESS")
    assert recorded(spark, tmp_path) == dict.fromkeys([done, running.query_id, *later], 1)
    assert not Published.load(source.spool.path).days


def test_the_running_of_a_dead_driver_are_incomplete(spark, source, tmp_path):
    """RUNNING rows of a driver that died become INCOMPLETE when its spool is adopted, and the spool goes."""
    running = source.start()
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {running.query_id: "RUNNING"}
    ended = source.start()
    source.spool.end(ended.query_id, {"status": "SUCCESS", "end_time": source.clock.now()})
    unseen = source.start()
    source.die()
    (done,) = ingest_all(spark, tmp_path)
    assert done.error is None
    assert statuses(spark, tmp_path) == {
        running.query_id: "INCOMPLETE",
        ended.query_id: "SUCCESS",
        unseen.query_id: "INCOMPLETE",
    }
    assert recorded(spark, tmp_path) == {ended.query_id: 1}
    assert not source.spool.path.exists()


def test_a_running_row_whose_start_is_lost_is_closed(spark, source, tmp_path):
    """Where the journal of a dead driver is gone, its RUNNING row does not stay for ever."""
    running = source.start()
    take(spark, source, tmp_path)
    source.die()
    for path in (source.spool.path / "journal").iterdir():
        path.unlink()
    ingest_all(spark, tmp_path)
    assert statuses(spark, tmp_path) == {running.query_id: "INCOMPLETE"}


def test_publishing_again_after_a_kill_is_a_no_op(spark, source, tmp_path):
    """Killed between the commit and the note of it, the next ingest does not publish twice."""
    running = source.start()
    publish(spark, source.spool.path, str(tmp_path), [running])
    done = Published.load(source.spool.path)
    row = build_row(running, Ended("RUNNING"), None)["query"]
    Published(done.days, (row,)).save(source.spool.path)
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {running.query_id: "RUNNING"}


@pytest.mark.parametrize(
    "committed",
    [
        "access_history",
        *(
            pytest.param(name, marks=pytest.mark.long("behind another of the four commits"))
            for name in ("column_lineage", "query_history")
        ),
    ],
)
@pytest.mark.slow("two batches and their repetition")
def test_a_batch_run_again_adds_nothing(spark, source, tmp_path, monkeypatch, committed):
    """Killed behind the commit of any table, the batch, run again with more, makes each row once."""
    source.access = WRITE
    shown = source.start()
    take(spark, source, tmp_path)
    source.end(shown)
    done = source.run(2)

    take_and_die(spark, source, tmp_path, monkeypatch, committed)
    later = source.run()
    take(spark, source, tmp_path)
    ids = [shown.query_id, *done, *later]
    assert statuses(spark, tmp_path) == dict.fromkeys(ids, "SUCCESS")
    assert recorded(spark, tmp_path) == dict.fromkeys(ids, 1)
    assert edges(spark, tmp_path) == dict.fromkeys(ids, 8)
    assert edges(spark, tmp_path, "table_lineage") == dict.fromkeys(ids, 2)


def test_a_kill_behind_the_last_commit(spark, source, tmp_path, monkeypatch):
    """What is committed is only removed: nothing is looked up, and nothing is twice."""
    done = source.run(2)
    source.spool.rotate()

    def removed(*_args):
        raise RuntimeError("killed")

    monkeypatch.setattr(ingest, "remove_ingested", removed)
    with pytest.raises(RuntimeError, match="killed"):
        ingest_folder(spark, source.spool.path, str(tmp_path))
    monkeypatch.undo()
    monkeypatch.setattr(ingest, "missing_rows", None)
    later = source.run()
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == dict.fromkeys([*done, *later], "SUCCESS")
    assert recorded(spark, tmp_path) == dict.fromkeys([*done, *later], 1)
    assert not source.spool.sealed()
    assert not (source.spool.path / "batch.json").exists()


def test_what_cannot_be_signed_leaves_no_file(spark, source, tmp_path, monkeypatch):
    """Files are written beside the signature; without one they go, and the records stay in the spool."""
    make_tables(spark, tmp_path)
    source.access = WRITE
    (query_id,) = source.run()

    def refuse(*_args, **_words):
        raise IngestError("no key", "find it")

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "bind_batch", refuse)
        with pytest.raises(IngestError, match="no key"):
            take(spark, source, tmp_path)
    assert [path for table in AUDIT_TABLES for path in (tmp_path / table.name).rglob("*.parquet")] == []
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {query_id: "SUCCESS"}


def test_a_record_of_another_version_stays_in_the_spool(spark, source, tmp_path):
    """The error says where, and nothing of its batch is in the tables."""
    source.run()
    started = source.start()
    row = source.row(started, Ended("SUCCESS", source.clock.now()))
    row["query"]["rows_produced"] = "many"
    source.spool.record(started.query_id, row)
    with pytest.raises(IngestError, match=r"a record in .*sealed is not of this version's form"):
        take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {}
    assert len(source.spool.sealed()) == 1


def test_files_are_as_delta_writes_them(spark, source, tmp_path):
    """The same rows, day and statistics as of a write by Spark; days lie apart, and a reader opens one."""
    source.access = WRITE
    source.clock.set(NOON + DAY // 2 - 4000)  # the end of a day
    ids = source.run()
    source.clock.set(NOON + DAY // 2)
    ids += source.run(2)
    take(spark, source, tmp_path)
    for table in AUDIT_TABLES:
        made = spark.read.format("delta").load(table.location(str(tmp_path)))
        by_spark = AuditTable(f"by_spark_{table.name}", table.time, table.columns, table.stats_columns)
        spark.sql(by_spark.create_sql(str(tmp_path)))
        spark.createDataFrame(made.drop("query_date").toArrow()).coalesce(1).write.format("delta").mode(
            "append"
        ).save(by_spark.location(str(tmp_path)))
        written = spark.read.format("delta").load(by_spark.location(str(tmp_path)))
        assert sorted(map(str, made.collect())) == sorted(map(str, written.collect()))
        ours, theirs = (stats(one.location(str(tmp_path))) for one in (table, by_spark))
        assert ours.keys() == theirs.keys() == {"2026-01-01", "2026-01-02"}
        for day, found in ours.items():
            wanted = theirs[day]
            assert found["numRecords"] == wanted["numRecords"]
            assert found["nullCount"] == wanted["nullCount"]
            assert found["minValues"].keys() == wanted["minValues"].keys()
            for name, least in wanted["minValues"].items():
                # A longer text is cut off by Delta, a microsecond by both: outwards by us.
                assert str(found["minValues"][name]).startswith(str(least)[:19])
                assert str(found["maxValues"][name]).startswith(str(wanted["maxValues"][name])[:19])
    assert sorted(statuses(spark, tmp_path)) == sorted(ids)
    opened = spark.read.format("delta").load(f"{tmp_path}/query_history")
    assert len(opened.where("start_time < TIMESTAMP'2026-01-02 00:00:00Z'").inputFiles()) == 1


def stats(location):
    """The statistics of the files of a table, by day."""
    found = {}
    for commit in Path(location, "_delta_log").glob("*.json"):
        for line in commit.read_text().splitlines():
            if added := json.loads(line).get("add"):
                found[added["partitionValues"]["query_date"]] = json.loads(added["stats"])
    return found


def test_a_damaged_record_takes_no_running_row_away(spark, source, tmp_path):
    """What is shown as RUNNING stays until a record that is whole takes its place."""
    shown = source.start()
    take(spark, source, tmp_path)
    source.end(shown)
    source.spool.rotate()
    (segment,) = source.spool.sealed()
    *before, record = segment.read_bytes().splitlines(keepends=True)
    assert record[9:10] == b"R"
    segment.write_bytes(b"".join([*before, record.replace(b"SUCCESS", b"SUCCESX")]))
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {shown.query_id: "RUNNING"}
    assert recorded(spark, tmp_path) == {}


def test_a_root_may_have_any_name(spark, tmp_path):
    """Spaces, percent signs, letters beyond ASCII and what Hadoop takes for patterns are parts of a name."""
    root = tmp_path / "a b%20 donnée [x]{y,z}*?"
    root.mkdir()
    make_tables(spark, root)
    source = Source(root)
    ids = source.run(2)
    take(spark, source, root)
    ids += source.run()
    take(spark, source, root)
    assert statuses(spark, root) == dict.fromkeys(ids, "SUCCESS")
    assert recorded(spark, root) == dict.fromkeys(ids, 1)


def test_a_gap_is_a_row(spark, source, tmp_path):
    """What could not be recorded is told where an auditor looks: one row of query_history, none of access."""
    with Spool.open(tmp_path, max_bytes=3000, on_record_failure="warn", ids=source.ids) as spool:
        with pytest.warns(RecordLossWarning):
            assert not spool.start("lost", {"text": "x" * 4000})
        started = source.start()
        spool.record(started.query_id, source.row(started, Ended("SUCCESS", source.clock.now())))
        spool.rotate()
        ingest_folder(spark, spool.path, str(tmp_path))
    found = {row.query_type: row for row in read(spark, tmp_path)}
    assert set(found) == {"SELECT", "GAP"}
    gap = found["GAP"]
    assert (gap.execution_status, gap.error_code) == ("INCOMPLETE", "AUDIT_GAP_REFUSED")
    assert "1 statements may have run without a record" in gap.error_message
    assert list(recorded(spark, tmp_path)) == [started.query_id]


@pytest.mark.parametrize("left", [None, ".00000000000000000000.json.0d1c.tmp"])
def test_a_table_whose_creation_was_killed_is_created(spark, tmp_path, left):
    """A log's folder without a commit, empty or with a half-written one, is no table and stands in no way."""
    for name in ("access_history", "query_history"):
        log = tmp_path / name / "_delta_log"
        log.mkdir(parents=True)
        if left:
            (log / left).write_text('{"commitInfo"')
    make_tables(spark, tmp_path)
    source = Source(tmp_path)
    (query_id,) = source.run()
    take(spark, source, tmp_path)
    assert statuses(spark, tmp_path) == {query_id: "SUCCESS"}


def test_others_wait_for_the_commit_lock(spark, tmp_path):
    """While one thread or process writes under a root, another waits, and says so when it takes too long."""
    with (
        commit_lock(spark, str(tmp_path)),
        pytest.raises(IngestError, match=f"written under {tmp_path}"),
        commit_lock(spark, str(tmp_path), timeout=0.1),
    ):
        pass
    with commit_lock(spark, str(tmp_path), timeout=0.1):
        pass
