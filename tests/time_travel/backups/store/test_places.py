"""What each place for backups does, a folder of this machine and three kinds of buckets alike."""

from __future__ import annotations

import hashlib
import shutil
import time
from itertools import pairwise
from pathlib import Path

import pytest

from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import NAME, Damage, FileEntry, verify
from audit.time_travel.backups.store.backup_store import Lock, Published, Source
from audit.time_travel.backups.store.choose import store_for
from audit.time_travel.backups.store.local_store import LocalStore
from audit.time_travel.errors import BackupDamagedError, BackupIncompleteError, BackupStoreUnknownError
from tests.time_travel.backups.store.manifests import BACKUP, entries_in, verified

FILES = {
    "a.parquet": b"a" * 1000,
    "p=1/b c.parquet": b"b" * 2000,
    "p=%20+%/q=ü/d+&=?#~.parquet": b"d" * 10,
    "_delta_log/00000000000000000000.json": b"{}\n",
    "empty": b"",
    "数据/\U0001f40d.parquet": b"e",
}


class Place:
    """A store, with a table beside it."""

    def __init__(self, store, uris, change):
        self.store, self.uris, self.change = store, uris, change

    def sources(self):
        """The files of the table."""
        return [Source(uri, name) for name, uri in self.uris.items()]

    def made(self, folder=BACKUP, lock=Lock()):  # noqa: B008  a frozen value
        """A published backup."""
        self.store.take(self.sources(), folder)
        return self.store.publish(folder, lock)


@pytest.fixture(params=["local", "plain", "versioned", "locking"])
def place(request, tmp_path, s3):
    """One of each kind."""
    if request.param == "local":
        return local_place(tmp_path)
    bucket = {"plain": s3.bucket, "versioned": s3.versioned, "locking": s3.locking}[request.param]()

    def change(path, data):
        key = f"audit/backups/{path}"
        if data is None:
            found, _ = s3.rows(bucket, key)
            for one in found:
                s3.boto.delete_object(Bucket=bucket, Key=key, VersionId=one["VersionId"])
        else:
            change(path, None)
            s3.boto.put_object(Bucket=bucket, Key=key, Body=data)

    return Place(s3.store(bucket), s3.fill(s3.bucket(), FILES), change)


def local_place(tmp_path):
    """A folder."""
    for name, data in FILES.items():
        path = tmp_path / "warehouse" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def change(path, data):
        target = tmp_path / "backups" / path
        target.unlink(missing_ok=True)
        if data is not None:
            target.write_bytes(data)

    uris = {name: f"file:{tmp_path}/warehouse/{name}" for name in FILES}
    return Place(store_for(f"file://{tmp_path}/backups", tmp_path), uris, change)


def entries():
    """The manifest of the table."""
    return [
        FileEntry(name, len(FILES[name]), hashlib.sha256(FILES[name]).hexdigest()) for name in sorted(FILES)
    ]


def test_a_backup_has_each_file(place):
    """Names of any letters; the manifest is the same in each kind of place."""
    told, hashed = [], []
    taken = place.store.take(place.sources(), BACKUP, told.append)
    assert sum(told, Taken()) == taken
    assert taken.linked + taken.copied == len(FILES)
    assert not place.store.is_published(BACKUP)
    made = place.store.publish(BACKUP, done=hashed.append)
    assert sum(hashed) == made.size == sum(map(len, FILES.values()))
    assert made.files == len(FILES)
    text = place.store.read(BACKUP, NAME)
    assert hashlib.sha256(text).hexdigest() == made.digest
    assert list(entries_in(place.store)) == entries()
    assert verified(place.store, made.digest) == ()
    assert {name: place.store.read(BACKUP, name) for name in FILES} == FILES


def test_a_second_attempt_keeps_what_is_there(place):
    """And takes what is missing, or of other bytes."""
    place.store.take(place.sources()[:3], BACKUP)
    place.change(f"{BACKUP}/a.parquet", b"half")
    taken = place.store.take(place.sources(), BACKUP)
    assert (taken.kept, taken.linked + taken.copied) == (2, len(FILES) - 2)
    first = place.store.publish(BACKUP)
    assert place.store.take(place.sources(), BACKUP) == Taken(kept=len(FILES))
    assert place.store.publish(BACKUP) == first
    assert place.store.verify(BACKUP).damages == ()


