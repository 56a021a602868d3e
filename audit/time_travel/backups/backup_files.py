"""The files of all backups, wherever they lie, beside the state that says which of them there are.

In: a state, a backup. Out: folders of stores; files that are gone; locks and holds that a store keeps. Each
backup notes where it lies, so that another `backup_location` counts for new ones alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.time_travel.backups.content.take_backup import BackupFolder
from audit.time_travel.errors import BackupHeldError, BackupStoreError

if TYPE_CHECKING:
    from audit.time_travel.backups.model.state import Backup, BackupSet, BackupState
    from audit.time_travel.backups.store.backup_store import BackupStore

LOCATION = "location"
"""In what is noted of a backup: where backups lay when it was made. A moved root takes those below it along:
of them nothing is noted."""
_ON_ITS_WAY = 86_400_000_000
"""Microseconds: no backup takes longer to be made."""


@dataclass(frozen=True)
class BackupFiles:
    """The files of the backups of one root.

    Attributes:
        location: where new backups go; "" for below the root.
        store_at: the store of a location.
    """

    location: str
    store_at: Callable[[str], BackupStore]
    _bound: dict[str, _Bound] = field(default_factory=dict)

    def of(self, backup: Backup) -> BackupFolder:
        """Where a backup lies."""
        store = self.store_at(backup.content.get(LOCATION, ""))
        return BackupFolder(store, _name(backup.set_id, backup.backup_id))

    def new(self, state: BackupState, backup_set: BackupSet, backup_id: str) -> BackupFolder:
        """Where a new backup goes, beside the newest one of its set in the same store."""
        earlier = [
            one
            for one in state.backups_of(backup_set).values()
            if one.content.get(LOCATION, "") == self.location
        ]
        names = tuple(_name(backup_set.set_id, one.backup_id) for one in earlier[-1:])
        return BackupFolder(self.store_at(self.location), _name(backup_set.set_id, backup_id), names)

    def clock(self) -> int | None:
        """The store's date; None for a store without one, or out of reach.

        Time that nobody has witnessed does not count for a lock, so no answer makes no lock shorter.
        """
        try:
            return self.store_at(self.location).clock()
        except BackupStoreError:
            return None

    def remove(self, backups: Iterable[Backup]) -> None:
        """Delete the files of backups that the state no longer has.

        Raises:
            BackupLockedError: the store keeps one for a reason of its own, as a default lock of the bucket.
            BackupStoreError: it cannot be reached; a run deletes what is left.
        """
        for one in backups:
            _remove(self.of(one))

    def bytes_bound(self, state: BackupState) -> int:
        """Bytes that nothing but backups needs.

        Raises:
            BackupStoreError: a store cannot be reached.
        """
        return sum(store.bytes_bound() for store in self.stores(state))

    def sweep(self, state: BackupState, now: int) -> list[str]:
        """Remove folders of no backup that a killed driver has left; younger ones may be on their way.

        Args:
            state: of all backups.
            now: UTC microseconds.

        Returns:
            The folders that are gone.
        """
        removed = []
        for store in self.stores(state):
            for set_id in store.sets():
                known = state.backups.get(set_id, {})
                for folder in (*store.published(set_id), *store.unfinished(set_id)):
                    is_known = folder.rpartition("/")[2] in known
                    if not is_known and store.written(folder) < now - _ON_ITS_WAY:
                        _remove(BackupFolder(store, folder))
                        removed.append(folder)
        return removed

    def stores(self, state: BackupState) -> list[BackupStore]:
        """Where new backups go, and where those of a state lie."""
        locations = {self.location, *(one.content.get(LOCATION, "") for one in state.all_backups())}
        return [self.store_at(one) for one in sorted(locations)]

    def bind(self, state: BackupState) -> None:
        """Have object stores keep what a retention lock or a legal hold binds.

        The rules bind it from their event on. A kill before the store knows it is made up for by the next
        statement or run of any process: what this one has not seen done, it asks for.

        Raises:
            BackupStoreError: the store cannot be reached.
        """
        for backup in state.all_backups():
            wanted = _Bound.of(state, backup)
            done = self._bound.get(backup.backup_id, _Bound())
            if wanted == done:
                continue
            place = self.of(backup)
            if not place.store.is_local:
                now = place.store.clock() if wanted.expires is not None else None
                until = None if now is None else state.expiration_scheduled_for(backup, now)
                if until is not None:
                    place.store.lock(place.folder, until)
                if wanted.is_held != done.is_held:
                    place.store.hold(place.folder, wanted.is_held)
            self._bound[backup.backup_id] = wanted


@dataclass(frozen=True, slots=True)
class _Bound:
    """What binds a backup: the expiration of a retention lock, None for none; a legal hold."""

    expires: int | None = None
    is_held: bool = False

    @classmethod
    def of(cls, state: BackupState, backup: Backup) -> _Bound:
        locked = state.is_locked(state.sets[backup.set_id])
        return cls(state.expires(backup) if locked else None, backup.is_held)


def _remove(place: BackupFolder) -> None:
    try:
        place.store.remove(place.folder)
    except BackupHeldError:
        # No hold of the rules is left: a process was killed before it told the store.
        place.store.hold(place.folder, is_held=False)
        place.store.remove(place.folder)


def _name(set_id: str, backup_id: str) -> str:
    return f"{set_id}/{backup_id}"
