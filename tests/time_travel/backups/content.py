"""Backups and restores of a session, made without statements."""

from __future__ import annotations

import dataclasses
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.core.actor import Actor
from audit.core.clock import SystemClock
from audit.core.file_paths import local_path
from audit.core.ids import IdGenerator
from audit.time_travel.attached import time_travel_of
from audit.time_travel.backups.content.deliver import opened_for
from audit.time_travel.backups.content.restore_schema import SchemaRestorer
from audit.time_travel.backups.content.restore_table import Restorer
from audit.time_travel.backups.content.take_backup import BackupFolder, Watch, take_schema, take_table
from audit.time_travel.backups.files.manifest import verify
from audit.time_travel.backups.files.publish import read_manifest
from audit.time_travel.backups.store.local_store import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Backups:
    """The backups of a session, in a folder."""

    session: SparkSession
    root: Path
    clock: Any = field(default_factory=SystemClock)
    taken: Counter[str] = field(default_factory=Counter)

    @property
    def catalog(self):
        """Look-ups of the session."""
        return time_travel_of(self.session)._catalog(self.session)

    @property
    def watch(self):
        """Counts files: `linked`, `copied`, `kept`."""
        return Watch(self._count)

    def _count(self, one):
        self.taken.update(linked=one.linked, copied=one.copied + one.cloned, kept=one.kept)

    def table(self, name, version=None, backup="one", watch=None):
        """A backup of a table; its folder."""
        folder, found = self.root / "set" / backup, self.catalog.find(tuple(name.split(".")))
        target = BackupFolder(LocalStore(self.root), f"set/{backup}")
        take_table(self.catalog, found, version, target, self.clock.now(), watch or self.watch, no_grants)
        return folder

    def schema(self, name, backup="one", watch=None):
        """A backup of a schema; its folder."""
        folder = self.root / "set" / backup
        target = BackupFolder(LocalStore(self.root), f"set/{backup}")
        take_schema(self.catalog, name, target, self.clock.now(), watch or self.watch, no_grants)
        return folder

    @contextmanager
    def restorer(self, folder, watch=None):
        """Restores the tables of a backup."""
        travel = time_travel_of(self.session)
        actor = Actor(self.clock.now(), "ann", None, IdGenerator(self.clock).new)
        notes = self.root / "restores"
        origin = BackupFolder(LocalStore(self.root), f"set/{folder.name}")
        with opened_for("/", origin, (watch or self.watch).taken, LocalStore) as delivery:
            yield Restorer(
                self.catalog, travel._own, travel.registry, travel._protection, actor, notes, delivery
            )

    def restore_table(self, folder, name, *, replace=False, watch=None):
        """The table of a backup back under a name."""
        full = ("spark_catalog", *name.split("."))
        with self.restorer(folder, watch) as restorer:
            return restorer.table(full, replace=replace)

    def restore_schema(self, folder, name, *, replace=False, copy_views=None):
        """The schema of a backup back under a name."""
        with self.restorer(folder) as restorer:
            protection = restorer.protection
            if copy_views is not None:
                protection = dataclasses.replace(protection, copy_views=copy_views)
            tables = dataclasses.replace(restorer, protection=protection)
            return SchemaRestorer(tables).schema(name, replace=replace)

    def location(self, table):
        """Where a table lies."""
        return local_path(self.session.sql(f"DESCRIBE DETAIL {table}").first().location)


def no_grants(*_):
    """Of any object."""
    return ()


def damages(folder):
    """What of a backup is not as its manifest says."""
    return verify(folder, read_manifest(folder))


def rows(session, sql):
    """As texts, in order."""
    return sorted(str(tuple(row)) for row in session.sql(sql).collect())
