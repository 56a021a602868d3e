"""What the tables of events have gained: they are written by statements themselves, not by ingest.

In: the log, and the versions of these tables that it knows. Out: the rows of newer commits, as parts of an
entry. A row that somebody else has put there counts as well: an entry says what was there, and when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.evidence.entries import Part, fingerprint
from audit.evidence.leaves import leaves_of
from audit.evidence.row_texts import row_texts
from audit.policies.model.events import COLUMNS as GOVERNANCE_COLUMNS
from audit.policies.model.events import NAME as GOVERNANCE
from audit.spark.delta.event_table import HistoryTable
from audit.store.tables import DATA_QUALITY, DIGESTS, TableOfRoot, exists
from audit.time_travel.backups.model.events import COLUMNS as BACKUP_COLUMNS
from audit.time_travel.backups.model.events import NAME as BACKUPS
from audit.time_travel.dropped.drop_registry import COLUMNS as OBJECT_COLUMNS
from audit.time_travel.dropped.drop_registry import NAME as OBJECTS

if TYPE_CHECKING:
    import pyarrow as pa

    from audit.evidence.digest_log import DigestLog
    from audit.evidence.head import Head
    from audit.evidence.row_texts import Columns


@dataclass(frozen=True, slots=True)
class EventTable:
    """A table of events.

    Attributes:
        name: of its folder.
        columns: name, type and meaning.
        key: the column by which rows are known; rows of one key are written together.
        time: of the day that it is partitioned on; "" for none.
    """

    name: str
    columns: Sequence[tuple[str, str, str]]
    key: str = "event_id"
    time: str = ""

    @property
    def counted(self) -> Columns:
        """The columns that count: all."""
        return [(name, kind) for name, kind, _ in self.columns]


EVENT_TABLES = (
    EventTable(GOVERNANCE, GOVERNANCE_COLUMNS),
    EventTable(OBJECTS, OBJECT_COLUMNS),
    EventTable(BACKUPS, BACKUP_COLUMNS),
    EventTable(DATA_QUALITY.name, DATA_QUALITY.columns, "run_id", DATA_QUALITY.time),
)


BOUND_ELSEWHERE = (DIGESTS.name, GOVERNANCE, OBJECTS, BACKUPS)
"""What a check reads beside the audit tables: the log, and tables of events that no view names."""


@dataclass(frozen=True, slots=True)
class NewEvents:
    """What is not bound yet.

    Attributes:
        parts: of an entry.
        versions: of all tables of events, whose rows are then all bound.
        columns: of the tables that have parts.
    """

    parts: Sequence[Part]
    versions: Mapping[str, int]
    columns: Mapping[str, Columns]


def new_events(log: DigestLog, head: Head) -> NewEvents:
    """The rows that no entry binds yet, without a Spark job."""
    parts: list[Part] = []
    versions: dict[str, int] = {}
    columns: dict[str, Columns] = {}
    for table in EVENT_TABLES:
        bound = head.tables.get(table.name, -1)
        place = TableOfRoot(table.name)
        if not exists(log.spark, place, log.root):
            continue
        reader = HistoryTable(log.spark, place.location(log.root), table.columns)
        versions[table.name] = newest = reader.version()
        if newest == bound:
            continue
        rows = reader.added_since(bound, newest)
        found = [
            *event_parts(table, log.unbound_events(table.name, table.key, newest) if rows is None else rows)
        ]
        parts += found
        if found:
            columns[table.name] = table.counted
    return NewEvents(parts, versions, columns)


def event_parts(table: EventTable, rows: pa.Table) -> Iterator[Part]:
    """What an entry says of rows, for each of their days."""
    from pyarrow import compute

    if not len(rows):
        return
    if not table.time:
        yield _part(table, "", rows)
        return
    days = compute.cast(rows[table.time], "date32")
    for day in sorted(compute.unique(days).to_pylist()):
        yield _part(table, day.isoformat(), rows.filter(compute.equal(days, day)))


def _part(table: EventTable, day: str, rows: pa.Table) -> Part:
    leaves = leaves_of(rows[table.key].to_pylist(), row_texts(rows, table.counted))
    return Part(table.name, day, fingerprint(table.counted), leaves)
