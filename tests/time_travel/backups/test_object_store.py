"""Backups of tables of this machine in a bucket: taken, locked by S3, verified, restored, removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit import attached_sessions
from audit.cli import main
from audit.core.actor import Actor
from audit.time_travel import errors
from audit.time_travel.backups.store.s3_store import S3Store
from tests.s3_server import locked_bucket
from tests.sessions import NO_TABLES, attached

pytestmark = pytest.mark.spark

BUCKET = "kept"


@pytest.fixture(scope="module")
def s3():
    """A client of the bucket that has Object Lock."""
    with locked_bucket(BUCKET) as client:
        yield client


@pytest.fixture(scope="module")
def session(spark, root, s3):
    """Its backups go into the bucket."""
    options = {**NO_TABLES, "backup_location": f"s3a://{BUCKET}/audit"}
    with attached(spark, root, **options) as found:
        yield found


@pytest.fixture
def sales(session, schema):
    """A table, its set, and a backup of it; the id of that."""
    session.sql("CREATE TABLE sales (a INT) COMMENT 'of the shop'")
    session.sql("INSERT INTO sales VALUES (1), (2)")
    session.sql("CREATE BACKUP SET s FOR TABLE sales")
    yield add(session)
    for one in session.sql("SHOW BACKUPS IN BACKUP SET s").collect():
        if one.is_under_legal_hold == "Y":
            session.sql(f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{one.backup_id}' REMOVE LEGAL HOLD")


def add(session):
    """Make a backup; its id."""
    session.sql("ALTER BACKUP SET s ADD BACKUP")
    return session.sql("SHOW BACKUPS IN BACKUP SET s").collect()[-1].backup_id


def keys(s3, backup):
    """The objects of a backup, all versions."""
    found = s3.list_object_versions(Bucket=BUCKET, Prefix="audit/").get("Versions", [])
    return [one for one in found if f"/{backup}/" in one["Key"]]


def verify(root):
    """What `audit backup verify` says."""
    return CliRunner().invoke(main, ["backup", "verify", "--root", str(root)])


def test_a_backup_is_in_the_bucket_and_comes_back(session, sales, s3, root, schema):
    """All of it; nothing is left on this machine, and the table's folder may be gone."""
    names = {one["Key"].rpartition("/")[2] for one in keys(s3, sales)}
    assert {"manifest.jsonl", "backup.json", "00000000000000000000.json"} <= names
    assert not [one for one in (root / "spool").parent.rglob("*") if sales in str(one)]
    answer = verify(root)
    assert (answer.exit_code, "All files of" in answer.stdout) == (0, True), answer.output
    place = session.sql("DESCRIBE DETAIL sales").first().location.removeprefix("file:")
    session.sql("DROP TABLE sales")
    shutil.rmtree(place, ignore_errors=True)
    session.sql(f"CREATE TABLE again FROM BACKUP SET s IDENTIFIER '{sales}'")
    assert sorted(session.table("again").collect()) == [(1,), (2,)]
    session.sql("INSERT INTO again VALUES (3)")
    assert session.table("again").count() == 3
    assert not [one for one in root.rglob("*") if one.name == sales]


def test_in_place(session, sales):
    """A new version of the table that is there."""
    session.sql("INSERT OVERWRITE sales VALUES (9)")
    session.sql(f"CREATE OR REPLACE TABLE sales FROM BACKUP SET s IDENTIFIER '{sales}'")
    assert sorted(session.table("sales").collect()) == [(1,), (2,)]


def test_s3_keeps_what_is_held(session, sales, s3):
    """A hold is the object's own: not even who has all rights on the bucket deletes it."""
    hold = f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{sales}' {{}} LEGAL HOLD"
    session.sql(hold.format("ADD"))
    for one in keys(s3, sales):
        with pytest.raises(s3.exceptions.ClientError, match="AccessDenied"):
            s3.delete_object(Bucket=BUCKET, Key=one["Key"], VersionId=one["VersionId"])
    with pytest.raises(errors.BackupHeldError):
        session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{sales}'")
    session.sql(hold.format("REMOVE"))
    session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{sales}'")
    assert keys(s3, sales) == []


def test_a_hold_that_the_store_has_not_heard_of(session, sales, s3, monkeypatch):
    """A process was killed after the event: the rules hold, and the next run tells the store."""
    hold = f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{sales}' {{}} LEGAL HOLD"
    services = attached_sessions.find(session).services
    with monkeypatch.context() as patch:
        patch.setattr(S3Store, "hold", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            session.sql(hold.format("ADD"))
    with pytest.raises(errors.BackupHeldError):
        session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{sales}'")
    actor = Actor(services.clock(), "runner", None, services.new_id)
    assert list(services.backups.run_schedules(actor)) == []
    (one, *_) = keys(s3, sales)
    with pytest.raises(s3.exceptions.ClientError, match="AccessDenied"):
        s3.delete_object(Bucket=BUCKET, Key=one["Key"], VersionId=one["VersionId"])
    with monkeypatch.context() as patch:
        patch.setattr(S3Store, "hold", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            session.sql(hold.format("REMOVE"))
    session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{sales}'")
    assert keys(s3, sales) == []


def test_s3_keeps_what_is_locked(session, s3):
    """Until the day that the policy says; a longer period makes it longer."""
    session.sql("CREATE SCHEMA locked")  # nobody can drop it any more: it goes with the root
    session.sql("USE locked")
    session.sql("CREATE TABLE sales (a INT)")
    session.sql("CREATE BACKUP POLICY p WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 30")
    session.sql("CREATE BACKUP SET s FOR TABLE sales WITH BACKUP POLICY p")
    backup = add(session)

    def until():
        one = next(one for one in keys(s3, backup) if one["Key"].endswith("backup.json"))
        head = s3.head_object(Bucket=BUCKET, Key=one["Key"], VersionId=one["VersionId"])
        assert head["ObjectLockMode"] == "COMPLIANCE"
        return head["ObjectLockRetainUntilDate"]

    first = until()
    assert 29 < (first - keys(s3, backup)[0]["LastModified"]).total_seconds() / 86_400 < 31
    session.sql("ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 40")
    assert 9.9 < (until() - first).total_seconds() / 86_400 < 10.1
    one = keys(s3, backup)[0]
    with pytest.raises(s3.exceptions.ClientError, match="AccessDenied"):
        s3.delete_object(
            Bucket=BUCKET, Key=one["Key"], VersionId=one["VersionId"], BypassGovernanceRetention=True
        )
    session.sql("USE default")


def test_a_damage_is_found(session, sales, s3, root):
    """A file that somebody put over another one, and one that is gone."""
    data = next(one for one in keys(s3, sales) if one["Key"].endswith(".parquet"))
    s3.put_object(Bucket=BUCKET, Key=data["Key"], Body=b"x")
    answer = verify(root)
    assert (answer.exit_code, "covered" in answer.output) == (1, True), answer.output
    session.sql(f"CREATE TABLE whole FROM BACKUP SET s IDENTIFIER '{sales}'")  # by its own versions
    assert session.table("whole").count() == 2
    s3.delete_object(Bucket=BUCKET, Key=data["Key"], VersionId=data["VersionId"])
    with pytest.raises(errors.BackupDamagedError, match=Path(data["Key"]).name):
        session.sql(f"CREATE TABLE broken FROM BACKUP SET s IDENTIFIER '{sales}'")
    assert not session.catalog.tableExists("broken")
    session.sql(f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{sales}'")
