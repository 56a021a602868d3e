"""Which backups there are, and what one holds; no Spark.

In: a configuration. Out: the state of all backups; a backup with its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from audit.time_travel.backups.backup_files import BackupFiles
from audit.time_travel.backups.content.backup_content import NAME as CONTENT
from audit.time_travel.backups.content.backup_content import BackupContent, parse_content
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import COLUMNS, NAME, event_from
from audit.time_travel.backups.model.state import BackupSet, BackupState
from audit.time_travel.backups.rules.backup_rules import find_backup
from audit.time_travel.backups.store.choose import store_at
from audit.time_travel.errors import BackupHistoryError, BackupNotLocalError, UnknownBackupError
from lineage.names import SESSION_CATALOG, quote_name, split_name

if TYPE_CHECKING:
    from audit.core.config import Config


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup.

    Attributes:
        backup_set: where it is.
        backup_id: its identifier.
        content: what it holds.
    """

    backup_set: BackupSet
    backup_id: str
    content: BackupContent


def read_state(config: Config) -> BackupState:
    """The state of all backups under a root of this machine, read without Spark.

    Raises:
        BackupHistoryError: the events cannot be read, or one is unknown to this version.
        BackupNotLocalError: the root is not on this machine.
    """
    root = config.local_root
    if root is None:
        raise BackupNotLocalError(f"{config.root} is not on this machine", "verify it where it lies")
    place = root / NAME
    if not (place / "_delta_log").is_dir():
        return BackupState()
    import duckdb
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    names = [name for name, _, _ in COLUMNS[2:]]
    # One file for each event: DuckDB reads a thousand in a fifth of the time that delta-rs takes.
    query = f"SELECT epoch_us(event_time), {', '.join(names)} FROM read_parquet($1) ORDER BY sequence"  # noqa: S608  our own names
    try:
        # As a URL: in a path delta-rs (1.6) would take a % for the beginning of an escape.
        added = DeltaTable(place.absolute().as_uri()).get_add_actions()
        # Of a table without files delta-rs (1.6) has no such column.
        files = [str(place / one) for one in added["path"].to_pylist()] if added.num_rows else []
        with duckdb.connect() as connection:
            rows = connection.execute(query, [files]).fetchall() if files else []
    except (DeltaError, OSError, duckdb.Error) as error:
        raise BackupHistoryError(
            f"the events of backups under {place} cannot be read: {' '.join(str(error).split())}",
            "let this user read the folder, or bring it back from a copy of the root",
        ) from error
    return state_after(event_from(time, dict(zip(names, values, strict=True)).get) for time, *values in rows)


def set_named(state: BackupState, name: str) -> BackupSet:
    """A backup set; a name without a catalog is of the session catalog.

    Raises:
        UnknownBackupError: there is no such set.
    """
    parts = split_name(name)
    known = state.set_named(quote_name(parts if len(parts) > 2 else (SESSION_CATALOG, *parts)))  # noqa: PLR2004
    if known is None:
        raise UnknownBackupError(
            f"there is no backup set {name}", "SHOW BACKUP SETS lists all: write schema.name"
        )
    return known


def stored_backup(
    config: Config, backup_set: str, identifier: str | None, settings: Mapping[str, str] | None = None
) -> StoredBackup:
    """A backup, and what it holds.

    Args:
        config: of the root.
        backup_set: its name; a name without a catalog is of the session catalog.
        identifier: of the backup; None for the newest one.
        settings: Hadoop's, for an object store; what they leave open, the environment says.

    Raises:
        BackupDamagedError: it does not say what it holds.
        BackupNotLocalError: the root is not on this machine.
        UnknownBackupError: there is no such set, or no such backup in it.
    """
    state = read_state(config)
    known = set_named(state, backup_set)
    backups = state.backups_of(known)
    if identifier is None and not backups:
        raise UnknownBackupError(
            f"backup set {known.name} has no backup", f"ALTER BACKUP SET {known.name} ADD BACKUP makes one"
        )
    chosen = identifier or max(backups.values(), key=lambda one: one.created).backup_id
    found = find_backup(state, known, chosen)
    place = BackupFiles("", partial(store_at, config, settings=settings)).of(found)
    data, path = place.store.read(place.folder, CONTENT), f"{place.store.location(place.folder)}/{CONTENT}"
    return StoredBackup(known, found.backup_id, parse_content(data, path))
