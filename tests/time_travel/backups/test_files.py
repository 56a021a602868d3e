"""Files of a backup: taken without their bytes, hashed, published whole, verified, resumed after a kill."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from audit.time_travel.backups.files import link_files
from audit.time_travel.backups.files import manifest as manifests
from audit.time_travel.backups.files.link_files import FileToTake, Taken, take_files
from audit.time_travel.backups.files.manifest import (
    NAME,
    Damage,
    FileEntry,
    Manifest,
    ReadNow,
    make_manifest,
    read_back,
    sha256_of,
    verify,
)
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.files.publish import (
    complete,
    is_published,
    known_hashes,
    publish,
    published,
    read_manifest,
    remove,
    unfinished,
)
from audit.time_travel.errors import BackupDamagedError, BackupIncompleteError

OTHER_MOUNT = Path("/dev/shm")  # noqa: S108  a mount of its own, where there is one
NAMES = ("a.parquet", "p=1/b c.parquet", "p=1/q=ü/d.parquet", "_delta_log/0.json", "empty")


@pytest.fixture
def table(tmp_path):
    """The files of a table."""
    return written(tmp_path / "table")


def written(folder):
    """Files with other bytes each."""
    for at, name in enumerate(NAMES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name == "empty" else bytes([at]) * (at + 1) * 1000)
    return folder


def to_take(table):
    """All of them."""
    return [FileToTake(table / name, name) for name in NAMES]


@pytest.fixture
def backup(table, tmp_path):
    """A published backup of the table."""
    take_files(to_take(table), tmp_path / "backups" / "one")
    publish(tmp_path / "backups" / "one")
    return tmp_path / "backups" / "one"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder on another mount."""
    if not OTHER_MOUNT.is_dir() or OTHER_MOUNT.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one mount alone")
    folder = OTHER_MOUNT / f"backup-{os.getpid()}-{tmp_path.name}"
    yield folder
    remove(folder)


# -- taken -------------------------------------------------------------------------------------


def test_files_are_linked(table, tmp_path):
    """They share their inodes, so that no bytes are copied, and survive the source."""
    told = []
    folder = tmp_path / "b"
    assert take_files(to_take(table), folder, told.append) == Taken(linked=len(NAMES))
    assert told == [Taken(linked=1)] * len(NAMES)
    assert all((table / name).samefile(folder / name) for name in NAMES)
    before = {name: (table / name).read_bytes() for name in NAMES}
    for name in NAMES:
        (table / name).unlink()
    assert {name: (folder / name).read_bytes() for name in NAMES} == before


def test_a_second_attempt_keeps_what_is_there(table, tmp_path):
    """It makes what is missing, and anew what is of another size."""
    folder = tmp_path / "b"
    take_files(to_take(table)[:3], folder)
    (folder / NAMES[1]).unlink()
    (folder / NAMES[1]).write_bytes(b"half")
    assert take_files(to_take(table), folder) == Taken(linked=3, kept=2)
    assert (folder / NAMES[1]).read_bytes() == (table / NAMES[1]).read_bytes()


def test_over_a_mount_boundary_files_are_copied(table, elsewhere):
    """Whole, or not under their names; a second attempt keeps them."""
    size = sum((table / name).stat().st_size for name in NAMES)
    assert take_files(to_take(table), elsewhere) == Taken(copied=len(NAMES), copied_bytes=size)
    assert all((elsewhere / name).read_bytes() == (table / name).read_bytes() for name in NAMES)
    (elsewhere / NAMES[0]).unlink()
    (elsewhere / (NAMES[0] + ".part")).write_bytes(b"half")
    assert take_files(to_take(table), elsewhere) == Taken(copied=1, kept=len(NAMES) - 1, copied_bytes=1000)
    assert verify(elsewhere, publish(elsewhere)) == ()
    assert not list(elsewhere.rglob("*.part"))


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_where_links_are_refused_files_are_copied(table, tmp_path, monkeypatch, number):
    """Another mount, another user's file, too many links, a system without any: as the system says it."""

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(link_files.os, "link", refuse)
    taken = take_files(to_take(table), tmp_path / "b")
    assert taken.copied + taken.cloned == len(NAMES)
    assert take_files(to_take(table), tmp_path / "b") == Taken(kept=len(NAMES))
    (tmp_path / "b" / NAMES[0]).write_bytes(b"half")
    again = take_files(to_take(table), tmp_path / "b")
    assert (again.copied + again.cloned, again.kept) == (1, len(NAMES) - 1)


