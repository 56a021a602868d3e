"""Locks and holds that S3 enforces: nobody deletes, shortens or lifts; what lies over a file is found."""

from __future__ import annotations

import time

import pytest

from audit.core.clock import to_micros
from audit.time_travel.backups.files.manifest import NAME, Damage
from audit.time_travel.backups.store import s3_locks
from audit.time_travel.backups.store.backup_store import Lock, Source
from audit.time_travel.backups.store.choose import store_for
from audit.time_travel.backups.store.s3_locks import locked_by
from audit.time_travel.errors import BackupHeldError, BackupIncompleteError, BackupLockedError
from tests.time_travel.backups.store.manifests import BACKUP, verified

FILES = {"a.parquet": b"a" * 100, "p=1 +%/ü.parquet": b"b" * 200}
PREFIX = "audit/backups/set/backup/"
DAY = 86_400_000_000


class Vault:
    """A bucket with Object Lock, and a backup in it."""

    def __init__(self, s3, lock=None):
        self.s3, self.bucket = s3, s3.locking()
        self.store = s3.store(self.bucket)
        self.now = self.store.clock()
        uris = s3.fill(s3.bucket(), FILES)
        self.sources = [Source(uri, name) for name, uri in uris.items()]
        self.store.take(self.sources, BACKUP)
        if lock is not None:
            self.published = self.store.publish(BACKUP, lock(self.now))

    def heads(self):
        """What S3 tells of each version."""
        return {
            one["Key"].removeprefix(PREFIX): self.s3.boto.head_object(
                Bucket=self.bucket, Key=one["Key"], VersionId=one["VersionId"]
            )
            for one in self.s3.rows(self.bucket)[0]
        }

    def ends(self):
        """The ends of all locks in mode COMPLIANCE, in seconds after the backup."""
        return {(locked_by(head).until - self.now) // 1_000_000 for head in self.heads().values()}

    def held(self):
        """Whether versions are under a legal hold."""
        return {locked_by(head).is_held for head in self.heads().values()}

    def refused(self, **options):
        """Whether S3 refuses to delete each version, one by one and together."""
        boto, rows = self.s3.boto, self.s3.rows(self.bucket)[0]
        for one in rows:
            with pytest.raises(boto.exceptions.ClientError, match="AccessDenied"):
                boto.delete_object(Bucket=self.bucket, Key=one["Key"], VersionId=one["VersionId"], **options)
        what = {"Objects": [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in rows]}
        errors = boto.delete_objects(Bucket=self.bucket, Delete=what, **options)["Errors"]
        return {one["Code"] for one in errors} == {"AccessDenied"} and len(errors) == len(rows) > 0


def for_a_day(now):
    """A lock."""
    return Lock(now + DAY)


def on_hold(_):
    """A legal hold without a lock."""
    return Lock(is_held=True)


@pytest.mark.parametrize("lock", [for_a_day, on_hold])
@pytest.mark.parametrize("options", [{}, {"BypassGovernanceRetention": True}])
def test_s3_refuses_to_delete(s3, lock, options):
    """A locked or held backup: its files and its manifest, by bypass as well, whoever asks."""
    vault = Vault(s3, lock)
    assert vault.published.enforcement.is_enforced
    assert vault.refused(**options)
    assert verified(vault.store, vault.published.digest) == ()


def test_a_lock_is_in_mode_compliance_until_the_moment_of_the_rules(s3):
    """On each file and on the manifest; in whole seconds, never earlier."""
    vault = Vault(s3, lambda now: Lock(now + DAY + 1))
    assert vault.ends() == {86_401}
    assert vault.held() == {False}
    assert set(vault.heads()) == {*FILES, NAME}


def test_a_lock_only_grows(s3):
    """The rules ask for an earlier end, again, or after a kill that left some files behind."""
    vault = Vault(s3, for_a_day)
    for until, end in ((1, 86_400), (2 * DAY, 172_800), (DAY, 172_800), (2 * DAY, 172_800)):
        assert vault.store.lock(BACKUP, vault.now + until).is_enforced
        assert vault.ends() == {end}
        assert vault.store.publish(BACKUP, Lock(vault.now + until)).digest == vault.published.digest
        assert vault.ends() == {end}


def test_a_killed_extension_goes_on(s3, monkeypatch):
    """The manifest comes last, so that the next attempt knows that there is something to do."""
    vault = Vault(s3, for_a_day)
    extended = []

    def fail(client, where, *rest):
        if extended:
            raise KeyboardInterrupt
        extended.append(where)
        extend(client, where, *rest)

    extend = s3_locks.extend
    monkeypatch.setattr("audit.time_travel.backups.store.s3_publish.extend", fail)
    with pytest.raises(KeyboardInterrupt):
        vault.store.lock(BACKUP, vault.now + 3 * DAY)
    monkeypatch.undo()
    assert vault.ends() == {86_400, 3 * 86_400}
    vault.store.lock(BACKUP, vault.now + 3 * DAY)
    assert vault.ends() == {3 * 86_400}


def test_a_lock_of_another_mode_becomes_one_that_nobody_lifts(s3):
    """A default lock of the bucket is in mode GOVERNANCE, and may end later."""
    vault = Vault(s3)
    for one in s3.rows(vault.bucket)[0]:
        later = s3.boto.head_object(Bucket=vault.bucket, Key=one["Key"])["LastModified"].replace(year=2099)
        s3.boto.put_object_retention(
            Bucket=vault.bucket,
            Key=one["Key"],
            VersionId=one["VersionId"],
            Retention={"Mode": "GOVERNANCE", "RetainUntilDate": later},
        )
    vault.store.publish(BACKUP, for_a_day(vault.now))
    heads = vault.heads()
    assert {head["ObjectLockMode"] for head in heads.values()} == {"COMPLIANCE"}
    assert all(to_micros(heads[name]["ObjectLockRetainUntilDate"]) > vault.now + 365 * DAY for name in FILES)


def test_a_legal_hold_comes_and_goes(s3):
    """As often as it is asked for; the lock stays as it is."""
    vault = Vault(s3, for_a_day)
    for is_held in (True, True, False, False, True):
        assert vault.store.hold(BACKUP, is_held=is_held).is_enforced
        assert vault.held() == {is_held}
        assert vault.ends() == {86_400}


def test_a_locked_backup_is_not_removed(s3):
    """It stays whole: nothing is deleted before S3 has said no."""
    vault = Vault(s3, for_a_day)
    with pytest.raises(BackupLockedError, match="until"):
        vault.store.remove(BACKUP)
    vault.store.hold(BACKUP, is_held=True)
    with pytest.raises(BackupHeldError, match="legal hold"):
        vault.store.remove(BACKUP)
    assert vault.store.published("set") == [BACKUP]
    assert vault.store.verify(BACKUP).damages == ()


def test_a_lock_ends(s3):
    """By the date of S3. A hold outlives it."""
    vault = Vault(s3, lambda now: Lock(now + 2_000_000, is_held=True))
    while vault.store.clock() <= vault.now + 2_000_000:
        time.sleep(0.2)
    with pytest.raises(BackupHeldError):
        vault.store.remove(BACKUP)
    vault.store.hold(BACKUP, is_held=False)
    vault.store.remove(BACKUP)
    assert s3.rows(vault.bucket) == ([], [])


def test_a_kill_before_the_manifest_leaves_a_folder_that_is_locked(s3, monkeypatch):
    """It is unfinished and cannot be removed; the next attempt makes it whole."""
    vault = Vault(s3)
    monkeypatch.setattr("audit.time_travel.backups.store.s3_publish._write_manifest", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        vault.store.publish(BACKUP, for_a_day(vault.now))
    monkeypatch.undo()
    assert vault.store.unfinished("set") == [BACKUP]
    with pytest.raises(BackupLockedError, match="ended"):
        vault.store.remove(BACKUP)
    vault.store.take(vault.sources, BACKUP)
    vault.store.publish(BACKUP, for_a_day(vault.now))
    assert vault.store.verify(BACKUP).damages == ()
    assert vault.ends() == {86_400}


def hide(s3, bucket):
    """As `rm --recursive` does it: S3 takes it, under any lock."""
    for one in s3.rows(bucket)[0]:
        s3.boto.delete_object(Bucket=bucket, Key=one["Key"])


def overwrite(s3, bucket):
    """Other bytes under the same names."""
    for one in s3.rows(bucket)[0]:
        s3.boto.put_object(Bucket=bucket, Key=one["Key"], Body=b"other")


@pytest.mark.parametrize("attack", [hide, overwrite])
def test_what_lies_over_a_locked_backup_is_found(s3, attack):
    """The backup is there, is read, is restored; nobody who reads by name would see it."""
    vault = Vault(s3, for_a_day)
    attack(s3, vault.bucket)
    assert vault.store.published("set") == [BACKUP]
    assert verified(vault.store, vault.published.digest) == tuple(
        Damage(name, "covered") for name in sorted(FILES)
    )
    assert vault.store.read(BACKUP, "a.parquet") == FILES["a.parquet"]
    with vault.store.fetched(BACKUP, lambda _: False) as backup:
        vault.store.take(backup.sources.values(), "set/restored")
    assert vault.store.publish("set/restored").size == vault.published.size


def put_on_hold(s3, bucket, key, data):
    """An object that cannot be deleted."""
    s3.boto.put_object(
        Bucket=bucket, Key=key, Body=data, ChecksumAlgorithm="SHA256", ObjectLockLegalHoldStatus="ON"
    )


def test_a_file_that_is_locked_and_wrong_ends_the_attempt(s3):
    """A default lock of the bucket did it: what is there cannot make way."""
    vault = Vault(s3)
    vault.store.remove(BACKUP)
    put_on_hold(s3, vault.bucket, PREFIX + "a.parquet", b"half")
    with pytest.raises(BackupIncompleteError, match="locked"):
        vault.store.take(vault.sources, BACKUP)


def test_without_object_lock_the_caller_is_told(s3):
    """With the name of the bucket; the backup is made, and can be deleted."""
    bucket = s3.bucket()
    store = s3.store(bucket)
    uris = s3.fill(bucket, FILES)
    store.take([Source(uri, name) for name, uri in uris.items()], BACKUP)
    made = store.publish(BACKUP, Lock(store.clock() + DAY, is_held=True))
    assert not made.enforcement.is_enforced
    assert bucket in made.enforcement.reason
    assert store.verify(BACKUP).damages == ()
    store.remove(BACKUP)
    assert store.published("set") == []


def test_the_rules_give_the_moment_by_the_clock_of_the_store(s3):
    """What is left of a period is counted from the date of S3, whatever this machine's clock says."""
    vault = Vault(s3, lambda now: Lock(now + 5 * DAY))
    assert store_for(f"s3://{vault.bucket}/audit/backups", s3.home, s3.settings).clock() >= vault.now
    assert vault.ends() == {5 * 86_400}
