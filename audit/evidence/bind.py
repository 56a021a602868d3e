"""Binds what an ingest takes in: signed before it is in the tables.

In: the rows of a batch. Out: an entry of the log. A killed ingest runs its batch again, which makes the same
rows: so an entry is never of rows that do not come. What tables of events have gained since, which statements
write by themselves, is bound with the next ingest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from audit.evidence.at_once import at_once
from audit.evidence.bound_tables import BOUND_TABLES
from audit.evidence.digest_log import DigestLog
from audit.evidence.entries import Draft
from audit.evidence.event_rows import new_events
from audit.evidence.merkle import root
from audit.evidence.unbound import unbound_rows

if TYPE_CHECKING:
    from datetime import date

    from audit.evidence.head import Head
    from audit.evidence.row_texts import Rows
    from audit.store.tables import AuditTable

INTERVAL = timedelta(hours=1)
"""An entry comes at least this often as long as a driver runs, so that a missing hour shows."""


def bind_batch(log: DigestLog, rows: Mapping[AuditTable, Rows], batch: str, *, again: bool) -> None:
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
    found = at_once(lambda one: list(BOUND_TABLES[one[0].name].parts(one[1])), rows.items())
    parts = [part for of_table in found for part in of_table]
    _append(log, log.head(), [Draft("ROWS", {"batch": batch}, parts)] if parts else [])


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
    _append(log, head, [Draft("INTERVAL", {"driver": driver})] if quiet else [])


def bind_retention(log: DigestLog, gone: Mapping[str, Sequence[date]]) -> None:
    """Sign that days are deleted, with the roots of what goes; the rows are there still.

    Args:
        log: of the root.
        gone: days (UTC) by table; of tables that no digest binds as well, which are left out.

    Raises:
        EvidenceError: the key cannot be used.
        IngestError: the log cannot be written.
    """
    bound = gone.keys() & BOUND_TABLES.keys()
    wanted = {(table, day.isoformat()) for table in bound for day in gone[table]}
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


def _append(log: DigestLog, head: Head, drafts: Sequence[Draft]) -> None:
    events = new_events(log, head)
    also = [Draft("EVENTS", {"versions": dict(events.versions)}, events.parts)] if events.parts else []
    wanted = [*also, *drafts]
    if not wanted:
        return
    first = [] if head.tree.size else [Draft("BEGIN", {"key": log.key, "unbound": unbound_rows(log)})]
    named = dict.fromkeys(part.table for draft in wanted for part in draft.parts)
    listed = [draft for name in named for draft in log.columns(BOUND_TABLES[name].counted, head)]
    log.append([*first, *listed, *wanted], events.versions)
