"""A backup on S3 becomes whole: all files are locked, then the manifest is written.

In: a folder with all files, a lock. Out: a `Published`. A kill leaves locked files without a manifest: such a
folder is made whole by the next attempt, and removed when its lock has ended.

Two runners write the same manifest. S3 takes one of them (If-None-Match), and the other one finds it there.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any

from audit.time_travel.backups.files.manifest import (
    NAME,
    Done,
    FileEntry,
    entries_of,
    entry_line,
    head_line,
)
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.store.backup_store import Lock
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import COPIES, S3Client
from audit.time_travel.backups.store.s3_locks import end_of, extend, locked_by, set_hold
from audit.time_travel.backups.store.s3_objects import (
    StoredFile,
    abort_uploads,
    digest_in,
    read_digest,
    stored_file,
    stored_files,
)
from audit.time_travel.errors import BackupDamagedError, BackupStoreError

_BATCH = 1000
"""Files whose lines wait in memory."""
_SPOOLED = 8 << 20
_WRITTEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409"})
"""What S3 says to the second one that writes a manifest."""


@dataclass(frozen=True, slots=True)
class Total:
    """What a manifest adds up to: files, bytes, and its own SHA-256."""

    files: int
    size: int
    digest: str


def manifest_of(client: S3Client, folder: S3Address) -> StoredFile | None:
    """The object of the manifest; None of a folder that is no backup.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    return stored_file(client, folder.below(NAME))


def manifest_lines(client: S3Client, folder: S3Address) -> Iterator[str]:
    """The lines of the manifest of a backup, by way of a temporary file.

    Raises:
        BackupDamagedError: it has none, or one that is no text.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    found = manifest_of(client, folder)
    if found is None:
        raise no_manifest(folder)
    answer = client.ask("get_object", folder, **found.where(folder.bucket))
    # S3 ends an answer that is read as slowly as the files that its lines name.
    with SpooledTemporaryFile(_SPOOLED) as text:
        text.writelines(client.chunks(answer["Body"], folder))
        text.seek(0)
        for line in text:
            yield _decoded(line, folder)


def _decoded(line: bytes, folder: S3Address) -> str:
    try:
        return line.decode("ascii")
    except UnicodeDecodeError as error:
        raise BackupDamagedError(
            f"the manifest of backup {folder} is no text", "verify it against another copy"
        ) from error


class CountedEntries:
    """The files of a manifest, added up as they are gone through: the manifest is read once.

    Going through them raises:
        BackupDamagedError: the backup has no manifest, or one that is not whole.
        BackupStoreError: S3 refuses, or cannot be reached.
    """

    def __init__(self, client: S3Client, folder: S3Address) -> None:
        self._lines, self._folder = manifest_lines(client, folder), str(folder)
        self._digest, self._files, self._size = hashlib.sha256(), 0, 0

    def __iter__(self) -> Iterator[FileEntry]:
        for entry in entries_of(self._hashed(), self._folder):
            self._files, self._size = self._files + 1, self._size + entry.size
            yield entry

    def _hashed(self) -> Iterator[str]:
        for line in self._lines:
            self._digest.update(line.encode("ascii"))
            yield line

    @property
    def total(self) -> Total:
        """Of those gone through: at the end, of the manifest."""
        return Total(self._files, self._size, self._digest.hexdigest())


def total_of(client: S3Client, folder: S3Address) -> Total:
    """What the manifest of a backup adds up to.

    Raises:
        BackupDamagedError: it has none, or one that is not whole.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    entries = CountedEntries(client, folder)
    for _ in entries:
        pass
    return entries.total


