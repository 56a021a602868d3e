"""Retention: whole days go, exactly when they are too old."""

from __future__ import annotations

from datetime import date

import pytest

from audit.clock import ManualClock
from audit.ingest import ingest_folder
from audit.retention import oldest_kept, retain

from .helpers import DAY, NOON, Source, make_tables, read

MIDNIGHT = NOON + DAY // 2  # 2026-01-02T00:00:00Z


@pytest.mark.parametrize(
    ("now", "first"),
    [(MIDNIGHT - 1, date(2025, 1, 1)), (MIDNIGHT, date(2025, 1, 2)), (MIDNIGHT + DAY - 1, date(2025, 1, 2))],
)
def test_a_day_goes_at_midnight(now, first):
    """A day goes when its last microsecond is more than 365 days old: at midnight (UTC), not before."""
    assert oldest_kept(now, 365) == first


@pytest.mark.spark
def test_days_are_deleted_whole_and_once(spark, tmp_path):
    """Of four days the two too old go, at the boundary's microsecond, from both tables, and none twice."""
    make_tables(spark, tmp_path)
    source = Source(tmp_path, MIDNIGHT - 366 * DAY - 1)
    begin = source.clock.now
    for at in (MIDNIGHT - 367 * DAY, MIDNIGHT - 365 * DAY - 1, MIDNIGHT - 365 * DAY, MIDNIGHT - 1):
        source.clock.set(at)
        started = source.start()
        source.end(started)
    assert begin() > 0
    source.spool.rotate()
    ingest_folder(spark, source.spool.path, str(tmp_path))
    before = {row.query_id: row.query_date for row in read(spark, tmp_path)}
    clock = ManualClock(MIDNIGHT)
    planned = retain(spark, str(tmp_path), 365, clock, dry_run=True)
    assert len(read(spark, tmp_path)) == 4
    deleted = retain(spark, str(tmp_path), 365, clock)
    assert planned == deleted
    assert [one.days for one in deleted] == [(date(2024, 12, 31), date(2025, 1, 1))] * 2
    assert [one.rows for one in deleted] == [2, 2]
    kept = {date(2025, 1, 2), date(2026, 1, 1)}
    assert {row.query_date for row in read(spark, tmp_path)} == kept
    assert {row.query_date for row in read(spark, tmp_path, "access_history")} == kept
    assert sorted(before.values())[2:] == sorted(kept)
    assert [one.days for one in retain(spark, str(tmp_path), 365, clock)] == [(), ()]
    newest = (
        spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}/query_history`").where("operation = 'DELETE'").first()
    )
    assert newest.operationMetrics["numAddedFiles"] == "0"


@pytest.mark.spark
def test_freed_by_the_tables_own_retention(spark, tmp_path):
    """The files of a deleted day stay for readers for as long as the table says, and are freed after that."""
    make_tables(spark, tmp_path)
    source = Source(tmp_path)
    source.run()
    source.spool.rotate()
    ingest_folder(spark, source.spool.path, str(tmp_path))
    clock = ManualClock(NOON + 3 * DAY)
    retain(spark, str(tmp_path), 1, clock)
    files = [*tmp_path.glob("query_history/query_date=*/*.parquet")]
    assert len(files) == 1
    table = f"delta.`{tmp_path}/query_history`"
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    retain(spark, str(tmp_path), 1, clock)
    assert not any(file.exists() for file in files)
