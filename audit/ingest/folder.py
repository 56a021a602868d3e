"""Appends the records of one spool to the audit tables, each exactly once.

In: a spool folder's `sealed/*.jsonl`. Out: appended rows in `<root>/access_history` and
`<root>/query_history`, and in the tables of lineage where a statement has edges. Exactly once by two
means: a note beside the segments says which of them are being committed (`audit.ingest.batches`), and a batch
that a killed ingest had begun appends only the rows that a table lacks when it is run again: each table
has all rows of a batch or none. A statement that was shown as RUNNING (`audit.ingest.running`)
has its row replaced in the same commit.

Arrow makes the rows and the files, and Delta commits them: no Spark job runs, and small ingests take
milliseconds. Only a batch that replaces RUNNING rows is written by Spark, which rewrites their files.

Not by Delta's txnAppId and txnVersion: to look one up, Delta 4.4 reads the whole state of the table at
each commit (1.1 s of the 1.5 s that a small append took, two cores).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from audit.core.clock import SystemClock, to_datetime
from audit.core.errors import IngestError
from audit.core.file_paths import local_path
from audit.core.ids import id_micros
from audit.evidence import row_texts
from audit.evidence.at_once import started
from audit.evidence.bind import bind_batch, keep_alive
from audit.evidence.digest_log import DigestLog
from audit.ingest.batches import Batch, batches, forget
from audit.ingest.edge_mark import has_edges
from audit.ingest.missing_rows import missing_rows
from audit.ingest.rows import rows_of
from audit.ingest.running import Published, publish
from audit.record.access_record import Started
from audit.spark.arrow import frame_of
from audit.spark.delta import append_files
from audit.spark.delta.conflicts import retried
from audit.spool import ingest_lock, remove_ingested
from audit.spool.layout import Layout
from audit.store.append import append_audit_rows, commit_audit_rows, write_audit_rows
from audit.store.commit_lock import commit_lock
from audit.store.days.compaction import compact
from audit.store.days.summary import forget_since
from audit.store.error_translation import IN_THE_SPOOL, as_ingest_error
from audit.store.made_tables import require_tables
from audit.store.tables import AUDIT_TABLES, LINEAGE_TABLES, QUERY_HISTORY, AuditTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.evidence.row_texts import Rows
    from audit.spark.delta.append_files import NewFiles
    from audit.spool.segment import Survey

_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one ingest: counts of segments (files), statements, and damaged files in quarantine."""

    segments: int = 0
    statements: int = 0
    damaged: tuple[Path, ...] = ()


RunningSource = Callable[[], Iterable[Started]]


def prepare(spark: SparkSession) -> None:
    """Load what the first ingest of a process needs, so that a short driver need not wait for it at its exit.

    Args:
        spark: a session of the audit's own.
    """
    append_files.prepare(spark)
    row_texts.prepare()


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
    clock = SystemClock()
    log = DigestLog(spark, root, layout.home, clock)
    if not segments and not running:
        with as_ingest_error(f"what has happened under {root} could not be signed"):
            keep_alive(log, layout.driver_id, clock.now())
        return Ingested()
    with as_ingest_error(f"the records of {folder} could not be taken into {root}"):
        made = any(has_edges(segment) for segment in segments)
        require_tables(spark, root, edges=made, upgrade=True)
        published = publish(spark, folder, root, running)
        if not segments:
            return Ingested()
        commits: Counter[AuditTable] = Counter()
        statements = 0
        oldest: list[str] = []
        damaged: list[Path] = []
        for batch in batches(layout):
            surveys: dict[Path, Survey] = {}
            if not batch.is_committed:
                rows = _rows(layout, batch, surveys)
                published = _commit(spark, layout, root, log, batch, rows, published, commits)
            removed = remove_ingested(folder, batch.files, surveys)
            forget(layout)
            statements += removed.statements
            damaged += removed.damaged
            if removed.first_id is not None:
                oldest.append(removed.first_id)
        if oldest:
            # A UUIDv7 holds its time, which is near enough for what to compact.
            since = to_datetime(id_micros(min(oldest))).date()
            forget_since(spark, root, since, clock.now())
            for table, number in commits.items():
                compact(spark, table, root, number + 1, since)
            log.compact(len(oldest) + 1)
    return Ingested(len(segments), statements, tuple(damaged))


