"""Takes files into a backup without their bytes, where the file system can.

In: pairs of a source and its place in the backup. Out: the files, and how many were linked, cloned, copied.
A hard link is tried first: the file then has two names, and lives as long as one of them. Over mount
boundaries, or where links are forbidden or used up, a clone (reflink) is tried, then a copy.

It can be killed at any point and run again: a file appears under its name when it is whole.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from audit.time_travel.backups.files.manifest import PART
from audit.time_travel.backups.files.parallel import each
from audit.time_travel.errors import BackupIncompleteError

# Linux, include/uapi/linux/fs.h: _IOW(0x94, 9, int). Where another number means it, a copy is made.
_FICLONE = 0x40049409
# Another file system; one without links; another user's file (fs.protected_hardlinks); 65,000 links (ext4).
_NO_LINK = frozenset({errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class FileToTake:
    """A file of a table, and where it goes.

    Attributes:
        source: a plain file of this machine; a text where there are many.
        target: the path in the backup's folder.
    """

    source: Path | str
    target: str


@dataclass(frozen=True, slots=True)
class Taken:
    """How many files came in which way.

    Attributes:
        linked: by a hard link.
        cloned: by a reflink: another file that shares its blocks.
        copied: with their bytes.
        kept: were there from an earlier attempt.
        copied_bytes: of the copies.
    """

    linked: int = 0
    cloned: int = 0
    copied: int = 0
    kept: int = 0
    copied_bytes: int = 0

    def __add__(self, other: Taken) -> Taken:
        return Taken(
            self.linked + other.linked,
            self.cloned + other.cloned,
            self.copied + other.copied,
            self.kept + other.kept,
            self.copied_bytes + other.copied_bytes,
        )


def take_files(
    files: Iterable[FileToTake], folder: Path, done: Callable[[Taken], None] = lambda _: None
) -> Taken:
    """Link, clone or copy files into the folder of a backup that is on its way.

    Args:
        files: are taken one by one, however many there are.
        folder: is made if it is not there.
        done: is told of each file; by several threads.

    Raises:
        BackupIncompleteError: a file cannot be taken; what was taken stays for the next attempt.
    """
    total, lock = Taken(), threading.Lock()
    made: set[str] = set()

    def take(file: FileToTake) -> None:
        nonlocal total
        target = f"{folder}/{file.target}"
        parent = target.rpartition("/")[0]
        if parent not in made:
            Path(parent).mkdir(parents=True, exist_ok=True)
            made.add(parent)
        try:
            one = _taken(file.source, target)
        except OSError as error:
            raise BackupIncompleteError(
                f"{file.source} cannot be taken into backup {folder}: {error.strerror}",
                "run it again: it goes on where it was",
            ) from error
        with lock:
            total += one
        done(one)

    each(files, take)
    return total


def _taken(source: Path | str, target: str) -> Taken:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if _is_whole(Path(source), Path(target)):
            return Taken(kept=1)
        # Of another source: the same attempt has never made it.
        Path(target).unlink()
        return _taken(source, target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
    else:
        return Taken(linked=1)
    return _cloned_or_copied(Path(source), Path(target))


def _is_whole(source: Path, target: Path) -> bool:
    # A file has its name only when it is whole; Delta never writes a file anew under the same name.
    one, two = source.stat(), target.lstat()
    return os.path.samestat(one, two) or one.st_size == two.st_size


def _cloned_or_copied(source: Path, target: Path) -> Taken:
    if _exists(target):
        if _is_whole(source, target):
            return Taken(kept=1)
        target.unlink()
    part = target.with_name(target.name + PART)
    with source.open("rb") as read, part.open("wb") as written:
        try:
            fcntl.ioctl(written.fileno(), _FICLONE, read.fileno())
            taken = Taken(cloned=1)
        except OSError:
            shutil.copyfileobj(read, written, 1 << 20)
            taken = Taken(copied=1, copied_bytes=written.tell())
        written.flush()
        # The name must not be there before the bytes, whatever happens to the machine.
        os.fsync(written.fileno())
    part.replace(target)
    return taken


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True
