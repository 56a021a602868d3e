"""Segments: append-only files of entries, with readers that tolerate damage.

In: a path. Out: every entry whose checksum holds, and where the file is damaged. A torn last line
(crash) and a corrupt line in the middle (bit rot, hand edit) cost that line and no other.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from audit.spool.entry import Entry, decode, is_sound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# The form of an entry's first bytes, which find entries inside a damaged line.
_HEAD = re.compile(rb'[0-9a-f]{8} [SEFRG] \{"query_id":"')
_HEAD_WITH_ID = re.compile(_HEAD.pattern + rb'([^"]*)"')


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a segment that holds no good entry: byte offset in the file, and why."""

    offset: int
    reason: str


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """What a segment holds, in the order written."""

    entries: tuple[Entry, ...]
    damaged: tuple[Damage, ...]


def read_segment(path: Path) -> SegmentContent:
    """Every good entry of a segment, and its damage.

    Raises:
        OSError: the file cannot be read at all.
    """
    return parse_segment(path.read_bytes())


def parse_segment(data: bytes) -> SegmentContent:
    """As `read_segment`, from the bytes.

    Example:
        >>> from audit.spool.entry import encode
        >>> line = encode("S", "q1", {})
        >>> parse_segment(line + line[:-5]).damaged
        (Damage(offset=29, reason='last line is torn'),)
    """
    entries: list[Entry] = []
    damaged: list[Damage] = []
    for offset, line, ended in _lines(data):
        entry = decode(line)
        if isinstance(entry, str):
            entries.extend(_salvage(line))
            damaged.append(Damage(offset, entry if ended else "last line is torn"))
            continue
        entries.append(entry)
        if not ended:
            damaged.append(Damage(offset, "last line has no newline"))
    return SegmentContent(tuple(entries), tuple(damaged))


@dataclass(frozen=True, slots=True)
class Survey:
    """What a segment holds: its good records, the smallest query id of one, whether every line is good."""

    statements: int
    first_id: str | None
    is_whole: bool


def survey(data: bytes) -> Survey:
    """Look through a segment without reading the entries; costs little more than their checksums."""
    statements, first, whole = 0, None, True
    for _, line, ended in _lines(data):
        head = _HEAD_WITH_ID.match(line) if is_sound(line) else None
        if head is None:
            whole = False
        elif line[9:10] == b"R":
            query_id = head.group(1)
            statements, first = statements + 1, query_id if first is None else min(first, query_id)
        whole = whole and ended
    return Survey(statements, None if first is None else first.decode(), whole)


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Offset, line without newline, and whether the newline was there."""
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset)
        ended = end >= 0
        end = end if ended else len(data)
        yield offset, data[offset:end], ended
        offset = end + 1


def _salvage(chunk: bytes) -> Iterator[Entry]:
    """Good entries inside a bad line, where a newline was hit or a write began behind a torn one.

    A user's text cannot forge one: inside a JSON string its quotes are escaped, and `_HEAD` needs bare ones.
    """
    starts = [match.start() for match in _HEAD.finditer(chunk)]
    for start, end in pairwise([*starts, len(chunk)]):
        # One byte may stand where the newline was.
        entries = (decode(chunk[start:end]), decode(chunk[start : end - 1]))
        yield from (entry for entry in entries if isinstance(entry, Entry))


class SegmentFile:
    """A segment being written. Not thread-safe: its journal holds a lock around every call.

    Attributes:
        path: where it lies.
        size: bytes written.
        synced: bytes known to be on the disk.
    """

    __slots__ = ("_fd", "path", "size", "synced")

    def __init__(self, path: Path, head: Iterable[bytes] = ()) -> None:
        """Creates the file with `head` in it, durable when this returns.

        Raises:
            OSError: it could not; what was there of it is removed.
        """
        self.path = path
        self.size = self.synced = 0
        # O_APPEND: each write goes to the end, also after ftruncate. O_CLOEXEC: a child process keeps no
        # descriptor.
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            data = b"".join(head)
            if data:
                self.write(data)
                self.sync()
                self.synced = self.size
            sync_directory(path.parent)
        except BaseException:
            self.close()
            path.unlink()
            raise

    def write(self, data: bytes) -> None:
        """Appends `data` in whole or not at all.

        Raises:
            OSError: it could not be written. Should a torn part stay, `_salvage` reads what follows it.
        """
        done = os.write(self._fd, data)
        if done < len(data):
            self._write_rest(data, done)
        self.size += len(data)

    def _write_rest(self, data: bytes, done: int) -> None:
        """Goes on after a short write, which is how a disk that fills up shows itself."""
        try:
            while done < len(data):
                done += os.write(self._fd, data[done:])
        except OSError:
            # From fstat, not from `size`: a KeyboardInterrupt may have kept `size` behind.
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - done)
            raise

    def length(self) -> int:
        """Bytes in the file, as the kernel says."""
        return os.fstat(self._fd).st_size

    def sync(self) -> None:
        """Returns when everything written is on the disk.

        Raises:
            OSError: it is not, and the kernel may have dropped it: the file is not to be trusted again.
        """
        # fdatasync writes the data and the size, and not the times of the file: half the writes of fsync.
        os.fdatasync(self._fd)

    def take_back(self, lines: Iterable[bytes]) -> None:
        """Leaves what was synced, and `lines`: a refused start must not look like one that ran.

        Raises:
            OSError: it could not, as is likely on a disk that failed.
        """
        os.ftruncate(self._fd, self.synced)
        self.size = self.synced
        self.write(b"".join(lines))

    def close(self) -> None:
        """Closes the descriptor; writing fails from then on."""
        # Writing to -1 fails; the old number may be given to another file.
        descriptor, self._fd = self._fd, -1
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Makes creations, renames and removals inside `path` durable."""
    # On Linux a new or renamed file survives a power cut only after a sync of its folder.
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
