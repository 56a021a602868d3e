"""Writes the open segments: group commit, rotation, and repair after a disk error.

In: lines, from any thread. Out: sealed segments, or an OSError that says why a line is not written. Every
line is written at once, so a SIGKILL loses no line whose call returned; its `Durability` decides whether the
caller waits for the disk. One `fdatasync` serves all waiting threads: the holder of `_sync_lock` syncs all
lines written so far, and the next holder finds its line synced.

Lock order: `_sync_lock` (who syncs, repairs, rotates), then `_write_lock` (who writes a line).
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.core.errors import SpoolClosedError
from audit.spool.failure import NO_ROOM, BoundReachedError
from audit.spool.fsync_thread import FsyncThread
from audit.spool.layout import set_aside
from audit.spool.pending import Lines, PendingStatements, RunningStatement
from audit.spool.segment import SegmentFile, parse_segment, survey, sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from audit.spool.entry import Durability, Kind
    from audit.spool.layout import Layout


@dataclass(frozen=True, slots=True)
class _Unsynced:
    """A line written and not known to be on the disk."""

    ticket: int
    kind: Kind
    query_id: str
    line: bytes
    durable: bool
    dropped: Lines | None


class Journal:
    """Writes the segments of one spool directory, which nobody else writes.

    Args:
        layout: the directory.
        max_bytes: bound on the bytes in journal and sealed files.

    Attributes:
        appends: lines written.
        syncs: fdatasyncs for them; fewer where threads share them.
        quarantined: files set aside since, for a gap entry to tell of.
    """

    def __init__(self, layout: Layout, max_bytes: int) -> None:
        self.appends = self.syncs = 0
        self.quarantined: list[Path] = []
        self._layout = layout
        self._max_bytes = max_bytes
        self._sync_lock = threading.Lock()
        # Two locks: writers go on while a sync waits for the disk.
        self._write_lock = threading.Lock()
        self._statements = PendingStatements()
        self._ticket = self._synced = 0
        self._unsynced: deque[_Unsynced] = deque()
        self._unconfirmed: dict[str, int] = {}
        self._fsync_thread = FsyncThread(self._sync_quietly)
        self._refused: dict[int, OSError] = {}
        self._broken: OSError | None = None
        self._closed = False
        self._unsealed: SegmentFile | None = None
        self._sealed_bytes = 0
        self._ingestable = False
        self._number = 0
        self._segment = self._new_segment(())

    # -- appending --------------------------------------------------------------------------------

    def append(self, kind: Kind, query_id: str, line: bytes, durability: Durability) -> None:
        """Writes a line; see `Durability` for when the disk has it.

        Raises:
            OSError: it is not written.
            SpoolClosedError: the journal is closed.
        """
        if self._broken is not None:
            self._try_to_repair()
        with self._write_lock:
            ticket = self._write(kind, query_id, line, durable=durability == "now")
        if durability == "now":
            self._sync_up_to(ticket)
        elif durability == "soon":
            if kind == "S":
                self._unconfirmed[query_id] = ticket
            # A statement that has ended needs no confirmation of its START.
            elif kind == "E":
                self._unconfirmed.pop(query_id, None)
            self._fsync_thread.request()

    def confirm(self, query_id: str) -> None:
        """Return when a START that was written without waiting is on disk.

        Raises:
            OSError: it is not; the line stays in memory and is tried again.
        """
        ticket = self._unconfirmed.pop(query_id, 0)
        if self._synced < ticket:
            self._sync_up_to(ticket)

    def _write(self, kind: Kind, query_id: str, line: bytes, *, durable: bool) -> int:
        """Writes a line; its ticket. Needs `_write_lock`."""
        self._require_sound()
        self._admit(kind, query_id, len(line))
        try:
            self._segment.append(line)
        except OSError as cause:
            # A full disk leaves the file intact; after any other error its state is unknown.
            if cause.errno not in NO_ROOM:
                self._broken = cause
            raise
        self.appends += 1
        self._ticket += 1
        dropped = self._statements.note(kind, query_id, line)
        self._unsynced.append(_Unsynced(self._ticket, kind, query_id, line, durable, dropped))
        if kind in ("R", "G"):
            self._ingestable = True
        return self._ticket

    def _admit(self, kind: Kind, query_id: str, size: int) -> None:
        """Enforce the size limit.

        Gaps, and END and RECORD entries of started statements, may exceed it: they are small, and a lost
        record is worse than some bytes over the limit.
        """
        if self._sealed_bytes + self._segment.size + size <= self._max_bytes:
            return
        if kind == "G" or (kind != "S" and query_id in self._statements):
            return
        # Another process may have ingested meanwhile.
        self._measure_sealed()
        if self._sealed_bytes + self._segment.size + size > self._max_bytes:
            raise BoundReachedError(self._max_bytes)

    def _require_sound(self) -> None:
        if self._closed:
            raise SpoolClosedError(f"the spool {self._layout.path} is closed", "attach the audit again")
        if self._broken is not None:
            raise self._broken

    # -- group commit -----------------------------------------------------------------------------

    def sync(self) -> None:
        """Returns when everything written is on the disk.

        Raises:
            OSError: it is not; lines that are not durable stay in memory and are tried again.
        """
        with self._sync_lock:
            self._sync_all()
            self._require_sound()

    def _sync_quietly(self) -> None:
        """Sync without raising: the next `confirm` or `append` raises the error."""
        with self._sync_lock:
            if self._unsynced:
                self._sync_all()

    def _sync_up_to(self, ticket: int) -> None:
        """Return when the line of `ticket` is on disk; raises the disk's error otherwise."""
        with self._sync_lock:
            if self._synced < ticket and ticket not in self._refused:
                self._sync_all()
            cause = self._refused.pop(ticket, None)
            # The lock's former holder may have synced this line already: that is the group commit.
            if cause is None and self._synced < ticket:
                self._require_sound()
        if cause is not None:
            raise cause

    def _sync_all(self) -> None:
        """Syncs what is written so far, others writing on meanwhile. Needs `_sync_lock`."""
        with self._write_lock:
            if self._broken is not None or self._closed:
                self._replace_damaged()
                return
            target, segment = self._ticket, self._segment
            # Beside the ticket: a line written from here on stays in `_unsynced`, and is not of this sync.
            covered = segment.length()
        try:
            # Without the write lock: lines are written meanwhile.
            segment.sync()
        except OSError as cause:
            with self._write_lock:
                self._broken = cause
                self._replace_damaged()
            return
        self.syncs += 1
        segment.synced = covered
        self._now_synced(target)

    def _now_synced(self, target: int) -> None:
        self._synced = target
        # Another thread may append meanwhile, which a deque bears; only who holds `_sync_lock` takes away.
        while self._unsynced and self._unsynced[0].ticket <= target:
            self._unsynced.popleft()

    # -- repair -----------------------------------------------------------------------------------

    def _try_to_repair(self) -> None:
        with self._sync_lock, self._write_lock:
            if self._broken is not None:
                self._replace_damaged()
            self._require_sound()

    def _replace_damaged(self) -> None:
        """Replace a segment after a failed fsync: Linux may have dropped any of its dirty pages.

        What was synced before is read back and checked, what was not is still in memory; both go into
        a new segment. If that fails, `_broken` stays, durable lines are refused and the others wait in
        memory. Needs both locks.
        """
        old = self._segment
        if self._closed:
            return
        try:
            kept, whole = _synced_part(old)
            self._segment = self._new_segment([kept, *(item.line for item in self._unsynced)])
        except OSError as cause:
            self._broken = cause
            self._refuse_unsynced(cause)
            return
        self._broken = None
        self._now_synced(self._ticket)
        with contextlib.suppress(OSError):
            old.close()
        # Should the old file stay, it goes before the next segment is sealed; recovery would merge both.
        with contextlib.suppress(OSError):
            if not whole:
                self.quarantined.append(set_aside(old.path, self._layout.quarantine, keep=True))
            self._remove_strays()

    def _refuse_unsynced(self, cause: OSError) -> None:
        """Refuses the durable lines that wait; their callers raise. Needs both locks."""
        # Newest first, as each undo restores what its line had dropped.
        for item in reversed(self._unsynced):
            if item.durable:
                self._refused[item.ticket] = cause
                self._statements.undo(item.kind, item.query_id, item.line, item.dropped)
        self._unsynced = deque(item for item in self._unsynced if not item.durable)
        with contextlib.suppress(OSError):
            self._segment.take_back(item.line for item in self._unsynced)

    # -- segments ---------------------------------------------------------------------------------

    def _new_segment(self, head: Iterable[bytes]) -> SegmentFile:
        """A new journal file. Its number is used up even where creating it fails."""
        self._number += 1
        return SegmentFile(self._layout.open_segment(self._number), head)

    def rotate(self) -> Path | None:
        """Seals the current segment and opens the next, which carries the statements without a record.

        Returns:
            The sealed file; None where the segment holds neither a record nor a gap.

        Raises:
            OSError: the disk refused; nothing is lost, and the next call goes on.
        """
        with self._sync_lock, self._write_lock:
            return self._rotate()

    def rotate_beyond(self, size: int) -> None:
        """Rotates a segment of at least `size` bytes; if the disk refuses, a later call will."""
        if self._segment.size < size:
            return
        with self._sync_lock, self._write_lock, contextlib.suppress(OSError):
            if self._segment.size >= size:
                self._rotate()

    def _rotate(self) -> Path | None:
        """Needs both locks."""
        if self._broken is None:
            try:
                self._segment.sync()
            except OSError as cause:
                self._broken = cause
        if self._broken is not None:
            self._replace_damaged()
        self._require_sound()
        self._now_synced(self._ticket)
        self._seal_unsealed()
        # A segment without a record or gap has nothing for ingest, and its lines would be carried over.
        if not self._ingestable:
            return None
        following = self._new_segment(self._statements.carried())
        # In this order: a KeyboardInterrupt between the two must not make the old file a stray.
        self._unsealed = self._segment
        self._segment = following
        self._ingestable = False
        return self._seal_unsealed()

    def _seal_unsealed(self) -> Path | None:
        """Seals the segment before the current one. Needs both locks.

        Until that works no later one is sealed: a record in a sealed file whose start is in an open one
        would be made twice by recovery.
        """
        if self._unsealed is self._segment:
            self._unsealed = None
        self._remove_strays()
        if self._unsealed is None:
            return None
        source = self._unsealed.path
        target = self._layout.sealed / f"{source.stem}.jsonl"
        if source.exists():
            # Both folders lie in one file system, so the rename is atomic; the folders are synced after it.
            source.rename(target)
        sync_directory(self._layout.sealed)
        sync_directory(self._layout.journal)
        self._unsealed.close()
        self._unsealed = None
        self._measure_sealed()
        return target

    def _remove_strays(self) -> None:
        """Removes journal files whose content is in a newer one (after a repair, or a broken rotation)."""
        ours = {self._segment.path, self._unsealed.path if self._unsealed else None}
        strays = [path for path in self._layout.open_segments() if path not in ours]
        for path in strays:
            path.unlink()
        if strays:
            sync_directory(self._layout.journal)

    def _measure_sealed(self) -> None:
        unsealed = 0 if self._unsealed is None else self._unsealed.size
        self._sealed_bytes = unsealed + self._layout.sealed_bytes()

    # -- reading and closing ----------------------------------------------------------------------

    def running(self) -> tuple[RunningStatement, ...]:
        """Statements that have started and not ended."""
        with self._write_lock:
            return self._statements.running()

    def holds(self, query_id: str) -> bool:
        """Whether a statement's start is journaled and its record is not."""
        return query_id in self._statements

    def unfinished(self) -> int:
        """Number of statements without a record."""
        return len(self._statements)

    def spooled_bytes(self) -> int:
        """Bytes in journal and sealed files, measured anew."""
        with self._write_lock:
            self._measure_sealed()
            return self._sealed_bytes + self._segment.size

    def close(self) -> None:
        """Seals what is complete; what is not stays open for recovery.

        Raises:
            OSError: the disk refused; the journal is closed all the same.
        """
        self._fsync_thread.close()
        with self._sync_lock, self._write_lock:
            if self._closed:
                return
            try:
                self._rotate()
                if not self._statements:
                    self._segment.path.unlink()
                    sync_directory(self._layout.journal)
            finally:
                self._closed = True
                self._segment.close()


def _synced_part(segment: SegmentFile) -> tuple[bytes, bool]:
    """The good lines of what was synced, and whether they are all of it."""
    with segment.path.open("rb") as file:
        data = file.read(segment.synced)
    if survey(data).is_whole:
        return data, True
    return b"".join(entry.line for entry in parse_segment(data).entries), False
