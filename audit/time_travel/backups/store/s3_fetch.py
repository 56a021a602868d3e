"""Copies a backup from S3 to this machine, to restore from it.

In: a folder of a bucket. Out: the same files in a folder of this machine. Each file is compared with the
manifest as it comes, so that nothing else than the backup is restored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from audit.time_travel.backups.files.manifest import PART, FileEntry, Manifest
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.store.backup_store import Fetched, Source
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import READS, S3Client
from audit.time_travel.backups.store.s3_objects import StoredFile
from audit.time_travel.backups.store.s3_publish import CountedEntries
from audit.time_travel.backups.store.s3_verify import pairs
from audit.time_travel.errors import BackupDamagedError

_WAY_OUT = "audit backup verify lists all; restore another backup"


def fetch(client: S3Client, folder: S3Address, copy: Path, wanted: Callable[[str], bool]) -> Fetched:
    """Copy files of a backup; those that an attempt before has copied are there already.

    The bucket is listed once, and the manifest is read once.

    Args:
        client: of S3.
        folder: of the backup.
        copy: the folder on this machine.
        wanted: which files, by their paths.

    Raises:
        BackupDamagedError: it has no manifest, or a file is gone, has another size or, where it is copied,
            other bytes.
        BackupStoreError: S3 refuses, or cannot be reached.
    """
    entries: list[FileEntry] = []
    sources: dict[str, Source] = {}

    def whole() -> Iterator[tuple[FileEntry, StoredFile]]:
        for pair in pairs(client, folder, CountedEntries(client, folder)):
            if pair.entry is None:
                continue  # what is in no manifest is not of the backup
            place, stored = folder.below(pair.path), pair.stored
            if stored is None or stored.size != pair.entry.size:
                raise BackupDamagedError(f"{place} is gone, or another file", _WAY_OUT)
            entries.append(pair.entry)
            sources[pair.path] = Source(str(place), pair.path, stored.version)
            if wanted(pair.path):
                yield pair.entry, stored

    def get(found: tuple[FileEntry, StoredFile]) -> None:
        _get(client, folder, *found, copy / found[0].path)

    copy.mkdir(parents=True, exist_ok=True)
    each(whole(), get, READS)
    return Fetched(copy, Manifest(tuple(entries)), sources)


def _get(client: S3Client, folder: S3Address, entry: FileEntry, stored: StoredFile, target: Path) -> None:
    if target.exists() and target.stat().st_size == entry.size:
        return
    place = folder.below(entry.path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part, digest = target.with_name(target.name + PART), hashlib.sha256()
    answer = client.ask("get_object", place, **stored.where(folder.bucket))
    with part.open("wb") as file:
        for chunk in client.chunks(answer["Body"], place):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != entry.sha256:
        raise BackupDamagedError(f"{place} is not the file of its manifest", _WAY_OUT)
    part.replace(target)
