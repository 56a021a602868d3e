"""Recovers the spool of a dead driver: one record for every statement that it had started.

In: a spool directory and a function that completes a statement. Out: one sealed segment with
exactly one record a query, and a report.

Killed anywhere and run again, it comes to the same: the segment is written beside the open ones as
`<highest number>.recovered` (temporary name, fsync, rename: the commit point), then the open ones are
removed, and only then it is renamed into sealed/, where ingest sees it. A `.recovered` file found at
the beginning therefore says that every open segment up to its number is done with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit.core.clock import Clock, SystemClock, to_iso
from audit.core.ids import IdGenerator
from audit.spool.entry import Entry, encode
from audit.spool.failure import gap_line, spool_errors
from audit.spool.layout import Layout, move, number_of, require_version, set_aside, write_file
from audit.spool.liveness import release_lock, take_lock
from audit.spool.parts import cut
from audit.spool.segment import Damage, SegmentContent, read_segment, sync_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    Complete = Callable[[Entry, Entry | None, tuple[Entry, ...]], Mapping[str, Any]]
    """Makes the record of a statement from its start, its end (None: it was running) and its facts."""


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A damaged segment, copied to `path` in quarantine, and where it is damaged."""

    path: Path
    damaged: tuple[Damage, ...]


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What a recovery found and did.

    Attributes:
        spool_dir: the dead driver's directory.
        sealed: the segment for ingest, None where there was nothing to recover.
        kept: records that were there already.
        completed: query ids with an end whose record was made now.
        incomplete: query ids that were running when the driver died.
        orphans: query ids with an end or facts whose start was lost; a gap entry names them.
        damaged: segments with damage.
    """

    spool_dir: Path
    sealed: Path | None = None
    kept: int = 0
    completed: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    damaged: tuple[DamagedSegment, ...] = ()


def recover(
    spool_dir: Path, complete: Complete, *, clock: Clock | None = None, ids: IdGenerator | None = None
) -> RecoveryReport | None:
    """Seal the open segments of a dead driver, with exactly one record for each of its statements.

    Args:
        spool_dir: a driver's directory.
        complete: makes the record of a statement that has none. What it raises ends the recovery,
            which leaves everything as it was.
        clock: tells the time for gap entries.
        ids: makes the ids of gap entries.

    Returns:
        The report, or None where the driver lives or another process recovers it.

    Raises:
        SpoolVersionError: the spool is of another format.
        SpoolUnavailableError: the file system refused; nothing is lost, run it again.
    """
    layout = Layout(spool_dir)
    require_version(layout)
    with spool_errors(spool_dir):
        lock = take_lock(layout.lock)
    # A driver that lives holds the lock, and so does another recovery.
    if lock is None:
        return None
    try:
        clock = clock or SystemClock()
        with spool_errors(spool_dir):
            return _recover(layout, complete, clock, ids or IdGenerator(clock))
    finally:
        release_lock(lock)


@dataclass(slots=True)
class _StatementEntries:
    """The entries of one statement."""

    start: Entry | None = None
    end: Entry | None = None
    facts: list[Entry] = field(default_factory=list)
    record: Entry | None = None

    @property
    def is_orphan(self) -> bool:
        """Whether neither a start nor a record is left of the statement."""
        return self.start is None and self.record is None

    @property
    def is_unrecorded(self) -> bool:
        """Whether the statement has started and has no record."""
        return self.start is not None and self.record is None

    def add(self, entry: Entry) -> None:
        """Takes an entry in; one that is there already (carried over, copied) changes nothing."""
        if entry.kind == "S":
            # Carried-over lines stand in two segments; the first counts.
            self.start = self.start or entry
        elif entry.kind == "E":
            self.end = self.end or entry
        elif entry.kind == "R":
            self.record = self.record or entry
        elif entry not in self.facts:
            self.facts.append(entry)


def _recover(layout: Layout, complete: Complete, clock: Clock, ids: IdGenerator) -> RecoveryReport:
    sealed = _finish_earlier(layout)
    segments = layout.open_segments()
    if not segments:
        return RecoveryReport(layout.path, sealed)
    contents = [(path, read_segment(path)) for path in segments]
    damaged = _set_aside(layout, contents)
    statements, gaps = _gather(entry for _, content in contents for entry in content.entries)
    orphans = tuple(query_id for query_id, found in statements.items() if found.is_orphan)
    unrecorded = {query_id: found for query_id, found in statements.items() if found.is_unrecorded}
    recorded = [found.record.line for found in statements.values() if found.record]
    completed = [_completed(query_id, found, complete) for query_id, found in unrecorded.items()]
    lines = [*recorded, *completed, *gaps]
    if damaged or orphans:
        lines.append(_gap(damaged, orphans, ids.new(), to_iso(clock.now())))
    return RecoveryReport(
        spool_dir=layout.path,
        sealed=_replace(layout, segments, lines) or sealed,
        kept=len(recorded),
        completed=tuple(query_id for query_id, found in unrecorded.items() if found.end),
        incomplete=tuple(query_id for query_id, found in unrecorded.items() if not found.end),
        orphans=orphans,
        damaged=damaged,
    )


def _set_aside(layout: Layout, contents: Iterable[tuple[Path, SegmentContent]]) -> tuple[DamagedSegment, ...]:
    """Keeps a copy of each damaged segment."""
    return tuple(
        DamagedSegment(set_aside(path, layout.quarantine, keep=True), content.damaged)
        for path, content in contents
        if content.damaged
    )


def _gather(entries: Iterable[Entry]) -> tuple[dict[str, _StatementEntries], list[bytes]]:
    """Statements by query id, in the order of their first entry, and the distinct gap lines."""
    statements: dict[str, _StatementEntries] = {}
    gaps: dict[bytes, None] = {}
    for entry in entries:
        if entry.kind == "G":
            # A dict keeps order and drops duplicates.
            gaps[entry.line] = None
        else:
            statements.setdefault(entry.query_id, _StatementEntries()).add(entry)
    return statements, list(gaps)


def _completed(query_id: str, found: _StatementEntries, complete: Complete) -> bytes:
    assert found.start is not None  # noqa: S101 - the caller chose those with a start
    return encode("R", query_id, complete(found.start, found.end, tuple(found.facts)))


def _gap(damaged: tuple[DamagedSegment, ...], orphans: tuple[str, ...], gap_id: str, at: str) -> bytes:
    payload: dict[str, Any] = {
        "gap": "damaged" if damaged else "orphaned",
        "since": at,
        "until": at,
        "queries": len(orphans),
        "files": [segment.path.name for segment in damaged],
        "damages": sum(len(segment.damaged) for segment in damaged),
        "orphans": list(orphans),
    }
    return gap_line(gap_id, payload)


def _replace(layout: Layout, segments: list[Path], lines: list[bytes]) -> Path | None:
    """Puts the recovered lines in the place of the open segments, under the highest of their numbers."""
    if lines:
        write_file(segments[-1].with_suffix(".recovered"), b"".join(cut(lines)))
        return _finish_earlier(layout)
    _remove(segments)
    return None


def _finish_earlier(layout: Layout) -> Path | None:
    """Goes on from the commit point: open segments go, then the recovered one is sealed."""
    # A file without its rename was never committed.
    for leftover in layout.journal.glob("*.tmp"):
        leftover.unlink()
    target = None
    for recovered in sorted(layout.journal.glob("*.recovered")):
        number = number_of(recovered)
        _remove([path for path in layout.open_segments() if number_of(path) <= number])
        target = layout.sealed_segment(number)
        move(recovered, target)
    return target


def _remove(segments: list[Path]) -> None:
    for path in segments:
        path.unlink()
    if segments:
        sync_directory(segments[0].parent)
