"""What the journal remembers in memory: statements without a record, and losses.

In: lines as they are written or refused. Out: the lines that a new segment must carry, the
statements that run, and the payload of the gap entry that a loss leaves behind.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spool.entry import Entry, Kind, decode

if TYPE_CHECKING:
    from collections.abc import Iterator

Lines = list[tuple[Kind, bytes]]


@dataclass(frozen=True, slots=True)
class Running:
    """A statement that has started and not ended; `start` is the payload of its start."""

    query_id: str
    start: dict[str, Any]


class Statements:
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
        kept = [item for item in self._lines.get(query_id, ()) if item != (kind, line)]
        if kept:
            self._lines[query_id] = kept
        else:
            self._lines.pop(query_id, None)

    def carried(self) -> Iterator[bytes]:
        """The lines that the next segment begins with."""
        for lines in self._lines.values():
            for _, line in lines:
                yield line

    def running(self) -> tuple[Running, ...]:
        """Statements with a start and no end, in the order of their start."""
        found = []
        for query_id, lines in self._lines.items():
            if not any(kind == "E" for kind, _ in lines):
                start = decode(lines[0][1][:-1])
                if isinstance(start, Entry):
                    found.append(Running(query_id, start.payload))
        return tuple(found)


class Losses:
    """Entries refused since the last gap entry, of statements that nothing else will bring back."""

    __slots__ = ("_causes", "_queries", "_records", "_since")

    def __init__(self) -> None:
        self._queries: set[str] = set()
        self._records: set[str] = set()
        self._causes: Counter[str] = Counter()
        self._since = ""

    def __bool__(self) -> bool:
        return bool(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def add(self, kind: Kind, query_id: str, cause: str, at: str) -> None:
        """Counts a refused entry."""
        self._since = self._since or at
        self._queries.add(query_id)
        self._causes[cause] += 1
        if kind == "R":
            self._records.add(query_id)

    def recorded(self, query_id: str) -> None:
        """A statement whose record got through after all is not lost."""
        self._queries.discard(query_id)
        self._records.discard(query_id)

    def gap(self, at: str) -> dict[str, Any]:
        """The payload of the gap entry.

        `queries` counts statements that lost an entry and have no start in the journal; `records`
        those of them whose record is among the lost. A statement counted in the first alone may
        yet get its record.
        """
        return {
            "gap": "refused",
            "since": self._since,
            "until": at,
            "queries": len(self._queries),
            "records": len(self._records),
            "causes": dict(self._causes),
        }

    def clear(self) -> None:
        """Forgets what a gap entry now tells."""
        self.__init__()  # type: ignore[misc]
