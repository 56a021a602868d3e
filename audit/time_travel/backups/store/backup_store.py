"""What a place for backups can do, whatever kind of place it is.

In: names of folders, files to take. Out: the protocol `BackupStore` and its values. `local_store` is a folder
of a file system, `s3_store` is a bucket; `choose` knows which one a URI means. Another store (gs://, abfss://)
is one more class with these methods.

A folder is named as in `<set id>/<backup id>`, below the root of the store. It is a backup when it has its
manifest. Each method can be killed at any point and run again, by several machines at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import Damage, Done, FileIdentity, Manifest, ReadNow
from audit.time_travel.backups.files.parallel import WORKERS
from audit.time_travel.errors import BackupStoreUnknownError


@dataclass(frozen=True, slots=True)
class Source:
    """A file to take.

    Attributes:
        location: a path of this machine or a URI, as Hadoop's `Path.toString` writes it: nothing is escaped.
        target: the path in the backup's folder.
        version: which version of an object; None for the current one.
    """

    location: str
    target: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Lock:
    """What is to hold the files of a backup.

    Attributes:
        until: nobody deletes them before, UTC microseconds by the store's clock; None for no retention lock.
            `BackupState.expiration_scheduled_for(backup, store.clock())` is that moment.
        is_held: they are under a legal hold.
    """

    until: int | None = None
    is_held: bool = False


NO_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What the store itself does about a lock or a hold; the rules of this project hold in any case.

    Attributes:
        is_enforced: the store refuses to delete the files, whoever asks.
        reason: why it does not; "" where it does, or where there is no lock and no hold.
    """

    is_enforced: bool
    reason: str = ""


NO_ENFORCEMENT = Enforcement(is_enforced=False)
"""Where there is no lock and no hold."""


@dataclass(frozen=True, slots=True)
class Published:
    """A backup that is whole.

    Attributes:
        files: how many.
        size: bytes of all of them.
        digest: SHA-256 of its manifest: whoever keeps it elsewhere knows this manifest from another one.
        enforcement: of the lock that it was published with.
        unread: how many files have no hash yet.
    """

    files: int
    size: int
    digest: str
    enforcement: Enforcement = NO_ENFORCEMENT
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A backup to restore from.

    Attributes:
        folder: of this machine, with the files that were asked for.
        manifest: of the backup.
        sources: all of its files by their paths, as `BackupStore.take` takes them: its own versions, whatever
            lies over them. Their targets are those paths.
    """

    folder: Path
    manifest: Manifest
    sources: Mapping[str, Source]


@dataclass(frozen=True, slots=True)
class Verified:
    """A backup that was read back.

    Attributes:
        made: what its manifest adds up to; whoever keeps the digest elsewhere compares it.
        damages: what is not as the manifest says, ordered by path; () of a backup that is whole.
    """

    made: Published
    damages: tuple[Damage, ...]


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What was read of several backups.

    Attributes:
        hashes: of files, by what they are on this machine.
        whole: what the manifests of those backups add up to that are as these say, by folder. Of the others
            `BackupStore.verify` tells.
    """

    hashes: Mapping[FileIdentity, str]
    whole: Mapping[str, Published]