def use_up_links(source, folder):
    """Give a file all the names that its file system allows."""
    for number in range(70_000):
        os.link(source, folder / str(number))
    pytest.skip("this file system has more links than a test makes")


def test_a_file_with_all_its_links_is_copied(table, tmp_path):
    """Of ext4 it has 65,000."""
    source, full = table / NAMES[0], tmp_path / "full"
    full.mkdir()
    try:
        with pytest.raises(OSError, match="Too many links"):
            use_up_links(source, full)
        taken = take_files(to_take(table)[:2], tmp_path / "b")
    finally:
        shutil.rmtree(full)
    assert (taken.linked, taken.copied + taken.cloned) == (1, 1)
    assert (tmp_path / "b" / NAMES[0]).read_bytes() == source.read_bytes()


def test_a_clone_shares_its_blocks(table, tmp_path, monkeypatch):
    """Where the file system can; ext4 and tmpfs cannot, so that the answer of one that can stands in here."""
    asked = []

    def no_link(*_, **__):
        raise OSError(errno.EXDEV, "")

    def clone(target, request, source):
        os.write(target, os.pread(source, 1 << 20, 0))
        asked.append(request)

    monkeypatch.setattr(link_files.os, "link", no_link)
    monkeypatch.setattr(link_files.fcntl, "ioctl", clone)
    assert take_files(to_take(table), tmp_path / "b") == Taken(cloned=len(NAMES))
    assert set(asked) == {0x40049409}
    assert (tmp_path / "b" / NAMES[1]).read_bytes() == (table / NAMES[1]).read_bytes()


def test_a_source_that_is_gone_ends_the_attempt(table, tmp_path):
    """The error names the file; what was taken stays, and no manifest comes."""
    (table / NAMES[2]).unlink()
    with pytest.raises(BackupIncompleteError, match=r"d\.parquet") as caught:
        take_files(to_take(table), tmp_path / "b")
    assert "again" in caught.value.way_out
    assert not is_published(tmp_path / "b")


def test_memory_does_not_grow_with_the_number_of_files():
    """Items are taken one by one, by two threads: no more than two are taken and not done."""
    done, waiting = [], []

    def items():
        for number in range(20_000):
            waiting.append(number - len(done))
            yield number

    each(items(), done.append)
    assert sorted(done) == list(range(20_000))
    assert max(waiting) <= 2


def test_the_first_error_ends_the_work():
    """It is raised, and the items that follow are not taken: here there is no end of them."""
    with pytest.raises(ZeroDivisionError):
        each(count(), lambda number: 1 // (number - 5))


# -- manifest ----------------------------------------------------------------------------------


def test_a_manifest_has_each_file(table):
    """Path, size and SHA-256, ordered by path."""
    told = []
    manifest = make_manifest(table, told.append)
    assert [one.path for one in manifest.files] == sorted(NAMES)
    for one in manifest.files:
        data = (table / one.path).read_bytes()
        assert (one.size, one.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert sum(told) == manifest.size == 11_000 - 1_000
    assert sha256_of(table / "empty") == (0, hashlib.sha256(b"").hexdigest())


def test_a_manifest_comes_back_from_its_file(backup):
    """Names of any letters; its digest is that of its bytes."""
    manifest = read_manifest(backup)
    assert manifest == make_manifest(backup)
    assert manifest.digest == hashlib.sha256((backup / NAME).read_bytes()).hexdigest()
    assert publish(backup) == manifest


def test_a_name_that_is_no_text_is_kept(tmp_path):
    """A file system knows bytes."""
    folder = tmp_path / "b"
    folder.mkdir()
    name = os.fsdecode(b"\xff\xfe\n.parquet")
    (folder / name).write_bytes(b"x")
    assert publish(folder).files == (FileEntry(name, 1, hashlib.sha256(b"x").hexdigest()),)
    assert verify(folder, read_manifest(folder)) == ()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-5],
        lambda text: text[: text.rindex("\n[") + 1],
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace("[", "", 1),
        lambda text: "[1]\n" + text,
        lambda text: "ü" + text,
    ],
)
def test_a_damaged_manifest_is_none(backup, damage):
    """It is said of which backup."""
    (backup / NAME).write_text(damage((backup / NAME).read_text("ascii")), "utf-8")
    with pytest.raises(BackupDamagedError, match="one"):
        read_manifest(backup)


