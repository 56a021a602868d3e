"""The journal of one driver: durable appends, group commit, rotation, and what to do when a disk fails.

In: entries of the front door and the worker, from any thread. Out: segments. Every append writes its
line at once (a SIGKILL loses nothing that returned); a durable one returns when the disk has it. One
`fdatasync` serves every thread that waits: whoever gets `_sync_lock` syncs for all lines written so
far, and the next in line finds itself served.

Lock order: `_sync_lock` (who syncs, rotates or mends), then `_write_lock` (who writes a line).
"""

from __future__ import annotations

import errno
import os
import threading
import warnings
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from audit.clock import Clock, SystemClock, to_iso
from audit.errors import (
    RecordLossWarning,
    SpoolClosedError,
    SpoolForkedError,
    SpoolFullError,
    SpoolUnavailableError,
)
from audit.ids import IdGenerator
from audit.spool.cleanup import remove_ingested
from audit.spool.entry import Kind, encode
from audit.spool.layout import Layout, build, move, set_aside, spools_under
from audit.spool.liveness import take_lock
from audit.spool.segment import SegmentFile, parse_segment, sync_directory
from audit.spool.statements import Lines, Losses, Running, Statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

OnRecordFailure = Literal["block", "warn"]

MAX_BYTES = 4 << 30
SEGMENT_BYTES = 64 << 20
_BOUND = "max_bytes"


@dataclass(frozen=True, slots=True)
class SpoolStats:
    """Counters since the spool was opened, and its size now.

    Attributes:
        appends: entries written.
        syncs: calls of fdatasync for appends; below `appends` where threads share them.
        refused: entries that could not be written.
        lost: statements refused that no gap entry tells of yet.
        unfinished: statements with a start and no record.
        spooled_bytes: bytes in open and sealed segments.
    """

    appends: int
    syncs: int
    refused: int
    lost: int
    unfinished: int
    spooled_bytes: int


@dataclass(frozen=True, slots=True)
class _Unsynced:
    """A line written and not known to be on the disk."""

    ticket: int
    kind: Kind
    query_id: str
    line: bytes
    durable: bool
    dropped: Lines | None