class BackupStore(Protocol):
    """A place for backups. Any method of an object store raises `BackupStoreError` where that refuses."""

    @property
    def is_local(self) -> bool:
        """Whether it is a file system of this machine: files are linked, and no store keeps a lock."""
        ...

    def takes(self, location: str) -> bool:
        """Whether files of a place, a Hadoop path, can be taken."""
        ...

    def location(self, folder: str) -> str:
        """The folder as a path or URI that Spark reads."""
        ...

    def take(
        self, files: Iterable[Source], folder: str, done: Callable[[Taken], None] = lambda _: None
    ) -> Taken:
        """Take files into a folder that is on its way.

        Args:
            files: are taken one by one, however many there are.
            folder: of the backup.
            done: is told of each file; by several threads.

        Raises:
            BackupIncompleteError: a file cannot be taken; what was taken stays for the next attempt.
        """
        ...

    def work(self, folder: str) -> Path:
        """A folder of this machine for small files of a backup that is on its way; `publish` takes them.

        Of a store on this machine it is the backup's own.
        """
        ...

    def fetched(
        self, folder: str, wanted: Callable[[str], bool] = lambda _: True
    ) -> AbstractContextManager[Fetched]:
        """A backup in a folder of this machine, to restore from; a copy of it is gone afterwards.

        Args:
            folder: of the backup.
            wanted: which files are needed, by their paths; others may be there.

        Raises:
            BackupDamagedError: it has no manifest, or a file is gone or not as it was. Files of this machine
                are not looked at.
        """
        ...

    def read(self, folder: str, path: str) -> bytes:
        """A small file of a folder.

        Raises:
            BackupDamagedError: it is not there, or cannot be read.
        """
        ...

    def publish(
        self,
        folder: str,
        lock: Lock = NO_LOCK,
        done: Done = lambda _: None,
        previous: Iterable[str] = (),
        now: ReadNow | None = None,
    ) -> Published:
        """Lock all files, then write the manifest; of a backup that is published already the lock alone.

        Args:
            folder: with all files of the backup.
            lock: is set on each file, and on the manifest.
            done: is told the bytes of each file.
            previous: earlier backups: the hashes of files that they share are known.
            now: which files are hashed at once, where the store does not hash by itself; None for all.

        Raises:
            BackupDamagedError: a file cannot be read.
        """
        ...

    def complete(self, folder: str, done: Done = lambda _: None, workers: int = WORKERS) -> Published:
        """Hash the files of a backup that have no hash yet, with some threads; 1 is the caller's own.

        Raises:
            BackupDamagedError: it is no backup, or a file is not as the manifest says.
        """
        ...

    def totals(self, folder: str) -> Published:
        """What the manifest of a backup adds up to.

        Raises:
            BackupDamagedError: it has no manifest, or one that is not whole.
        """
        ...

    def is_published(self, folder: str) -> bool:
        """Whether a folder is a backup."""
        ...

    def sets(self) -> list[str]:
        """The ids of the backup sets that have a folder, whole or not."""
        ...

    def bytes_bound(self) -> int:
        """Bytes that nothing but backups needs: of files that their sources no longer have, and of copies."""
        ...

    def written(self, folder: str) -> int:
        """When something was written into a folder last, UTC microseconds; 0 for one that is not there."""
        ...

    def published(self, below: str) -> list[str]:
        """The backups in a folder, by name."""
        ...

    def unfinished(self, below: str) -> list[str]:
        """The folders in a folder that are no backups yet, or no more, by name."""
        ...

    def read_back(self, folders: Iterable[str], done: Done = lambda _: None) -> ReadBack:
        """Read all files of backups of a file system, those that they share once; none of an object store.

        Args:
            folders: of backups; one that is damaged is left out.
            done: is told the bytes of each file that is read.
        """
        ...

    def verify(
        self,
        folder: str,
        done: Done = lambda _: None,
        known: Mapping[FileIdentity, str] = MappingProxyType({}),
    ) -> Verified:
        """Compare a backup with its manifest; each file is read back and hashed.

        Args:
            folder: of the backup.
            done: is told the bytes of each file that is read.
            known: what `read_back` has read.

        Raises:
            BackupDamagedError: it has no manifest, or one that is not whole.
        """
        ...

    def lock(self, folder: str, until: int) -> Enforcement:
        """Have the store keep each file of a backup until a moment; an end that is later already stays.

        Args:
            folder: of a backup.
            until: UTC microseconds by the store's clock.

        Raises:
            BackupDamagedError: the folder is no backup.
        """
        ...

    def hold(self, folder: str, is_held: bool) -> Enforcement:  # noqa: FBT001  a state, as in `Backup.is_held`
        """Put the files of a backup under a legal hold, or take it away.

        Raises:
            BackupDamagedError: the folder is no backup.
        """
        ...

    def remove(self, folder: str) -> None:
        """Delete a backup, or what is left of one.

        Raises:
            BackupLockedError: the store keeps it until a later moment.
            BackupHeldError: it is under a legal hold.
        """
        ...

    def clock(self) -> int | None:
        """The store's date, UTC microseconds; None for a store without a clock of its own."""
        ...


def checked(folder: str) -> str:
    """A folder's name, or a refusal of one that leads elsewhere.

    >>> checked("set/backup")
    'set/backup'

    Raises:
        BackupStoreUnknownError: it is empty, absolute, or has `.` or `..` in it.
    """
    if any(part in {"", ".", ".."} for part in folder.split("/")):
        raise BackupStoreUnknownError(
            f"{folder!r} names no folder of a backup", "name it as <set id>/<backup id>"
        )
    return folder
