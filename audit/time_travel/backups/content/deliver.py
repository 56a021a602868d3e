"""Takes the files of a backup to where its tables are restored: folders of this machine, or of a bucket.

In: a place. Out: a `Delivery`. On this machine files are linked. In a bucket S3 copies those of a backup that
lies on S3, and those of this machine are uploaded; a table's log is the last of its files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from audit.core.file_paths import local_path
from audit.time_travel.backups.content.backup_content import (
    BackupContent,
    is_description,
    require_described,
    require_restorable,
)
from audit.time_travel.backups.content.copy_version import Progress, copy_version, link_listed, require_local
from audit.time_travel.backups.store.backup_store import BackupStore, Source
from audit.time_travel.backups.store.s3_address import S3_SCHEMES
from audit.time_travel.errors import BackupDamagedError, BackupNotLocalError
from lineage.names import quote_name

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.table_copies import NewTable
    from audit.spark.delta.values import Table
    from audit.time_travel.backups.content.take_backup import BackupFolder

OWN_VERSION = 0
"""A table of a backup has one version."""
_LOG_FILE = "_delta_log/00000000000000000000.json"


class Delivery(Protocol):
    """Delivers what a backup holds; `backup` is always the folder that `opened` gives."""

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """A folder of this machine with what is needed of the backup, as long as it is needed.

        Raises:
            BackupDamagedError: it is not whole.
        """
        ...

    def content(self, backup: Path) -> BackupContent:
        """What the backup holds.

        Raises:
            BackupDamagedError: it is not whole.
        """
        ...

    def new_table(
        self, catalog: DeltaCatalog, backup: Path, copy: Table, place: str, pairs: Path, new: NewTable
    ) -> None:
        """Make the files and the log of a table that has no name yet; a killed one is made again.

        Args:
            catalog: reads the log of the backup.
            backup: its folder.
            copy: the table in it.
            place: of the new table.
            pairs: a file for what is on its way.
            new: its id and properties.

        Raises:
            BackupIncompleteError: a file cannot be taken.
        """
        ...

    def into_table(
        self,
        catalog: DeltaCatalog,
        backup: Path,
        copy: Table,
        place: str,
        pairs: Path,
        properties: Callable[[], Mapping[str, str]],
    ) -> None:
        """Give a table that is there what a backup has, as its newest version.

        Args as `new_table`, and:
            properties: of that version; asked for when the files are there.

        Raises:
            BackupIncompleteError: a file cannot be taken.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalDelivery:
    """To folders of this machine; the methods are those of `Delivery`.

    Attributes:
        origin: the backup.
        done: is told of each file.
    """

    origin: BackupFolder
    done: Progress

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """See `Delivery.opened`: all of it."""
        with self.origin.store.fetched(self.origin.folder) as folder:
            yield folder

    def content(self, backup: Path) -> BackupContent:
        """See `Delivery.content`."""
        return require_restorable(backup)

    def new_table(
        self, catalog: DeltaCatalog, backup: Path, copy: Table, place: str, pairs: Path, new: NewTable
    ) -> None:
        """See `Delivery.new_table`."""
        del backup
        copy_version(catalog, copy, OWN_VERSION, require_local(copy.name, place), pairs, self.done, new)

    def into_table(
        self,
        catalog: DeltaCatalog,
        backup: Path,
        copy: Table,
        place: str,
        pairs: Path,
        properties: Callable[[], Mapping[str, str]],
    ) -> None:
        """See `Delivery.into_table`."""
        del backup
        folder = require_local(copy.name, place)
        # `clone` takes files that are there as they are: their names say what they are copies of.
        listed = catalog.list_copies(copy.location or "", OWN_VERSION, folder, pairs)
        link_listed(copy, listed, folder, pairs, self.done)
        catalog.clone(copy, OWN_VERSION, place, properties(), files="copied")


@dataclass(frozen=True)
class BucketDelivery:
    """To a bucket; the methods are those of `Delivery`.

    Attributes:
        origin: the backup.
        done: is told of each file.
        store_at: the store of a location.
    """

    origin: BackupFolder
    done: Progress
    store_at: Callable[[str], BackupStore]

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """See `Delivery.opened`: of a backup on S3 its logs alone."""
        with self.origin.store.fetched(self.origin.folder, is_description) as folder:
            yield folder

    def content(self, backup: Path) -> BackupContent:
        """See `Delivery.content`."""
        found = require_described(backup)
        _ = self._sources
        return found

    def new_table(
        self, catalog: DeltaCatalog, backup: Path, copy: Table, place: str, pairs: Path, new: NewTable
    ) -> None:
        """See `Delivery.new_table`."""
        work = pairs.with_suffix(".log.part")
        try:
            catalog.copy_log(copy.location or "", OWN_VERSION, quote_name(copy.name), work, pairs, new)
            self._send(backup, place, pairs)
            store, folder = self._target(place)
            store.take([Source(str(work / _LOG_FILE), _LOG_FILE)], folder, self.done)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def into_table(
        self,
        catalog: DeltaCatalog,
        backup: Path,
        copy: Table,
        place: str,
        pairs: Path,
        properties: Callable[[], Mapping[str, str]],
    ) -> None:
        """See `Delivery.into_table`."""
        # The folder stands for that of the table: the pairs have paths in it.
        catalog.list_copies(copy.location or "", OWN_VERSION, pairs.with_suffix(".table"), pairs)
        self._send(backup, place, pairs)
        catalog.clone(copy, OWN_VERSION, place, properties(), files="there")

    @cached_property
    def _sources(self) -> Mapping[str, Source]:
        """The files of the backup by path; its own versions, whatever lies over them."""
        return {one.target: one for one in self.origin.store.sources(self.origin.folder)}

    def _target(self, place: str) -> tuple[BackupStore, str]:
        above, _, folder = place.rstrip("/").rpartition("/")
        return self.store_at(above), folder

    def _send(self, backup: Path, place: str, pairs: Path) -> None:
        store, folder = self._target(place)
        with pairs.open(encoding="utf-8") as lines:
            files = (self._source(backup, *json.loads(line)) for line in lines)
            store.take(files, folder, self.done)
        pairs.unlink()

    def _source(self, backup: Path, path: str, target: str) -> Source:
        own = Path(path).relative_to(backup).as_posix()
        found = self._sources.get(own)
        if found is None:
            raise BackupDamagedError(
                f"{own} of backup {self.origin.folder} is in no manifest", "restore another backup"
            )
        return Source(found.location, target, found.version)


def delivery_to(
    place: str, origin: BackupFolder, done: Progress, store_at: Callable[[str], BackupStore]
) -> Delivery:
    """The delivery to a place, as Hadoop's `Path.toString` writes it.

    Raises:
        BackupNotLocalError: it is neither on this machine nor on S3.
    """
    if local_path(place) is not None:
        return LocalDelivery(origin, done)
    if place.partition(":")[0] in S3_SCHEMES:
        return BucketDelivery(origin, done, store_at)
    raise BackupNotLocalError(
        f"{place} is neither on a file system of this machine nor on S3",
        "restore into a schema whose location is on one of them",
    )
