"""Appends the records of one spool to the audit tables, each exactly once, by a streaming query.

In: a spool folder's `sealed/*.jsonl`. Out: appended rows in `<root>/access_history` and
`<root>/query_history`, and in the tables of lineage where a statement has edges. Exactly once by two
means: the file source's checkpoint lies beside the segments and never reads a file twice, and a batch
that a killed ingest had begun appends only the rows that a table lacks when it is run again: each table
has all rows of a batch or none. A statement that was shown as RUNNING (`audit.ingest.running`)
has its row replaced in the same commit.

Not by Delta's txnAppId and txnVersion: to look one up, Delta 4.4 reads the whole state of the table at
each commit (1.1 s of the 1.5 s that a small append took, two cores).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from audit.core.clock import SystemClock, to_datetime
from audit.core.file_paths import local_path
from audit.core.ids import id_micros
from audit.ingest.aggregates import HAS_AGGREGATE, aggregate_rows, aggregate_schema, has_aggregates
from audit.ingest.edges import HAS_EDGES, edge_rows, edge_schema, has_edges
from audit.ingest.missing_rows import missing_rows
from audit.ingest.running import Published, publish
from audit.record.access_record import Started
from audit.spark.delta.conflicts import retried
from audit.spool import ingest_lock, remove_checkpoint, remove_ingested
from audit.spool.layout import Layout
from audit.store.commit_lock import commit_lock
from audit.store.days.compaction import compact
from audit.store.days.summary import forget_since
from audit.store.error_translation import as_ingest_error
from audit.store.tables import (
    ACCESS_HISTORY,
    AUDIT_TABLES,
    COLUMN_LINEAGE,
    LINEAGE_TABLES,
    QUERY_HISTORY,
    TABLE_LINEAGE,
    AuditTable,
    require_tables,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# An entry is `<crc32, 8 hex digits> <kind> <json>`; the checksum is over `<kind> <json>`, and the JSON begins
# with `{"query_id":"<36 characters>"`. All in BINARY: length and substring are O(n) on STRING (Spark 4.2),
# which cost more than parsing and writing the JSON together.
_RECORDS = "substring(line, 10, 2) IN (X'5220', X'4720')"  # R, and G: a gap has a row of query_history
# As numbers: the first `lower` of a JVM builds tables of Unicode for a second.
_INTACT = "conv(CAST(substring(line, 1, 8) AS STRING), 16, 10) = CAST(crc32(substring(line, 10)) AS STRING)"
_RECORD = f"CASE WHEN {_INTACT} THEN CAST(substring(line, 12) AS STRING) END"
_QUERY_ID = "CAST(substring(line, 25, 36) AS STRING) AS query_id"
# Both read a record in whole and skip the other's part; a line that is not intact is null, which has no rows.
_SCHEMA = {
    ACCESS_HISTORY: f"STRUCT<access: ARRAY<STRUCT<{ACCESS_HISTORY.row_schema}>>>",
    QUERY_HISTORY: f"STRUCT<query: STRUCT<{QUERY_HISTORY.row_schema}>>",
    COLUMN_LINEAGE: edge_schema(COLUMN_LINEAGE, "columns"),
    TABLE_LINEAGE: edge_schema(TABLE_LINEAGE, "tables"),
}
_ROWS: dict[AuditTable, Callable[[DataFrame], DataFrame]] = {
    ACCESS_HISTORY: lambda parsed: parsed.selectExpr("inline(r.access)"),
    QUERY_HISTORY: lambda parsed: parsed.selectExpr("inline(filter(array(r.query), q -> q IS NOT NULL))"),
    COLUMN_LINEAGE: partial(edge_rows, COLUMN_LINEAGE, "columns"),
    TABLE_LINEAGE: partial(edge_rows, TABLE_LINEAGE, "tables"),
}
_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one ingest: counts of segments (files), statements, and damaged files in quarantine."""

    segments: int = 0
    statements: int = 0
    damaged: tuple[Path, ...] = ()


RunningSource = Callable[[], Iterable[Started]]


def ingest_folder(spark: SparkSession, folder: Path, root: str, running: RunningSource = tuple) -> Ingested:
    """Ingest all sealed segments of one driver's spool into the audit tables.

    Returns when all segments that were sealed at the call are committed. It can be killed at any point and
    run again; locks keep two processes from running it on one folder, or on one local root.

    Args:
        spark: a session of the audit's own.
        folder: a driver's spool, alive or dead.
        root: folder of the audit tables, which exist.
        running: gives the statements to show as RUNNING. It is called under the spool's ingest lock, so
            that no record of what it gives has been ingested.

    Raises:
        IngestError: Spark or Delta raised an error; the records stay in the spool.
        TableAlteredError: an audit table is not as this version made it, or gone.
    """
    # The kernel frees the ingest lock with a killed Python, whose JVM may still be committing: it holds the
    # other one, on the spool where the root's commits need none.
    lock_root = root if local_path(root) is not None else str(folder)
    with ingest_lock(folder, timeout=_LOCK_SECONDS), commit_lock(spark, lock_root):
        return _take_in(spark, folder, root, tuple(running()))


