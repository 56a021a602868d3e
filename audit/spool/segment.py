"""Segments: append-only files of entries, with readers that tolerate damage.

In: a path. Out: every entry whose checksum holds, and where the file is damaged. A torn last line
(crash) and a corrupt line in the middle (bit rot, hand edit) cost that line and no other.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

from audit.spool.entry import KINDS, PREFIX_BYTES, Entry, decode, is_sound
from audit.spool.parts import PartReader, PartWriter, is_part, lacks_none, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# The form of an entry's first bytes, which find entries inside a damaged line.
_HEAD = re.compile(rb'[0-9a-f]{8} (?:[SEFRG] \{"query_id":"|P \{"[a-z]+_part":")')
_ID = b'{"query_id":"'
_ID_START = PREFIX_BYTES + len(_ID)
_KINDS = frozenset(b" %s " % kind.encode() for kind in (*KINDS, "P"))


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
    parts = PartReader()
    for offset, line, ended in _lines(data):
        entry = _read(line, parts)
        if isinstance(entry, str):
            entries.extend(_salvage(line, parts))
            damaged.append(Damage(offset, entry if ended else "last line is torn"))
            continue
        if entry is not None:
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
    scan = SegmentScan(BytesIO(data))
    for _ in scan:
        pass
    return scan.survey


class SegmentScan:
    """A segment as it is read, line by line, from its beginning to its end.

    Gives the lines, without their newlines, of parts and of gaps and records, all whose parts are there. What
    it has seen is its `survey`.

    Args:
        lines: of the file, newlines included.
    """

    __slots__ = ("_first", "_lines", "_statements", "_whole")

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = lines
        self._statements = 0
        self._first: bytes | None = None
        self._whole = True

    def __iter__(self) -> Iterator[bytes]:
        # Each line of an ingest passes here: what `is_sound` does stands in the loop, which halves the time.
        parts: set[bytes] = set()
        for ended in self._lines:
            line = ended[:-1]
            if ended[-1:] != b"\n":
                line, self._whole = ended, False
            kind = line[8:11]
            if kind not in _KINDS or line[:8] != b"%08x" % crc32(line[9:]):
                self._whole = False
            elif kind == b" P ":
                parts.add(part_of(line)[1])
                yield line
            elif line[PREFIX_BYTES:_ID_START] != _ID:
                self._whole = False
            elif kind == b" G ":
                yield line
            elif kind == b" R ":
                end = line.find(b'"', _ID_START)
                if end < 0 or not lacks_none(line, parts):
                    self._whole = False
                    continue
                self._statements += 1
                query_id = line[_ID_START:end]
                if self._first is None or query_id < self._first:
                    self._first = query_id
                yield line

    @property
    def survey(self) -> Survey:
        """What was seen so far."""
        return Survey(self._statements, None if self._first is None else self._first.decode(), self._whole)


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """Offset, line without newline, and whether the newline was there."""
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset)
        ended = end >= 0
        end = end if ended else len(data)
        yield offset, data[offset:end], ended
        offset = end + 1


def _read(line: bytes, parts: PartReader) -> Entry | str | None:
    """The entry of a line, None for a part, or the reason why it is neither."""
    if not is_sound(line):
        return "checksum does not match"
    if is_part(line):
        parts.take(line)
        return None
    whole = parts.whole(line)
    return "a part of the record is damaged" if whole is None else decode(whole)


def _salvage(chunk: bytes, parts: PartReader) -> Iterator[Entry]:
    """Good entries inside a bad line, where a newline was hit or a write began behind a torn one.

    A user's text cannot forge one: inside a JSON string its quotes are escaped, and `_HEAD` needs bare ones.
    """
    starts = [match.start() for match in _HEAD.finditer(chunk)]
    for start, end in pairwise([*starts, len(chunk)]):
        # One byte may stand where the newline was.
        entries = (_read(chunk[start:end], parts), _read(chunk[start : end - 1], parts))
        yield from (entry for entry in entries if isinstance(entry, Entry))


class SegmentFile:
    """A segment being written. Not thread-safe: its journal holds a lock around every call.

    Attributes:
        path: where it lies.
        size: bytes written.
        synced: bytes known to be on the disk.
    """

    __slots__ = ("_fd", "_parts", "path", "size", "synced")

    def __init__(self, path: Path, head: Iterable[bytes] = ()) -> None:
        """Creates the file with `head` in it, durable when this returns.

        Raises:
            OSError: it could not; what was there of it is removed.
        """
        self.path = path
        self.size = self.synced = 0
        self._parts = PartWriter()
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

    def append(self, line: bytes) -> None:
        """Appends the line of an entry, without the parts of a record that are there already.

        Raises:
            OSError: as `write`.
        """
        data, parts = self._parts.cut(line)
        self.write(data)
        self._parts.wrote(parts)

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
        self._parts.forget()
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
