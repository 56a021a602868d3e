"""Binds what an ingest takes in: signed before it is in the tables.

In: the rows of a batch. Out: an entry of the log. A killed ingest runs its batch again, which makes the same
rows: so an entry is never of rows that do not come. What tables of events have gained since, which statements
write by themselves, is bound with the next ingest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from audit.evidence.digest_log import DigestLog
from audit.evidence.entries import Draft, Part, fingerprint
from audit.evidence.event_rows import EVENT_TABLES, new_events
from audit.evidence.leaves import leaves_of
from audit.evidence.merkle import root
from audit.evidence.row_texts import Columns, row_texts
from audit.evidence.unbound import unbound_rows
from audit.store.tables import AUDIT_TABLES, AuditTable

if TYPE_CHECKING:
    from datetime import date

    import pyarrow as pa

INTERVAL = timedelta(hours=1)
"""An entry comes at least this often as long as a driver runs, so that a missing hour shows."""


def bind_batch(log: DigestLog, rows: Mapping[AuditTable, pa.Table], batch: str, *, again: bool) -> None:
    """Sign the rows of a batch, before they are in the tables.

    Args:
        log: of the root.
        rows: by table.
        batch: names it among all batches: its driver's id, and its own name.
        again: an earlier ingest may have done it.

    Raises:
        EvidenceError: the key cannot be used.
        IngestError: the log cannot be written.
    """
    if again and log.has_batch(batch):
        return
    parts = [part for table, some in rows.items() for part in parts_of(table, some)]
    _append(
        log,
        [Draft("ROWS", {"batch": batch}, parts)] if parts else [],
        {table.name: columns_of(table) for table in rows},
    )


def keep_alive(log: DigestLog, driver: str, now: int) -> None:
    """Sign what tables of events have gained, and that nothing else has come, once an interval.

    Args:
        log: of the root.
        driver: who says so: the id of its spool.
        now: UTC microseconds.

    Raises:
        EvidenceError: the key cannot be used.
        IngestError: the log cannot be written.
    """
    head = log.head()
    quiet = head.tree.size and now - head.time >= INTERVAL // timedelta(microseconds=1)
    _append(log, [Draft("INTERVAL", {"driver": driver})] if quiet else [], {})


def bind_retention(log: DigestLog, gone: Mapping[str, Sequence[date]]) -> None:
    """Sign that days are deleted, with the roots of what goes; the rows are there still.

    Args:
        log: of the root.
        gone: days (UTC) by table; of tables that no digest binds as well, which are left out.

    Raises:
        EvidenceError: the key cannot be used.
        IngestError: the log cannot be written.
    """
    bound = {*(table.name for table in AUDIT_TABLES), *(one.name for one in EVENT_TABLES)}
    wanted = {(table, day.isoformat()) for table, days in gone.items() if table in bound for day in days}
    if not wanted or not log.head().tree.size:
        return
    roots: dict[tuple[str, str], list[bytes]] = {place: [] for place in sorted(wanted)}
    rows: Counter[tuple[str, str]] = Counter()
    for entry in log.said(("ROWS", "EVENTS")):
        for part in entry["parts"]:
            place = (part["table"], part["day"])
            if place in roots:
                roots[place].append(bytes.fromhex(part["root"]))
                rows[place] += part["rows"]
    deleted = [
        {"table": table, "day": day, "rows": rows[table, day], "entries": len(some), "root": root(some).hex()}
        for (table, day), some in roots.items()
    ]
    log.append([Draft("RETENTION", {"deleted": deleted})])


def parts_of(table: AuditTable, rows: pa.Table) -> Iterator[Part]:
    """What an entry says of a table's rows, for each of their days."""
    from pyarrow import compute

    columns = columns_of(table)
    days = compute.cast(rows[table.time], "date32")
    for day in sorted(compute.unique(days).to_pylist()):
        some = rows.filter(compute.equal(days, day))
        leaves = leaves_of(some["query_id"].to_pylist(), row_texts(some, columns))
        yield Part(table.name, day.isoformat(), fingerprint(columns), leaves)


def columns_of(table: AuditTable) -> Columns:
    """The columns of a table that count: all but the day, which is made of the time."""
    return [(name, kind) for name, kind, _ in table.columns]


def _append(log: DigestLog, drafts: Sequence[Draft], columns: Mapping[str, Columns]) -> None:
    head = log.head()
    events = new_events(log, head)
    if not (drafts or events.parts):
        return
    first = [] if head.tree.size else [Draft("BEGIN", {"key": log.key, "unbound": unbound_rows(log)})]
    listed = [
        draft for one in (*columns.values(), *events.columns.values()) for draft in log.columns(one, head)
    ]
    also = [Draft("EVENTS", {"versions": dict(events.versions)}, events.parts)] if events.parts else []
    log.append([*first, *listed, *also, *drafts], events.versions)