def test_what_is_written_beside_the_files_belongs_to_them(place):
    """Small files of this machine, of any depth, but none that is on its way; nothing is left there."""
    work = place.store.work(BACKUP)
    (work / "tables" / "_delta_log").mkdir(parents=True)
    (work / "tables" / "_delta_log" / "0.json").write_bytes(b"{}")
    (work / "backup.json").write_bytes(b"two")
    (work / "plan.part").write_bytes(b"half")
    place.store.take(place.sources()[:1], BACKUP)
    assert place.store.sets() == ["set"]
    assert place.store.unfinished("set") == [BACKUP]
    made = place.store.publish(BACKUP)
    assert sorted(one.path for one in entries_in(place.store)) == [
        "a.parquet", "backup.json", "tables/_delta_log/0.json",
    ]  # fmt: skip
    assert place.store.totals(BACKUP) == Published(3, made.size, made.digest)
    assert place.store.read(BACKUP, "backup.json") == b"two"
    assert work.exists() is place.store.is_local
    with pytest.raises(BackupDamagedError, match="none"):
        place.store.read(BACKUP, "none")


def test_a_backup_is_fetched(place):
    """All of it, to a folder of this machine; a copy is gone afterwards, and made again."""
    made = place.made()
    for _ in range(2):
        with place.store.fetched(BACKUP) as backup:
            found = {one.path: (backup.folder / one.path).read_bytes() for one in entries()}
            assert backup.manifest.digest == made.digest
        assert found == FILES
        assert backup.folder.exists() is place.store.is_local


def test_a_damaged_backup_is_not_fetched(place):
    """A copy is compared as it comes; a folder of this machine is verified by who restores from it."""
    place.made()
    place.change(f"{BACKUP}/a.parquet", b"A" * 1000)
    if place.store.is_local:
        with place.store.fetched(BACKUP) as backup:
            assert verify(backup.folder, backup.manifest) == (Damage("a.parquet", "hash"),)
        return
    with pytest.raises(BackupDamagedError, match=r"a\.parquet"), place.store.fetched(BACKUP):
        pass
    place.change(f"{BACKUP}/a.parquet", None)
    # Also where S3 is to copy it, and this machine has no need of it.
    for wanted in (lambda _: True, lambda _: False):
        with pytest.raises(BackupDamagedError, match="is gone"), place.store.fetched(BACKUP, wanted):
            pass
    place.store.remove(BACKUP)
    with pytest.raises(BackupDamagedError, match="no manifest"), place.store.fetched(BACKUP):
        pass


def test_when_it_was_written(place):
    """By the store's dates: what a killed driver left is removed when it is old."""
    before = time.time() - 2
    assert place.store.written(BACKUP) == 0
    place.store.take(place.sources(), BACKUP)
    assert before < place.store.written(BACKUP) / 1_000_000 < time.time() + 2


@pytest.mark.parametrize(("location", "local"), [("file:/w/t", True), ("/w/t", True), ("s3a://b/t", False)])
def test_what_a_store_takes(place, location, local):
    """S3 takes files of this machine and of S3; a folder those of this machine."""
    assert place.store.takes(location) is (local or not place.store.is_local)
    assert not place.store.takes("gs://b/t")


def test_verify_finds_each_damage(place):
    """A file that is gone, of another size, of other bytes, or new; another manifest than the known one."""
    made = place.made()
    place.change(f"{BACKUP}/a.parquet", b"A" * 1000)
    place.change(f"{BACKUP}/p=1/b c.parquet", b"short")
    place.change(f"{BACKUP}/empty", None)
    place.change(f"{BACKUP}/new", b"")
    expected = [
        Damage("a.parquet", "hash"),
        Damage("empty", "missing"),
        Damage("new", "unknown"),
        Damage("p=1/b c.parquet", "size"),
    ]
    assert verified(place.store, made.digest) == tuple(expected)
    if not place.store.is_local:  # there whoever restores looks, as test_content_values shows
        with pytest.raises(BackupDamagedError, match="empty"), place.store.fetched(BACKUP, lambda _: False):
            pass


def test_without_a_manifest_it_is_no_backup(place):
    """It comes last and goes first; what is left is listed, and removed."""
    assert (place.store.published("set"), place.store.unfinished("set")) == ([], [])
    place.store.take(place.sources(), "set/one")
    place.made("set/two")
    assert (place.store.published("set"), place.store.unfinished("set")) == (["set/two"], ["set/one"])
    for ask in (place.store.verify, place.store.totals):
        with pytest.raises(BackupDamagedError, match="no manifest"):
            ask("set/one")
    for ask in (lambda: place.store.lock("set/one", 1), lambda: place.store.hold("set/one", is_held=True)):
        with pytest.raises(BackupDamagedError, match="no manifest"):
            ask()
    for _ in range(2):
        place.store.remove("set/two")
        place.store.remove("set/one")
    assert (place.store.published("set"), place.store.unfinished("set")) == ([], [])


