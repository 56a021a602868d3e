"""The contents of backups: takes them into a store, and gives them back.

In: a backup set, a folder of a store. Out: what is noted with the backup; objects of the catalog. See
`take_backup`, `restore_table` and `restore_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table
from audit.time_travel.backups.content.deliver import opened_for
from audit.time_travel.backups.content.restore_schema import SchemaRestorer
from audit.time_travel.backups.content.restore_table import Protection, Restored, Restorer
from audit.time_travel.backups.content.take_backup import (
    WATCH,
    BackupFolder,
    GrantsOn,
    Watch,
    bytes_now,
    take_schema,
    take_table,
)
from audit.time_travel.errors import UnknownObjectError
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.backups.model.state import BackupSet
    from audit.time_travel.backups.store.backup_store import BackupStore
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from lineage.sql.commands.backups.statements import CreateFromBackup


@dataclass(frozen=True, slots=True)
class Contents:
    """Makes and restores the contents of backups.

    Attributes:
        own: a session of the system's own.
        catalog_of: the catalog as a session sees it.
        registry: has the parameters of the account, and what was dropped.
        protection: gives what is restored its policies.
        grants_on: the grants on an object.
        store_at: the store of a location.
        notes: the folder of notes of restores, on this machine.
        clock: UTC microseconds.
    """

    own: SparkSession
    catalog_of: Callable[[SparkSession], DeltaCatalog]
    registry: DropRegistry
    protection: Protection
    grants_on: GrantsOn
    store_at: Callable[[str], BackupStore]
    notes: Path
    clock: Callable[[], int]

    def estimate(self, backup_set: BackupSet) -> int:
        """Bytes of the data files that a backup made now would hold.

        Raises:
            UnknownObjectError: there is no such table or schema any more.
            UnreadableTableError: the log of a table is damaged: a backup of it would fail.
        """
        catalog = self.catalog_of(self.own)
        if backup_set.domain is not Domain.SCHEMA:
            return bytes_now(catalog, [_table_of(catalog, backup_set)])
        name = split_name(backup_set.of)[-1]
        if catalog.schema_facts(name) is None:
            raise UnknownObjectError(f"there is no schema {quote_name((name,))}", "check its name")
        return bytes_now(catalog, catalog.tables(name))

    def take(self, backup_set: BackupSet, target: BackupFolder, watch: Watch) -> Mapping[str, Any]:
        """Make all files of a backup in a folder and publish it.

        Args:
            backup_set: what it is of.
            target: where it goes.
            watch: is told how it goes on.

        Returns:
            What is noted with the backup: bytes, files, tables, the hash of its manifest, how many files of
            it have no hash yet, and the name of what is backed up.

        Raises:
            BackupError: a file cannot be taken.
            UnknownObjectError: there is no such table or schema any more.
        """
        catalog = self.catalog_of(self.own)
        if backup_set.domain is Domain.SCHEMA:
            content, made = take_schema(
                catalog, split_name(backup_set.of)[-1], target, self.clock(), watch, self.grants_on
            )
        else:
            table = _table_of(catalog, backup_set)
            content, made = take_table(catalog, table, None, target, self.clock(), watch, self.grants_on)
        return {
            "bytes": content.bytes,
            "files": content.files,
            "tables": len(content.tables),
            "manifest": made.digest,
            "unread": made.unread,
            "of": quote_name(content.name),
            "leftOut": [one.name for one in content.left_out],
        }

    def restore(
        self, command: CreateFromBackup, backup: BackupFolder, session: SparkSession, actor: Actor
    ) -> Restored:
        """CREATE … FROM BACKUP SET.

        Raises:
            BackupError: the backup is damaged, another restore to that name runs, or its files can go to
                neither this machine nor S3.
            ObjectExistsError: the name is taken.
            UnknownObjectError: the schema does not exist.
        """
        catalog = self.catalog_of(session)

        @contextmanager
        def restorer(place: str) -> Iterator[Restorer]:
            with opened_for(place, backup, WATCH.get().taken, self.store_at) as delivery:
                yield Restorer(catalog, self.own, self.registry, self.protection, actor, self.notes, delivery)

        if command.domain is Domain.SCHEMA:
            name = command.name[-1]
            if command.if_not_exists and catalog.schema_facts(name) is not None:
                return Restored(f"{name} already exists, statement succeeded.")
            # Its tables lie outside of its folder, as those of UNDROP.
            with restorer(catalog.warehouse) as tables:
                return SchemaRestorer(tables).schema(name, replace=command.replace)
        full = qualify(command.name, catalog.current)
        if command.if_not_exists and catalog.find(full) is not None:
            return Restored(f"{full[-1]} already exists, statement succeeded.")
        with restorer(_place_of(catalog, full)) as tables:
            return tables.table(full, replace=command.replace)


def _place_of(catalog: DeltaCatalog, name: tuple[str, ...]) -> str:
    """Where the files of a table are, or will be: its own location, or that of its schema.

    Raises:
        UnknownObjectError: there is no such schema.
    """
    there = catalog.find(name)
    if isinstance(there, Table) and there.location is not None:
        return there.location
    schema = catalog.schema_facts(name[-2])
    if schema is None:
        raise UnknownObjectError(f"there is no schema for {quote_name(name)}", "create it first")
    return str(schema["location"])


def _table_of(catalog: DeltaCatalog, backup_set: BackupSet) -> Table:
    """The table of a set: by its place, which a rename keeps, else by its name."""
    found = None if backup_set.location is None else catalog.registered(backup_set.location)
    named = found or catalog.find(split_name(backup_set.of))
    if not isinstance(named, Table):
        raise UnknownObjectError(
            f"the table {backup_set.of} of backup set {backup_set.name} is not there",
            "UNDROP TABLE brings it back; its backups are kept",
        )
    return named
