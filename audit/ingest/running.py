"""Publishes running statements as RUNNING rows of query_history, which their records replace.

In: a driver's spool folder, living or dead. Out: RUNNING rows in query_history, and the ids of those
rows, which ingest replaces. A query id has one row at any time: `running.json`
beside the journal lists published rows before the commit, so that a killed ingest appends again only the rows
that the table lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from audit.core.clock import SystemClock
from audit.core.json_text import to_json
from audit.evidence.bind import bind_batch
from audit.evidence.digest_log import DigestLog
from audit.evidence.row_texts import Rows
from audit.ingest.arrow_lists import fields_of
from audit.ingest.arrow_records import parsed
from audit.ingest.missing_rows import missing_rows
from audit.record.access_record import Ended, Started, build_row
from audit.spark.delta.conflicts import retried
from audit.spark.unrecorded import unrecorded
from audit.spool import read_segment
from audit.spool.layout import Layout, write_file
from audit.store.append import append_audit_rows
from audit.store.tables import QUERY_HISTORY, path_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE = "running.json"


@dataclass(frozen=True, slots=True)
class Published:
    """RUNNING rows of one spool: the day (UTC) of each by query id, and those of the newest commit.

    `rows` are the rows of a pending commit; () once it is done.
    """

    days: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[dict[str, Any], ...] = ()

    @staticmethod
    def load(folder: Path) -> Published:
        """The published rows of a spool's folder; none without the file."""
        try:
            document = orjson.loads((folder / _FILE).read_bytes())
        except FileNotFoundError:
            return Published()
        return Published(document["days"], tuple(document["rows"]))

    def save(self, folder: Path) -> Published:
        """Write the file, synced to disk."""
        document = {"days": dict(self.days), "rows": list(self.rows)}
        write_file(folder / _FILE, to_json(document))
        return self

    def without(self, query_ids: Iterable[str]) -> Published:
        """The rest, after records have replaced the rows of these statements."""
        gone = set(query_ids)
        return replace(self, days={k: day for k, day in self.days.items() if k not in gone})

    def predicate(self, query_ids: Collection[str]) -> str:
        """SQL that is true for the RUNNING rows of these statements, and prunes partitions and files."""
        if not query_ids:
            return ""
        chosen = sorted(set(query_ids))
        days = sorted({self.days[query_id] for query_id in chosen})
        listed = ", ".join(f"DATE'{day}'" for day in days)
        ids = ", ".join(f"'{query_id}'" for query_id in chosen)
        return f"query_date IN ({listed}) AND query_id IN ({ids}) AND execution_status = 'RUNNING'"


def running_in(folder: Path) -> tuple[Started, ...]:
    """The running statements of a running driver, read from its journal.

    A statement may have ended meanwhile; but its record is not ingested as long as the caller holds the
    spool's ingest lock.
    """
    started: dict[str, Started] = {}
    over: set[str] = set()
    for path in Layout(folder).open_segments():
        try:
            entries = read_segment(path).entries
        except FileNotFoundError:  # sealed meanwhile; running statements are in the next segment
            continue
        for entry in entries:
            if entry.kind == "S":
                started[entry.query_id] = Started.from_dict(entry.payload)
            elif entry.kind in ("E", "R"):
                over.add(entry.query_id)
    return tuple(start for query_id, start in started.items() if query_id not in over)


def publish(spark: SparkSession, folder: Path, root: str, running: Iterable[Started]) -> Published:
    """Append a RUNNING row for each statement without one. The caller holds the ingest lock.

    Returns:
        Everything of this spool that is published and not replaced.
    """
    known = Published.load(folder)
    # A killed ingest may have committed them or not: only missing rows are appended.
    if known.rows:
        known = _append(spark, folder, root, known, again=True)
    new = [started for started in running if started.query_id not in known.days]
    if not new:
        return known
    rows = tuple(build_row(started, Ended("RUNNING"), None)["query"] for started in new)
    days = {**known.days, **{row["query_id"]: row["start_time"][:10] for row in rows}}
    return _append(spark, folder, root, Published(days, rows).save(folder))


def close_orphans(spark: SparkSession, folder: Path, root: str) -> None:
    """Change RUNNING rows of a dead driver without a record (their START was damaged) to INCOMPLETE."""
    left = Published.load(folder)
    if left.days:
        table, where = path_name(QUERY_HISTORY, root), left.predicate(left.days)
        _bind_orphans(spark, Layout(folder), root, where)
        update = f"UPDATE {table} SET execution_status = 'INCOMPLETE' WHERE {where}"  # noqa: S608 - our own ids
        retried(lambda: spark.sql(update).collect())
        left.without(left.days).save(folder)


def _bind_orphans(spark: SparkSession, layout: Layout, root: str, where: str) -> None:
    """Sign the rows as they will be."""
    with unrecorded():
        running = spark.read.format("delta").load(QUERY_HISTORY.location(root)).where(where)
        rows = running.selectExpr("* EXCEPT (execution_status)", "'INCOMPLETE' AS execution_status").toArrow()
    log = DigestLog(spark, root, layout.home, SystemClock())
    bind_batch(log, {QUERY_HISTORY: Rows(rows)}, f"{layout.driver_id}/orphans", again=False)


def _append(
    spark: SparkSession, folder: Path, root: str, published: Published, *, again: bool = False
) -> Published:
    lines = b"\n".join(to_json({"query": row}) for row in published.rows)
    rows = fields_of(parsed(lines)["query"]).select(QUERY_HISTORY.names)
    if again:
        rows = missing_rows(spark, QUERY_HISTORY, root, rows)
    append_audit_rows(spark, QUERY_HISTORY, root, rows)
    return replace(published, rows=()).save(folder)
