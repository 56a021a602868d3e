"""What the records of a segment repeat is written once.

A statement that ran before has the text, objects, columns and edges that it had then. In: lines of entries.
Out: the same lines, where those of records name their parts, each of which has a line of its own before the
first record that names it: `<crc32> P {"text_part":"<id>","query_text":…}`. In the place of these members the
record has `"text_part":"<id>"`. An id is the hash of the part, so that it is the same in each segment.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from audit.spool.entry import PREFIX_BYTES, framed

_ID_BYTES = 20
_MOST_BYTES = 32 << 20
"""Of parts in memory; they are written again from then on."""
_KIND = slice(PREFIX_BYTES - 2, PREFIX_BYTES - 1)
_NAMED = re.compile(rb'"(?:text|objects|analysis|edges)_part":"([0-9a-f]{40})"')
# Found much faster; no string of JSON holds it.
_ID = re.compile(rb'_part":"([0-9a-f]{40})"')


@dataclass(frozen=True, slots=True)
class Run:
    """Members of an object that stand one behind the other in the JSON of a record (`build_row`).

    Attributes:
        name: of the member that stands in their place.
        start: the bytes before them, from the last one that stays on.
        end: the bytes behind them.
    """

    name: str
    start: bytes
    end: bytes

    def find(self, record: bytes, begin: int) -> tuple[int, int]:
        """Where the next ones begin and end, from `begin` on; -1 without them."""
        end = record.find(self.end, begin)
        return (record.find(self.start, begin, end) if end >= 0 else -1), end


# No string of JSON holds the bytes of `start` and `end`: its quotes would be escaped.
TEXT = Run("text_part", b',"query_text":', b',"execution_status":')
OBJECTS = Run("objects_part", b'{"direct_objects_accessed":', b',"query_id":')
ANALYSIS = Run("analysis_part", b',"session_id":', b',"record_hash":')
EDGES = Run("edges_part", b',"edges":[{', b"")
"""They come last."""
_LAST = b"}]}"
_MARK = b'"aggregate":'


def is_part(line: bytes) -> bool:
    """Whether a line says that it is a part."""
    return line[_KIND] == b"P"


def part_of(line: bytes) -> tuple[str, bytes]:
    """Under which name records name the part of a sound line, and its id."""
    _, name, _, ident, _ = line.split(b'"', 4)
    return name.decode(), ident


class PartWriter:
    """Cuts the parts out of the records of a segment. Not thread-safe."""

    __slots__ = ("_ids", "_size")

    def __init__(self) -> None:
        self._ids: dict[bytes, bytes] = {}
        self._size = 0

    def cut(self, line: bytes) -> tuple[bytes, dict[bytes, bytes]]:
        """The lines to write in the place of an entry's, and the parts that are new in them.

        Args:
            line: of an entry, newline included; what is no record, or of another form, stays as it is.
        """
        if line[_KIND] != b"R":
            return line, {}
        made = _Cut(self._ids, line)
        made.run(TEXT)
        while made.run(OBJECTS):
            made.run(ANALYSIS)
        made.edges()
        own = made.rest()
        # Several with a mark become one row: they are read whole.
        if own == line or _MARK in own:
            return line, {}
        new = made.new
        lines = [framed(b'P {"%s":"%s",%s}' % (name, ident, part)) for part, (name, ident) in new.items()]
        lines.append(framed(own[_KIND.start : -1]))
        return b"".join(lines), {part: ident for part, (_, ident) in new.items()}

    def wrote(self, new: dict[bytes, bytes]) -> None:
        """The segment has these parts from now on."""
        size = sum(map(len, new))
        if self._size + size > _MOST_BYTES:
            self.forget()
        self._size += size
        self._ids.update(new)

    def forget(self) -> None:
        """The segment may have none of its parts any more."""
        self._ids.clear()
        self._size = 0


def cut(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a whole segment, each with the parts that are new in it."""
    parts = PartWriter()
    for line in lines:
        data, new = parts.cut(line)
        parts.wrote(new)
        yield data


@dataclass(slots=True)
class _Cut:
    """How far a record is cut."""

    known: dict[bytes, bytes]
    line: bytes
    done: int = 0
    made: list[bytes] = field(default_factory=list)
    new: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)

    def run(self, run: Run) -> bool:
        """Cut out the next one; whether there is one."""
        start, end = run.find(self.line, self.done)
        if start < 0:
            return False
        self._name(run, start + 1, end)
        return True

    def edges(self) -> None:
        """Cut out the edges."""
        start = self.line.find(EDGES.start, self.done)
        if start >= 0 and self.line.endswith(_LAST + b"\n"):
            self._name(EDGES, start + 1, len(self.line) - len(b"}\n"))

    def rest(self) -> bytes:
        """The line without what was cut out."""
        self.made.append(self.line[self.done :])
        return b"".join(self.made)

    def _name(self, run: Run, start: int, end: int) -> None:
        part, name = self.line[start:end], run.name.encode()
        ident = self.known.get(part)
        if ident is None:
            ident = blake2b(part, digest_size=_ID_BYTES).hexdigest().encode()
            self.new[part] = name, ident
        self.made += (self.line[self.done : start], b'"%s":"%s"' % (name, ident))
        self.done = end


class PartReader:
    """The parts of a segment as it is read from its beginning."""

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: dict[bytes, bytes] = {}

    def take(self, line: bytes) -> None:
        """Keep the part of a sound line, without its newline."""
        _, ident = part_of(line)
        self._members[ident] = line[line.index(b",") + 1 : -1]

    def whole(self, line: bytes) -> bytes | None:
        """The line of a record as it was before it was cut, or None where a part is missing.

        Args:
            line: of an entry, sound, without its newline; what is no record was not cut.
        """
        if line[_KIND] != b"R":
            return line
        if not lacks_none(line, self._members):
            return None
        text = _NAMED.sub(lambda found: self._members[found[1]], line[_KIND.start :])
        return framed(text)[:-1]


def lacks_none(line: bytes, there: Container[bytes]) -> bool:
    """Whether each part that a record names is there."""
    return all(ident in there for ident in _ID.findall(line))
