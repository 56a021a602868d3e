"""Opens a backup, and takes its files to where its tables are restored: this machine, or a bucket.

In: a backup, a place. Out: a `Delivery`. On this machine files are linked. In a bucket S3 copies those of a
backup that lies on S3, and those of this machine are uploaded; a table's log is the last of its files.
"""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.file_paths import local_path
from audit.time_travel.backups.content.backup_content import (
    BackupContent,
    is_description,
    require_described,
    require_restorable,
)
from audit.time_travel.backups.content.copy_version import Progress, copy_version, link_listed, require_local
from audit.time_travel.backups.store.backup_store import BackupStore, Fetched, Source
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


@dataclass(frozen=True, slots=True)
class Delivery(ABC):
    """A backup that is open, and the way of its files to a place.

    Attributes:
        backup: its folder on this machine, with what is needed of it, and its files.
        content: what it holds.
        done: is told of each file.
    """

    backup: Fetched
    content: BackupContent
    done: Progress

    @abstractmethod
    def new_table(self, catalog: DeltaCatalog, copy: Table, place: str, pairs: Path, new: NewTable) -> None:
        """Make the files and the log of a table that has no name yet; a killed one is made again.

        Args:
            catalog: reads the log of the backup.
            copy: the table in it.
            place: of the new table.
            pairs: a file for what is on its way.
            new: its id and properties.

        Raises:
            BackupIncompleteError: a file cannot be taken.
        """

    @abstractmethod
    def into_table(
        self,
        catalog: DeltaCatalog,
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


@dataclass(frozen=True, slots=True)
class LocalDelivery(Delivery):
    """To folders of this machine."""

    def new_table(self, catalog: DeltaCatalog, copy: Table, place: str, pairs: Path, new: NewTable) -> None:
        """See `Delivery.new_table`."""
        copy_version(catalog, copy, OWN_VERSION, require_local(copy.name, place), pairs, self.done, new)

    def into_table(
        self,
        catalog: DeltaCatalog,
        copy: Table,
        place: str,
        pairs: Path,
        properties: Callable[[], Mapping[str, str]],
    ) -> None:
        """See `Delivery.into_table`."""
        folder = require_local(copy.name, place)
        # `clone` takes files that are there as they are: their names say what they are copies of.
        listed = catalog.list_copies(copy.location or "", OWN_VERSION, folder, pairs)
        link_listed(copy, listed, folder, pairs, self.done)
        catalog.clone(copy, OWN_VERSION, place, properties(), name=None, files="copied")


@dataclass(frozen=True, slots=True)
class BucketDelivery(Delivery):
    """To a bucket.

    Attributes:
        store_at: the store of a location.
    """

    store_at: Callable[[str], BackupStore]

    def new_table(self, catalog: DeltaCatalog, copy: Table, place: str, pairs: Path, new: NewTable) -> None:
        """See `Delivery.new_table`."""
        work = pairs.with_suffix(".log.part")
        try:
            catalog.copy_log(copy.location or "", OWN_VERSION, quote_name(copy.name), work, pairs, new)
            self._send(place, pairs)
            store, folder = self._target(place)
            store.take([Source(str(work / _LOG_FILE), _LOG_FILE)], folder, self.done)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def into_table(
        self,
        catalog: DeltaCatalog,
        copy: Table,
        place: str,
        pairs: Path,
        properties: Callable[[], Mapping[str, str]],
    ) -> None:
        """See `Delivery.into_table`."""
        # The folder stands for that of the table: the pairs have paths in it.
        catalog.list_copies(copy.location or "", OWN_VERSION, pairs.with_suffix(".table"), pairs)
        self._send(place, pairs)
        catalog.clone(copy, OWN_VERSION, place, properties(), name=None, files="there")

    def _target(self, place: str) -> tuple[BackupStore, str]:
        above, _, folder = place.rstrip("/").rpartition("/")
        return self.store_at(above), folder

    def _send(self, place: str, pairs: Path) -> None:
        store, folder = self._target(place)
        with pairs.open(encoding="utf-8") as lines:
            files = (self._source(*json.loads(line)) for line in lines)
            store.take(files, folder, self.done)
        pairs.unlink()

    def _source(self, path: str, target: str) -> Source:
        own = Path(path).relative_to(self.backup.folder).as_posix()
        found = self.backup.sources.get(own)
        if found is None:
            raise BackupDamagedError(
                f"{own} of backup {self.backup.folder} is in no manifest", "restore another backup"
            )
        return Source(found.location, target, found.version)


@contextmanager
def opened_for(
    place: str, origin: BackupFolder, done: Progress, store_at: Callable[[str], BackupStore]
) -> Iterator[Delivery]:
    """A backup that is to go to a place.

    Args:
        place: as Hadoop's `Path.toString` writes it.
        origin: the backup.
        done: is told of each file.
        store_at: the store of a location.

    Raises:
        BackupDamagedError: the backup is not whole.
        BackupNotLocalError: the place is neither on this machine nor on S3.
    """
    is_local = local_path(place) is not None
    if not is_local and place.partition(":")[0] not in S3_SCHEMES:
        raise BackupNotLocalError(
            f"{place} is neither on a file system of this machine nor on S3",
            "restore into a schema whose location is on one of them",
        )
    store = origin.store
    if is_local:
        with store.fetched(origin.folder) as backup:
            yield LocalDelivery(backup, require_restorable(backup), done)
    else:
        # Of a backup on S3 its logs are enough: S3 copies the other files itself.
        with store.fetched(origin.folder, is_description) as backup:
            content = require_restorable(backup) if store.is_local else require_described(backup)
            yield BucketDelivery(backup, content, done, store_at)
