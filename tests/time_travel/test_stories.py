"""What happens to users over days: every clock is moved, Delta's as well."""

from __future__ import annotations

import pytest

from audit.core.actor import Actor
from audit.time_travel import errors
from audit.time_travel.attached import time_travel_of
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def session(moving_session):
    """On the clock that all share."""
    return moving_session


def rows(session, query):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(query).collect())


def purge(session, clock):
    """Purges what is past Fail-safe."""
    actor = Actor(clock.now(), "root", None, lambda: f"event-{clock.now()}")
    list(time_travel_of(session).maintenance.purge(actor, dry=False))


def fail_safe(clock, session):
    """The Fail-safe of now."""
    return time_travel_of(session).maintenance.fail_safe(Actor(clock.now(), "root", None, str))


@pytest.mark.long("VACUUMs over days; test_replaced has the properties that they go by")
def test_i_replaced_my_table(session, spark, schema, moving_clock):
    """Yesterday's content and my clone are still there, though a colleague ran a plain VACUUM outside."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 5 AS SELECT 1 AS a")
    session.sql("CREATE TABLE alone DATA_RETENTION_TIME_IN_DAYS = 5 AS SELECT 3 AS a")
    session.sql("CREATE TABLE c CLONE t")
    moving_clock.advance(days=10)
    session.sql("CREATE OR REPLACE TABLE t AS SELECT 2 AS a")
    session.sql("BEGIN CREATE OR REPLACE TABLE alone AS SELECT 4 AS a; END")
    moving_clock.advance(days=3)
    for table in ("t", "alone"):
        spark.sql(f"VACUUM {schema}.{table}")
    assert (rows(session, "SELECT a FROM t"), rows(session, "SELECT a FROM alone")) == ([2], [4])
    for table, before in (("t", [1]), ("alone", [3])):
        session.sql(f"CREATE TABLE of_{table} CLONE {table} AT (OFFSET => -4*86400)")
        assert rows(session, f"SELECT a FROM of_{table}") == before
    moving_clock.advance(days=30)
    spark.sql(f"VACUUM {schema}.t")
    assert rows(session, "SELECT a FROM c") == [1]


@pytest.mark.long("the model drops in scripts, and brings back")
def test_i_dropped_it_from_a_script(session, spark, schema, moving_clock):
    """I can bring it back within its retention, wherever it was made."""
    spark.sql(f"CREATE TABLE {schema}.t USING delta AS SELECT 1 AS a")
    session.sql("BEGIN CREATE TABLE u AS SELECT 2 AS a; DROP TABLE t; DROP TABLE u; END")
    moving_clock.advance(hours=23)
    session.sql("UNDROP TABLE t")
    session.sql("UNDROP TABLE u")
    assert (rows(session, "SELECT a FROM t"), rows(session, "SELECT a FROM u")) == ([1], [2])


@pytest.mark.long("a purge after days; test_storage::test_what_a_clone_needs_stays has one")
def test_a_clones_past_is_kept_when_its_retention_is_lowered(session, schema, moving_clock):
    """What leaves Time Travel by it stays in Fail-safe for seven days, in the source's files as well."""
    session.sql("CREATE TABLE t DATA_RETENTION_TIME_IN_DAYS = 0 AS SELECT 1 AS a")
    session.sql("CREATE TABLE c CLONE t DATA_RETENTION_TIME_IN_DAYS = 20")
    session.sql("DELETE FROM t")
    session.sql("DELETE FROM c")
    moving_clock.advance(days=15)
    session.sql("ALTER TABLE c SET DATA_RETENTION_TIME_IN_DAYS = 1")
    moving_clock.advance(days=6)
    purge(session, moving_clock)
    catalog = time_travel_of(session).maintenance.catalog
    location = catalog.find((schema, "c")).location
    made = catalog.committed_at(location, catalog.state(location), 0) * 1000
    fail_safe(moving_clock, session).restore_version((schema, "c"), made, (schema, "recovered"))
    assert rows(session, "SELECT a FROM recovered") == [1]
    moving_clock.advance(days=2)
    with pytest.raises(errors.OutsideRetentionError, match="past Fail-safe"):
        fail_safe(moving_clock, session).restore_version((schema, "c"), made, (schema, "late"))
