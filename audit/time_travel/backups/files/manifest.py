"""The manifest of a backup: path, size and SHA-256 of each of its files.

In: a folder. Out: a `Manifest`, its text, and what of a folder is not as its manifest says. A hard link
shares its inode with the source's file: who writes through the source's name changes the backup, and only a
hash tells.

A backup is there at once, whatever its bytes. So the hash of a file is taken from an earlier backup that has
the same file, and large new files are read later (`complete_manifest`). Until then the manifest has the time
of their last write: a file that was written to since is found, and never gets a hash.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from audit.time_travel.backups.files.parallel import WORKERS, each
from audit.time_travel.errors import BackupDamagedError

NAME = "manifest.jsonl"
"""The file of a backup's folder that says that the backup is whole."""
PART = ".part"
"""How the names of files end that are on their way."""
_FORMAT = 1
# Large enough that a thread is in SHA-256 most of the time; OpenSSL releases Python's lock from 2 KiB on.
_CHUNK = 1 << 20
_quoted = json.encoder.encode_basestring_ascii
_BUFFERS = threading.local()
"""What a thread reads into: a new mebibyte for each of many small files costs more than reading them."""

Problem = Literal["missing", "size", "hash", "written", "unknown", "unreadable", "covered"]
Done = Callable[[int], None]
"""Is told the bytes of each file that has been read; by several threads."""


class FileEntry(NamedTuple):
    """One file of a backup. A tuple: a year of backups has a million of them.

    Attributes:
        path: in the folder, with slashes.
        size: bytes.
        sha256: 64 hex digits; "" for a file that has not been read yet.
        written: of such a file the time of its last write, in nanoseconds since the epoch as its file
            system has it; 0 for one with a hash, or of an object store.
    """

    path: str
    size: int
    sha256: str
    written: int = 0


@dataclass(frozen=True, slots=True)
class ReadNow:
    """Which files are hashed at once; the others later.

    Attributes:
        bytes: of new files at most, small ones first.
        always: whether a file is hashed whatever its size, by its path.
    """

    bytes: int
    always: Callable[[str], bool] = lambda _: False


