"""Whatever takes a table's files, or its rows, leaves a living backup whole: a test for each way."""

from __future__ import annotations

import shutil

import pytest
from delta import DeltaTable

from audit.core.actor import Actor
from audit.core.ids import IdGenerator
from audit.time_travel.attached import time_travel_of
from tests.sessions import NO_TABLES

from .content import Backups, damages, rows

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES
RETENTION, FAIL_SAFE = 1, 7
"""Days, as they are by default."""


class Source:
    """A table of two rows in a schema of its own, its files, and what can be done to it."""

    def __init__(self, session, clock):
        self.session, self.clock = session, clock
        session.sql("CREATE SCHEMA kept")
        session.sql("CREATE TABLE kept.t (a INT)")
        session.sql("INSERT INTO kept.t VALUES (1), (2)")

    def lies_at(self, place):
        """Note its files: all that the backup shares."""
        self.place, self.files = place, {*place.rglob("*.parquet")}
        assert self.files

    def purge(self):
        """As `audit purge`."""
        actor = Actor(self.clock.now(), "root", None, IdGenerator(self.clock).new)
        list(time_travel_of(self.session).maintenance.purge(actor, dry=False))

    def expire(self):
        """Time Travel and Fail-safe are over, and what they kept is purged."""
        self.clock.advance(days=RETENTION + FAIL_SAFE + 1)
        self.purge()

    @property
    def left(self):
        """Which of its files are still there."""
        return {file for file in self.files if file.exists()}


def overwrite(source):
    """All rows, and later their file."""
    source.session.sql("INSERT OVERWRITE kept.t VALUES (3)")
    assert rows(source.session, "SELECT a FROM kept.t") == ["(3,)"]
    source.expire()


def delete(source):
    """Rows by a condition; later their file."""
    source.session.sql("DELETE FROM kept.t WHERE a > 0")
    assert rows(source.session, "SELECT a FROM kept.t") == []
    source.expire()


def replace(source):
    """The table is another one with other columns."""
    source.session.sql("CREATE OR REPLACE TABLE kept.t (b STRING)")
    source.expire()


def restore(source):
    """To the version before any row."""
    source.session.sql("RESTORE TABLE kept.t TO VERSION AS OF 0")
    assert rows(source.session, "SELECT a FROM kept.t") == []
    source.expire()


def vacuum(source):
    """From outside of the audit, with Delta's own check off."""
    source.session.sql("INSERT OVERWRITE kept.t VALUES (3)")
    source.clock.advance(hours=1)
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    source.session.conf.set(check, "false")
    list(DeltaTable.forPath(source.session, str(source.place))._jdt.vacuum(0.0).collect())
    source.session.conf.unset(check)


def drop(source):
    """The table, which no UNDROP brings back in the end."""
    source.session.sql("DROP TABLE kept.t")
    source.expire()


def drop_schema(source):
    """With all that is in it."""
    source.session.sql("DROP SCHEMA kept CASCADE")
    source.expire()


def purge(source):
    """A table without Time Travel, at once."""
    source.session.sql("ALTER TABLE kept.t SET DATA_RETENTION_TIME_IN_DAYS = 0")
    source.session.sql("INSERT OVERWRITE kept.t VALUES (3)")
    source.clock.advance(days=FAIL_SAFE + 1)
    source.purge()


def end_of_fail_safe(source):
    """Fail-safe keeps the file past retention; when it is over the file goes."""
    source.session.sql("INSERT OVERWRITE kept.t VALUES (3)")
    source.clock.advance(days=RETENTION + 1)
    source.purge()
    assert source.left == source.files
    source.clock.advance(days=FAIL_SAFE)
    source.purge()


def remove(source):
    """The folder, by hand."""
    shutil.rmtree(source.place)


WAYS = (
    overwrite, delete, replace, restore, vacuum, drop, drop_schema, purge, end_of_fail_safe, remove,
)  # fmt: skip


@pytest.fixture
def source(moving_session, moving_clock):
    """The table, until the test ends."""
    yield Source(moving_session, moving_clock)
    moving_session.sql("DROP SCHEMA IF EXISTS kept CASCADE")
    moving_session.sql("DROP SCHEMA IF EXISTS back CASCADE")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nothing_takes_a_backup_away(moving_session, moving_clock, source, tmp_path, way):
    """The source has lost its files; the backup has all of them, as they were, and comes back."""
    backups = Backups(moving_session, tmp_path, moving_clock)
    folder = backups.table("kept.t")
    source.lies_at(backups.location("kept.t"))
    way(source)
    assert source.left == set()
    assert damages(folder) == ()
    moving_session.sql("CREATE SCHEMA back")
    backups.restore_table(folder, "back.t")
    assert rows(moving_session, "SELECT a FROM back.t") == ["(1,)", "(2,)"]
