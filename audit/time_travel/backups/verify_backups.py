"""Reads back the files of all backups and compares them with their manifests; no Spark.

In: a configuration. Out: each backup with what is not as it was. The events name the backups, so a backup
whose folder is gone is found; they keep the hash of each manifest, so a manifest that was rewritten is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from audit.time_travel.backups.backup_files import BackupFiles
from audit.time_travel.backups.files.manifest import NAME as MANIFEST
from audit.time_travel.backups.store.backup_store import Verified
from audit.time_travel.backups.store.choose import store_at
from audit.time_travel.backups.stored_backups import read_state, set_named
from audit.time_travel.errors import BackupDamagedError

if TYPE_CHECKING:
    from audit.core.config import Config
    from audit.time_travel.backups.content.take_backup import BackupFolder
    from audit.time_travel.backups.model.state import Backup
    from audit.time_travel.backups.store.backup_store import BackupStore, ReadBack


@dataclass(frozen=True, slots=True)
class VerifiedBackup:
    """What was found of a backup.

    Attributes:
        backup_set: its full name.
        backup_id: its identifier.
        files: in its manifest.
        bytes: of these.
        damages: path and problem of each file that is not as it was; () for a backup that is whole.
        unread: how many files have no hash yet: they are there and have their size.
    """

    backup_set: str
    backup_id: str
    files: int
    bytes: int
    damages: tuple[tuple[str, str], ...] = ()
    unread: int = 0


def verified_backups(
    config: Config,
    backup_set: str | None,
    done: Callable[[int], None],
    settings: Mapping[str, str] | None = None,
) -> Iterator[VerifiedBackup]:
    """Verify all backups, or those of a set.

    Args:
        config: of the root.
        backup_set: its name; a name without a catalog is of the session catalog. None for all.
        done: is told the bytes of each file that was read.
        settings: Hadoop's, for an object store; what they leave open, the environment says.

    Raises:
        BackupNotLocalError: the root is not on this machine.
        UnknownBackupError: there is no such set.
    """
    state = read_state(config)
    files = BackupFiles("", cache(lambda location: store_at(config, location, settings)))
    wanted = None if backup_set is None else set_named(state, backup_set).set_id
    chosen = [(one, files.of(one)) for one in state.all_backups() if wanted in {None, one.set_id}]
    read = _read_back([place for _, place in chosen], done)
    for backup, place in chosen:
        yield _verified(place, state.sets[backup.set_id].name, backup, done, read[place.store])


def _read_back(places: Iterable[BackupFolder], done: Callable[[int], None]) -> dict[BackupStore, ReadBack]:
    """The files of backups, by their store."""
    folders: dict[BackupStore, list[str]] = {}
    for one in places:
        folders.setdefault(one.store, []).append(one.folder)
    return {store: store.read_back(names, done) for store, names in folders.items()}


def _verified(
    place: BackupFolder,
    name: str,
    backup: Backup,
    done: Callable[[int], None],
    read: ReadBack,
) -> VerifiedBackup:
    whole = read.whole.get(place.folder)
    try:
        found = Verified(whole, ()) if whole else place.store.verify(place.folder, done, read.hashes)
    except BackupDamagedError as error:
        return VerifiedBackup(name, backup.backup_id, 0, 0, ((MANIFEST, error.problem),))
    made, damages = found.made, [(one.path, str(one.problem)) for one in found.damages]
    # A run that hashes the large files writes the manifest first, then the event that vouches for it.
    is_being_completed = bool(backup.content.get("unread")) and not made.unread
    if not is_being_completed and backup.content.get("manifest") not in {None, made.digest}:
        damages.append((MANIFEST, "hash"))
    return VerifiedBackup(name, backup.backup_id, made.files, made.size, tuple(sorted(damages)), made.unread)