class Spool:
    """The spool of this process. Open it with `Spool.open`; every method may be called from any thread."""

    def __init__(
        self,
        layout: Layout,
        lock: int,
        *,
        clock: Clock,
        ids: IdGenerator,
        on_record_failure: OnRecordFailure,
        max_bytes: int,
        segment_bytes: int,
    ) -> None:
        """Takes over a directory that was just built and whose lock is held; use `Spool.open`."""
        self.path = layout.path
        self.driver_id = layout.driver_id
        self._layout = layout
        self._lock: int | None = lock
        self._pid = os.getpid()
        self._clock = clock
        self._ids = ids
        self._on_record_failure = on_record_failure
        self._max_bytes = max_bytes
        self._segment_bytes = segment_bytes
        self._sync_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._statements = Statements()
        self._losses = Losses()
        self._warned: set[str] = set()
        self._appends = self._syncs = self._refusals = 0
        self._ticket = self._synced = 0
        self._unsynced: deque[_Unsynced] = deque()
        self._refused: dict[int, OSError] = {}
        self._broken: OSError | None = None
        self._leftovers: list[Path] = []
        self._unsealed: SegmentFile | None = None
        self._sealed_bytes = 0
        self._number = 0
        self._ingestable = False
        self._segment = self._new_segment(())
        _forget_in_children(self)

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        application_id: str = "",
        clock: Clock | None = None,
        ids: IdGenerator | None = None,
        on_record_failure: OnRecordFailure = "block",
        max_bytes: int = MAX_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> Spool:
        """Makes a new spool directory under `root` and locks it for the life of this process.

        Args:
            root: the audit's root; `spool/<driver id>` is made below it.
            application_id: Spark's, for meta.json.
            clock: tells the time; the machine's by default.
            ids: makes the driver id and the ids of gap entries.
            on_record_failure: "block" raises when an entry cannot be written, so that the caller
                refuses the statement; "warn" warns once per cause and counts the loss.
            max_bytes: bound on the bytes in open and sealed segments.
            segment_bytes: a segment is rotated by itself when it holds that many bytes.

        Raises:
            SpoolUnavailableError: the directory cannot be made or written.
        """
        clock = clock or SystemClock()
        ids = ids or IdGenerator(clock)
        driver_id = ids.new()
        parent = spools_under(root)
        meta = {
            "driver_id": driver_id,
            "pid": os.getpid(),
            "application_id": application_id,
            "created": to_iso(clock.now()),
        }
        try:
            lock = _create(parent, driver_id, meta)
            return cls(
                Layout(parent / driver_id),
                lock,
                clock=clock,
                ids=ids,
                on_record_failure=on_record_failure,
                max_bytes=max_bytes,
                segment_bytes=segment_bytes,
            )
        except OSError as cause:
            raise _unavailable(parent, cause) from cause

    # -- appending --------------------------------------------------------------------------------

    def start(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Durably says that a statement is about to run. As `append`."""
        return self.append("S", query_id, payload)

    def end(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Durably says that a statement ended, and how. As `append`."""
        return self.append("E", query_id, payload)

    def fact(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Keeps a fact that the analysis needs after a crash; durable with the next durable append."""
        return self.append("F", query_id, payload, durable=False)

    def record(self, query_id: str, payload: Mapping[str, Any], *, durable: bool = False) -> bool:
        """Writes a statement's record: what ingest loads. As `append`.

        Not durable by default: were a power cut to take it, start and end are there to make it again.
        """
        return self.append("R", query_id, payload, durable=durable)

    def append(self, kind: Kind, query_id: str, payload: Mapping[str, Any], *, durable: bool = True) -> bool:
        """Writes one entry.

        Args:
            kind: S, E, F, R or G.
            query_id: the statement's id.
            payload: what JSON can hold; `query_id` in it must be the same or missing.
            durable: return only when the disk has it. Else a killed process still loses nothing, a
                power cut may.

        Returns:
            Whether it was written; False only under `on_record_failure="warn"`.

        Raises:
            SpoolUnavailableError: it was not written (`on_record_failure="block"`).
            SpoolEntryError: the payload has no JSON form.
            SpoolForkedError: this process is a fork of the one that opened the spool.
            SpoolClosedError: the spool is closed.
        """
        line = encode(kind, query_id, payload)
        self._require_owner()
        try:
            if self._broken is not None:
                self._try_to_mend()
            with self._write_lock:
                ticket = self._write(kind, query_id, line, durable=durable)
            if durable:
                self._sync_up_to(ticket)
        except OSError as cause:
            return self._refuse(kind, query_id, cause)
        if self._segment.size >= self._segment_bytes:
            self._rotate_when_large()
        return True

    def sync(self) -> None:
        """Returns when everything appended so far is on the disk.

        Raises:
            SpoolUnavailableError: it is not, whatever `on_record_failure` says.
        """
        self._require_owner()
        with self._sync_lock:
            self._sync_all()
            if self._broken is not None:
                raise _unavailable(self.path, self._broken) from self._broken

    def _write(self, kind: Kind, query_id: str, line: bytes, *, durable: bool) -> int:
        """Writes a line; its ticket. Needs `_write_lock`."""
        if self._broken is not None:
            raise self._broken
        self._admit(kind, query_id, len(line))
        self._segment.write(line)
        self._appends += 1
        self._ticket += 1
        dropped = self._statements.note(kind, query_id, line)
        self._unsynced.append(_Unsynced(self._ticket, kind, query_id, line, durable, dropped))
        if kind in ("R", "G"):
            self._ingestable = True
        if self._losses:
            self._write_gap(kind, query_id)
        return self._ticket

    def _admit(self, kind: Kind, query_id: str, size: int) -> None:
        """Holds the bound. What a journaled statement still has to say is let over it: that is little,
        and to refuse the record of a statement that ran is worse than some bytes too many.
        """
        if self._sealed_bytes + self._segment.size + size <= self._max_bytes:
            return
        if kind != "S" and query_id in self._statements:
            return
        # Another process may have ingested meanwhile.
        self._measure_sealed()
        if self._sealed_bytes + self._segment.size + size > self._max_bytes:
            raise _BoundReachedError(errno.EDQUOT, f"its bound of {self._max_bytes:,} bytes is reached")

    def _write_gap(self, kind: Kind, query_id: str) -> None:
        """Tells of what was lost, now that writing works. Needs `_write_lock`."""
        if kind == "R":
            self._losses.recorded(query_id)
        if self._losses:
            payload = self._losses.gap(to_iso(self._clock.now()))
            self._losses.clear()
            self._write_gap_entry(payload)

    def _write_gap_entry(self, payload: dict[str, Any]) -> None:
        gap_id = self._ids.new()
        self._write("G", gap_id, encode("G", gap_id, payload), durable=False)

    def _require_owner(self) -> None:
        if self._pid != os.getpid():
            raise SpoolForkedError(
                f"process {os.getpid()} is a fork of {self._pid}, which owns the spool {self.path}",
                "attach the audit again in the child process",
            )
        if self._lock is None:
            raise SpoolClosedError(f"the spool {self.path} is closed", "attach the audit again")

    # -- group commit -----------------------------------------------------------------------------

    def _sync_up_to(self, ticket: int) -> None:
        """Returns when the line of `ticket` is on the disk; raises what kept it from there."""
        with self._sync_lock:
            if self._synced < ticket and ticket not in self._refused:
                self._sync_all()
            cause = self._refused.pop(ticket, None)
        if cause is not None:
            raise cause

    def _sync_all(self) -> None:
        """Syncs what is written, or mends the journal. Needs `_sync_lock`."""
        with self._write_lock:
            target, covered = self._ticket, self._segment.length()
        self._syncs += 1
        try:
            if self._broken is None:
                self._segment.sync()
        except OSError as cause:
            self._broken = cause
        if self._broken is not None:
            with self._write_lock:
                self._mend()
            return
        self._segment.synced = covered
        self._now_synced(target)

    def _now_synced(self, target: int) -> None:
        self._synced = target
        # Another thread may append meanwhile, which a deque bears; only this one takes away.
        while self._unsynced and self._unsynced[0].ticket <= target:
            self._unsynced.popleft()

    # -- failure ----------------------------------------------------------------------------------

    def _try_to_mend(self) -> None:
        with self._sync_lock, self._write_lock:
            if self._broken is not None:
                self._mend()
                if self._broken is not None:
                    raise self._broken

    def _mend(self) -> None:
        """Replaces a segment whose fsync failed: the kernel may have dropped any page of it since.

        What was synced before is read back and checked, what was not is still in memory; both go into
        a new segment. If that fails, durable lines are refused and the others wait in memory.
        Needs both locks.
        """
        old = self._segment
        try:
            with old.path.open("rb") as file:
                content = parse_segment(file.read(old.synced))
            self._segment = self._new_segment(
                [*(entry.line for entry in content.entries), *(item.line for item in self._unsynced)]
            )
        except OSError as cause:
            self._broken = cause
            self._give_up(cause)
            return
        self._broken = None
        self._now_synced(self._ticket)
        old.close()
        self._leftovers.append(old.path)
        try:
            if content.damaged:
                set_aside(old.path, self._layout.quarantine, keep=True)
                self._write_gap_entry({"gap": "damaged", "files": [old.path.name]})
            self._remove_leftovers()
        except OSError:
            # Tried again before the next segment is sealed; until then recovery sees both, and merges.
            return

    def _give_up(self, cause: OSError) -> None:
        """Refuses the durable lines that wait; their callers raise. Needs both locks."""
        waiting = [item for item in self._unsynced if item.durable]
        for item in waiting:
            self._refused[item.ticket] = cause
            self._statements.undo(item.kind, item.query_id, item.line, item.dropped)
        self._unsynced = deque(item for item in self._unsynced if not item.durable)

    def _remove_leftovers(self) -> None:
        while self._leftovers:
            self._leftovers[-1].unlink(missing_ok=True)
            self._leftovers.pop()
        sync_directory(self._layout.journal)

    def _refuse(self, kind: Kind, query_id: str, cause: OSError) -> bool:
        """Follows `on_record_failure`."""
        blocks = self._on_record_failure == "block"
        name = (
            _BOUND
            if isinstance(cause, _BoundReachedError)
            else errno.errorcode.get(cause.errno or 0, "OSError")
        )
        with self._write_lock:
            self._refusals += 1
            # A statement whose start is journaled is completed by recovery; one that was refused never ran.
            if query_id not in self._statements and kind in ("S", "R") and not (blocks and kind == "S"):
                self._losses.add(kind, query_id, name, to_iso(self._clock.now()))
            first = name not in self._warned
            self._warned.add(name)
        error = _unavailable(self.path, cause)
        if blocks:
            raise error from cause
        if first:
            text = f"statements are no longer recorded ({error}); this is said once for {name}"
            warnings.warn(text, RecordLossWarning, stacklevel=4)
        return False

    # -- segments ---------------------------------------------------------------------------------

    def _new_segment(self, head: Iterable[bytes]) -> SegmentFile:
        """A new journal file. A number is used up even where creating the file fails."""
        self._number += 1
        return SegmentFile(self._layout.open_segment(self._number), head)

    def rotate(self) -> Path | None:
        """Seals the current segment for ingest and opens the next.

        Statements without a record are carried over, so that a sealed segment never matters to
        recovery. A segment with neither a record nor a gap holds nothing for ingest and is kept.

        Returns:
            The sealed file, None where there was nothing to seal.

        Raises:
            SpoolUnavailableError: the disk refused; nothing is lost, and the next call goes on.
        """
        self._require_owner()
        try:
            with self._sync_lock:
                return self._rotate()
        except OSError as cause:
            raise _unavailable(self.path, cause) from cause

    def _rotate_when_large(self) -> None:
        try:
            with self._sync_lock:
                if self._segment.size >= self._segment_bytes and self._lock is not None:
                    self._rotate()
        except OSError:
            # The entry that led here is written; the next append tries again.
            return

    def _rotate(self) -> Path | None:
        """Needs `_sync_lock`."""
        self._sync_all()
        with self._write_lock:
            if self._broken is not None:
                raise self._broken
            self._seal_unsealed()
            if not self._ingestable:
                return None
            self._segment.sync()
            following = self._new_segment(self._statements.carried())
            self._unsealed, self._segment = self._segment, following
            self._ingestable = False
            self._now_synced(self._ticket)
            following.synced = following.size
            return self._seal_unsealed()

    def _seal_unsealed(self) -> Path | None:
        """Seals the segment before the current one. Until this works no other is sealed: a record in
        a sealed file and its start in an open one would be recovered twice. Needs both locks.
        """
        self._remove_leftovers() if self._leftovers else None
        if self._unsealed is None:
            return None
        source = self._unsealed.path
        target = self._layout.sealed / (source.stem + ".jsonl")
        if source.exists():
            move(source, target)
        self._unsealed.close()
        self._unsealed = None
        self._measure_sealed()
        return target

    def _measure_sealed(self) -> None:
        unsealed = 0 if self._unsealed is None else self._unsealed.size
        self._sealed_bytes = unsealed + self._layout.sealed_bytes()

    # -- reading ----------------------------------------------------------------------------------

    def running(self) -> tuple[Running, ...]:
        """Statements that have started and not ended."""
        with self._write_lock:
            return self._statements.running()

    def sealed(self) -> tuple[Path, ...]:
        """Sealed segments that wait for ingest, oldest first."""
        return tuple(self._layout.sealed_segments())

    def ingested(self, paths: Iterable[Path]) -> tuple[Path, ...]:
        """Removes sealed segments that ingest has committed; see `remove_ingested`.

        Returns:
            Damaged ones, now in quarantine; a gap entry tells of them.
        """
        self._require_owner()
        try:
            aside = remove_ingested(self.path, paths)
            with self._write_lock:
                self._measure_sealed()
                if aside:
                    self._write_gap_entry({"gap": "damaged", "files": [path.name for path in aside]})
        except OSError as cause:
            raise _unavailable(self.path, cause) from cause
        return aside

    def stats(self) -> SpoolStats:
        """Counters and size."""
        with self._write_lock:
            self._measure_sealed()
            return SpoolStats(
                appends=self._appends,
                syncs=self._syncs,
                refused=self._refusals,
                lost=len(self._losses),
                unfinished=len(self._statements),
                spooled_bytes=self._sealed_bytes + self._segment.size,
            )

    # -- closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Seals what is complete and frees the directory; what is not complete waits for recovery.

        Raises:
            SpoolUnavailableError: the last entries could not be synced; the directory is freed all the same.
        """
        if self._lock is None or self._pid != os.getpid():
            return
        try:
            with self._sync_lock:
                self._finish()
        except OSError as cause:
            raise _unavailable(self.path, cause) from cause
        finally:
            self._release()

    def _finish(self) -> None:
        """Needs `_sync_lock`."""
        self._rotate()
        if self._broken is None and not self._statements:
            self._segment.path.unlink(missing_ok=True)

    def _release(self) -> None:
        with self._write_lock:
            lock, self._lock = self._lock, None
            if lock is not None:
                self._segment.close()
                os.close(lock)

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _BoundReachedError(OSError):
    """The spool's own bound, told like a quota of the file system."""


def _create(parent: Path, driver_id: str, meta: Mapping[str, Any]) -> int:
    """Builds a directory under a hidden name, locks it, and only then names it: a spool that others
    see and that is not locked is a dead one.
    """
    parent.mkdir(parents=True, exist_ok=True)
    hidden = parent / f".new-{driver_id}"
    layout = build(hidden, meta)
    lock = take_lock(layout.lock)
    if lock is None:
        raise BlockingIOError(errno.EAGAIN, f"{layout.lock} is held by another process")
    try:
        hidden.rename(parent / driver_id)
        sync_directory(parent)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _unavailable(path: Path, cause: OSError) -> SpoolUnavailableError:
    if isinstance(cause, _BoundReachedError):
        return SpoolFullError(
            f"the spool {path} takes no more: {cause.strerror}", "run `audit ingest` or raise max_bytes"
        )
    way_out = {
        errno.ENOSPC: "free space on that disk",
        errno.EDQUOT: "free space within the quota of that disk",
        errno.EROFS: "mount that file system writable, or choose another root",
        errno.EACCES: "give this user write permission there, or choose another root",
        errno.EPERM: "give this user write permission there, or choose another root",
    }.get(cause.errno or 0, "check the disk, or choose another root")
    return SpoolUnavailableError(f"the spool {path} cannot be written ({cause.strerror or cause})", way_out)


def _forget_in_children(spool: Spool) -> None:
    """A forked child closes its copy of the lock: it would keep a dead driver alive."""
    reference = weakref.ref(spool)

    def forget() -> None:
        parent = reference()
        if parent is not None and parent._lock is not None:  # noqa: SLF001
            os.close(parent._lock)  # noqa: SLF001
            parent._lock = None  # noqa: SLF001

    os.register_at_fork(after_in_child=forget)
