"""Backups in a bucket of S3: copied by S3 itself, kept by its Object Lock.

In: a client, the root. Out: a `BackupStore`. A bucket with Object Lock enforces the locks: who holds all
rights on it deletes no locked file. Without it the backup is made, and `Enforcement` says what is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import NAME, Damage, Done, FileEntry, entries_of
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.backups.store import s3_publish
from audit.time_travel.backups.store.backup_store import (
    NO_LOCK,
    Enforcement,
    Lock,
    Published,
    Source,
    checked,
)
from audit.time_travel.backups.store.s3_address import S3Address
from audit.time_travel.backups.store.s3_client import COPIES, S3Client
from audit.time_travel.backups.store.s3_copy import S3_SIZES, Sizes, Target, put, take
from audit.time_travel.backups.store.s3_locks import enforcement_of, locked_by
from audit.time_travel.backups.store.s3_objects import (
    abort_uploads,
    delete_all,
    delete_versions,
    every_version,
    names_below,
    stored_file,
    stored_files,
)
from audit.time_travel.backups.store.s3_verify import damages, pairs
from audit.time_travel.errors import (
    BackupDamagedError,
    BackupHeldError,
    BackupIncompleteError,
    BackupLockedError,
    BackupStoreError,
)

_AGAIN = "run it again: it goes on where it was"


@dataclass(frozen=True, slots=True)
class S3Store:
    """Backups below a prefix of a bucket; the methods are those of `BackupStore`.

    Attributes:
        client: of S3.
        root: where all backups lie.
        sizes: of S3.
    """

    client: S3Client
    root: S3Address
    sizes: Sizes = S3_SIZES

    def location(self, folder: str) -> str:
        """See `BackupStore.location`."""
        return str(self._folder(folder))

    def take(
        self, files: Iterable[Source], folder: str, done: Callable[[Taken], None] = lambda _: None
    ) -> Taken:
        """See `BackupStore.take`: S3 copies its objects itself, files of this machine are uploaded."""
        place = self._folder(folder)
        is_new = next(stored_files(self.client, place.below("")), None) is None
        total, lock = Taken(), threading.Lock()

        def take_one(source: Source) -> None:
            nonlocal total
            try:
                one = take(source, self._target(folder, source.target, is_new=is_new))
            except BackupStoreError as error:
                raise BackupIncompleteError(
                    f"{source.location} cannot be taken into backup {place}: {error.problem}", _AGAIN
                ) from error
            with lock:
                total += one
            done(one)

        each(files, take_one, COPIES)
        return total

    def write(self, folder: str, path: str, data: bytes) -> None:
        """See `BackupStore.write`."""
        try:
            put(data, self._target(folder, path))
        except BackupStoreError as error:
            raise BackupIncompleteError(
                f"{path} of backup {self._folder(folder)} cannot be written: {error.problem}", _AGAIN
            ) from error

    def read(self, folder: str, path: str) -> bytes:
        """See `BackupStore.read`."""
        place = self._folder(folder).below(path)
        found = stored_file(self.client, place)
        if found is None:
            raise BackupDamagedError(f"{place} is gone", "verify the backup")
        answer = self.client.ask("get_object", place, **found.where(place.bucket))
        return b"".join(self.client.chunks(answer["Body"], place))

    def publish(self, folder: str, lock: Lock = NO_LOCK, done: Done = lambda _: None) -> Published:
        """See `BackupStore.publish`."""
        place, enforcement = self._folder(folder), self._enforcement(lock)
        own = lock if enforcement.is_enforced else NO_LOCK
        if self.is_published(folder):
            s3_publish.set_lock(self.client, place, own)
            total = s3_publish.total_of(self.client, place)
        else:
            total = s3_publish.publish(self.client, place, own, done)
        return Published(total.files, total.size, total.digest, enforcement)

    def is_published(self, folder: str) -> bool:
        """See `BackupStore.is_published`: also of a backup whose manifest a delete marker hides."""
        return s3_publish.manifest_of(self.client, self._folder(folder)) is not None

    def published(self, below: str) -> list[str]:
        """See `BackupStore.published`."""
        return [one for one in self._folders(below) if self.is_published(one)]

    def unfinished(self, below: str) -> list[str]:
        """See `BackupStore.unfinished`: also where nothing but uploads on their way is left."""
        return [one for one in self._folders(below) if not self.is_published(one)]

    def files(self, folder: str) -> Iterator[FileEntry]:
        """See `BackupStore.files`."""
        place = self._folder(folder)
        return entries_of(s3_publish.manifest_lines(self.client, place), str(place))

    def sources(self, folder: str) -> Iterator[Source]:
        """See `BackupStore.sources`: the backup's own versions, whatever lies over them."""
        place = self._folder(folder)
        for pair in pairs(self.client, place):
            if pair.entry is not None and pair.stored is None:
                raise BackupDamagedError(f"{place.below(pair.path)} is gone", "verify the backup")
            if pair.entry is not None and pair.stored is not None:
                yield Source(str(place.below(pair.path)), pair.path, pair.stored.version)

    def verify(
        self, folder: str, digest: str | None = None, done: Done = lambda _: None
    ) -> tuple[Damage, ...]:
        """See `BackupStore.verify`."""
        place = self._folder(folder)
        total = s3_publish.total_of(self.client, place)
        own = [] if digest in {None, total.digest} else [Damage(NAME, "hash")]
        found = [*own, *damages(self.client, place, done)]
        return tuple(sorted(found, key=lambda one: one.path))

    def uncover(self, folder: str) -> int:
        """See `BackupStore.uncover`: newer versions and delete markers go, the backup's own stay."""
        total = 0
        while count := self._uncovered(self._folder(folder)):
            total += count
        return total

    def lock(self, folder: str, until: int) -> Enforcement:
        """See `BackupStore.lock`."""
        return self._set(folder, Lock(until))

    def hold(self, folder: str, is_held: bool) -> Enforcement:  # noqa: FBT001  as in the protocol
        """See `BackupStore.hold`."""
        if is_held:
            return self._set(folder, Lock(is_held=True))
        enforcement = enforcement_of(self.client, self.root.bucket)
        if enforcement.is_enforced:
            s3_publish.end_hold(self.client, self._folder(folder))
        return enforcement

    def remove(self, folder: str) -> None:
        """See `BackupStore.remove`: all versions of all files, the manifest first."""
        place = self._folder(folder)
        self._refuse_bound(place)
        for part in (place.below(NAME), place.below("")):
            if kept := delete_all(self.client, part):
                raise BackupLockedError(
                    f"S3 does not delete {kept} of backup {place}",
                    "a lock or a legal hold is on it: remove the backup when that has ended",
                )
        abort_uploads(self.client, place)

    def clock(self) -> int | None:
        """See `BackupStore.clock`: the date of an answer of S3, to the second."""
        return self.client.date(self.root.bucket)

    def _folder(self, folder: str) -> S3Address:
        return self.root.below(checked(folder))

    def _folders(self, below: str) -> list[str]:
        return [f"{below}/{name}" for name in names_below(self.client, self._folder(below))]

    def _target(self, folder: str, path: str, *, is_new: bool = False) -> Target:
        place = self._folder(folder).below(path)
        return Target(self.client, place, is_new, lambda: self._make_way(folder, place), self.sizes)

    def _make_way(self, folder: str, place: S3Address) -> None:
        # The oldest version of a key is the backup's, so that what is wrong must go.
        own = [found for found in every_version(self.client, place) if found[0] == place.key]
        if not own:
            return
        if self.is_published(folder):
            raise BackupDamagedError(
                f"backup {self._folder(folder)} is whole, and {place} is another file than the one to take",
                "make a backup of another identifier",
            )
        if delete_versions(self.client, place, iter(own)):
            raise BackupIncompleteError(
                f"{place} is another file than the one to take, and is locked",
                "make a backup of another identifier; a default lock of the bucket does this",
            )

    def _uncovered(self, place: S3Address) -> int:
        count = 0

        def covers() -> Iterator[tuple[str, str]]:
            nonlocal count
            for one in stored_files(self.client, place.below("")):
                count += len(one.covers)
                yield from ((one.key, version) for version in one.covers)

        if kept := delete_versions(self.client, place, covers()):
            raise BackupLockedError(
                f"what lies over {kept} of backup {place} is locked itself",
                "restore the backup: its own versions are read, whatever lies over them",
            )
        return count

    def _set(self, folder: str, lock: Lock) -> Enforcement:
        enforcement = enforcement_of(self.client, self.root.bucket)
        if not enforcement.is_enforced and not self.is_published(folder):
            raise s3_publish.no_manifest(self._folder(folder))
        if enforcement.is_enforced:
            s3_publish.set_lock(self.client, self._folder(folder), lock)
        return enforcement

    def _enforcement(self, lock: Lock) -> Enforcement:
        if lock == NO_LOCK:
            return Enforcement(is_enforced=False)
        return enforcement_of(self.client, self.root.bucket)

    def _refuse_bound(self, place: S3Address) -> None:
        manifest = s3_publish.manifest_of(self.client, place)
        head = None if manifest is None else self.client.find(place.bucket, manifest.key, manifest.version)
        if head is None:
            return
        locked = locked_by(head)
        if locked.is_held:
            raise BackupHeldError(
                f"backup {place} is under a legal hold", "ALTER BACKUP SET … REMOVE LEGAL HOLD"
            )
        now = self.clock() if locked.until is not None else None
        if locked.until is not None and (now is None or now < locked.until):
            raise BackupLockedError(
                f"S3 keeps backup {place} until {head['ObjectLockRetainUntilDate']}",
                "nobody can delete it before",
            )
