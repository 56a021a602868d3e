"""Gives a schema back from a backup: all of it, or nothing.

In: a schema's backup, a new name. Out: a schema with its Delta tables, views and functions.
All tables are made first, without names. Then the schema appears, and its objects in it; Spark's catalogs
have no step for both at once, so the schema carries a mark, and a note tells that it is not whole yet. An
error takes the schema away again. After a kill the next attempt goes on; one with another backup takes it
back first.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import View
from audit.time_travel.backups.content.backup_content import BackupContent
from audit.time_travel.backups.content.restore_notes import HeldNote, Placed, RestoreNote, held_note, note_for
from audit.time_travel.backups.content.restore_table import Restored
from audit.time_travel.clones.create import place_in
from audit.time_travel.dropped.recreate import CREATED, create_view, make_all, schema_clauses
from audit.time_travel.errors import ObjectExistsError, UnknownBackupError
from audit.time_travel.retention.periods import PREFIX
from lineage.model import Domain
from lineage.names import SESSION_CATALOG, quote_name, sql_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from audit.time_travel.backups.content.restore_table import Restorer

MARK = PREFIX + "restore"
"""A property of a schema: the restore that made it. While there is a note of it, it is not whole."""
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SchemaRestorer:
    """Restores schemas.

    Attributes:
        tables: restores their tables.
    """

    tables: Restorer

    def schema(self, name: str, *, replace: bool = False) -> Restored:
        """CREATE SCHEMA … FROM BACKUP SET.

        Args:
            name: of the new schema.
            replace: refused where there is one: Spark's catalogs cannot put one schema in the place of
                another in one step, so that for a moment there would be half of one.

        Raises:
            BackupBusyError: another restore to that name runs.
            ObjectExistsError: there is a schema of that name.
            UnknownBackupError: it is the backup of a table.
        """
        content = self.tables.delivery.content
        if content.domain is not Domain.SCHEMA:
            table = quote_name(content.name)
            raise UnknownBackupError(
                f"backup {self.tables.backup.name} is of the table {table}, not of a schema",
                "write CREATE TABLE … FROM BACKUP SET",
            )
        full = (SESSION_CATALOG, name)
        with held_note(self.tables.notes, full) as held:
            self._require_free(name, held, replace=replace)
            note = note_for(held, self.tables.backup, full, self, lambda: self._note(full, content))
            properties = (content.schema or {}).get("properties", {})
            self._prepare(content, note, held, properties)
            with self._all_or_nothing(note):
                refused = self._appear(note, content)
            held.done()
        message = f"Schema {name} successfully restored."
        if refused:
            message += f" Without views over missing objects: {', '.join(refused)}."
        message += self.tables.said_of_policies()
        return Restored(message, tuple(self._made(full)), content.grants)

    def _made(self, schema: tuple[str, str]) -> Iterator[tuple[Domain, tuple[str, ...]]]:
        """The schema and all that is in it."""
        catalog, name = self.tables.catalog, schema[-1]
        yield Domain.SCHEMA, schema
        for one in catalog.tables(name):
            yield (Domain.VIEW if isinstance(one, View) else Domain.TABLE), one.name
        for function in catalog.functions(name):
            yield Domain.FUNCTION, (*schema, function["name"])

    def is_usable(self, note: RestoreNote) -> bool:
        """Whether the schema is there and not whole yet, or none of its tables has been there."""
        return self._is_there(note) or self.tables.is_usable(note)

    def take_back(self, note: RestoreNote) -> None:
        """Delete what an attempt has made: the schema, if it is its own, and the tables."""
        self._drop(note)
        self.tables.take_back(note)

    def _note(self, full: tuple[str, str], content: BackupContent) -> RestoreNote:
        warehouse = self.tables.catalog.warehouse
        placed = tuple(
            Placed(one.folder, one.name[-1], place_in(warehouse, warehouse, one.name[-1]), str(uuid.uuid4()))
            for one in content.tables
        )
        return RestoreNote(str(uuid.uuid4()), str(self.tables.backup), full, placed)

    def _require_free(self, name: str, held: HeldNote, *, replace: bool) -> None:
        if self.tables.catalog.schema_facts(name) is None:
            return
        if held.found is not None:
            if self._is_there(held.found):
                return
            # It could not get its name any more.
            self.tables.take_back(held.found)
            held.done()
        if replace:
            raise ObjectExistsError(
                f"the schema {name} exists, and no schema can take its place in one step",
                f"restore under another name, or DROP SCHEMA {name} CASCADE first, which UNDROP brings back",
            )
        raise ObjectExistsError(f"the schema {name} exists", "choose another name, or drop it first")

    def _is_there(self, note: RestoreNote) -> bool:
        """Whether the schema of that name is the one that the restore has made."""
        facts = self.tables.catalog.schema_facts(note.name[-1])
        return facts is not None and facts["properties"].get(MARK) == note.restore_id

    def _prepare(
        self, content: BackupContent, note: RestoreNote, held: HeldNote, properties: Mapping[str, str]
    ) -> None:
        from pyspark.util import inheritable_thread_target

        there = self._registered(note)
        waiting = [one for one in content.tables if one.name[-1].lower() not in there]
        # The threads carry the statement's job tag, so that its record has what they run.
        work = inheritable_thread_target(self.tables.catalog.spark)(
            lambda one: self.tables.prepare(one, note, held, properties)
        )
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(work, waiting))

    def _registered(self, note: RestoreNote) -> set[str]:
        catalog, name = self.tables.catalog, note.name[-1]
        if catalog.schema_facts(name) is None:
            return set()
        return {one.name[-1].lower() for one in catalog.tables(name)}

    def _appear(self, note: RestoreNote, content: BackupContent) -> list[str]:
        """Create the schema and its objects; the names of the views that Spark refuses."""
        catalog, name = self.tables.catalog, note.name[-1]
        facts: Mapping[str, Any] = content.schema or {"properties": {}}
        if catalog.schema_facts(name) is None:
            now = {CREATED: str(self.tables.actor.time), MARK: note.restore_id}
            made = {**facts, "properties": {**facts["properties"], **now}}
            # In the system's own session: the statement alone is on record, not its parts.
            self.tables.own.sql(f"CREATE SCHEMA {sql_name([name])}{schema_clauses(made)}")
        # Before the views, which may call them.
        known = {one["name"].lower() for one in catalog.functions(name)}
        for function in content.functions:
            if function["name"].lower() not in known:
                catalog.restore_function(name, function)
        there = self._registered(note)
        for one in note.tables:
            if one.name.lower() not in there:
                self.tables.register((*note.name, one.name), one)
        return self._views(note, content, there)

    def _views(self, note: RestoreNote, content: BackupContent, there: set[str]) -> list[str]:
        found = (self.tables.catalog.entry(facts) for facts in content.views)
        views = [one for one in found if isinstance(one, View) and one.name[-1].lower() not in there]
        source, new = content.name[-1], note.name[-1]

        def make(view: View) -> None:
            catalog, schema = view.current
            current = (catalog, new) if schema.lower() == source.lower() else (catalog, *schema.split("."))
            create_view(self.tables.own, (*note.name, view.name[-1]), view.facts, current)

        # Before they are there: nobody reads one without its policies.
        pairs = [(view.name, (*note.name, view.name[-1])) for view in views]
        self.tables.protection.copy_views(pairs, content.made)
        return [view.name[-1] for view in make_all(views, make)]

    @contextmanager
    def _all_or_nothing(self, note: RestoreNote) -> Iterator[None]:
        try:
            yield
        except Exception:
            # The tables that were prepared stay: the next attempt takes them.
            self._drop(note)
            raise

    def _drop(self, note: RestoreNote) -> None:
        if self._is_there(note):
            # Its tables are external, and lie outside of its folder.
            self.tables.own.sql(f"DROP SCHEMA {sql_name([note.name[-1]])} CASCADE")