class FileIdentity(NamedTuple):
    """A file of this machine, whatever name it is found by.

    Attributes:
        device: of its file system.
        inode: in it; nothing else has it as long as one name of the file is there.
        size: bytes.
    """

    device: int
    inode: int
    size: int

    @classmethod
    def of(cls, path: str | Path) -> FileIdentity:
        """Of the file that a path names.

        Raises:
            OSError: it is not there.
        """
        return cls.from_status(os.lstat(path))

    @classmethod
    def from_status(cls, status: os.stat_result) -> FileIdentity:
        """Of a file whose status was asked for."""
        return cls(status.st_dev, status.st_ino, status.st_size)


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
    def unread(self) -> int:
        """How many files have no hash yet."""
        return sum(not one.sha256 for one in self.files)

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

    `unknown` is one that the manifest does not have. `written` had no hash yet, and was written to since:
    what it holds now is not to be trusted. `covered` is whole, but an object store shows something newer
    under its name.
    """

    path: str
    problem: Problem


def make_manifest(
    folder: Path,
    done: Done = lambda _: None,
    known: Mapping[FileIdentity, str] = MappingProxyType({}),
    now: ReadNow | None = None,
) -> Manifest:
    """The manifest of what lies in a folder, its own file left out.

    Args:
        folder: of a backup.
        done: is told the bytes of each file that is read.
        known: hashes of files that other backups have, too, as `hashes_of` finds them.
        now: which of the others are read; None for all.

    Raises:
        BackupDamagedError: something in it is neither a folder nor a plain file, or cannot be read.
    """
    paths = files_in(folder)
    try:
        entries = [_entry(path, os.lstat(f"{folder}/{path}"), known) for path in paths]
        return _with_hashes(folder, entries, done, now)
    except OSError as error:
        raise BackupDamagedError(
            f"backup {folder} cannot be read: {error}", "make the backup anew"
        ) from error


def complete_manifest(
    folder: Path, manifest: Manifest, done: Done = lambda _: None, workers: int = WORKERS
) -> Manifest:
    """A manifest with the hashes of all its files; those that it has stay as they are.

    Args:
        folder: of the backup.
        manifest: of that backup.
        done: is told the bytes of each file that is read.
        workers: threads that read; 1 is the caller's own.

    Raises:
        BackupDamagedError: a file is missing, has another size, was written to, or cannot be read.
    """
    try:
        return _with_hashes(folder, manifest.files, done, None, workers)
    except OSError as error:
        raise BackupDamagedError(
            f"backup {folder} cannot be read: {error}", "audit backup verify tells what is missing"
        ) from error


def hashes_of(folder: Path, manifest: Manifest) -> dict[FileIdentity, str]:
    """The hashes of files that are there, to be found again under other names of the same files.

    A file of that name that is gone, or has another size, is left out.
    """
    found: dict[FileIdentity, str] = {}
    for one in manifest.files:
        try:
            identity = FileIdentity.of(f"{folder}/{one.path}")
        except FileNotFoundError:
            continue
        if one.sha256 and identity.size == one.size:
            found[identity] = one.sha256
    return found


def _with_hashes(
    folder: Path, entries: Sequence[FileEntry], done: Done, now: ReadNow | None, workers: int = WORKERS
) -> Manifest:
    found = list(entries)
    unread = [at for at, one in enumerate(found) if not one.sha256]
    if now is not None:
        first = [at for at in unread if now.always(found[at].path)]
        later = sorted(set(unread).difference(first), key=lambda at: found[at].size)
        sizes = itertools.accumulate(found[at].size for at in later)
        unread = [*first, *(at for at, size in zip(later, sizes, strict=True) if size <= now.bytes)]

    def read(at: int) -> None:
        one = found[at]
        size, digest = sha256_of(f"{folder}/{one.path}")
        problem = f"has {size:,} bytes and not {one.size:,}" if size != one.size else None
        # After it was read: it may be written to meanwhile.
        if problem is None and _is_written(one, os.lstat(f"{folder}/{one.path}")):
            problem = "was written to before it had a hash"
        if problem:
            raise BackupDamagedError(
                f"{folder / one.path} {problem}",
                "a file of a backup was changed: look for who writes into it, and make a new backup",
            )
        found[at] = one._replace(sha256=digest, written=0)
        done(size)

    each(unread, read, workers)
    return Manifest(tuple(found))


def head_line(files: int, size: int) -> str:
    """The first line of a manifest: what follows, `size` in bytes."""
    return json.dumps({"format": _FORMAT, "files": files, "bytes": size}) + "\n"


def entry_line(entry: FileEntry) -> str:
    """The line of a file."""
    # As json.dumps has it, in a third of its time: a year of backups has a million lines.
    written = f", {entry.written}" if entry.written else ""
    return f"[{_quoted(entry.path)}, {entry.size}, {_quoted(entry.sha256)}{written}]\n"


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
            path, length, digest, *written = json.loads(line)
            entry = FileEntry(str(path), int(length), str(digest), *map(int, written))
            found, size = found + 1, size + entry.size
            yield entry
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(folder) from error
    if known != (_FORMAT, found, size):
        raise _broken(folder)


def read_back(
    backups: Iterable[tuple[Path, Manifest]], done: Done = lambda _: None
) -> tuple[dict[FileIdentity, str], frozenset[Path]]:
    """The hashes of all files of backups, and the folders that are as their manifests say.

    Of a file that many backups share the bytes are read once. While one thread reads, the other looks for
    the next file. Where a file is not as it was no folder is in the answer: `verify` tells which have it.

    Files that have no hash in a manifest, another size, or cannot be read are left out.

    Args:
        backups: folders and their manifests.
        done: is told the bytes of each file that is read.
    """
    wanted: dict[FileIdentity, str] = {}
    found: dict[FileIdentity, str] = {}
    whole: set[Path] = set()

    def new_files() -> Iterator[tuple[FileIdentity, str]]:
        for folder, manifest in backups:
            is_whole, new, place = not _unknown(folder, manifest), [], str(folder)
            for name, size, sha256, _ in manifest.files:
                path = f"{place}/{name}"
                status = _status(path)
                if status is None or status.st_size != size or not sha256:
                    is_whole = False
                    continue
                identity = FileIdentity.from_status(status)
                if identity not in wanted:
                    wanted[identity] = sha256
                    new.append((identity, path))
                elif wanted[identity] != sha256:
                    is_whole = False
            if is_whole:
                whole.add(folder)
            # The largest first, so that both threads end at the same time.
            yield from sorted(new, key=lambda one: -one[0].size)

    def read(file: tuple[FileIdentity, str]) -> None:
        identity, path = file
        with suppress(OSError):
            size, found[identity] = sha256_of(path)
            done(size)

    each(new_files(), read)
    return found, frozenset(whole) if found == wanted else frozenset()


def verify(
    folder: Path,
    manifest: Manifest,
    done: Done = lambda _: None,
    known: Mapping[FileIdentity, str] = MappingProxyType({}),
) -> tuple[Damage, ...]:
    """What of a folder is not as its manifest says, ordered by path; () for a backup that is whole.

    Every file is read back, but for those that have no hash yet: they are there, have their size, and nobody
    has written to them.

    Args:
        folder: of the backup.
        manifest: of that backup.
        done: is told the bytes of each file that is read.
        known: the hashes of files that `read_back` has read for this backup and others.
    """
    files = manifest.files
    found: list[Problem | None] = []
    unread = []
    for at, one in enumerate(files):
        status = _status(f"{folder}/{one.path}")
        found.append(_problem(one, status))
        if status is None or found[at] or not one.sha256:
            continue
        digest = known.get(FileIdentity.from_status(status))
        if digest is None:
            unread.append(at)
        elif digest != one.sha256:
            found[at] = "hash"

    def read(at: int) -> None:
        try:
            size, digest = sha256_of(f"{folder}/{files[at].path}")
        except OSError:
            found[at] = "unreadable"
        else:
            found[at] = None if digest == files[at].sha256 else "hash"
            done(size)

    each(unread, read)
    unknown = _unknown(folder, manifest)
    damages = [Damage(one.path, problem) for one, problem in zip(files, found, strict=True) if problem]
    return tuple(sorted([*damages, *unknown], key=lambda one: one.path))


def _entry(path: str, status: os.stat_result, known: Mapping[FileIdentity, str]) -> FileEntry:
    digest = known.get(FileIdentity.from_status(status), "")
    return FileEntry(path, status.st_size, digest, 0 if digest else status.st_mtime_ns)


def _problem(entry: FileEntry, status: os.stat_result | None) -> Problem | None:
    """What shows without reading the file."""
    if status is None:
        return "missing"
    if status.st_size != entry.size:
        return "size"
    return "written" if _is_written(entry, status) else None


def _is_written(entry: FileEntry, status: os.stat_result) -> bool:
    # Not st_ctime: each link to the file changes it, and each deletion of one.
    return entry.written not in {0, status.st_mtime_ns}


def _unknown(folder: Path, manifest: Manifest) -> list[Damage]:
    """The files of a folder that its manifest does not have."""
    listed = {one.path for one in manifest.files}
    try:
        return [Damage(path, "unknown") for path in files_in(folder) if path not in listed]
    except BackupDamagedError:
        return [Damage("", "unreadable")]


def files_in(folder: Path) -> list[str]:
    """The plain files below a folder in order of their paths, but for a manifest and files on their way.

    Raises:
        BackupDamagedError: something in it is neither a folder nor a plain file.
    """
    found: list[str] = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(f"{folder}/{below}") as entries:
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


def sha256_of(path: str | Path) -> tuple[int, str]:
    """Size and SHA-256 of a file, in memory of one mebibyte a thread.

    Raises:
        OSError: it cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    view: memoryview | None = getattr(_BUFFERS, "view", None)
    if view is None:
        view = _BUFFERS.view = memoryview(bytearray(_CHUNK))
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while count := os.readv(file, [view]):
            digest.update(view[:count])
            size += count
    finally:
        os.close(file)
    return size, digest.hexdigest()


def _status(path: str) -> os.stat_result | None:
    """Of a plain file; None where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _broken(folder: Path | str) -> BackupDamagedError:
    return BackupDamagedError(
        f"the manifest of backup {folder} is not whole",
        "verify it against another copy, or make a new backup",
    )
