"""Copies a backup from S3 to this machine, to restore from it.

In: a folder of a bucket. Out: the same files in a folder of this machine, with their manifest. Each file is
compared with the manifest as it comes, so that nothing else than the backup is restored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from audit.time_travel.backups.files.manifest import NAME, PART
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import READS, S3Client
from audit.time_travel.backups.store.s3_publish import CountedEntries, manifest_lines
from audit.time_travel.backups.store.s3_verify import Pair, pairs
from audit.time_travel.errors import BackupDamagedError

_WAY_OUT = "audit backup verify lists all; restore another backup"


def fetch(client: S3Client, folder: S3Address, copy: Path, wanted: Callable[[str], bool]) -> None:
    """Copy files of a backup; those that an attempt before has copied are there already.

    Args:
        client: of S3.
        folder: of the backup.
        copy: the folder on this machine.
        wanted: which files, by their paths.

    Raises:
        BackupDamagedError: it has no manifest, or a file is gone or not as it was.
        BackupStoreError: S3 refuses, or cannot be reached.
    """

    def get(pair: Pair) -> None:
        # What is in no manifest is not of the backup.
        if pair.entry is not None and wanted(pair.path):
            _get(client, folder, pair, copy / pair.path)

    copy.mkdir(parents=True, exist_ok=True)
    each(pairs(client, folder, CountedEntries(client, folder)), get, READS)
    part = copy / (NAME + PART)
    with part.open("w", encoding="ascii") as file:
        file.writelines(manifest_lines(client, folder))
    part.replace(copy / NAME)


def _get(client: S3Client, folder: S3Address, pair: Pair, target: Path) -> None:
    entry, stored, place = pair.entry, pair.stored, folder.below(pair.path)
    assert entry is not None  # noqa: S101  the caller has looked
    if target.exists() and target.stat().st_size == entry.size:
        return
    if stored is None:
        raise BackupDamagedError(f"{place} is gone", _WAY_OUT)
    target.parent.mkdir(parents=True, exist_ok=True)
    part, digest = target.with_name(target.name + PART), hashlib.sha256()
    answer = client.ask("get_object", place, **stored.where(folder.bucket))
    with part.open("wb") as file:
        for chunk in client.chunks(answer["Body"], place):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != entry.sha256:
        raise BackupDamagedError(
            f"{place} is not the file of its manifest",
            _WAY_OUT,
        )
    part.replace(target)
