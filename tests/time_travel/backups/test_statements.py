"""Statements about backups on a session: what they do, what they answer, and what is on record."""

from __future__ import annotations

import json
import threading
import warnings
from pathlib import Path

import pytest

import audit
from audit import attached_sessions, policies
from audit.core.actor import Actor
from audit.core.errors import AuditError
from audit.testing import records
from audit.time_travel import errors
from audit.time_travel.backups.content import take_backup
from audit.time_travel.backups.files import manifest
from audit.time_travel.backups.files.manifest import sha256_of
from audit.time_travel.backups.hashing_thread import HashingThread
from audit.time_travel.backups.verify_backups import verified_backups
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
LEDGER = "moving_session"
LOCKED = "WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 30"


@pytest.fixture
def session(moving_session):
    """On a clock that moves."""
    return moving_session


@pytest.fixture
def sales(session, schema):
    """A table of two rows, and its backup set."""
    session.sql("CREATE TABLE sales (a INT, b STRING) COMMENT 'of the shop'")
    session.sql("INSERT INTO sales VALUES (1, 'x'), (2, 'y')")
    session.sql("CREATE BACKUP SET s FOR TABLE sales")
    return f"{schema}.sales"


def rows(session, table):
    """As tuples, in order."""
    return sorted(tuple(row) for row in session.table(table).collect())


def shown(session, backup_set="s"):
    """The ids of the backups of a set."""
    return [row.backup_id for row in session.sql(f"SHOW BACKUPS IN BACKUP SET {backup_set}").collect()]


def add(session, backup_set="s"):
    """Make a backup; its id."""
    session.sql(f"ALTER BACKUP SET {backup_set} ADD BACKUP")
    return shown(session, backup_set)[-1]


def backups_of(session):
    """The service."""
    return attached_sessions.find(session).services.backups


def verified(session):
    """What `audit backup verify` does."""
    return list(verified_backups(attached_sessions.find(session).services.config, None, lambda _: None))


def run(session):
    """What `audit backup run` does."""
    services = attached_sessions.find(session).services
    actor = Actor(services.clock(), "runner", None, services.new_id)
    with audit.suppress():
        return [(one.what, one.backup_set.split(".")[-1]) for one in services.backups.run_schedules(actor)]


def folders(session):
    """Of all backups that lie there, whole or not."""
    store = backups_of(session).files.store_at("")
    return [folder for one in store.sets() for folder in (*store.published(one), *store.unfinished(one))]


def folder_of(session, backup_id):
    """Where a backup lies."""
    service = backups_of(session)
    (found,) = [one for one in service.log.state().all_backups() if one.backup_id == backup_id]
    place = service.files.of(found)
    return Path(place.store.location(place.folder))


def test_a_backup_comes_back(session, sales):
    """As a new table, whatever became of its source."""
    backup = add(session)
    session.sql("INSERT OVERWRITE sales VALUES (9, 'z')")
    session.sql("DROP TABLE sales")
    said = session.sql(f"CREATE TABLE again FROM BACKUP SET s IDENTIFIER '{backup}'").collect()
    assert said[0].status == "Table again successfully restored."
    assert rows(session, "again") == [(1, "x"), (2, "y")]
    assert session.catalog.getTable("again").description == "of the shop"
    session.sql("INSERT INTO again VALUES (3, 'w')")
    assert rows(session, "again") == [(1, "x"), (2, "y"), (3, "w")]


def test_in_place(session, sales):
    """A new version of the table that is there; its past stays."""
    backup = add(session)
    session.sql("INSERT INTO sales VALUES (3, 'z')")
    session.sql(f"CREATE OR REPLACE TABLE sales FROM BACKUP SET s IDENTIFIER '{backup}'")
    assert rows(session, "sales") == [(1, "x"), (2, "y")]
    assert session.sql("SELECT count(*) FROM sales VERSION AS OF 2").collect()[0][0] == 3
    with pytest.raises(errors.ObjectExistsError):
        session.sql(f"CREATE TABLE sales FROM BACKUP SET s IDENTIFIER '{backup}'")
    session.sql(f"CREATE TABLE IF NOT EXISTS sales FROM BACKUP SET s IDENTIFIER '{backup}'")


