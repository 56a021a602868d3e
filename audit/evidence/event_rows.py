"""What the tables of events have gained: they are written by statements themselves, not by ingest.

In: the log, and the versions of these tables that it knows. Out: the rows of newer commits, as parts of an
entry. A row that somebody else has put there counts as well: an entry says what was there, and when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.evidence.bound_tables import EVENT_TABLES
from audit.evidence.entries import Part
from audit.evidence.row_texts import Rows
from audit.spark.delta.event_table import HistoryTable
from audit.store.tables import TableOfRoot

if TYPE_CHECKING:
    from audit.evidence.digest_log import DigestLog
    from audit.evidence.head import Head


@dataclass(frozen=True, slots=True)
class NewEvents:
    """What is not bound yet.

    Attributes:
        parts: of an entry.
        versions: of all tables of events, whose rows are then all bound.
    """

    parts: Sequence[Part]
    versions: Mapping[str, int]


def new_events(log: DigestLog, head: Head) -> NewEvents:
    """The rows that no entry binds yet, without a Spark job."""
    parts: list[Part] = []
    versions: dict[str, int] = {}
    for table in EVENT_TABLES:
        reader = HistoryTable(log.spark, TableOfRoot(table.name).location(log.root), table.columns)
        bound = head.tables.get(table.name, -1)
        newest = bound if bound >= 0 and reader.is_newest(bound) else reader.version()
        if newest < 0:
            continue
        versions[table.name] = newest
        if newest == bound:
            continue
        rows = reader.added_since(bound, newest)
        if rows is None:
            rows = log.unbound_events(table.name, table.key, newest)
        parts += table.parts(Rows(rows))
    return NewEvents(parts, versions)
