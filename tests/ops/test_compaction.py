"""Small files are put together: every row stays, whoever wrote it, and no Spark job runs for it."""

from __future__ import annotations

import random
from datetime import date

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

import audit
from audit.spark.delta import append_files
from audit.store.commit_lock import commit_lock
from audit.store.days import compaction
from audit.store.tables import AUDIT_TABLES, DIGESTS, QUERY_HISTORY
from tests.evidence.tampering import files_of, newest
from tests.evidence.test_log import faults

from .helpers import WRITE, read
from .test_ingest import take

pytestmark = pytest.mark.spark
OLD = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"


@pytest.fixture
def due(monkeypatch):
    """It is due at each commit, when the test says so."""

    def switch(every):
        monkeypatch.setattr(compaction, "EVERY", every)

    switch(1_000)
    return switch


def small_files(spark, source, root, number=3):
    """Ingests of a few rows each; the statements."""
    ids = []
    for _ in range(number):
        ids += source.run(2)
        take(spark, source, root)
    return ids


def compact(spark, root, table=QUERY_HISTORY, first="2026-01-01"):
    """As after an ingest of one commit on the first day that tests have; the new version."""
    with audit.suppress(), commit_lock(spark, str(root)):
        return compaction.compact(spark, table, str(root), 1, date.fromisoformat(first))


def contents(spark, root):
    """The rows of each table."""
    return {one.name: sorted(map(repr, read(spark, root, one.name))) for one in AUDIT_TABLES}


def live_files(root, table="query_history"):
    """How many files a table has."""
    return len(files_of(root, table))


def parquet_files(root, table="query_history"):
    """What lies in the folder of a table, whether its log names it or not."""
    return sorted(str(path.relative_to(root / table)) for path in (root / table).rglob("*.parquet"))


def jobs(spark):
    """How many Spark jobs have been started."""
    return spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()


def test_small_files_are_compacted(spark, source, tmp_path, due):
    """However many small ingests there were, a partition has a bounded number of files, and every row."""
    due(3)
    ids = []
    for _ in range(8):
        ids += small_files(spark, source, tmp_path, 1)
        assert live_files(tmp_path) <= 4
    assert live_files(tmp_path, "access_history") <= 4
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids


def test_no_spark_job_runs_for_it(spark, source, tmp_path, due):
    """Three files of two rows become one, by a commit that says so."""
    ids = small_files(spark, source, tmp_path)
    due(1)
    before = jobs(spark)
    version = compact(spark, tmp_path)
    assert jobs(spark) == before
    assert version == newest(tmp_path, "query_history") == 4
    (commit, *_) = DeltaTable(tmp_path / "query_history").history(1)
    assert commit["operation"] == "OPTIMIZE"
    (only,) = pa.table(DeltaTable(tmp_path / "query_history").get_add_actions(flatten=True)).to_pylist()
    assert (only["num_records"], only["min.query_id"], only["max.query_id"]) == (6, ids[0], ids[-1])
    assert (only["min.user_name"], only["null_count.start_time"]) == ("ann", 0)
    assert compact(spark, tmp_path) is None


@pytest.mark.parametrize("seed", range(3))
def test_random_histories(spark, source, tmp_path, due, seed):
    """Spark's files among them, whose times are INT96; days, edges; rows and signatures stay."""
    chance = random.Random(seed)  # noqa: S311 - data, no secret
    running = []
    for _ in range(12):
        step = chance.choice(("run", "run", "edges", "start", "end", "day", "compact"))
        source.access = WRITE if step == "edges" else type(WRITE)("SELECT")
        if step in {"run", "edges"}:
            source.run(chance.randint(1, 3))
        elif step == "start":
            running.append(source.start())
        elif step == "end" and running:
            source.end(running.pop(), chance.choice(("SUCCESS", "FAIL")))
        elif step == "day":
            source.clock.advance(days=1)
        elif step == "compact":
            due(1)
            known, before = contents(spark, tmp_path), jobs(spark)
            for table in AUDIT_TABLES:
                compact(spark, tmp_path, table)
            assert jobs(spark) == before
            assert contents(spark, tmp_path) == known
            due(1_000)
        if step in {"run", "edges", "start", "end"}:
            take(spark, source, tmp_path)
    due(1)
    known = contents(spark, tmp_path)
    for table in AUDIT_TABLES:
        compact(spark, tmp_path, table)
        days = [name.partition("/")[0] for name in files_of(tmp_path, table.name)]
        assert len(days) == len({*days})
    assert contents(spark, tmp_path) == known
    assert [one for one in faults(tmp_path) if one[1] != "no record"] == []


def test_a_table_without_files(spark, source, tmp_path, due):
    """All its days have been deleted."""
    small_files(spark, source, tmp_path)
    DeltaTable(tmp_path / "query_history").delete()
    due(1)
    assert compact(spark, tmp_path) is None


def test_only_what_had_statistics_gets_them(spark, source, tmp_path, due):
    """The log of digests has long texts, which would stand in the table's log as well."""
    small_files(spark, source, tmp_path)
    due(1)
    with audit.suppress(), commit_lock(spark, str(tmp_path)):
        assert compaction.compact(spark, DIGESTS, str(tmp_path), 1) == newest(tmp_path, "digests")
    (only,) = pa.table(DeltaTable(tmp_path / "digests").get_add_actions(flatten=True)).to_pylist()
    assert only["min.sequence"] == 0
    assert only["max.sequence"] == only["num_records"] - 1
    assert (only["min.body"], only["null_count.body"]) == (None, None)