def test_a_schema(session, schema):
    """Its tables, views and functions, as they were."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT a + 1 AS b FROM t")
    session.sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    session.sql(f"CREATE SCHEMA of_{schema}")
    session.sql(f"CREATE BACKUP SET of_{schema}.s FOR SCHEMA {schema}")
    backup = add(session, f"of_{schema}.s")
    session.sql("INSERT INTO t VALUES (5)")
    session.sql(f"CREATE SCHEMA new_{schema} FROM BACKUP SET of_{schema}.s IDENTIFIER '{backup}'")
    assert rows(session, f"new_{schema}.t") == [(1,)]
    assert rows(session, f"new_{schema}.v") == [(2,)]
    assert session.sql(f"SELECT new_{schema}.twice(4)").collect()[0][0] == 8
    session.sql(f"DROP SCHEMA new_{schema} CASCADE")
    session.sql(f"DROP SCHEMA of_{schema} CASCADE")


def test_a_retention_lock(session, schema, sales, time_passes):
    """Each sentence of the document: nobody decreases, drops or deletes, until it has expired."""
    session.sql(f"CREATE BACKUP POLICY p {LOCKED}")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    backup = add(session)
    for text in (
        "ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 29",
        "ALTER BACKUP POLICY p UNSET EXPIRE_AFTER_DAYS",
        f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{backup}'",
        "DROP BACKUP SET s",
        "CREATE OR REPLACE BACKUP SET s FOR TABLE sales",
        f"DROP SCHEMA {schema} CASCADE",
        f"DROP DATABASE {schema} CASCADE",
        "ALTER BACKUP SET s SUSPEND BACKUP EXPIRATION POLICY",
        "ALTER BACKUP SET s SUSPEND BACKUP POLICY",
    ):
        with pytest.raises(errors.BackupLockedError):
            session.sql(text)
    session.sql("CREATE BACKUP POLICY q EXPIRE_AFTER_DAYS = 1")
    with pytest.raises(errors.BackupLockedError):
        session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY q FORCE")
    with pytest.raises(errors.BackupPolicyInUseError):
        session.sql("DROP BACKUP POLICY p")
    assert rows(session, "sales") == [(1, "x"), (2, "y")]  # the refused DROP SCHEMA has taken nothing
    session.sql("ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 40")
    run(session)
    time_passes(days=39)
    assert ("EXPIRED", "s") not in run(session)
    time_passes(days=2)
    assert ("EXPIRED", "s") in run(session)
    assert shown(session) == []
    session.sql("DROP BACKUP SET s")


def test_a_lock_says_what_it_will_bind(session, sales):
    """The statement that puts it on tells the bytes; one without a lock says nothing of it."""
    made = session.sql(f"CREATE BACKUP POLICY p {LOCKED}").collect()
    assert "`audit backup estimate TABLE --days 30` says what it will bind" in made[1].status
    assert len(session.sql("CREATE BACKUP POLICY q EXPIRE_AFTER_DAYS = 30").collect()) == 1
    session.sql("CREATE BACKUP SET free FOR TABLE sales WITH BACKUP POLICY q")
    bytes_now = session.sql("DESCRIBE DETAIL sales").first().sizeInBytes
    told = [
        *session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p").collect(),
        *session.sql("CREATE BACKUP SET t FOR TABLE sales WITH BACKUP POLICY p").collect(),
        *session.sql("ALTER BACKUP SET free SET COMMENT = 'x'").collect(),
    ]
    warnings = [row.status for row in told if "retention lock" in row.status]
    assert len(warnings) == 2
    for warning in warnings:
        assert "nobody can take it off" in warning
        assert f" in 30 days: {bytes_now:,} now" in warning
    # A longer period binds more, on each set that has it.
    told = session.sql("ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 3650").collect()
    assert [f" in 3650 days: {bytes_now:,} now" in row.status for row in told] == [False, True, True]
    assert len(session.sql("ALTER BACKUP POLICY q SET EXPIRE_AFTER_DAYS = 40").collect()) == 1


def test_a_lock_on_the_set_of_a_dropped_table(session, sales, time_passes):
    """It is on, and the statement succeeds: what it will bind is all that is not known."""
    add(session)
    session.sql("DROP TABLE sales")
    session.sql(f"CREATE BACKUP POLICY p {LOCKED}")
    told = [row.status for row in session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p").collect()]
    assert "nobody can take it off" in told[1]
    assert "is not known: no Delta table is called" in told[1]
    with pytest.raises(errors.BackupLockedError, match="under a retention lock"):
        session.sql("DROP BACKUP SET s")
    run(session)
    time_passes(days=31)
    assert run(session) == [("EXPIRED", "s")]


class Reading:
    """The thread that hashes, held before the first file that it reads."""

    def __init__(self, monkeypatch):
        self.began, self.goes_on = threading.Event(), threading.Event()
        monkeypatch.setattr(take_backup, "_READ_AT_ONCE", 0)

        def read(path):
            if threading.current_thread().name == "audit-backup-hashes":
                self.began.set()
                assert self.goes_on.wait(60)
            return sha256_of(path)

        monkeypatch.setattr(manifest, "sha256_of", read)

    def until_done(self, session):
        """Let it read all; what it warned of."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.goes_on.set()
            assert backups_of(session).hashing.wait(60)
        return [str(one.message) for one in told]


