"""Statements that still run, shown as RUNNING in query_history until their record takes the row's place.

In: a driver's spool folder, living or dead. Out: RUNNING rows in query_history, and the ids of those
rows, which ingest replaces. A query id has one row at any time: what is published is written down
beside the journal before the table has it (`running.json`), so that an ingest that was killed in
between does the same again, for the rows that the table lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from audit.json_text import to_json
from audit.record import Ended, Started, build_row
from audit.spool import read_segment
from audit.spool.layout import Layout, write_file
from audit.store.conflicts import retried
from audit.store.tables import QUERY_HISTORY, delta_path, lacking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILE = "running.json"


@dataclass(frozen=True, slots=True)
class Published:
    """RUNNING rows of one spool: the day (UTC) of each by query id, and those of the newest commit.

    `rows` are the rows that a commit appends; they are empty once it is known to be done.
    """

    days: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[dict[str, Any], ...] = ()

    @staticmethod
    def load(folder: Path) -> Published:
        """What a spool's folder says; nothing where it says nothing."""
        try:
            said = orjson.loads((folder / _FILE).read_bytes())
        except FileNotFoundError:
            return Published()
        return Published(said["days"], tuple(said["rows"]))

    def save(self, folder: Path) -> Published:
        """Write it down, durably."""
        said = {"days": dict(self.days), "rows": list(self.rows)}
        write_file(folder / _FILE, to_json(said))
        return self

    def without(self, query_ids: Iterable[str]) -> Published:
        """The same once the records of these statements have taken their rows' places."""
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
    """The statements that run in a living driver, read from its journal beside it.

    What it says may be over when it returns; but the record of none of them has been ingested, as long
    as the caller holds the spool's ingest lock.
    """
    started: dict[str, Started] = {}
    over: set[str] = set()
    for path in Layout(folder).open_segments():
        try:
            entries = read_segment(path).entries
        except FileNotFoundError:  # sealed meanwhile; what still runs stands in the next one
            continue
        for entry in entries:
            if entry.kind == "S":
                started[entry.query_id] = Started.from_dict(entry.payload)
            elif entry.kind in ("E", "R"):
                over.add(entry.query_id)
    return tuple(start for query_id, start in started.items() if query_id not in over)


def publish(spark: SparkSession, folder: Path, root: str, running: Iterable[Started]) -> Published:
    """Append a RUNNING row for each statement that has none yet. The caller holds the ingest lock.

    Returns:
        Everything of this spool that is published and not replaced.
    """
    known = Published.load(folder)
    if known.rows:
        known = _append(spark, folder, root, known, again=True)
    new = [started for started in running if started.query_id not in known.days]
    if not new:
        return known
    rows = tuple(build_row(started, Ended("RUNNING"), None)["query"] for started in new)
    days = {**known.days, **{row["query_id"]: row["start_time"][:10] for row in rows}}
    return _append(spark, folder, root, Published(days, rows).save(folder))


def close_orphans(spark: SparkSession, folder: Path, root: str) -> None:
    """Make RUNNING rows of a dead driver that no record has replaced (its start was damaged) INCOMPLETE."""
    left = Published.load(folder)
    if left.days:
        table, where = delta_path(QUERY_HISTORY, root), left.predicate(left.days)
        update = f"UPDATE {table} SET execution_status = 'INCOMPLETE' WHERE {where}"  # noqa: S608 - our own ids
        retried(lambda: spark.sql(update).collect())
        left.without(left.days).save(folder)


def _append(
    spark: SparkSession, folder: Path, root: str, published: Published, *, again: bool = False
) -> Published:
    lines = [(to_json(row).decode(),) for row in published.rows]
    rows = spark.createDataFrame(lines, "json STRING").selectExpr(
        f"from_json(json, '{QUERY_HISTORY.row_schema}') AS r"
    )
    rows = rows.selectExpr("r.*").coalesce(1)
    if again:
        rows = lacking(QUERY_HISTORY, root, rows)
    writer: Any = rows.write.format("delta").mode("append")
    retried(lambda: writer.save(QUERY_HISTORY.location(root)))
    return replace(published, rows=()).save(folder)
