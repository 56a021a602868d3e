"""Every clock that Delta and this project go by moves with `moving_clock`."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

from audit.core.clock import to_datetime
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
DAY = 86_400_000_000


@pytest.mark.long("80 seconds of a cold Spark; the model's walk moves the clock with each change")
def test_all_clocks_move_together(moving_session, moving_clock, spark):
    """Commits, removed files, VACUUM, Delta's own limit, current_timestamp(), and our retention."""
    session = moving_session
    session.sql("CREATE SCHEMA moving")
    # Without deletion vectors: an UPDATE removes the file.
    session.sql("CREATE TABLE moving.t (i INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    session.sql("INSERT INTO moving.t VALUES (1)")
    before = moving_clock.now()
    moving_clock.advance(days=9)
    assert moving_clock.now() - before >= 9 * DAY
    session.sql("UPDATE moving.t SET i = 2")
    later = spark.sql("SELECT unix_micros(current_timestamp()) AS now").first().now
    assert abs(later - moving_clock.now()) < 60_000_000
    versions = session.sql("DESCRIBE HISTORY moving.t").select("version", "timestamp").collect()
    committed = {row.version: row.timestamp.timestamp() for row in versions}
    assert committed[2] - committed[1] >= 9 * 86400
    # The first version was current until a moment ago: a VACUUM keeps its file.
    assert spark.sql("VACUUM moving.t DRY RUN").count() == 0
    moving_clock.advance(days=9)
    assert spark.sql("VACUUM moving.t DRY RUN").count() == 1
    with pytest.raises(AnalysisException, match="DELETED_FILE_RETENTION"):
        spark.sql("SELECT * FROM moving.t VERSION AS OF 1")
    at = to_datetime(before)
    with pytest.raises(Exception, match="outside the retention period"):
        session.sql(f"SELECT * FROM moving.t AT (TIMESTAMP => '{at:%F %T.%f}+00:00')")
    session.sql("DROP SCHEMA moving CASCADE")
