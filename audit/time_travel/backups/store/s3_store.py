"""Backups in a bucket of S3: copied by S3 itself, kept by its Object Lock.

In: a client, the root. Out: a `BackupStore`. A bucket with Object Lock enforces the locks: who holds all
rights on it deletes no locked file. Without it the backup is made, and `Enforcement` says what is missing.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from audit.core.file_paths import local_path
from audit.time_travel.backups.files.link_files import Taken
from audit.time_travel.backups.files.manifest import NAME, Done, FileIdentity, ReadNow, files_in
from audit.time_travel.backups.files.parallel import WORKERS, each
from audit.time_travel.backups.files.publish import folders_in
from audit.time_travel.backups.store import s3_publish
from audit.time_travel.backups.store.backup_store import (
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
from audit.time_travel.backups.store.s3_address import S3_SCHEMES, S3Address
from audit.time_travel.backups.store.s3_client import COPIES, S3Client
from audit.time_travel.backups.store.s3_copy import S3_SIZES, Sizes, Target, take
from audit.time_travel.backups.store.s3_fetch import fetch
from audit.time_travel.backups.store.s3_locks import enforcement_of, locked_by
from audit.time_travel.backups.store.s3_objects import (
    abort_uploads,
    dates_below,
    delete_all,
    delete_versions,
    every_version,
    names_below,
    size_of_versions,
    stored_file,
    stored_files,
)
from audit.time_travel.backups.store.s3_verify import damages
from audit.time_travel.errors import (
    BackupDamagedError,
    BackupHeldError,
    BackupIncompleteError,
    BackupLockedError,
    BackupStoreError,
)

_FETCHED = "fetched"
"""In the staging folder: copies to restore from. No backup set has that id."""
_AGAIN = "run it again: it goes on where it was"


@dataclass(frozen=True, slots=True)
class S3Store:
    """Backups below a prefix of a bucket; the methods are those of `BackupStore`.

    Attributes:
        client: of S3.
        root: where all backups lie.
        staging: a folder of this machine, for what is on its way.
        sizes: of S3.
    """

    client: S3Client
    root: S3Address
    staging: Path
    sizes: Sizes = S3_SIZES

    @property
    def is_local(self) -> bool:
        """See `BackupStore.is_local`."""
        return False

    def takes(self, location: str) -> bool:
        """See `BackupStore.takes`: S3 copies its own files, and those of this machine are uploaded."""
        return local_path(location) is not None or location.partition(":")[0] in S3_SCHEMES

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
                    f"{source.location} cannot be copied to {place}: {error.problem}", _AGAIN
                ) from error
            with lock:
                total += one
            done(one)

        each(files, take_one, COPIES)
        return total

    def work(self, folder: str) -> Path:
        """See `BackupStore.work`."""
        return self.staging / checked(folder)

    @contextmanager
    def fetched(self, folder: str, wanted: Callable[[str], bool] = lambda _: True) -> Iterator[Fetched]:
        """See `BackupStore.fetched`: a copy, which is compared with the manifest as it comes."""
        copy = self.staging / _FETCHED / checked(folder)
        try:
            yield fetch(self.client, self._folder(folder), copy, wanted)
        finally:
            if copy.exists():
                shutil.rmtree(copy)

    def read(self, folder: str, path: str) -> bytes:
        """See `BackupStore.read`."""
        place = self._folder(folder).below(path)
        found = stored_file(self.client, place)
        if found is None:
            raise BackupDamagedError(f"{place} is gone", "verify the backup")
        answer = self.client.ask("get_object", place, **found.where(place.bucket))
        return b"".join(self.client.chunks(answer["Body"], place))

    def publish(
        self,
        folder: str,
        lock: Lock = NO_LOCK,
        done: Done = lambda _: None,
        previous: Iterable[str] = (),
        now: ReadNow | None = None,
    ) -> Published:
        """See `BackupStore.publish`: S3 hashes what it copies, so nothing is left for later."""
        del previous, now
        place, enforcement = self._folder(folder), self._enforcement(lock)
        self._take_work(folder)
        own = lock if enforcement.is_enforced else NO_LOCK
        if self.is_published(folder):
            s3_publish.set_lock(self.client, place, own)
            total = s3_publish.total_of(self.client, place)
        else:
            total = s3_publish.publish(self.client, place, own, done)
        return Published(total.files, total.size, total.digest, enforcement)

    def complete(self, folder: str, done: Done = lambda _: None, workers: int = WORKERS) -> Published:
        """See `BackupStore.complete`: all have one when it is published."""
        del done, workers
        return self.totals(folder)

    def totals(self, folder: str) -> Published:
        """See `BackupStore.totals`."""
        total = s3_publish.total_of(self.client, self._folder(folder))
        return Published(total.files, total.size, total.digest)

    def is_published(self, folder: str) -> bool:
        """See `BackupStore.is_published`: also of a backup whose manifest a delete marker hides."""
        return s3_publish.manifest_of(self.client, self._folder(folder)) is not None

    def sets(self) -> list[str]:
        """See `BackupStore.sets`: those included of which this machine alone has something."""
        here = {one.name for one in folders_in(self.staging) if one.name != _FETCHED}
        return sorted({*names_below(self.client, self.root), *here})

    def bytes_bound(self) -> int:
        """See `BackupStore.bytes_bound`: all are copies; versions that somebody put over them count, too."""
        return sum(size_of_versions(self.client, self.root))

    def written(self, folder: str) -> int:
        """See `BackupStore.written`: by the dates of S3, and of this machine for what is on its way."""
        place, work = self._folder(folder), self.work(folder)
        here = work.stat().st_mtime_ns // 1000 if work.is_dir() else 0
        return max([here, *dates_below(self.client, place)])

    def published(self, below: str) -> list[str]:
        """See `BackupStore.published`."""
        return [one for one in self._folders(below) if self.is_published(one)]

    def unfinished(self, below: str) -> list[str]:
        """See `BackupStore.unfinished`: also where nothing but uploads on their way is left."""
        return [one for one in self._folders(below) if not self.is_published(one)]

    def read_back(self, folders: Iterable[str], done: Done = lambda _: None) -> ReadBack:
        """See `BackupStore.read_back`: no two backups share an object."""
        del folders, done
        return ReadBack({}, {})

    def verify(
        self,
        folder: str,
        done: Done = lambda _: None,
        known: Mapping[FileIdentity, str] = MappingProxyType({}),
    ) -> Verified:
        """See `BackupStore.verify`."""
        del known
        total, found = damages(self.client, self._folder(folder), done)
        made = Published(total.files, total.size, total.digest)
        return Verified(made, tuple(sorted(found, key=lambda one: one.path)))

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
        if self.work(folder).exists():
            shutil.rmtree(self.work(folder))

    def clock(self) -> int | None:
        """See `BackupStore.clock`: the date of an answer of S3, to the second."""
        return self.client.date(self.root.bucket)

    def _folder(self, folder: str) -> S3Address:
        return self.root.below(checked(folder))

    def _folders(self, below: str) -> list[str]:
        here = {one.name for one in folders_in(self.staging / checked(below))}
        return [f"{below}/{name}" for name in sorted({*names_below(self.client, self._folder(below)), *here})]

    def _take_work(self, folder: str) -> None:
        work = self.work(folder)
        if work.is_dir():
            self.take((Source(str(work / path), path) for path in files_in(work)), folder)
            shutil.rmtree(work)

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