def test_verify_finds_each_damage(backup, table):
    """A file that is gone, shorter, written through the source's name, new, or no file any more."""
    manifest = read_manifest(backup)
    assert verify(backup, manifest) == ()
    (backup / NAMES[0]).unlink()
    with (table / NAMES[1]).open("r+b") as file:
        file.write(b"changed")
    (table / NAMES[3]).write_bytes(b"short")
    (backup / "empty").unlink()
    (backup / "empty").mkdir()
    (backup / "p=1" / "new").write_bytes(b"")
    assert verify(backup, manifest) == (
        Damage(NAMES[3], "size"),
        Damage(NAMES[0], "missing"),
        Damage("empty", "missing"),
        Damage(NAMES[1], "hash"),
        Damage("p=1/new", "unknown"),
    )


def test_a_shared_file_is_read_once(table, backup, tmp_path):
    """Of two backups of one run; what is wrong with it is wrong with both."""
    other = tmp_path / "backups" / "two"
    take_files(to_take(table), other)
    publish(other)
    with (table / NAMES[1]).open("r+b") as file:
        file.write(b"changed")
    told, both = [], [(folder, read_manifest(folder)) for folder in (backup, other)]
    known, whole = read_back(both, told.append)
    assert whole == frozenset()
    assert len(told) == len(known) == len(NAMES)
    for folder, manifest in both:
        assert verify(folder, manifest, told.append, known) == (Damage(NAMES[1], "hash"),)
    assert len(told) == len(NAMES)


@pytest.mark.parametrize("change", ["nothing", "new file", "gone", "longer", "no hash", "other hash", "link"])
def test_whole_is_what_verify_finds_nothing_in(table, backup, tmp_path, change):
    """Whether it is asked of several backups at once, or of one; no file is read twice for it."""
    other = tmp_path / "backups" / "two"
    take_files(to_take(table), other)
    publish(other)
    manifest, name = read_manifest(other), NAMES[1]
    at = [one.path for one in manifest.files].index(name)
    if change == "new file":
        (other / "new").write_bytes(b"")
    elif change == "gone":
        (other / name).unlink()
    elif change == "longer":
        (other / name).unlink()
        (other / name).write_bytes(b"longer than it was")
    elif change == "link":
        (other / "link").symlink_to("/etc/hostname")
    elif change != "nothing":
        entry = manifest.files[at]._replace(sha256="" if change == "no hash" else "0" * 64)
        manifest = Manifest((*manifest.files[:at], entry, *manifest.files[at + 1 :]))
    known, whole = read_back([(backup, read_manifest(backup)), (other, manifest)])
    assert len(known) == len(NAMES)
    assert backup in whole
    is_whole = not verify(other, manifest) and all(one.sha256 for one in manifest.files)
    assert (other in whole) == is_whole == (change == "nothing")


def test_a_file_that_cannot_be_read(backup):
    """By a mode, where the user is not root; a link is no file of a backup."""
    manifest = read_manifest(backup)
    (backup / "link").symlink_to("/etc/hostname")
    assert verify(backup, manifest) == (Damage("", "unreadable"),)
    with pytest.raises(BackupDamagedError, match="no plain file"):
        make_manifest(backup)


