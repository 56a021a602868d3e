"""What waits in the spools of a root and is no statement: gaps, and events of the logging.

In: the folder that holds `spool/`. Out: rows of query_history, as the next ingest will write them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from audit.spool.entry import Entry, decode
from audit.spool.failure import spool_errors
from audit.spool.layout import FORMAT_VERSION, Layout
from audit.spool.liveness import find_spools

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def waiting_events(home: Path) -> list[dict[str, Any]]:
    """Their rows, each once, in no order.

    An ingest may be under way: read them before the tables, and leave out those that stand in a table, too.

    Args:
        home: the folder that holds `spool/`.

    Raises:
        SpoolUnavailableError: a spool cannot be read.
    """
    found: dict[str, dict[str, Any]] = {}
    with spool_errors(home):
        for spool in find_spools(home):
            # A spool of another user shows no version, and one of another version has other rows.
            if spool.version == FORMAT_VERSION:
                for segment in _segments(Layout(spool.path)):
                    found.update((entry.query_id, entry.payload["query"]) for entry in _events(segment))
    return list(found.values())


def _events(segment: Path) -> Iterator[Entry]:
    # One that is gone was sealed since it was listed, and comes once more, or it was ingested.
    with suppress(FileNotFoundError), segment.open("rb") as file:
        # Line by line: what waits may be gigabytes of records, which are not looked into.
        for line in file:
            entry = decode(line.removesuffix(b"\n")) if line[9:10] == b"G" else None
            if isinstance(entry, Entry):
                yield entry


def _segments(layout: Layout) -> Iterator[Path]:
    """In the order in which a segment changes its place: one that moves meanwhile comes twice."""
    yield from layout.open_segments()
    yield from layout.journal.glob("*.recovered")
    yield from layout.sealed_segments()
