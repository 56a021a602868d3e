"""Notes of restores that are on their way: what a killed one leaves is finished or taken back by the next.

In: a folder of notes, the name of what is restored. Out: a `RestoreNote` under a lock, which the kernel frees
when its process is gone. A note is written before anything is made, and deleted when all of it is done.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from audit.time_travel.errors import BackupBusyError, BackupDamagedError
from lineage.names import quote_name


@dataclass(frozen=True, slots=True)
class Placed:
    """A table of a restore.

    Attributes:
        folder: of the table in the backup, which tells it from the others.
        name: its new name, the last part.
        place: a Hadoop path; new for this restore.
        table_id: Delta's new id.
    """

    folder: str
    name: str
    place: str
    table_id: str


@dataclass(frozen=True, slots=True)
class RestoreNote:
    """A restore that is on its way.

    Attributes:
        restore_id: its own.
        backup: the folder of the backup.
        name: of what is restored, in full.
        tables: its tables.
    """

    restore_id: str
    backup: str
    name: tuple[str, ...]
    tables: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class HeldNote:
    """The note under one name, while nobody else restores to that name.

    Attributes:
        path: its file.
        found: what an earlier attempt left; None for nothing.
    """

    path: Path
    found: RestoreNote | None

    def write(self, note: RestoreNote) -> None:
        """Keep a note, before anything of it is made."""
        part = self.path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            json.dump(asdict(note), file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)

    def is_prepared(self, note: RestoreNote, table: Placed) -> bool:
        """Whether an earlier attempt has made all files of a table, and its log."""
        return self._mark(note, table).exists()

    def prepared(self, note: RestoreNote, table: Placed) -> None:
        """Keep that all files of a table are made, and its log."""
        self._mark(note, table).touch()

    def done(self) -> None:
        """Forget it: all of it is made, or nothing of it is left."""
        # First, and the rest means nothing without it.
        self.path.unlink(missing_ok=True)
        for left in self.path.parent.glob(f"{self.path.stem}.*"):
            if left.suffix != ".lock":
                left.unlink()

    def pairs(self, folder: str) -> Path:
        """A file for the list of the files of a table, by its folder in the backup."""
        return self.path.with_suffix(f".{_number(folder)}.pairs.part")

    def _mark(self, note: RestoreNote, table: Placed) -> Path:
        return self.path.with_suffix(f".{note.restore_id}.{_number(table.folder)}.prepared")


class NoteHandler(Protocol):
    """Knows what becomes of what an attempt has left."""

    def is_usable(self, note: RestoreNote) -> bool:
        """Whether the next attempt can go on with it."""
        ...

    def take_back(self, note: RestoreNote) -> None:
        """Delete it."""
        ...


@contextmanager
def held_note(notes: Path, name: tuple[str, ...]) -> Iterator[HeldNote]:
    """The note under a name, locked.

    Args:
        notes: the folder of all notes.
        name: of the table or schema, in full; its case does not count.

    Raises:
        BackupBusyError: another restore to that name runs.
        BackupDamagedError: the note is no note.
    """
    notes.mkdir(parents=True, exist_ok=True)
    path = notes / f"{_key(name)}.json"
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupBusyError(
                f"another restore to {quote_name(name)} runs", "wait until it has ended"
            ) from error
        yield HeldNote(path, _read(path))
    finally:
        os.close(descriptor)


def note_for(
    held: HeldNote,
    backup: Path,
    name: tuple[str, ...],
    handle: NoteHandler,
    new: Callable[[], RestoreNote],
) -> RestoreNote:
    """The note to work by: an earlier attempt's of the same backup, else a new one.

    Args:
        held: the lock.
        backup: the folder of the backup.
        name: of what is restored, in full.
        handle: of what an earlier attempt has left.
        new: makes a new one.
    """
    found = held.found
    if found is not None:
        is_same = found.backup == str(backup) and _key(found.name) == _key(name)
        if is_same and handle.is_usable(found):
            return found
        handle.take_back(found)
        held.done()
    made = new()
    held.write(made)
    return made


def _key(name: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps([part.lower() for part in name]).encode()).hexdigest()[:32]


def _number(folder: str) -> str:
    return folder.rpartition("/")[2]


def _read(path: Path) -> RestoreNote | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        tables = tuple(Placed(**one) for one in found["tables"])
        return RestoreNote(found["restore_id"], found["backup"], tuple(found["name"]), tables)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise BackupDamagedError(
            f"the note {path} of a restore cannot be read: {error}",
            "delete it, and the folders that nobody has registered, by hand",
        ) from error