# -- hashed later ------------------------------------------------------------------------------


def test_what_an_earlier_backup_has_is_not_read_again(table, backup, tmp_path):
    """Its hash is taken. That finds, too, what was changed between the two."""
    with (table / NAMES[1]).open("r+b") as file:
        file.write(b"changed")
    (table / "new").write_bytes(b"new")
    told, folder = [], tmp_path / "backups" / "two"
    take_files([*to_take(table), FileToTake(table / "new", "new")], folder)
    manifest = publish(folder, told.append, known_hashes([backup]))
    assert told == [3]
    earlier = {one.path: one for one in read_manifest(backup).files}
    assert {one.path: one for one in manifest.files if one.path != "new"} == earlier
    assert verify(folder, manifest) == (Damage(NAMES[1], "hash"),)


def test_a_file_of_the_same_name_is_not_the_same(table, backup, tmp_path):
    """Only one that shares its inode; and nothing is known of a backup that is gone or damaged."""
    for name in NAMES:
        data = (table / name).read_bytes()
        (table / name).unlink()
        (table / name).write_bytes(data)
    told, folder = [], tmp_path / "backups" / "two"
    take_files(to_take(table), folder)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / NAME).write_text("[]")
    publish(folder, told.append, known_hashes([backup, tmp_path / "gone", tmp_path / "damaged"]))
    assert len(told) == len(NAMES)


def test_large_files_are_hashed_later(table, tmp_path):
    """Small ones at once; until then a large one is known by its size; what has a hash keeps it."""
    folder = tmp_path / "b"
    take_files(to_take(table), folder)
    manifest = publish(folder, now=ReadNow(3_000, lambda path: path == NAMES[3]))
    unread = [one.path for one in manifest.files if not one.sha256]
    assert (manifest.unread, unread) == (1, [NAMES[2]])
    assert read_manifest(folder) == publish(folder) == manifest
    assert verify(folder, manifest) == ()
    (folder / NAMES[2]).unlink()
    assert verify(folder, manifest) == (Damage(NAMES[2], "missing"),)
    with pytest.raises(BackupDamagedError, match="cannot be read"):
        complete(folder)
    (folder / NAMES[2]).write_bytes(b"short")
    with pytest.raises(BackupDamagedError, match="has 5 bytes and not 3,000"):
        complete(folder)
    assert read_manifest(folder) == manifest
    (folder / NAMES[2]).unlink()
    take_files(to_take(table), folder)
    with (folder / NAMES[0]).open("r+b") as file:
        file.write(b"changed")
    whole = complete(folder)
    assert complete(folder) == read_manifest(folder) == whole
    assert whole.unread == 0
    assert verify(folder, whole) == (Damage(NAMES[0], "hash"),)


def test_a_file_is_not_written_to_before_it_has_a_hash(table, tmp_path):
    """Through the source's name, with as many bytes: it is told at once, and what is in it gets no hash."""
    folder = tmp_path / "b"
    take_files(to_take(table), folder)
    manifest = publish(folder, now=ReadNow(0))
    assert [one.path for one in manifest.files if one.written] == sorted({*NAMES} - {"empty"})
    assert read_manifest(folder) == manifest
    # Another backup, and an unlinked source, change the inode but not its bytes.
    take_files(to_take(table), tmp_path / "c")
    (table / NAMES[0]).unlink()
    assert verify(folder, manifest) == ()
    before = (table / NAMES[2]).stat()
    with (table / NAMES[2]).open("r+b") as file:
        file.write(b"changed")
    assert (table / NAMES[2]).stat().st_size == before.st_size
    assert verify(folder, manifest) == (Damage(NAMES[2], "written"),)
    hashes, whole = read_back([(folder, manifest)])
    assert verify(folder, manifest, known=hashes) == (Damage(NAMES[2], "written"),)
    assert whole == frozenset()
    with pytest.raises(BackupDamagedError, match=f"{NAMES[2]} was written to before it had a hash"):
        complete(folder)
    assert read_manifest(folder) == manifest