@pytest.mark.parametrize("text", [b"", b"[1]\n", b'{"format": 1, "files": 2, "bytes": 0}\n', "ü".encode()])
def test_a_damaged_manifest_is_none(place, text):
    """It is said of which backup."""
    place.made()
    place.change(f"{BACKUP}/{NAME}", text)
    with pytest.raises(BackupDamagedError, match="backup"):
        place.store.verify(BACKUP)


def test_the_files_of_a_backup_are_taken_elsewhere(place, tmp_path):
    """A restore is a take of what the backup has, whatever became of the table."""
    place.made()
    with place.store.fetched(BACKUP, lambda _: False) as backup:
        assert {path: one.target for path, one in backup.sources.items()} == {path: path for path in FILES}
        place.store.take(backup.sources.values(), "set/restored")
    assert list(map(tuple_of, sorted_files(place.store, "set/restored"))) == list(map(tuple_of, entries()))


def sorted_files(store, folder):
    """The files of a folder, published for it."""
    store.publish(folder)
    return entries_in(store, folder)


def tuple_of(entry):
    """What an entry says."""
    return (entry.path, entry.size, entry.sha256)


def test_a_source_that_is_gone_ends_the_attempt(place):
    """The error names the file; what was taken stays, and no manifest comes."""
    gone = Source(place.uris["a.parquet"] + ".gone", "gone")
    with pytest.raises(BackupIncompleteError, match=r"a\.parquet\.gone") as caught:
        place.store.take([*place.sources(), gone], BACKUP)
    assert "again" in caught.value.way_out
    assert place.store.unfinished("set") == [BACKUP]


@pytest.mark.parametrize("folder", ["", "/etc", "set/..", "set//backup", "./set", "set/"])
def test_a_folder_that_leads_elsewhere_is_refused(place, folder):
    """Before anything is asked."""
    with pytest.raises(BackupStoreUnknownError, match="no folder of a backup"):
        place.store.remove(folder)


def test_nothing_lies_over_a_backup_of_its_own(place):
    """There is nothing to take away."""
    place.made()
    assert place.store.verify(BACKUP).damages == ()


def test_a_place_without_locks_says_so(place, s3):
    """By a value; the backup is made. Without a lock there is nothing to say."""
    locks = isinstance(place.store, LocalStore) is False and "ObjectLockEnabled" in str(
        lock_configuration(s3, place.store.root.bucket)
    )
    until = (place.store.clock() or 0) + 60_000_000
    made = place.made(lock=Lock(until))
    answers = [made.enforcement, place.store.lock(BACKUP, until), place.store.hold(BACKUP, is_held=True)]
    answers.append(place.store.hold(BACKUP, is_held=False))
    assert {one.is_enforced for one in answers} == {locks}
    assert all(bool(one.reason) is not locks for one in answers)
    plain = place.made("set/plain")
    assert plain == Published(plain.files, plain.size, plain.digest, plain.enforcement)
    assert (plain.enforcement.is_enforced, plain.enforcement.reason) == (False, "")


def lock_configuration(s3, bucket):
    """What the bucket says; "" for none."""
    try:
        return s3.boto.get_object_lock_configuration(Bucket=bucket)
    except s3.boto.exceptions.ClientError:
        return ""


def test_the_stores_own_clock(place):
    """S3 has one: it never goes back while this machine's goes on. A folder has none."""
    looks = [place.store.clock() for _ in range(3)]
    if isinstance(place.store, LocalStore):
        assert looks == [None] * 3
    else:
        assert all(one <= two for one, two in pairwise(looks))
        assert looks[0] > 1_700_000_000_000_000
        assert looks[0] % 1_000_000 == 0


def test_a_local_backup_survives_its_table(tmp_path):
    """By its links."""
    place = local_place(tmp_path)
    made = place.made()
    shutil.rmtree(tmp_path / "warehouse")
    assert verified(place.store, made.digest) == ()
    assert Path(place.store.location(BACKUP)).is_dir()


def test_a_table_of_a_store_has_no_backup_on_a_disk(tmp_path):
    """Its bytes would have to come through this machine."""
    with pytest.raises(BackupIncompleteError, match="not on this machine"):
        LocalStore(tmp_path).take([Source("s3a://b/t/a.parquet", "a")], BACKUP)
