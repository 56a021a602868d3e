"""Reads a backup on S3 back: its manifest beside what the bucket has, both in the order of their keys.

In: a folder. Out: the files, and what is not as the manifest says. Neither the manifest nor the listing is in
memory as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from audit.time_travel.backups.files.manifest import Damage, Done, FileEntry, Problem
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import READS, S3Client
from audit.time_travel.backups.store.s3_objects import StoredFile, read_digest
from audit.time_travel.backups.store.s3_publish import CountedEntries, Total, data_files
from audit.time_travel.errors import BackupStoreError


@dataclass(frozen=True, slots=True)
class Pair:
    """A file as the manifest has it, and as the bucket has it; None where one of both has none."""

    path: str
    entry: FileEntry | None
    stored: StoredFile | None


def pairs(client: S3Client, folder: S3Address, entries: Iterable[FileEntry]) -> Iterator[Pair]:
    """All files of a manifest and of a bucket, ordered by path.

    Args:
        client: of S3.
        folder: of the backup.
        entries: of its manifest, ordered by path.

    Raises:
        BackupDamagedError: the manifest is not whole.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    rest, found = iter(entries), data_files(client, folder)
    entry, stored = next(rest, None), next(found, None)
    while entry is not None or stored is not None:
        paths = [] if entry is None else [entry.path]
        own = None if stored is None else stored.key[len(folder.key) + 1 :]
        path = min([*paths, own] if own is not None else paths)
        has_entry, has_stored = entry is not None and entry.path == path, own == path
        yield Pair(path, entry if has_entry else None, stored if has_stored else None)
        if has_entry:
            entry = next(rest, None)
        if has_stored:
            stored = next(found, None)


def damages(client: S3Client, folder: S3Address, done: Done) -> tuple[Total, list[Damage]]:
    """What the manifest of a backup adds up to, and what is not as it says.

    Args:
        client: of S3.
        folder: of the backup.
        done: is told the bytes of each file.

    Raises:
        BackupDamagedError: the manifest is not whole.
        BackupStoreError: S3 refuses the listing or the manifest, or cannot be reached.
    """
    found: list[Damage] = []
    lock = threading.Lock()

    def check(pair: Pair) -> None:
        problem = _problem(client, folder.bucket, pair)
        if problem is not None:
            with lock:
                found.append(Damage(pair.path, problem))
        done(0 if pair.entry is None else pair.entry.size)

    entries = CountedEntries(client, folder)
    each(pairs(client, folder, entries), check, READS)
    return entries.total, found


def _problem(client: S3Client, bucket: str, pair: Pair) -> Problem | None:
    if pair.entry is None:
        return "unknown"
    if pair.stored is None:
        return "missing"
    if pair.stored.size != pair.entry.size:
        return "size"
    expected, key = (pair.entry.size, pair.entry.sha256), pair.stored.key
    try:
        if read_digest(client, bucket, key, pair.stored.version) != expected:
            return "hash"
    except BackupStoreError:
        return "unreadable"
    return "covered" if pair.stored.is_covered and not _shows(client, bucket, key, expected) else None


def _shows(client: S3Client, bucket: str, key: str, expected: tuple[int, str]) -> bool:
    # A second runner's copy lies over the first one's: it is the same.
    try:
        return read_digest(client, bucket, key, None) == expected
    except BackupStoreError:
        return False
