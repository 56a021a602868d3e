"""Which sealed segments are taken in together, and how far an ingest came that was killed.

In: a driver's spool folder. Out: batches of its segments. A file beside them says which batch is being
committed, and then that it is. After a kill before that, the same segments are taken in again; after one
behind it they are only removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from audit.core.json_text import to_json
from audit.spool.layout import Layout, write_file

_BYTES = 256 << 20
"""Of segments in a batch: its rows are in memory, some times as large for a moment."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Segments, and what an earlier ingest did with them.

    Attributes:
        files: sealed segments, oldest first.
        is_begun: it may have committed the rows to some tables.
        is_committed: it has, to all of them.
    """

    files: tuple[Path, ...]
    is_begun: bool = False
    is_committed: bool = False

    @property
    def name(self) -> str:
        """Names it among the batches of its driver, also when it is run again."""
        return self.files[0].name

    def note(self, layout: Layout, *, is_committed: bool) -> None:
        """Write down, synced to disk, that it is being committed, or that it is."""
        names = [file.name for file in self.files]
        write_file(layout.batch, to_json({"segments": names, "is_committed": is_committed}))


def batches(layout: Layout) -> Iterator[Batch]:
    """The batches of what is sealed, first the one that was begun. The caller holds the ingest lock."""
    files = layout.sealed_segments()
    begun = _begun(layout)
    if begun is not None:
        yield begun
        files = [file for file in files if file not in begun.files]
    chosen: list[Path] = []
    size = 0
    for file in files:
        chosen.append(file)
        size += file.stat().st_size
        if size >= _BYTES:
            yield Batch(tuple(chosen))
            chosen, size = [], 0
    if chosen:
        yield Batch(tuple(chosen))


def forget(layout: Layout) -> None:
    """A batch's segments are removed: nothing is begun any more."""
    layout.batch.unlink(missing_ok=True)


def _begun(layout: Layout) -> Batch | None:
    try:
        noted = orjson.loads(layout.batch.read_bytes())
    except FileNotFoundError:
        return None
    files = (layout.sealed / name for name in noted["segments"])
    # Those that are gone were removed behind the commit.
    there = tuple(file for file in files if file.exists())
    return Batch(there, is_begun=True, is_committed=noted["is_committed"])
