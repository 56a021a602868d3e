"""Backups in a folder of a local file system, by the functions of `files`.

In: the root. Out: a `BackupStore`. A file system keeps no file against its owner: a lock is the rules' alone,
and each answer says so. It has no clock of its own either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.core.file_paths import local_path
from audit.time_travel.backups.files import publish as folders
from audit.time_travel.backups.files.link_files import FileToTake, Taken, take_files
from audit.time_travel.backups.files.manifest import NAME, PART, Damage, Done, FileEntry, Manifest, verify
from audit.time_travel.backups.store.backup_store import (
    NO_LOCK,
    Enforcement,
    Lock,
    Published,
    Source,
    checked,
)
from audit.time_travel.errors import BackupDamagedError, BackupIncompleteError


@dataclass(frozen=True, slots=True)
class LocalStore:
    """Backups below a folder of this machine; the methods are those of `BackupStore`.

    Attributes:
        root: an absolute path.
    """

    root: Path

    def location(self, folder: str) -> str:
        """See `BackupStore.location`."""
        return str(self._folder(folder))

    def take(
        self, files: Iterable[Source], folder: str, done: Callable[[Taken], None] = lambda _: None
    ) -> Taken:
        """See `BackupStore.take`: hard links, else clones, else copies."""
        return take_files((_to_take(one) for one in files), self._folder(folder), done)

    def write(self, folder: str, path: str, data: bytes) -> None:
        """See `BackupStore.write`."""
        target = self._folder(folder) / path
        part = target.with_name(target.name + PART)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        except OSError as error:
            raise BackupIncompleteError(
                f"{target} cannot be written: {error.strerror}", "run it again: it goes on where it was"
            ) from error

    def read(self, folder: str, path: str) -> bytes:
        """See `BackupStore.read`."""
        try:
            return (self._folder(folder) / path).read_bytes()
        except OSError as error:
            raise BackupDamagedError(
                f"{path} of backup {self._folder(folder)} cannot be read: {error.strerror}",
                "verify the backup",
            ) from error

    def publish(self, folder: str, lock: Lock = NO_LOCK, done: Done = lambda _: None) -> Published:
        """See `BackupStore.publish`."""
        manifest = folders.publish(self._folder(folder), done)
        wanted = lock != NO_LOCK
        enforcement = self._enforcement() if wanted else Enforcement(is_enforced=False)
        return Published(len(manifest.files), manifest.size, manifest.digest, enforcement)

    def is_published(self, folder: str) -> bool:
        """See `BackupStore.is_published`."""
        return folders.is_published(self._folder(folder))

    def published(self, below: str) -> list[str]:
        """See `BackupStore.published`."""
        return [f"{below}/{one.name}" for one in folders.published(self._folder(below))]

    def unfinished(self, below: str) -> list[str]:
        """See `BackupStore.unfinished`."""
        return [f"{below}/{one.name}" for one in folders.unfinished(self._folder(below))]

    def files(self, folder: str) -> Iterator[FileEntry]:
        """See `BackupStore.files`."""
        yield from self._manifest(folder).files

    def sources(self, folder: str) -> Iterator[Source]:
        """See `BackupStore.sources`."""
        for one in self._manifest(folder).files:
            path = self._folder(folder) / one.path
            if not path.is_file():
                raise BackupDamagedError(f"{path} is gone", "verify the backup")
            yield Source(str(path), one.path)

    def verify(
        self, folder: str, digest: str | None = None, done: Done = lambda _: None
    ) -> tuple[Damage, ...]:
        """See `BackupStore.verify`."""
        manifest = self._manifest(folder)
        own = () if digest in {None, manifest.digest} else (Damage(NAME, "hash"),)
        damages = (*own, *verify(self._folder(folder), manifest, done))
        return tuple(sorted(damages, key=lambda one: one.path))

    def uncover(self, folder: str) -> int:
        """See `BackupStore.uncover`: a file system has one file under a name."""
        self._folder(folder)
        return 0

    def lock(self, folder: str, until: int) -> Enforcement:  # noqa: ARG002  there is nothing to set
        """See `BackupStore.lock`."""
        self._manifest(folder)
        return self._enforcement()

    def hold(self, folder: str, is_held: bool) -> Enforcement:  # noqa: ARG002, FBT001  as in the protocol
        """See `BackupStore.hold`."""
        self._manifest(folder)
        return self._enforcement()

    def remove(self, folder: str) -> None:
        """See `BackupStore.remove`: the rules have been asked before."""
        folders.remove(self._folder(folder))

    def clock(self) -> None:
        """See `BackupStore.clock`."""
        return

    def _folder(self, folder: str) -> Path:
        return self.root / checked(folder)

    def _manifest(self, folder: str) -> Manifest:
        return folders.read_manifest(self._folder(folder))

    def _enforcement(self) -> Enforcement:
        return Enforcement(
            is_enforced=False,
            reason=f"{self.root} is a folder: its owner can delete files of it, whatever the lock says",
        )


def _to_take(source: Source) -> FileToTake:
    path = local_path(source.location)
    if path is None:
        raise BackupIncompleteError(
            f"{source.location} is not on this machine, but the root of the backups is",
            "keep backups of tables of an object store in a root on that store",
        )
    return FileToTake(path, source.target)
