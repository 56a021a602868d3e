"""The statements of a journal without a record, in memory.

In: lines as they are written. Out: the lines that a new segment must carry, and the statements
that run now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spool.entry import Entry, Kind, decode

if TYPE_CHECKING:
    from collections.abc import Iterator

Lines = list[tuple[Kind, bytes]]


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """A statement that has started and not ended; `start` is the payload of its start."""

    query_id: str
    start: dict[str, Any]


class PendingStatements:
    """The S, E and F lines of every statement whose record is not written. Not thread-safe."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, Lines] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, query_id: str) -> bool:
        return query_id in self._lines

    def note(self, kind: Kind, query_id: str, line: bytes) -> Lines | None:
        """Takes in a written line; returns what its record made superfluous, for `undo`."""
        if kind == "R":
            return self._lines.pop(query_id, None)
        if kind == "S":
            self._lines.setdefault(query_id, []).append((kind, line))
        elif query_id in self._lines and kind != "G":
            self._lines[query_id].append((kind, line))
        return None

    def undo(self, kind: Kind, query_id: str, line: bytes, dropped: Lines | None) -> None:
        """Takes back a line that turned out not to be written."""
        if dropped is not None:
            self._lines[query_id] = dropped
            return
        lines = self._lines.get(query_id, [])
        if (kind, line) in lines:
            # The newest of equal lines: the others were written before.
            del lines[len(lines) - 1 - lines[::-1].index((kind, line))]
        if not lines:
            self._lines.pop(query_id, None)

    def carried(self) -> Iterator[bytes]:
        """The lines that the next segment begins with."""
        for lines in self._lines.values():
            for _, line in lines:
                yield line

    def running(self) -> tuple[RunningStatement, ...]:
        """Statements with a start and no end, in the order of their start."""
        found = []
        for query_id, lines in self._lines.items():
            if not any(kind == "E" for kind, _ in lines):
                # `decode` takes a line without its newline.
                start = decode(lines[0][1][:-1])
                if isinstance(start, Entry):
                    found.append(RunningStatement(query_id, start.payload))
        return tuple(found)
