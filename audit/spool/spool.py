"""The spool of a running driver: the API for the caller's thread, the worker and ingest.

In: starts, ends, facts and records of statements, from any thread. Out: durable entries, sealed
segments, and after a disk error the reaction of `on_record_failure`.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from audit.core.clock import Clock, SystemClock, to_iso
from audit.core.errors import SpoolClosedError, SpoolForkedError
from audit.core.ids import IdGenerator
from audit.spool.create import create, disown_in_children
from audit.spool.entry import Durability, Kind, encode
from audit.spool.failure import Losses, cause_of, gap_line, spool_errors, unavailable
from audit.spool.journal import Journal
from audit.spool.layout import Layout, spools_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from typing_extensions import Self

    from audit.spool.pending import RunningStatement

OnRecordFailure = Literal["block", "warn"]

MAX_BYTES = 4 << 30
SEGMENT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class SpoolStats:
    """Counters since the spool was opened, and its size now.

    Attributes:
        appends: entries written.
        syncs: fdatasyncs for them; fewer than durable appends where threads share them.
        refused: entries that could not be written.
        lost: statements refused of which nothing is on record but a gap.
        unfinished: statements with a start and no record.
        spooled_bytes: bytes in open and sealed segments.
    """

    appends: int
    syncs: int
    refused: int
    lost: int
    unfinished: int
    spooled_bytes: int


class Spool:
    """The spool of this process. Open it with `Spool.open`; every method may be called from any thread.

    Attributes:
        path: its directory, `<root>/spool/<driver id>`.
        driver_id: a UUIDv7, never used before.
    """

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
        """Takes over a directory that was just made and whose lock is held; use `open`."""
        self.path = layout.path
        self.driver_id = layout.driver_id
        self._layout = layout
        self._lock: int | None = lock
        # A forked child has a copy of this object, but the lock belongs to its parent.
        self._pid = os.getpid()
        self._clock = clock
        self._ids = ids
        self._blocks = on_record_failure == "block"
        self._segment_bytes = segment_bytes
        self._refused = self._reported = 0
        self._losses = Losses()
        self._loss_lock = threading.Lock()
        self._journal = Journal(layout, max_bytes)
        disown_in_children(self)

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
    ) -> Self:
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
        meta = {"application_id": application_id, "created": to_iso(clock.now())}
        with spool_errors(spools_under(root)):
            layout, lock = create(root, ids.new(), meta)
            try:
                return cls(
                    layout,
                    lock,
                    clock=clock,
                    ids=ids,
                    on_record_failure=on_record_failure,
                    max_bytes=max_bytes,
                    segment_bytes=segment_bytes,
                )
            # KeyboardInterrupt, too: an open lock without its spool would make the folder look alive.
            except BaseException:
                os.close(lock)
                raise

    # -- appending --------------------------------------------------------------------------------

    def start(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Write the START of a statement. As `append`."""
        return self.append("S", query_id, payload)

    def end(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Write the END of a statement. As `append`."""
        return self.append("E", query_id, payload)

    def fact(self, query_id: str, payload: Mapping[str, Any]) -> bool:
        """Write a FACT that recovery needs; it is durable with the next durable append."""
        return self.append("F", query_id, payload, "later")

    def record(self, query_id: str, payload: Mapping[str, Any], durability: Durability = "later") -> bool:
        """Write a statement's RECORD, which ingest loads. As `append`.

        Not durable by default: if a power cut loses it, recovery makes it again from START and END.
        """
        return self.append("R", query_id, payload, durability)

    def append(
        self, kind: Kind, query_id: str, payload: Mapping[str, Any], durability: Durability = "now"
    ) -> bool:
        """Writes one entry. A second record of a query id is not noticed: write one.

        Args:
            kind: S, E, F, R or G.
            query_id: the statement's id.
            payload: what JSON can hold; `query_id` in it must be the same or missing.
            durability: when the disk has it.

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
            self._journal.append(kind, query_id, line, durability)
        except OSError as cause:
            return self._refuse(kind, query_id, cause)
        if self._losses or self._journal.quarantined:
            self._write_gaps(kind, query_id)
        self._journal.rotate_beyond(self._segment_bytes)
        return True

    def confirm(self, query_id: str) -> None:
        """Returns when the disk has a start that was appended to be there "soon".

        What it has not stays in memory and is tried again with the next sync.

        Raises:
            SpoolUnavailableError: it has not, and `on_record_failure` is "block".
        """
        try:
            self._journal.confirm(query_id)
        except OSError as cause:
            if self._blocks:
                raise unavailable(self.path, cause) from cause

    def _refuse(self, kind: Kind, query_id: str, cause: OSError) -> bool:
        """Follows `on_record_failure`."""
        self._refused += 1
        error = unavailable(self.path, cause)
        if self._blocks:
            raise error from cause
        with self._loss_lock:
            # A statement whose START is on disk is no loss: recovery makes its record.
            if not self._journal.holds(query_id):
                self._losses.add(kind, query_id, cause_of(cause), to_iso(self._clock.now()))
            self._losses.warn(error, cause_of(cause))
        return False

    def _write_gaps(self, kind: Kind, query_id: str) -> None:
        """Writes gap entries now that writing works; if it does not, the next append will."""
        with self._loss_lock:
            if kind == "R":
                self._losses.recorded(query_id)
            now = to_iso(self._clock.now())
            if self._losses and self._gap(self._losses.gap(now)):
                self._reported += len(self._losses)
                self._losses.clear()
            aside = list(self._journal.quarantined)
            if aside and self._gap(_damage(aside, now)):
                # By number: another thread may have added a file meanwhile.
                del self._journal.quarantined[: len(aside)]

    def _gap(self, payload: dict[str, Any]) -> bool:
        gap_id = self._ids.new()
        try:
            self._journal.append("G", gap_id, gap_line(gap_id, payload), "now")
        except OSError:
            return False
        return True

    def _require_owner(self) -> None:
        if self._pid != os.getpid():
            raise SpoolForkedError(
                f"process {os.getpid()} is a fork of {self._pid}, which owns the spool {self.path}",
                "attach the audit again in the child process",
            )
        if self._lock is None:
            raise SpoolClosedError(f"the spool {self.path} is closed", "attach the audit again")

    def sync(self) -> None:
        """Returns when everything appended so far is on the disk.

        Raises:
            SpoolUnavailableError: it is not, whatever `on_record_failure` says. Entries whose append
                returned are kept in memory and written later: do not append them again.
        """
        self._require_owner()
        with spool_errors(self.path):
            self._journal.sync()

    # -- for ingest -------------------------------------------------------------------------------

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
        with spool_errors(self.path):
            return self._journal.rotate()

    def sealed(self) -> tuple[Path, ...]:
        """Sealed segments that wait for ingest, oldest first."""
        return tuple(self._layout.sealed_segments())

    def running(self) -> tuple[RunningStatement, ...]:
        """Statements that have started and not ended."""
        self._require_owner()
        return self._journal.running()

    def stats(self) -> SpoolStats:
        """Counters and size."""
        self._require_owner()
        return SpoolStats(
            appends=self._journal.appends,
            syncs=self._journal.syncs,
            refused=self._refused,
            lost=self._reported + len(self._losses),
            unfinished=self._journal.unfinished(),
            spooled_bytes=self._journal.spooled_bytes(),
        )

    # -- closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Seals what is complete and frees the directory; what is not complete waits for recovery.

        Raises:
            SpoolUnavailableError: the disk refused; the directory is freed all the same.
        """
        # A forked child that ends must not seal its parent's segment.
        if self._lock is None or self._pid != os.getpid():
            return
        if self._losses or self._journal.quarantined:
            self._write_gaps("G", "")
        try:
            with spool_errors(self.path):
                self._journal.close()
        finally:
            self.disown()

    def disown(self) -> None:
        """Closes the descriptor of the lock: in a forked child it would keep a dead driver alive."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _damage(aside: Iterable[Path], now: str) -> dict[str, Any]:
    """The payload of the gap entry for damaged files."""
    return {"gap": "damaged", "since": now, "until": now, "files": [path.name for path in aside]}
