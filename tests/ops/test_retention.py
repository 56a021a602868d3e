"""Retention: whole days go, exactly when they are too old."""

from __future__ import annotations

from datetime import date

import pytest

from audit.core.clock import ManualClock
from audit.ingest.folder import ingest_folder
from audit.store.days.kept_days import oldest_kept
from audit.store.days.retention import retain

from .helpers import DAY, NOON, WRITE, Source, make_tables, read

MIDNIGHT = NOON + DAY // 2  # 2026-01-02T00:00:00Z


@pytest.mark.parametrize(
    ("now", "first"),
    [(MIDNIGHT - 1, date(2025, 1, 1)), (MIDNIGHT, date(2025, 1, 2)), (MIDNIGHT + DAY - 1, date(2025, 1, 2))],
)
def test_a_day_goes_at_midnight(now, first):
    """A day goes when its last microsecond is more than 365 days old: at midnight (UTC), not before."""
    assert oldest_kept(now, 365) == first


@pytest.mark.spark
@pytest.mark.slow("deletes from four tables")
def test_days_are_deleted_whole_and_freed(spark, tmp_path):
    """Of four days the two too old go, to the microsecond, from all tables; their files when Delta may."""
    make_tables(spark, tmp_path)
    source = Source(tmp_path, MIDNIGHT, tick=0)
    source.access = WRITE
    for at in (MIDNIGHT - 367 * DAY, MIDNIGHT - 365 * DAY - 1, MIDNIGHT - 365 * DAY, MIDNIGHT - 1):
        source.clock.set(at)
        source.run()
    source.spool.rotate()
    ingest_folder(spark, source.spool.path, str(tmp_path))
    clock = ManualClock(MIDNIGHT)
    longer = {"query_history": 2_555}
    own = retain(spark, str(tmp_path), lambda table: longer.get(table, 365), clock, dry_run=True)
    assert {one.table: len(one.days) for one in own if one.days} == {
        "access_history": 2,
        "column_lineage": 2,
        "table_lineage": 2,
    }
    planned = retain(spark, str(tmp_path), lambda _table: 365, clock, dry_run=True)
    assert len(read(spark, tmp_path)) == 4
    assert retain(spark, str(tmp_path), lambda _table: 365, clock) == planned
    assert [one.days for one in planned] == [(date(2024, 12, 31), date(2025, 1, 1))] * 4
    assert {one.table: one.rows for one in planned} == {
        "access_history": 2,
        "column_lineage": 16,
        "table_lineage": 4,
        "query_history": 2,
    }
    kept = {date(2025, 1, 2), date(2026, 1, 1)}
    assert {row.query_date for row in read(spark, tmp_path)} == kept
    for table in ("access_history", "column_lineage", "table_lineage"):
        assert {row.query_date for row in read(spark, tmp_path, table)} == kept
    history = spark.sql(f"DESCRIBE HISTORY delta.`{tmp_path}/query_history`")
    deletion = history.where("operation = 'DELETE'").first()
    assert (deletion.operationMetrics["numRemovedFiles"], deletion.operationMetrics["numAddedFiles"]) == (
        "2",
        "0",
    )
    old = [*tmp_path.glob("query_history/query_date=202[45]-*/*.parquet")]
    assert len(old) == 3
    spark.sql(
        f"ALTER TABLE delta.`{tmp_path}/query_history`"
        " SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    assert [one.days for one in retain(spark, str(tmp_path), lambda _table: 365, clock)] == [()] * 4
    assert [file.parent.name for file in old if file.exists()] == ["query_date=2025-01-02"]