def test_earlier_days_are_left(spark, source, tmp_path, due):
    """An ingest looks at the days that it wrote, and at the one before."""
    small_files(spark, source, tmp_path, 2)
    source.clock.advance(days=5)
    small_files(spark, source, tmp_path, 2)
    due(1)
    assert live_files(tmp_path) == 4
    compact(spark, tmp_path, first="2026-01-06")
    assert live_files(tmp_path) == 3


def test_large_files_are_left(spark, source, tmp_path, due, monkeypatch):
    """They would be written anew each time."""
    small_files(spark, source, tmp_path)
    due(1)
    monkeypatch.setattr(compaction, "_SMALL", 100)
    assert compact(spark, tmp_path) is None
    assert live_files(tmp_path) == 3


def test_many_files_become_several(spark, source, tmp_path, due, monkeypatch):
    """No more of them are read at once than memory allows, and rows are written as they come."""
    ids = small_files(spark, source, tmp_path, 5)
    due(1)
    size = max((tmp_path / "query_history" / name).stat().st_size for name in parquet_files(tmp_path))
    monkeypatch.setattr(compaction, "_TOGETHER", 2 * size)
    monkeypatch.setattr(compaction, "_ROWS", 1)
    compact(spark, tmp_path)
    assert live_files(tmp_path) == 3
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids


def test_a_table_that_has_gained_a_column_since(spark, source, tmp_path, due):
    """Files of before lack it: Spark puts them together."""
    small_files(spark, source, tmp_path, 2)
    table = DeltaTable(tmp_path / "query_history")
    older = table.to_pyarrow_table().slice(0, 1).drop_columns(["purpose"])
    write_deltalake(table, older, mode="append", schema_mode="merge")
    assert live_files(tmp_path) == 3
    due(1)
    known, before = contents(spark, tmp_path), jobs(spark)
    compact(spark, tmp_path)
    assert jobs(spark) > before
    assert live_files(tmp_path) == 1
    assert contents(spark, tmp_path) == known


def test_deletion_vectors(spark, source, tmp_path, due):
    """Somebody has switched them on, and deleted: rows that are gone stay gone."""
    ids = small_files(spark, source, tmp_path)
    path = f"delta.`{tmp_path}/query_history`"
    with audit.suppress():
        spark.sql(f"ALTER TABLE {path} SET {OLD}")
        spark.sql(f"DELETE FROM {path} WHERE query_id = '{ids[0]}'")
    with pytest.raises(DeltaError):
        DeltaTable(tmp_path / "query_history").to_pyarrow_table()
    due(1)
    compact(spark, tmp_path)
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids[1:]


def test_others_write_meanwhile(spark, source, tmp_path, due, monkeypatch):
    """Who does not know the lock, as delta-rs: it is left to the next ingest, and nothing is left behind."""
    ids = small_files(spark, source, tmp_path)

    def first_others(*given, **named):
        table = DeltaTable(tmp_path / "query_history")
        table.delete(f"query_id = '{ids[0]}'")
        known.extend(parquet_files(tmp_path))
        return append_files.replace_files(*given, **named)

    known = []
    due(1)
    monkeypatch.setattr(compaction, "replace_files", first_others)
    assert compact(spark, tmp_path) is None
    assert len(parquet_files(tmp_path)) == len(known) - 1
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids[1:]
    monkeypatch.undo()
    due(1)
    assert compact(spark, tmp_path) == newest(tmp_path, "query_history")
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids[1:]


def test_killed_before_its_commit(spark, source, tmp_path, due, monkeypatch):
    """The files of before are what the table has."""
    ids = small_files(spark, source, tmp_path)

    def killed(*given, **named):
        raise KeyboardInterrupt

    due(1)
    monkeypatch.setattr(compaction, "replace_files", killed)
    with pytest.raises(KeyboardInterrupt):
        compact(spark, tmp_path)
    monkeypatch.undo()
    assert sorted(row.query_id for row in read(spark, tmp_path)) == ids
    due(1)
    compact(spark, tmp_path)
    assert live_files(tmp_path) == 1


def test_a_file_that_cannot_be_read(spark, source, tmp_path, due):
    """Nothing is left of what was begun, of this day or of an earlier one."""
    small_files(spark, source, tmp_path)
    source.clock.advance(days=1)
    small_files(spark, source, tmp_path)
    last = parquet_files(tmp_path)[-1]
    (tmp_path / "query_history" / last).write_bytes(b"PAR1 damaged PAR1")
    due(1)
    known = parquet_files(tmp_path)
    with pytest.raises(Exception, match="Parquet"):
        compact(spark, tmp_path)
    assert parquet_files(tmp_path) == known


def test_names_with_escapes_are_left(spark, source, tmp_path, due):
    """Somebody else has written them."""
    small_files(spark, source, tmp_path, 2)
    said = pa.table(DeltaTable(tmp_path / "access_history").get_add_actions(flatten=True))
    named = said.set_column(0, "path", pa.array(["a%20b.parquet", "c.parquet"]))
    assert [one.name for one in compaction._small(named, None)] == ["c.parquet"]
