"""Backups in a folder of a local file system, by the functions of `files`.

In: the root. Out: a `BackupStore`. A file system keeps no file against its owner: a lock is the rules' alone,
and each answer says so. It has no clock of its own either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from audit.core.file_paths import local_path
from audit.time_travel.backups.files import publish as folders
from audit.time_travel.backups.files.link_files import FileToTake, Taken, take_files
from audit.time_travel.backups.files.manifest import (
    Done,
    FileIdentity,
    Manifest,
    ReadNow,
    files_in,
    read_back,
    verify,
)
from audit.time_travel.backups.files.parallel import WORKERS
from audit.time_travel.backups.store.backup_store import (
    NO_ENFORCEMENT,
    NO_LOCK,
    Enforcement,
    Fetched,
    Lock,
    Published,
    ReadBack,
    Source,
    Verified,
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

    @property
    def is_local(self) -> bool:
        """See `BackupStore.is_local`."""
        return True

    def takes(self, location: str) -> bool:
        """See `BackupStore.takes`."""
        return local_path(location) is not None

    def location(self, folder: str) -> str:
        """See `BackupStore.location`."""
        return str(self._folder(folder))

    def take(
        self, files: Iterable[Source], folder: str, done: Callable[[Taken], None] = lambda _: None
    ) -> Taken:
        """See `BackupStore.take`: hard links, else clones, else copies."""
        return take_files((_to_take(one) for one in files), self._folder(folder), done)

    def work(self, folder: str) -> Path:
        """See `BackupStore.work`."""
        return self._folder(folder)

    @contextmanager
    def fetched(self, folder: str, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[Fetched]:
        """See `BackupStore.fetched`: it is there."""
        del wanted
        place, manifest = self._folder(folder), self._manifest(folder)
        sources = {one.path: Source(f"{place}/{one.path}", one.path) for one in manifest.files}
        yield Fetched(place, manifest, sources)

    def read(self, folder: str, path: str) -> bytes:
        """See `BackupStore.read`."""
        try:
            return (self._folder(folder) / path).read_bytes()
        except OSError as error:
            raise BackupDamagedError(
                f"{path} of backup {self._folder(folder)} cannot be read: {error.strerror}",
                "verify the backup",
            ) from error

    def publish(
        self,
        folder: str,
        lock: Lock = NO_LOCK,
        done: Done = lambda _: None,
        previous: Iterable[str] = (),
        now: ReadNow | None = None,
    ) -> Published:
        """See `BackupStore.publish`."""
        known = folders.known_hashes(map(self._folder, previous))
        manifest = folders.publish(self._folder(folder), done, known, now)
        return _published(manifest, NO_ENFORCEMENT if lock == NO_LOCK else self._enforcement())

    def complete(self, folder: str, done: Done = lambda _: None, workers: int = WORKERS) -> Published:
        """See `BackupStore.complete`."""
        return _published(folders.complete(self._folder(folder), done, workers))

    def totals(self, folder: str) -> Published:
        """See `BackupStore.totals`."""
        return _published(self._manifest(folder))

    def is_published(self, folder: str) -> bool:
        """See `BackupStore.is_published`."""
        return folders.is_published(self._folder(folder))

    def sets(self) -> list[str]:
        """See `BackupStore.sets`."""
        return [one.name for one in folders.folders_in(self.root)]

    def bytes_bound(self) -> int:
        """See `BackupStore.bytes_bound`: of files all whose names are in backups."""
        names: Counter[tuple[int, int]] = Counter()
        links: dict[tuple[int, int], tuple[int, int]] = {}
        for set_id in self.sets():
            for backup in folders.folders_in(self.root / set_id):
                for path in files_in(backup):
                    with suppress(FileNotFoundError):  # deleted meanwhile
                        status = (backup / path).lstat()
                        inode = (status.st_dev, status.st_ino)
                        names[inode] += 1
                        links[inode] = (status.st_nlink, status.st_size)
        return sum(size for inode, (count, size) in links.items() if names[inode] >= count)

    def written(self, folder: str) -> int:
        """See `BackupStore.written`: in the folder itself."""
        place = self._folder(folder)
        return place.stat().st_mtime_ns // 1000 if place.is_dir() else 0

    def published(self, below: str) -> list[str]:
        """See `BackupStore.published`."""
        return [f"{below}/{one.name}" for one in folders.published(self._folder(below))]

    def unfinished(self, below: str) -> list[str]:
        """See `BackupStore.unfinished`."""
        return [f"{below}/{one.name}" for one in folders.unfinished(self._folder(below))]

    def read_back(self, folders: Iterable[str], done: Done = lambda _: None) -> ReadBack:
        """See `BackupStore.read_back`."""
        made: dict[str, Published] = {}

        def manifests() -> Iterator[tuple[Path, Manifest]]:
            for one in folders:
                with suppress(BackupDamagedError):
                    manifest = self._manifest(one)
                    made[one] = _published(manifest)
                    yield self._folder(one), manifest

        hashes, whole = read_back(manifests(), done)
        return ReadBack(hashes, {one: total for one, total in made.items() if self._folder(one) in whole})

    def verify(
        self,
        folder: str,
        done: Done = lambda _: None,
        known: Mapping[FileIdentity, str] = MappingProxyType({}),
    ) -> Verified:
        """See `BackupStore.verify`."""
        manifest = self._manifest(folder)
        return Verified(_published(manifest), verify(self._folder(folder), manifest, done, known))

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


def _published(manifest: Manifest, enforcement: Enforcement = NO_ENFORCEMENT) -> Published:
    return Published(len(manifest.files), manifest.size, manifest.digest, enforcement, manifest.unread)


def _to_take(source: Source) -> FileToTake:
    is_plain = source.location.startswith("/")
    path = source.location if is_plain else local_path(source.location)
    if path is None:
        raise BackupIncompleteError(
            f"{source.location} is not on this machine, but the root of the backups is",
            "keep backups of tables of an object store in a root on that store",
        )
    return FileToTake(path, source.target)