@pytest.fixture
def reading(monkeypatch):
    """ADD BACKUP hashes no data; who does is held until `until_done`."""
    held = Reading(monkeypatch)
    yield held
    held.goes_on.set()


def completions(session):
    """The backups that were hashed after they were made, and by whom."""
    backups = backups_of(session).log
    events = backups.events(backups.version())
    return [(one.details["backup"], one.user) for one in events if one.event == "COMPLETE_BACKUP"]


def test_large_files_are_hashed_at_once_after_the_statement(session, sales, reading):
    """It has answered before; nobody has to start anything."""
    before = len(completions(session))
    backup = add(session)
    assert reading.began.wait(60)
    assert [(one.damages, one.unread > 0) for one in verified(session)] == [((), True)]
    assert reading.until_done(session) == []
    assert [(one.damages, one.unread) for one in verified(session)] == [((), 0)]
    assert [one[0] for one in completions(session)[before:]] == [backup]
    assert run(session) == []


def test_a_write_before_the_hash_is_told(session, sales, reading):
    """What was written gets no hash; whoever made the backup is warned, and verify tells."""
    backup = add(session)
    assert reading.began.wait(60)
    data = next((folder_of(session, backup) / "tables" / "0000").glob("*.parquet"))
    with data.open("r+b") as file:
        file.write(b"changed")
    told = reading.until_done(session)
    assert len(told) == 1
    assert "was written to before it had a hash" in told[0]
    assert [problem for one in verified(session) for _, problem in one.damages] == ["written"]


def test_a_backup_is_deleted_while_it_is_hashed(session, sales, reading):
    """Nothing is told, and nothing of it comes back."""
    backup = add(session)
    folder = folder_of(session, backup)
    assert reading.began.wait(60)
    session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{backup}'")
    assert reading.until_done(session) == []
    assert not folder.exists()


def test_a_run_beside_the_thread_that_hashes(session, sales, reading):
    """One of them puts it on record."""
    before = len(completions(session))
    backup = add(session)
    assert reading.began.wait(60)
    assert run(session) == [("HASHED", "s")]
    assert reading.until_done(session) == []
    assert completions(session)[before:] == [(backup, "runner")]
    assert [(one.damages, one.unread) for one in verified(session)] == [((), 0)]


def test_what_a_driver_has_not_hashed_the_next_run_does(session, sales, monkeypatch):
    """It was killed behind ADD BACKUP. Until the run, verify knows files by their size and last write."""
    monkeypatch.setattr(take_backup, "_READ_AT_ONCE", 0)
    monkeypatch.setattr(HashingThread, "add", lambda *_: None)
    backup = add(session)
    assert [(one.damages, one.unread > 0) for one in verified(session)] == [((), True)]
    assert run(session) == [("HASHED", "s")]
    assert run(session) == []
    assert [(one.damages, one.unread) for one in verified(session)] == [((), 0)]
    session.sql("INSERT INTO sales VALUES (3, 'z')")
    later = add(session)
    assert [one.unread for one in verified(session) if one.backup_id == later] != [0]
    data = next((folder_of(session, backup) / "tables" / "0000").glob("*.parquet"))
    with data.open("r+b") as file:
        file.write(b"changed")
    assert run(session) == [("HASHED", "s")]
    # The hash of the first backup was taken for the second: both tell.
    assert [one.damages[0][1] for one in verified(session)] == ["hash", "hash"]


