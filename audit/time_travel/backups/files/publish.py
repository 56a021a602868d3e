"""A backup's folder: it is a backup when it has its manifest, and none before or without.

In: a folder with all files of a backup. Out: a published one; what lies published or unfinished below a root;
a folder that is gone. Each of it can be killed at any point and run again.

The manifest comes last and goes first. So a killed run leaves either a whole backup or a folder without a
manifest, which `unfinished` finds: it is completed under the same name, or removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from audit.time_travel.backups.files.manifest import (
    NAME,
    PART,
    Done,
    FileIdentity,
    Manifest,
    ReadNow,
    complete_manifest,
    hashes_of,
    make_manifest,
    parse_manifest,
)
from audit.time_travel.backups.files.parallel import WORKERS
from audit.time_travel.errors import BackupDamagedError


def publish(
    folder: Path,
    done: Done = lambda _: None,
    known: Mapping[FileIdentity, str] = MappingProxyType({}),
    now: ReadNow | None = None,
) -> Manifest:
    """Hash the files, and write the manifest; a folder that is published already is left as it is.

    Args:
        folder: with all files of the backup, by `take_files` and whoever wrote the others.
        done: is told the bytes of each file that is read.
        known: hashes of files that other backups have, too.
        now: which of the others are read; `complete` reads what is left. None for all.

    Raises:
        BackupDamagedError: a file cannot be read, or is none.
    """
    if is_published(folder):
        return read_manifest(folder)
    folders = [(Path(below), names) for below, _, names in os.walk(folder)]
    for below, names in folders:
        for name in names:
            if name.endswith(PART):  # left by an attempt that was killed
                (below / name).unlink()
    manifest = make_manifest(folder, done, known, now)
    for below, _ in folders:
        _sync(below)
    _write(folder, manifest)
    return manifest


def complete(folder: Path, done: Done = lambda _: None, workers: int = WORKERS) -> Manifest:
    """Hash the files of a backup that have no hash yet; two at once write the same.

    Args:
        folder: of a published backup.
        done: is told the bytes of each file that is read.
        workers: threads that read; 1 is the caller's own.

    Raises:
        BackupDamagedError: it is no backup, or a file is not as the manifest says.
    """
    manifest = read_manifest(folder)
    if manifest.unread:
        manifest = complete_manifest(folder, manifest, done, workers)
        try:
            _write(folder, manifest)
        except FileNotFoundError as error:
            raise BackupDamagedError(f"{folder} was deleted meanwhile", "make the backup anew") from error
    return manifest


def known_hashes(folders: Iterable[Path]) -> dict[FileIdentity, str]:
    """The hashes of the files of other backups; one that is gone or damaged has none."""
    found: dict[FileIdentity, str] = {}
    for folder in folders:
        with contextlib.suppress(BackupDamagedError):
            found.update(hashes_of(folder, read_manifest(folder)))
    return found


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup.

    Raises:
        BackupDamagedError: there is none, or it is not whole.
    """
    try:
        lines = (folder / NAME).read_text(encoding="ascii").splitlines()
    except FileNotFoundError as error:
        raise BackupDamagedError(
            f"{folder} has no manifest, so it is no backup", "run the backup again: it goes on where it was"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BackupDamagedError(
            f"the manifest of backup {folder} cannot be read: {error}", "look at the file system"
        ) from error
    return parse_manifest(lines, folder)


def is_published(folder: Path) -> bool:
    """Whether a folder is a backup."""
    return (folder / NAME).is_file()


def published(root: Path) -> list[Path]:
    """The backups in a folder, by name."""
    return [one for one in folders_in(root) if is_published(one)]


def unfinished(root: Path) -> list[Path]:
    """The folders that are no backups yet, or no more, by name."""
    return [one for one in folders_in(root) if not is_published(one)]


def remove(folder: Path) -> None:
    """Delete a backup, or what is left of one. Other names of its files keep these.

    Raises:
        OSError: the file system does not delete something; run it again.
    """
    with contextlib.suppress(FileNotFoundError):
        (folder / NAME).unlink()
        _sync(folder)
    # It does not follow symbolic links. Another process may be at it, too.
    while folder.exists():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)


def folders_in(root: Path) -> list[Path]:
    """The folders in a folder, by name; none of one that is not there."""
    return sorted(one for one in root.iterdir() if one.is_dir()) if root.is_dir() else []


def _write(folder: Path, manifest: Manifest) -> None:
    # Of this thread alone: two may complete a backup at once.
    part = folder / f"{NAME}.{uuid.uuid4().hex}{PART}"
    with part.open("w", encoding="ascii") as file:
        file.writelines(manifest.lines())
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / NAME)
    _sync(folder)


def _sync(folder: Path) -> None:
    """Names that a folder has survive a power failure from here on."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