def _commit(
    spark: SparkSession,
    layout: Layout,
    root: str,
    log: DigestLog,
    batch: Batch,
    rows: Mapping[AuditTable, Rows],
    published: Published,
    commits: Counter[AuditTable],
) -> Published:
    """Commit the rows of a batch to each table; returns the rows that still stand as RUNNING."""
    batch.note(layout, is_committed=False)
    replaced = _among(rows[QUERY_HISTORY].table, published.days)
    made = {table: rows[table].table.select(table.names) for table in AUDIT_TABLES if table in rows}
    early = {
        table: some for table, some in made.items()
        if local_path(root) is not None and not batch.is_begun and not (table is QUERY_HISTORY and replaced)
    }  # fmt: skip
    with _written(spark, root, early) as written:
        bind_batch(log, rows, f"{layout.driver_id}/{batch.name}", again=batch.is_begun)
        files = written()
    for table, some in made.items():
        where = published.predicate(replaced) if table is QUERY_HISTORY else ""
        _append(spark, table, root, some, where, files.get(table), again=batch.is_begun)
        commits[table] += 1
    if local_path(root) is not None:
        # A power cut must not take the tables' files after the segments.
        os.sync()
    if replaced:
        published = published.without(replaced).save(layout.path)
    batch.note(layout, is_committed=True)
    return published


@contextmanager
def _written(
    spark: SparkSession, root: str, rows: Mapping[AuditTable, pa.Table]
) -> Iterator[Callable[[], Mapping[AuditTable, NewFiles]]]:
    """Write files of rows while a block signs them, which asks for the files; they go if it fails."""
    files: dict[AuditTable, NewFiles] = {}

    def write() -> Mapping[AuditTable, NewFiles]:
        for table, some in rows.items():
            files[table] = write_audit_rows(spark, table, root, some)
        return files

    try:
        with ThreadPoolExecutor(1) as pool:
            begun = started(pool, write)
            yield write if begun is None else begun.result
    except BaseException:
        for some in files.values():
            some.discard()
        raise


def _rows(layout: Layout, batch: Batch, surveys: dict[Path, Survey]) -> dict[AuditTable, Rows]:
    """The rows of a batch; no table of lineage where there are no edges."""
    try:
        found = rows_of(batch.files, surveys)
    except pa.ArrowInvalid as error:
        raise IngestError(
            f"a record in {layout.sealed} is not of this version's form: {error}",
            f"ingest it with the version that wrote it; {IN_THE_SPOOL}",
        ) from error
    return {table: rows for table, rows in found.items() if len(rows.table) or table not in LINEAGE_TABLES}


def _among(rows: pa.Table, query_ids: Collection[str]) -> set[str]:
    """The statements that have a row in the batch."""
    return set(query_ids).intersection(rows["query_id"].to_pylist()) if query_ids else set()


def _append(
    spark: SparkSession,
    table: AuditTable,
    root: str,
    rows: pa.Table,
    running: str,
    files: NewFiles | None,
    *,
    again: bool,
) -> None:
    """Commit a table's rows of a batch; the same commit deletes the RUNNING rows that `running` selects.

    Where their files are written already nothing is left but the commit.
    """
    if files is not None:
        commit_audit_rows(spark, files)
        return
    if again:
        ended = "execution_status <> 'RUNNING'" if table is QUERY_HISTORY else "true"
        rows = missing_rows(spark, table, root, rows, ended)
    if running:
        replaces: Any = frame_of(spark, rows).write.format("delta").mode("overwrite")
        replaces = replaces.option("replaceWhere", running)
        retried(lambda: replaces.save(table.location(root)))
    else:
        append_audit_rows(spark, table, root, rows)
