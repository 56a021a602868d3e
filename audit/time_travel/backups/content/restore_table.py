"""Gives the table of a backup back: as a new table, or as a new version of one that is there.

In: a backup, a name. Out: a table whose files are links to the backup's. A new table gets its files and its
log first, and its name last, so that nobody sees half of it; a killed run is run again and goes on. A table
that is there gets one commit more, and keeps its past.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.file_paths import without_scheme
from audit.spark.delta.table_copies import NewTable
from audit.spark.delta.values import NewCopy, Table
from audit.time_travel.backups.content.backup_content import BackupTable, ObjectGrant
from audit.time_travel.backups.content.deliver import Delivery
from audit.time_travel.backups.content.restore_notes import HeldNote, Placed, RestoreNote, held_note, note_for
from audit.time_travel.clones.copied_properties import copied_properties
from audit.time_travel.clones.create import place_in
from audit.time_travel.errors import ObjectExistsError, UnknownBackupError, UnknownObjectError
from audit.time_travel.retention.retention_rule import has_retention
from lineage.model import Domain
from lineage.names import quote_name, sql_name, sql_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.values import View
    from audit.time_travel.dropped.drop_registry import DropRegistry


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore has done.

    Attributes:
        message: for the user.
        made: domain and full name of each object that was not there before; who restored it owns it.
        grants: on these, of when the backup was made; those on what is restored in place stay.
    """

    message: str
    made: tuple[tuple[Domain, tuple[str, ...]], ...] = ()
    grants: tuple[ObjectGrant, ...] = ()