def test_a_run_goes_on_after_a_failure(session, sales, schema, time_passes):
    """A set whose files are gone has no backup; the others have theirs."""
    session.sql("CREATE TABLE more AS SELECT 7 AS a")
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    session.sql("CREATE BACKUP SET t FOR TABLE more WITH BACKUP POLICY p")
    Path(session.table("sales").inputFiles()[0].removeprefix("file:")).unlink()
    time_passes(hours=2)
    assert sorted(run(session)) == [("CREATED", "t"), ("FAILED", "s")]
    assert [one.rpartition("/")[2] for one in folders(session)] == shown(session, "t")


def test_a_clock_that_is_set_forward(session, sales, time_passes):
    """Ends no lock: no second clock has seen the time pass."""
    session.sql(f"CREATE BACKUP POLICY p {LOCKED}")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    backup = add(session)
    time_passes(days=400, witnessed=False)
    assert run(session) == []
    with pytest.raises(errors.BackupLockedError):
        session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{backup}'")
    time_passes(days=31)
    assert run(session) == [("EXPIRED", "s")]


def test_a_legal_hold(session, sales, time_passes):
    """Nobody deletes it, expired or not; who may removes it, and both are on record."""
    session.sql("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = 1")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    held, free = add(session), add(session)
    session.sql(f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{held}' ADD LEGAL HOLD")
    time_passes(days=2)
    assert run(session) == [("EXPIRED", "s")]
    assert shown(session) == [held]
    assert folder_of(session, held).is_dir()
    assert not (folder_of(session, held).parent / free).exists()
    for text in (f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{held}'", "DROP BACKUP SET s"):
        with pytest.raises(errors.BackupHeldError):
            session.sql(text)
    session.sql(f"CREATE TABLE read FROM BACKUP SET s IDENTIFIER '{held}'")
    session.sql(f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{held}' REMOVE LEGAL HOLD")
    assert run(session) == [("EXPIRED", "s")]
    found = [
        (one.query.query_type, access.object_modified_by_ddl)
        for one in records(session)
        for access in one.access
        if held in one.query.query_text
    ]
    changes = [json.loads(ddl.properties) for kind, ddl in found if kind == "ALTER_BACKUP_SET"]
    holds = [one["backups"][held].get("legalHold") for one in changes]
    assert holds == [{"value": True}, {"value": False}]
    assert "CREATE_TABLE" in [kind for kind, _ in found]  # access to a held backup is on record


def test_a_held_schema(session, schema, time_passes):
    """Its backup outlives all that was in it, and each way to write into its files is refused."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql(f"CREATE SCHEMA of_{schema}")
    session.sql(f"CREATE BACKUP POLICY of_{schema}.p {LOCKED}")
    session.sql(f"CREATE BACKUP SET of_{schema}.s FOR SCHEMA {schema} WITH BACKUP POLICY of_{schema}.p")
    backup = add(session, f"of_{schema}.s")
    session.sql(f"ALTER BACKUP SET of_{schema}.s MODIFY BACKUP IDENTIFIER '{backup}' ADD LEGAL HOLD")
    session.sql("DROP TABLE t")
    with pytest.raises(errors.BackupHeldError):
        session.sql(f"DROP SCHEMA of_{schema} CASCADE")
    place = folder_of(session, backup) / "tables" / "0000"
    for text in (
        f"DELETE FROM delta.`{place}`",
        f"INSERT OVERWRITE delta.`{place}` VALUES (2)",
        f"VACUUM delta.`{place}` RETAIN 1000 HOURS",
        f"RESTORE TABLE delta.`{place}` TO VERSION AS OF 0",
        f"CREATE OR REPLACE TABLE delta.`{place}` USING delta AS SELECT 2 AS a",
    ):
        with pytest.raises(AuditError, match=r"files of backups|backups lie in"):
            session.sql(text).collect()
    assert [one.damages for one in verified(session)] == [()]
    # Who reads a held backup's files by their path is on record, as who restores it.
    assert session.sql(f"SELECT a FROM delta.`{place}`").collect() == [(1,)]
    read = [
        one.objectName
        for found in records(session)
        for access in found.access
        for one in access.direct_objects_accessed or ()
        if backup in one.objectName and found.query.query_type == "SELECT"
    ]
    assert len(read) == 1
    session.sql(f"CREATE SCHEMA new_{schema} FROM BACKUP SET of_{schema}.s IDENTIFIER '{backup}'")
    assert rows(session, f"new_{schema}.t") == [(1,)]
    session.sql(f"DROP SCHEMA new_{schema} CASCADE")
    time_passes(days=31)
    assert run(session) == []
    session.sql(f"ALTER BACKUP SET of_{schema}.s MODIFY BACKUP IDENTIFIER '{backup}' REMOVE LEGAL HOLD")
    assert run(session) == [("EXPIRED", "s")]
    session.sql(f"DROP SCHEMA of_{schema} CASCADE")


def test_tags(session, schema, sales):
    """Of a set: set, kept by a rename, unset."""
    session.sql("CREATE TAG kind ALLOWED_VALUES 'daily', 'yearly'")
    session.sql("ALTER BACKUP SET s SET TAG kind = 'daily'")
    state = backups_of(session).log.state
    (known,) = state().sets.values()
    assert known.tags == {f"spark_catalog.{schema}.kind": "daily"}
    session.sql("ALTER BACKUP SET s RENAME TO renamed")
    (known,) = state().sets.values()
    assert known.tags == {f"spark_catalog.{schema}.kind": "daily"}
    session.sql("ALTER BACKUP SET renamed UNSET TAG kind")
    (known,) = state().sets.values()
    assert known.tags == {}


def test_the_schedule(session, sales, time_passes):
    """A run makes what is due, once; a second one nothing."""
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    assert run(session) == []
    time_passes(hours=1.1)
    assert run(session) == [("CREATED", "s")]
    assert run(session) == []
    session.sql("ALTER BACKUP SET s SUSPEND BACKUP CREATION POLICY")
    time_passes(hours=3)
    assert run(session) == []
    session.sql("ALTER BACKUP SET s RESUME BACKUP POLICY")
    time_passes(hours=1.1)
    assert run(session) == [("CREATED", "s")]
    assert len(shown(session)) == 2


def test_a_source_that_is_gone(session, sales, time_passes):
    """A scheduled backup of it fails, and says so; what there is stays."""
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("ALTER BACKUP SET s APPLY BACKUP POLICY p")
    kept = add(session)
    session.sql("DROP TABLE sales")
    time_passes(hours=2)
    assert run(session) == [("FAILED", "s")]
    assert shown(session) == [kept]
    with pytest.raises(errors.UnknownObjectError, match="sales"):
        session.sql("ALTER BACKUP SET s ADD BACKUP")


def test_a_renamed_table(session, schema, sales):
    """The set goes on with its table."""
    session.sql("ALTER TABLE sales RENAME TO sold")
    add(session)
    (row,) = session.sql("SHOW BACKUP SETS").collect()
    assert (row.object_name, row.schema_name) == ("sold", schema)


def test_who_may(session, schema, sales):
    """A user without rights sees no set and changes nothing; the owner may do all but holds."""
    backup = add(session)
    with audit.as_user(session, "mallory"):
        assert session.sql("SHOW BACKUP SETS").collect() == []
        for text in (
            "ALTER BACKUP SET s ADD BACKUP",
            f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{backup}'",
            "DROP BACKUP SET s",
            f"CREATE TABLE stolen FROM BACKUP SET s IDENTIFIER '{backup}'",
            f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{backup}' ADD LEGAL HOLD",
            "CREATE BACKUP SET mine FOR TABLE sales",
        ):
            with pytest.raises(errors.BackupDeniedError):
                session.sql(text)
    assert shown(session) == [backup]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("CREATE BACKUP SET x FOR TABLE nosuch", "UnknownObjectError", "nosuch"),
        ("CREATE BACKUP SET x FOR SCHEMA nosuch", "UnknownObjectError", "nosuch"),
        ("CREATE BACKUP SET x FOR TABLE pq", "UnknownObjectError", "parquet"),
        ("CREATE BACKUP SET s FOR TABLE sales", "BackupExistsError", "choose another name"),
        ("CREATE BACKUP POLICY p", "BadBackupPolicyError", "SCHEDULE"),
        ("CREATE BACKUP POLICY p SCHEDULE = '59 MINUTE'", "BadBackupPolicyError", "60"),
        ("ALTER BACKUP SET nosuch ADD BACKUP", "UnknownBackupError", "nosuch"),
        ("ALTER BACKUP SET s DELETE BACKUP IDENTIFIER 'x'", "UnknownBackupError", "SHOW BACKUPS"),
        ("CREATE TABLE y FROM BACKUP SET s IDENTIFIER 'x'", "UnknownBackupError", "SHOW BACKUPS"),
        ("ALTER BACKUP SET s ADD BACKUPS", "BadBackupClauseError", "ADD"),
    ],
)
def test_what_cannot_be(session, sales, text, error, said):
    """Each names the object and the way out."""
    session.sql("CREATE TABLE pq (a INT) USING parquet")
    with pytest.raises(getattr(errors, error), match=said):
        session.sql(text)


def test_a_failure_leaves_no_half(session, sales):
    """A backup whose files cannot be taken is none, and leaves no folder."""
    (data,) = [Path(name.removeprefix("file:")) for name in session.table("sales").inputFiles()][:1]
    data.unlink()
    with pytest.raises(errors.BackupError, match=data.name):
        session.sql("ALTER BACKUP SET s ADD BACKUP")
    assert shown(session) == []
    assert folders(session) == []


def test_what_protected_a_schema_comes_back(session, schema):
    """On its tables and views, under their new names; a policy that was dropped since is told."""
    session.sql("CREATE MASKING POLICY zero AS (v INT) RETURNS INT -> 0")
    session.sql("CREATE MASKING POLICY gone AS (v INT) RETURNS INT -> 1")
    session.sql("CREATE TABLE t AS SELECT 5 AS a, 6 AS b")
    session.sql("CREATE VIEW v AS SELECT a + 1 AS a FROM t")
    for what in ("TABLE t ALTER COLUMN a", "VIEW v ALTER COLUMN a"):
        session.sql(f"ALTER {what} SET MASKING POLICY zero")
    session.sql("ALTER TABLE t ALTER COLUMN b SET MASKING POLICY gone")
    session.sql(f"CREATE SCHEMA of_{schema}")
    session.sql(f"CREATE BACKUP SET of_{schema}.s FOR SCHEMA {schema}")
    backup = add(session, f"of_{schema}.s")
    for what in ("TABLE t ALTER COLUMN a", "VIEW v ALTER COLUMN a", "TABLE t ALTER COLUMN b"):
        session.sql(f"ALTER {what} UNSET MASKING POLICY")
    session.sql("DROP MASKING POLICY gone")
    ((said,),) = session.sql(
        f"CREATE SCHEMA new_{schema} FROM BACKUP SET of_{schema}.s IDENTIFIER '{backup}'"
    ).collect()
    assert said == (
        f"Schema new_{schema} successfully restored. Without policies that were dropped since the backup was"
        f" made: spark_catalog.{schema}.gone."
    )
    assert session.table(f"new_{schema}.t").collect() == [(0, 6)]
    assert session.table(f"new_{schema}.v").collect() == [(0,)]
    assert session.table("t").collect() == [(5, 6)]
    # In its own place, too; a clone is listed under its own name.
    session.sql(f"CREATE BACKUP SET s FOR TABLE new_{schema}.t")
    backup = add(session)
    session.sql(f"CREATE TABLE cloned CLONE new_{schema}.t")
    session.sql(f"ALTER TABLE new_{schema}.t ALTER COLUMN a UNSET MASKING POLICY")
    assert session.table(f"new_{schema}.t").collect() == [(5, 6)]
    session.sql(f"CREATE OR REPLACE TABLE new_{schema}.t FROM BACKUP SET s IDENTIFIER '{backup}'")
    assert session.table(f"new_{schema}.t").collect() == [(0, 6)]
    masked = {one.object_name for one in policies.references(session) if one.policy.endswith(".zero")}
    assert {f"spark_catalog.{schema}.cloned", f"spark_catalog.new_{schema}.t"} <= masked
    for one in ("new_", "of_"):
        session.sql(f"DROP SCHEMA {one}{schema} CASCADE")