def publish(client: S3Client, folder: S3Address, lock: Lock, done: Done) -> Total:
    """Hash and lock all files of a folder, and write its manifest.

    The hash is S3's own, which it made of its copy, or that of the bytes as they are read.

    Args:
        client: of S3.
        folder: with all files of the backup, and no manifest.
        lock: what the bucket is to enforce.
        done: is told the bytes of each file.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    # All files are there: what is on its way came of attempts that were killed, or is somebody's second copy.
    abort_uploads(client, folder)
    with SpooledTemporaryFile(_SPOOLED) as lines, SpooledTemporaryFile(_SPOOLED) as text:
        files, size = 0, 0
        for entry in _entries(client, folder, lock, done):
            files, size = files + 1, size + entry.size
            lines.write(entry_line(entry).encode("ascii"))
        lines.seek(0)
        text.write(head_line(files, size).encode("ascii"))
        shutil.copyfileobj(lines, text)
        text.seek(0)
        _write_manifest(client, folder, text, lock)
    return total_of(client, folder)


def set_lock(client: S3Client, folder: S3Address, lock: Lock) -> None:
    """Extend the lock of a backup, or put it under a legal hold: its files first, its manifest last.

    So the manifest is locked as long as its files or shorter, and a second attempt has nothing to do.

    Raises:
        BackupDamagedError: the folder is no backup.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    manifest = _required(client, folder)
    known = locked_by(_head(client, folder, manifest))
    until = lock.until if lock.until is not None and (known.until or 0) < lock.until else None
    wanted = Lock(until, lock.is_held and not known.is_held)
    if wanted != Lock():
        _each_file(client, folder, lambda one: _lock(client, folder, one, wanted))
        _lock(client, folder, manifest, wanted)


def end_hold(client: S3Client, folder: S3Address) -> None:
    """Take the legal hold of a backup away: of its manifest first, so that a second attempt goes on.

    Raises:
        BackupDamagedError: the folder is no backup.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    set_hold(client, _required(client, folder).where(folder.bucket), is_held=False)
    _each_file(client, folder, lambda one: set_hold(client, one.where(folder.bucket), is_held=False))


def data_files(client: S3Client, folder: S3Address) -> Iterator[StoredFile]:
    """The files below a folder but for its manifest.

    Raises:
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    manifest = folder.below(NAME).key
    return (one for one in stored_files(client, folder.below("")) if one.key != manifest)


def no_manifest(folder: S3Address) -> BackupDamagedError:
    """The error of a folder that is no backup."""
    return BackupDamagedError(
        f"{folder} has no manifest, so it is no backup", "run the backup again: it goes on where it was"
    )


def _entries(client: S3Client, folder: S3Address, lock: Lock, done: Done) -> Iterator[FileEntry]:
    files = data_files(client, folder)
    while batch := list(islice(files, _BATCH)):
        found: dict[str, FileEntry] = {}

        def prepare(stored: StoredFile, found: dict[str, FileEntry] = found) -> None:
            head = _lock(client, folder, stored, lock)
            size, digest = stored.size, digest_in(head)
            if digest is None:
                size, digest = read_digest(client, folder.bucket, stored.key, stored.version)
            found[stored.key] = FileEntry(stored.key[len(folder.key) + 1 :], size, digest)
            done(size)

        each(batch, prepare, COPIES)
        yield from (found[stored.key] for stored in batch)


def _lock(client: S3Client, folder: S3Address, stored: StoredFile, lock: Lock) -> dict[str, Any]:
    head, where = _head(client, folder, stored), stored.where(folder.bucket)
    if lock.until is not None:
        extend(client, where, lock.until, locked_by(head))
    if lock.is_held and not locked_by(head).is_held:
        set_hold(client, where, is_held=True)
    return head


def _write_manifest(client: S3Client, folder: S3Address, text: Any, lock: Lock) -> None:
    place = folder.below(NAME)
    locks: dict[str, Any] = {}
    if lock.until is not None:
        locks = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": end_of(lock.until)}
    if lock.is_held:
        locks["ObjectLockLegalHoldStatus"] = "ON"
    try:
        client.ask(
            "put_object", place, Bucket=place.bucket, Key=place.key, Body=text, IfNoneMatch="*",
            ChecksumAlgorithm="SHA256", **locks,
        )  # fmt: skip
    except BackupStoreError as error:
        if error.refusal not in _WRITTEN:
            raise
        set_lock(client, folder, lock)


def _each_file(client: S3Client, folder: S3Address, work: Callable[[StoredFile], object]) -> None:
    def run(stored: StoredFile) -> None:
        work(stored)

    each(data_files(client, folder), run, COPIES)


def _required(client: S3Client, folder: S3Address) -> StoredFile:
    found = manifest_of(client, folder)
    if found is None:
        raise no_manifest(folder)
    return found


def _head(client: S3Client, folder: S3Address, stored: StoredFile) -> dict[str, Any]:
    head = client.find(folder.bucket, stored.key, stored.version)
    if head is None:
        raise BackupDamagedError(
            f"{stored.key} of backup {folder} was deleted meanwhile", "make the backup anew"
        )
    return head