@dataclass(frozen=True, slots=True)
class Protection:
    """The policies of what is restored; a moment is that of the backup, UTC microseconds.

    Attributes:
        copy: gives a table, which is to be made, the policies of another one, those of a moment included.
        copy_views: the same for views: each source and what is made of it, names in full.
        dropped_since: the names of the policies that tables had at a moment, and that are dropped now.
    """

    copy: Callable[[NewCopy, int], None]
    copy_views: Callable[[Sequence[tuple[Sequence[str], Sequence[str]]], int], None]
    dropped_since: Callable[[Iterable[str], int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Restorer:
    """Restores backups in one session.

    Attributes:
        catalog: the user's session, whose commits carry the statement's id.
        own: a session of the system's own, which is not audited.
        registry: what was dropped, and the parameters of the account.
        protection: the policies.
        actor: who asks, and when.
        notes: the folder of notes of restores.
        delivery: the backup, and the way of its files to where they go.
    """

    catalog: DeltaCatalog
    own: SparkSession
    registry: DropRegistry
    protection: Protection
    actor: Actor
    notes: Path
    delivery: Delivery

    @property
    def backup(self) -> Path:
        """The folder of the backup."""
        return self.delivery.backup.folder

    def table(self, name: tuple[str, ...], *, replace: bool = False) -> Restored:
        """CREATE [OR REPLACE] TABLE … FROM BACKUP SET.

        Args:
            name: of the table, in full.
            replace: a table that is there gets what the backup has as its newest version.

        Raises:
            BackupBusyError: another restore to that name runs.
            ObjectExistsError: the name is taken.
            UnknownBackupError: it is the backup of a schema.
            UnknownObjectError: the schema does not exist.
        """
        content = self.delivery.content
        if content.domain is not Domain.TABLE:
            raise UnknownBackupError(
                f"backup {self.backup.name} is of the schema {quote_name(content.name)}, not of a table",
                "write CREATE SCHEMA … FROM BACKUP SET",
            )
        (source,) = content.tables
        with held_note(self.notes, name) as held:
            there = self.catalog.find(name)
            if there is not None and not self._is_ours(there, held):
                if held.found is not None:
                    # It could not get its name any more.
                    self.take_back(held.found)
                    held.done()
                if not replace:
                    raise ObjectExistsError(
                        f"{quote_name(name)} exists", "choose another name, or CREATE OR REPLACE TABLE"
                    )
                # It keeps its owner.
                self._in_place(source, there, held)
                return Restored(self._said(name))
            self._new(name, held)
        grants = tuple(dataclasses.replace(one, name=name[-1]) for one in content.grants)
        return Restored(self._said(name), ((Domain.TABLE, name),), grants)

    def _is_ours(self, there: Table | View, held: HeldNote) -> bool:
        """Whether an attempt that was killed has registered the table, and did not come to its end."""
        note = held.found
        if note is None or note.backup != str(self.backup) or not isinstance(there, Table):
            return False
        return [without_scheme(one.place) for one in note.tables] == [without_scheme(there.location or "")]

    def _new(self, name: tuple[str, ...], held: HeldNote) -> None:
        schema = self.catalog.schema_facts(name[-2])
        if schema is None:
            raise UnknownObjectError(f"there is no schema for {quote_name(name)}", "create it first")
        (source,) = self.delivery.content.tables

        def new() -> RestoreNote:
            place = place_in(schema["location"], self.catalog.warehouse, name[-1])
            placed = Placed(source.folder, name[-1], place, str(uuid.uuid4()))
            return RestoreNote(str(uuid.uuid4()), str(self.backup), name, (placed,))

        note = note_for(held, self.backup, name, self, new)
        if self.catalog.find(name) is None:
            self.prepare(source, note, held, schema["properties"])
            self.register(name, note.tables[0])
        held.done()

    def prepare(
        self, source: BackupTable, note: RestoreNote, held: HeldNote, schema: Mapping[str, str]
    ) -> None:
        """Make the files and the log of a new table, which has no name yet.

        Args:
            source: the table in the backup.
            note: has its place and its id.
            held: where that is noted.
            schema: the properties of its schema.
        """
        new = next(one for one in note.tables if one.folder == source.folder)
        if held.is_prepared(note, new):
            return
        copy = self._copy(source)
        of_source = self._properties(copy)
        properties = copied_properties(
            of_source, new.place, schema, self._account, self.actor.time,
            is_kept=has_retention(source.location, of_source),
        )  # fmt: skip
        # Before its first commit: at no moment is it there without its source's policies.
        full = note.name if self.delivery.content.domain is Domain.TABLE else (*note.name, new.name)
        self._protect(source, new.table_id, full, new.place)
        made = NewTable(new.table_id, self.actor.time, source.version, properties, self.actor.query_id)
        self.delivery.new_table(self.catalog, copy, new.place, held.pairs(new.folder), made)
        self.catalog.forget(copy.location or "")
        held.prepared(note, new)

    def register(self, name: tuple[str, ...], new: Placed) -> None:
        """Give a prepared table its name."""
        self.own.sql(f"CREATE TABLE {sql_name(name)} USING delta LOCATION {sql_text(new.place)}")
        self.catalog.forget(new.place)

    def is_usable(self, note: RestoreNote) -> bool:
        """Whether none of its tables has been dropped: such a one is UNDROP's."""
        return not any(self._is_dropped(one.place) for one in note.tables)

    def take_back(self, note: RestoreNote) -> None:
        """Delete the tables of an attempt that have no name, and had none."""
        for one in note.tables:
            if self.catalog.registered(one.place) is None and not self._is_dropped(one.place):
                self.catalog.delete(one.place)

    def _is_dropped(self, place: str) -> bool:
        dropped = self.registry.state(self.catalog).dropped
        places = {without_scheme(one) for event in dropped for one in (*event.places, event.location or "")}
        return without_scheme(place) in places

    @property
    def _account(self) -> Mapping[str, float]:
        return self.registry.state(self.catalog).parameters

    def _in_place(self, source: BackupTable, there: Table | View, held: HeldNote) -> None:
        name = quote_name(there.name)
        if not isinstance(there, Table) or there.provider != "delta" or there.location is None:
            raise ObjectExistsError(f"{name} exists and is no Delta table", "choose another name")
        copy, place = self._copy(source), there.location
        now = self.catalog.state(place)
        if now is not None:
            self._protect(source, now.table_id, there.name, place)

        def properties() -> Mapping[str, str]:
            of_source, schema = self._properties(copy), self.catalog.schema_facts(there.name[-2]) or {}
            return copied_properties(
                of_source, place, schema.get("properties", {}), self._account, self.actor.time,
                is_kept=has_retention(source.location, of_source),
                before=self.catalog.properties(place, ""),
            )  # fmt: skip

        pairs = held.pairs(source.folder)
        self.delivery.into_table(self.catalog, copy, place, pairs, properties)
        self.catalog.refresh(there.name)
        held.done()

    def said_of_policies(self) -> str:
        """What to tell of policies that cannot come back; "" for none."""
        content = self.delivery.content
        gone = self.protection.dropped_since([one.table_id for one in content.tables], content.made)
        if not gone:
            return ""
        return f" Without policies that were dropped since the backup was made: {', '.join(gone)}."

    def _protect(self, source: BackupTable, table_id: str, name: tuple[str, ...], place: str) -> None:
        new = NewCopy(source.table_id, table_id, name, place, is_past=True)
        self.protection.copy(new, self.delivery.content.made)

    def _copy(self, source: BackupTable) -> Table:
        """The table in the backup, under the name of its source."""
        return Table(source.name, str(self.backup / source.folder), "delta", managed=False)

    def _properties(self, copy: Table) -> dict[str, str]:
        # `state` refreshes what Delta has cached.
        self.catalog.state(copy.location or "")
        return self.catalog.properties(copy.location or "", "")

    def _said(self, name: tuple[str, ...]) -> str:
        return f"Table {name[-1]} successfully restored.{self.said_of_policies()}"
