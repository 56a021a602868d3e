"""The manifest of a backup: path, size and SHA-256 of each of its files.

In: a folder. Out: a `Manifest`, its text, and what of a folder is not as its manifest says. A hard link
shares its inode with the source's file: who writes through the source's name changes the backup, and only a
hash tells.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from audit.time_travel.backups.files.parallel import each
from audit.time_travel.errors import BackupDamagedError

NAME = "manifest.jsonl"
"""The file of a backup's folder that says that the backup is whole."""
PART = ".part"
"""How the names of files end that are on their way."""
_FORMAT = 1
# Large enough that a thread is in SHA-256 most of the time; OpenSSL releases Python's lock from 2 KiB on.
_CHUNK = 1 << 20

Problem = Literal["missing", "size", "hash", "unknown", "unreadable", "covered"]
Done = Callable[[int], None]
"""Is told the bytes of each file that has been read; by several threads."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a backup.

    Attributes:
        path: in the folder, with slashes.
        size: bytes.
        sha256: 64 hex digits.
    """

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files of a backup, ordered by path.

    >>> print(*Manifest((FileEntry("a", 1, "00"),)).lines(), sep="", end="")
    {"format": 1, "files": 1, "bytes": 1}
    ["a", 1, "00"]
    """

    files: tuple[FileEntry, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.files)

    @property
    def digest(self) -> str:
        """SHA-256 of the text: whoever keeps it elsewhere knows this manifest from another one."""
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line.encode("ascii"))
        return digest.hexdigest()

    def lines(self) -> Iterator[str]:
        """Lines of JSON: what follows, then each file."""
        yield head_line(len(self.files), self.size)
        for one in self.files:
            yield entry_line(one)


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as the manifest says.

    `unknown` is one that the manifest does not have. `covered` is whole, but an object store shows something
    newer under its name.
    """

    path: str
    problem: Problem


def make_manifest(folder: Path, done: Done = lambda _: None) -> Manifest:
    """The manifest of what lies in a folder, its own file left out.

    Args:
        folder: of a backup.
        done: is told the bytes of each file.

    Raises:
        BackupDamagedError: something in it is neither a folder nor a plain file, or cannot be read.
    """
    paths = files_in(folder)
    found: list[FileEntry | None] = [None] * len(paths)

    def read(at: int) -> None:
        size, digest = sha256_of(folder / paths[at])
        found[at] = FileEntry(paths[at], size, digest)
        done(size)

    try:
        each(range(len(paths)), read)
    except OSError as error:
        raise BackupDamagedError(
            f"backup {folder} cannot be read: {error}", "make the backup anew"
        ) from error
    return Manifest(tuple(one for one in found if one is not None))


def head_line(files: int, size: int) -> str:
    """The first line of a manifest: what follows, `size` in bytes."""
    return json.dumps({"format": _FORMAT, "files": files, "bytes": size}) + "\n"


def entry_line(entry: FileEntry) -> str:
    """The line of a file."""
    return json.dumps([entry.path, entry.size, entry.sha256]) + "\n"


def parse_manifest(lines: Iterable[str], folder: Path | str) -> Manifest:
    """The manifest of its lines.

    Args:
        lines: as `Manifest.lines` gives them.
        folder: of the backup, for the message.

    Raises:
        BackupDamagedError: they are no whole manifest.
    """
    return Manifest(tuple(entries_of(lines, folder)))


def entries_of(lines: Iterable[str], folder: Path | str) -> Iterator[FileEntry]:
    """The files of a manifest, one by one; whether it is whole shows at the end.

    Args:
        lines: as `Manifest.lines` gives them.
        folder: of the backup, for the message.

    Raises:
        BackupDamagedError: they are no whole manifest.
    """
    rest, found, size = iter(lines), 0, 0
    try:
        head = json.loads(next(rest, ""))
        known = (head["format"], head["files"], head["bytes"])
        for line in rest:
            path, length, digest = json.loads(line)
            entry = FileEntry(str(path), int(length), str(digest))
            found, size = found + 1, size + entry.size
            yield entry
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(folder) from error
    if known != (_FORMAT, found, size):
        raise _broken(folder)


def verify(folder: Path, manifest: Manifest, done: Done = lambda _: None) -> tuple[Damage, ...]:
    """What of a folder is not as its manifest says, ordered by path; () for a backup that is whole.

    Every file is read back.

    Args:
        folder: of the backup.
        manifest: of that backup.
        done: is told the bytes of each file.
    """
    files = manifest.files
    found: list[Damage | None] = [None] * len(files)

    def check(at: int) -> None:
        problem = _problem(folder, files[at])
        found[at] = None if problem is None else Damage(files[at].path, problem)
        done(files[at].size)

    each(range(len(files)), check)
    known = {one.path for one in files}
    try:
        unknown = [Damage(path, "unknown") for path in files_in(folder) if path not in known]
    except BackupDamagedError:
        unknown = [Damage("", "unreadable")]
    damages = [*(one for one in found if one is not None), *unknown]
    return tuple(sorted(damages, key=lambda one: one.path))


def files_in(folder: Path) -> list[str]:
    """The plain files below a folder in order of their paths, but for a manifest and files on their way.

    Raises:
        BackupDamagedError: something in it is neither a folder nor a plain file.
    """
    found: list[str] = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                path = f"{below}/{entry.name}" if below else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                elif not entry.is_file(follow_symlinks=False):
                    raise BackupDamagedError(
                        f"{folder / path} is no plain file", "a backup holds none but these: take it away"
                    )
                elif path != NAME and not entry.name.endswith(PART):
                    found.append(path)
    return sorted(found)


def sha256_of(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file, in memory of one mebibyte.

    Raises:
        OSError: it cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    view = memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(view):
            digest.update(view[:count])
            size += count
    return size, digest.hexdigest()


def _problem(folder: Path, entry: FileEntry) -> Problem | None:
    path = folder / entry.path
    try:
        status = path.lstat()
    except OSError:
        return "missing"
    if not stat.S_ISREG(status.st_mode):
        return "missing"
    if status.st_size != entry.size:
        return "size"
    try:
        size, digest = sha256_of(path)
    except OSError:
        return "unreadable"
    return None if (size, digest) == (entry.size, entry.sha256) else "hash"


def _broken(folder: Path | str) -> BackupDamagedError:
    return BackupDamagedError(
        f"the manifest of backup {folder} is not whole",
        "verify it against another copy, or make a new backup",
    )