def test_a_write_while_a_file_is_hashed(table, tmp_path, monkeypatch):
    """It comes after the first byte was read, and is found all the same."""
    folder = tmp_path / "b"
    take_files(to_take(table), folder)
    publish(folder, now=ReadNow(0))

    def read(path):
        found = sha256_of(path)
        with Path(path).open("r+b") as file:
            file.write(b"c")  # as many bytes
        return found

    monkeypatch.setattr(manifests, "sha256_of", read)
    with pytest.raises(BackupDamagedError, match="was written to"):
        complete(folder)


def test_two_may_hash_at_once(table, tmp_path):
    """Both write the same."""
    folder = tmp_path / "b"
    take_files(to_take(table), folder)
    publish(folder, now=ReadNow(0))
    each([folder] * 20, complete)
    assert read_manifest(folder) == make_manifest(table)
    assert not list(folder.rglob("*.part"))


# -- published ---------------------------------------------------------------------------------


def test_a_folder_without_a_manifest_is_no_backup(table, tmp_path):
    """It comes last and goes first."""
    root = tmp_path / "backups"
    assert (published(root), unfinished(root)) == ([], [])
    take_files(to_take(table), root / "one")
    take_files(to_take(table), root / "two")
    publish(root / "two")
    assert (published(root), unfinished(root)) == ([root / "two"], [root / "one"])
    with pytest.raises(BackupDamagedError, match="no manifest"):
        read_manifest(root / "one")
    remove(root / "two")
    remove(root / "two")
    assert (published(root), unfinished(root)) == ([], [root / "one"])
    assert all((table / name).is_file() for name in NAMES)


def test_a_half_removed_backup_is_none(backup, monkeypatch):
    """Killed between the manifest and the files."""
    monkeypatch.setattr("audit.time_travel.backups.files.publish.shutil.rmtree", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        remove(backup)
    monkeypatch.undo()
    assert unfinished(backup.parent) == [backup]
    remove(backup)
    assert not backup.exists()


CHILD = """
import sys, json
from pathlib import Path
from audit.time_travel.backups.files.link_files import FileToTake, take_files
from audit.time_travel.backups.files.publish import publish
table, folder = map(Path, sys.argv[1:])
files = [FileToTake(path, path.name) for path in sorted(table.iterdir())]
print("begins", flush=True)
take_files(files, folder)
publish(folder)
print("ends", flush=True)
"""


def killed_after(table, folder, seconds):
    """Run it in a process of its own, and kill that after a while; whether it had ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, table, folder], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert process.stdout.readline() == b"begins\n"
    time.sleep(seconds)
    process.kill()
    return b"ends" in process.communicate()[0]


@pytest.mark.slow("processes that are killed")
@pytest.mark.parametrize("mount", ["same", "other"])
def test_killed_at_any_point_it_goes_on(tmp_path, mount, request):
    """After each kill the folder is no backup or a whole one; the last attempt makes it whole."""
    table = tmp_path / "table"
    table.mkdir()
    noise = random.Random(23)  # noqa: S311  no secret
    for number in range(200):
        (table / f"{number}.parquet").write_bytes(noise.randbytes(100_000))
    expected = make_manifest(table)
    folder = tmp_path / "b" if mount == "same" else request.getfixturevalue("elsewhere")
    pauses = (0, 0.002, 0.005, 0.01, 0.02, 0.04)
    for pause in pauses:
        killed_after(table, folder, pause)
        assert not is_published(folder) or verify(folder, read_manifest(folder)) == ()
    take_files([FileToTake(path, path.name) for path in sorted(table.iterdir())], folder)
    assert publish(folder) == expected
    assert verify(folder, expected) == ()
    assert json.loads((folder / NAME).read_text("ascii").splitlines()[0])["files"] == 200


def test_the_manifest_of_nothing(tmp_path):
    """An empty table has a backup, too."""
    (tmp_path / "b").mkdir()
    assert publish(tmp_path / "b") == Manifest(()) == read_manifest(tmp_path / "b")