def _take_in(spark: SparkSession, folder: Path, root: str, running: tuple[Started, ...]) -> Ingested:
    layout = Layout(folder)
    segments = layout.sealed_segments()
    if not segments and not running:
        return Ingested()
    with as_ingest_error(f"the records of {folder} could not be taken into {root}"):
        made = any(has_edges(segment) for segment in segments)
        require_tables(spark, root, edges=made, upgrade=True)
        published = publish(spark, folder, root, running)
        if not segments:
            return Ingested()
        batches = _run(spark, layout, root, published)
        if local_path(root) is not None:
            # Hadoop writes without fsync: a power cut must not take the tables' files after the segments.
            os.sync()
        removed = remove_ingested(folder, segments)
        if removed.first_id is not None:
            # A UUIDv7 holds its time, which is near enough for what to compact.
            since = to_datetime(id_micros(removed.first_id)).date()
            forget_since(spark, root, since, SystemClock().now())
            for table in AUDIT_TABLES:
                if batches[table]:
                    compact(spark, table, root, since, batches[table] + 1)
    return Ingested(len(segments), removed.statements, removed.damaged)


def _run(spark: SparkSession, layout: Layout, root: str, published: Published) -> Counter[AuditTable]:
    """Take in what is sealed; returns the number of commits to each table."""
    begun = _begun(layout.checkpoint)
    batches: Counter[AuditTable] = Counter()

    def take(batch: DataFrame, batch_id: int) -> None:
        nonlocal published
        # The stream tells the files alone: Spark hands a batch's rows over one by one, as objects.
        # The stream's schema has no rows of text: its `content` is never read.
        files = [layout.sealed / PurePosixPath(row["path"]).name for row in batch.collect()]
        lines = batch.sparkSession.read.text([_pattern(file) for file in files])
        lines = lines.selectExpr("CAST(value AS BINARY) AS line")
        records = lines.where(_RECORDS)
        replaced = _among(records, published.days)
        made = any(has_edges(file) for file in files)
        aggregated = any(has_aggregates(file) for file in files)
        for table in AUDIT_TABLES:
            if made or table not in LINEAGE_TABLES:
                rows = _rows(table, records, aggregated=aggregated)
                _append(table, root, rows, published.predicate(replaced), again=batch_id == begun)
                batches[table] += 1
        if replaced:
            published = published.without(replaced).save(layout.path)

    stream = (
        spark.readStream.format("binaryFile")
        .schema(_FILE)
        # Spark's file source ignores files older than maxFileAge; clocks jump, so all count here.
        .option("maxFileAge", "36500d")
        .load(_pattern(layout.sealed))
        .select("path")
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", f"file:{layout.checkpoint}")
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    return batches


def _pattern(path: Path) -> str:
    r"""A local path as Hadoop reads one: nothing percent-encoded, and no character that stands for others.

    >>> _pattern(Path("/a b%20/[x]*"))
    'file:/a b%20/\\[x\\]\\*'
    """
    return "file:" + re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path))


def _begun(checkpoint: Path) -> int | None:
    """The batch that an earlier ingest began and may not have ended, which the stream runs again."""
    if _is_torn(checkpoint):
        remove_checkpoint(checkpoint)
        return 0
    planned, done = (
        max((int(path.name) for path in (checkpoint / part).glob("*") if path.name.isdigit()), default=-1)
        for part in ("offsets", "commits")
    )
    return planned if planned > done else None


def _is_torn(checkpoint: Path) -> bool:
    """Whether a power cut has left an empty checkpoint file; Spark starts no stream with one."""
    return any(path.is_file() and path.stat().st_size == 0 for path in checkpoint.rglob("[!.]*"))


def _among(records: DataFrame, query_ids: Collection[str]) -> set[str]:
    """The statements that have a record in the batch."""
    if not query_ids:
        return set()
    listed = ", ".join(f"'{query_id}'" for query_id in query_ids)
    found = records.where(_INTACT).selectExpr(_QUERY_ID).where(f"query_id IN ({listed})").collect()
    return {row["query_id"] for row in found}


def _append(table: AuditTable, root: str, rows: DataFrame, running: str, *, again: bool) -> None:
    """Commit a table's rows of a batch; the same commit deletes the RUNNING rows that `running` selects."""
    if again:
        ended = "execution_status <> 'RUNNING'" if table is QUERY_HISTORY else "true"
        rows = missing_rows(table, root, rows, ended)
    writer: Any = rows.write.format("delta").mode("append")
    if running and table is QUERY_HISTORY:
        writer = writer.mode("overwrite").option("replaceWhere", running)
    retried(lambda: writer.save(table.location(root)))


def _rows(table: AuditTable, records: DataFrame, *, aggregated: bool) -> DataFrame:
    if table in LINEAGE_TABLES:
        return _ROWS[table](_parsed(records.where(HAS_EDGES), _SCHEMA[table]))
    if not aggregated:
        return _ROWS[table](_parsed(records, _SCHEMA[table]))
    single = _ROWS[table](_parsed(records.where(f"NOT {HAS_AGGREGATE}"), _SCHEMA[table]))
    alike = aggregate_rows(table, _parsed(records.where(HAS_AGGREGATE), aggregate_schema()))
    return single.unionByName(alike)


def _parsed(records: DataFrame, schema: str) -> DataFrame:
    # A record is the spool's own: one that does not parse must stop the ingest, not become nulls.
    return records.selectExpr(f"from_json({_RECORD}, '{schema}', map('mode', 'FAILFAST')) AS r")
