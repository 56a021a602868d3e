"""Stories of tables that nobody has touched for long: their last state stays in reach while it is current."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from audit.core.actor import Actor
from audit.core.ids import IdGenerator
from audit.testing import records
from audit.time_travel import errors
from audit.time_travel.attached import time_travel_of
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES


def rows(frame):
    """As tuples, in order."""
    return sorted(tuple(row) for row in frame.collect())


@pytest.fixture
def rested(moving_session, moving_clock):
    """A table and a view, last written forty days ago and overwritten now; the id of what overwrote it."""
    session = moving_session
    session.sql("CREATE SCHEMA rested")
    session.sql("USE rested")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("CREATE VIEW v AS SELECT a AS k FROM t")
    moving_clock.advance(days=40)
    session.sql("INSERT OVERWRITE t VALUES (2)")
    yield session.sql("DESCRIBE HISTORY t").first().userMetadata
    session.sql("USE default")
    session.sql("DROP SCHEMA rested CASCADE")


def _read_in_all_forms(session, place, rested):
    for asked in (
        f"t BEFORE (STATEMENT => '{rested}')",
        "t AT (OFFSET => -3600)",
        "t AT (VERSION => 1)",
        "t VERSION AS OF 1",
        "t TIMESTAMP AS OF current_timestamp() - INTERVAL 1 HOUR",
        "t@v1",
        f"delta.`{place}@v1`",
        "v AT (OFFSET => -3600)",
        f"v BEFORE (STATEMENT => '{rested}')",
    ):
        assert rows(session.sql(f"SELECT * FROM {asked}")) == [(1,)], asked
    reader = session.read.format("delta")
    assert rows(session.table("t@v1")) == [(1,)]
    assert rows(session.read.option("versionAsOf", 1).table("t")) == [(1,)]
    assert rows(reader.option("versionAsOf", 1).load(place)) == [(1,)]
    assert rows(session.read.format("delta").load(f"{place}@v1")) == [(1,)]


@pytest.mark.parametrize(
    "forms", ["few", pytest.param("all", marks=pytest.mark.long("eleven more ways to read it"))]
)
def test_i_overwrote_a_table_that_nobody_had_touched_for_a_month(moving_session, moving_clock, rested, forms):
    """I can read what it was, in every form, for as long as its retention says, and after a VACUUM."""
    session = moving_session
    place = session.sql("DESCRIBE DETAIL t").first().location
    few = (f"t BEFORE (STATEMENT => '{rested}')", "t@v1", "v AT (OFFSET => -3600)")
    if forms == "all":
        session.sql("VACUUM t")
        _read_in_all_forms(session, place, rested)
    for asked in few:
        assert rows(session.sql(f"SELECT * FROM {asked}")) == [(1,)], asked
    # Delta alone would refuse it: it was committed before its own retention began.
    script = "BEGIN SELECT * FROM t VERSION AS OF 1; END"
    for text in (script, "EXECUTE IMMEDIATE 'SELECT * FROM t@v1'"):
        assert rows(session.sql(text)) == [(1,)], text
    (found,) = session._jsparkSession.sql("SELECT a FROM t VERSION AS OF 1").collect()
    assert found.getInt(0) == 1

    # What was no longer current when the retention began was never in reach.
    with pytest.raises(errors.OutsideRetentionError, match="version 0"):
        session.sql("SELECT * FROM t VERSION AS OF 0")
    with pytest.raises(errors.OutsideRetentionError, match="version 0"):
        session.table("t@v0")
    for text in (script.replace("1", "0"), "EXECUTE IMMEDIATE 'SELECT * FROM t@v0'"):
        with pytest.raises(errors.OutsideRetentionError, match="version 0"):
            session.sql(text)
    with pytest.raises(Exception, match="version 0"):
        session._jsparkSession.sql("SELECT a FROM t VERSION AS OF 0")

    # A day later it has left the retention, though Delta still has its files.
    moving_clock.advance(days=1, hours=1)
    for asked in (f"t BEFORE (STATEMENT => '{rested}')", "t@v1", "v AT (OFFSET => -90000)"):
        with pytest.raises(errors.OutsideRetentionError):
            session.sql(f"SELECT * FROM {asked}")


@pytest.mark.parametrize("commits", [8, 9])
@pytest.mark.parametrize(
    "change",
    ["INSERT OVERWRITE t VALUES (2)", "CREATE OR REPLACE TABLE t CLONE other", "DELETE FROM t", "OPTIMIZE t"],
)
def test_a_change_with_a_checkpoint(moving_session, moving_clock, commits, change):
    """Delta cleans its log at a checkpoint, which a CLONE writes, and each tenth commit."""
    session = moving_session
    session.sql("CREATE SCHEMA rested")
    session.sql("USE rested")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE TABLE other (a INT)")
    for number in range(commits):
        session.sql(f"INSERT INTO t VALUES ({number})")
    moving_clock.advance(days=40)
    session.sql(change)
    try:
        assert len(rows(session.sql("SELECT * FROM t AT (OFFSET => -3600)"))) == commits
        assert len(rows(session.sql(f"SELECT * FROM t VERSION AS OF {commits}"))) == commits
        (access,) = [one for one in records(session) if one.query.query_text == change][-1].access
        written = {one.version for one in access.object_versions if one.access == "write"}
        assert written == ({commits + 1} if access.objects_modified else set())
    finally:
        session.sql("USE default")
        session.sql("DROP SCHEMA rested CASCADE")


def test_a_purge_cleans_the_log(moving_session, moving_clock):
    """As Delta would, but for what was current when the kept time began; all that is promised is read."""
    session = moving_session
    session.sql("CREATE SCHEMA rested")
    session.sql("USE rested")
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 2")
    for number in range(24):
        moving_clock.advance(days=60 if number == 12 else 0.1)
        session.sql(f"INSERT INTO t VALUES ({number})")
    log = Path(urlsplit(session.sql("DESCRIBE DETAIL t").first().location).path) / "_delta_log"

    def logged():
        return sorted(int(one.stem) for one in log.glob("*[0-9].json"))

    assert logged()[0] == 0
    _purge(session, moving_clock)
    # Version 12 was current nine days ago, when Fail-safe begins: it is read from the checkpoint at 10.
    assert logged()[0] == 10
    assert len(rows(session.sql("SELECT * FROM t AT (OFFSET => -129600)"))) == 12
    moving_clock.advance(days=60)
    session.sql("INSERT INTO t VALUES (24)")
    _purge(session, moving_clock)
    assert logged()[0] == 20
    assert len(rows(session.sql("SELECT * FROM t AT (OFFSET => -129600)"))) == 24
    session.sql("USE default")
    session.sql("DROP SCHEMA rested CASCADE")


def _purge(session, moving_clock):
    actor = Actor(moving_clock.now(), "root", None, IdGenerator(moving_clock).new)
    list(time_travel_of(session).maintenance.purge(actor, dry=False))


@pytest.mark.long("the model has what was current")
def test_checkpoints_leave_the_log_of_what_was_current(moving_session, rested):
    """Delta cleans its log at a checkpoint; the version that was current an hour ago is in it still."""
    session = moving_session
    for number in range(12):
        session.sql(f"INSERT INTO t VALUES ({number})")
    assert rows(session.sql(f"SELECT * FROM t BEFORE (STATEMENT => '{rested}')")) == [(1,)]
    assert rows(session.sql("SELECT * FROM t AT (OFFSET => -3600)")) == [(1,)]
