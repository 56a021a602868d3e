"""Spool to Delta: PySpark Structured Streaming over sealed segments, exactly once into both tables.

In: a spool folder's `sealed/*.jsonl`. Out: appended rows in `<root>/access_history` and
`<root>/query_history`. Exactly once by two means: the file source's checkpoint lies beside the
segments and never reads a file twice, and Delta's txnAppId/txnVersion make a batch that is run again
after a crash a no-op for the table that already has it. A statement that was shown as RUNNING
(`audit.running`) has its row replaced in the same commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.clock import to_datetime
from audit.commit_lock import commit_lock
from audit.compaction import compact
from audit.conflicts import retried
from audit.errors import AuditError, IngestError
from audit.ids import id_micros
from audit.record import Started
from audit.running import Published, publish
from audit.spool import ingest_lock, remove_ingested
from audit.spool.layout import Layout
from audit.tables import ACCESS_HISTORY, AUDIT_TABLES, QUERY_HISTORY, AuditTable, require_tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# An entry is `<crc32, 8 hex digits> <kind> <json>`; the checksum is over `<kind> <json>`, and the JSON
# begins with `{"query_id":"<36 characters>"`.
_BODY_FROM = 10
_JSON_FROM = 12
_ID_FROM = 25
_ID_LENGTH = 36
_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one ingest took in: segments (files), statements, and files set aside as damaged."""

    segments: int = 0
    statements: int = 0
    damaged: tuple[Path, ...] = ()


Running = Callable[[], Iterable[Started]]


def ingest_folder(spark: SparkSession, folder: Path, root: str, running: Running = tuple) -> Ingested:
    """Take all sealed segments of one driver's spool into the audit tables.

    Returns when everything that was sealed at the call is committed. Safe to kill at any point and to
    run again; two processes never run it at once on one folder, nor on one local root.

    Args:
        spark: a session of the audit's own.
        folder: a driver's spool, alive or dead.
        root: folder of the audit tables, which exist.
        running: gives the statements to show as RUNNING. It is called under the spool's ingest lock, so
            that no record of what it gives has been ingested.

    Raises:
        IngestError: Spark or Delta refused; the records stay in the spool.
        TableAlteredError: an audit table is not as this version made it, or gone.
    """
    with ingest_lock(folder, timeout=_LOCK_SECONDS), commit_lock(spark, root):
        return _take_in(spark, folder, root, tuple(running()))


def _take_in(spark: SparkSession, folder: Path, root: str, running: tuple[Started, ...]) -> Ingested:
    segments = Layout(folder).sealed_segments()
    if not segments and not running:
        return Ingested()
    with naming(f"the records of {folder} could not be taken into {root}"):
        require_tables(spark, root)
        published = publish(spark, folder, root, running)
        if not segments:
            return Ingested()
        taken = _run(spark, folder, root, published)
        if taken.replaced:
            published.without(taken.replaced).save(folder)
        damaged = remove_ingested(folder, segments)
        if taken.days:
            for table in AUDIT_TABLES:
                compact(spark, table, root, min(taken.days), taken.batches + 1)
    return Ingested(len(segments), taken.statements, damaged)


@contextmanager
def naming(problem: str) -> Iterator[None]:
    """Turns what Spark, Delta and the disk raise in the block into an IngestError about `problem`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except AuditError:
        raise
    except (PySparkException, Py4JError, OSError) as error:
        raise IngestError(
            f"{problem} ({_first_lines(str(error))})",
            "they are safe in the spool; mend the cause and run `audit ingest`",
        ) from error


def _first_lines(text: str, characters: int = 600) -> str:
    """The head of a message of Spark's, without the stack trace that follows it."""
    head = " ".join(
        line.strip() for line in text.split("\n\tat ", maxsplit=1)[0].splitlines() if line.strip()
    )
    return head if len(head) <= characters else head[:characters] + " ..."


@dataclass(slots=True)
class _Taken:
    """What the batches of one run held."""

    batches: int = 0
    statements: int = 0
    days: set[date] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)


def _run(spark: SparkSession, folder: Path, root: str, published: Published) -> _Taken:
    taken = _Taken()
    application = f"audit-ingest-{folder.name}"

    def take(batch: DataFrame, batch_id: int) -> None:
        records = _records(batch)
        replaced = _measure(records, published, taken)
        _append(_access_rows(records), ACCESS_HISTORY, root, (application, batch_id))
        where = published.predicate(replaced) if replaced else ""
        _append(_query_rows(records), QUERY_HISTORY, root, (application, batch_id), where)

    stream = (
        spark.readStream.format("text")
        .load((folder / "sealed").as_uri())
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", (folder / "checkpoint").as_uri())
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    return taken


def _records(batch: DataFrame) -> DataFrame:
    """The JSON of the records whose checksum holds, and the ids of their statements."""
    from pyspark.sql import functions as f

    intact = (f.substring("value", _BODY_FROM, 2) == "R ") & (f.substring("value", 1, 8) == _checksum())
    json, query_id = f"substring(value, {_JSON_FROM})", f"substring(value, {_ID_FROM}, {_ID_LENGTH})"
    return batch.where(intact).selectExpr(f"{json} AS json", f"{query_id} AS query_id")


def _measure(records: DataFrame, published: Published, taken: _Taken) -> set[str]:
    """Count a batch; returns those of its statements that are shown as RUNNING.

    Not by an Observation: it waits for ever where Delta skips a batch that it already has (4.4).
    """
    from pyspark.sql import functions as f

    shown = f.col("query_id").isin([*published.days, ""])
    found = records.agg(
        f.count(f.lit(1)).alias("statements"),
        f.min("query_id").alias("first"),
        f.max("query_id").alias("last"),
        f.collect_set(f.when(shown, f.col("query_id"))).alias("replaced"),
    ).collect()[0]
    taken.batches += 1
    taken.statements += found["statements"]
    # A UUIDv7 holds its time, which is near enough for what to compact.
    taken.days |= {
        to_datetime(id_micros(query_id)).date() for query_id in (found["first"], found["last"]) if query_id
    }
    taken.replaced |= set(found["replaced"])
    return set(found["replaced"])


def _checksum() -> Column:
    from pyspark.sql import functions as f

    body = f.expr(f"encode(substring(value, {_BODY_FROM}), 'utf-8')")
    return f.lpad(f.lower(f.hex(f.crc32(body))), 8, "0")


def _access_rows(records: DataFrame) -> DataFrame:
    parsed = _parsed(records, f"access ARRAY<STRUCT<{_fields(ACCESS_HISTORY)}>>")
    return parsed.selectExpr("inline(r.access)")


def _query_rows(records: DataFrame) -> DataFrame:
    return _parsed(records, f"query STRUCT<{_fields(QUERY_HISTORY)}>").selectExpr("r.query.*")


def _fields(table: AuditTable) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind, _ in table.columns)


def _parsed(records: DataFrame, schema: str) -> DataFrame:
    from pyspark.sql import functions as f

    # A record is the spool's own: one that does not parse must stop the ingest, not become nulls.
    options: Mapping[str, str] = {"mode": "FAILFAST"}
    return records.select(f.from_json("json", schema, dict(options)).alias("r"))


def _append(
    rows: DataFrame, table: AuditTable, root: str, txn: tuple[str, int], replace_where: str = ""
) -> None:
    """One commit, a no-op where Delta knows its txn already; with a condition it replaces those rows."""
    if replace_where:
        # What is written holds more than what is replaced, which Delta would refuse.
        rows.sparkSession.conf.set("spark.databricks.delta.replaceWhere.constraintCheck.enabled", "false")
    application, version = txn

    def write() -> None:
        writer: Any = rows.write.format("delta").mode("overwrite" if replace_where else "append")
        if replace_where:
            writer = writer.option("replaceWhere", replace_where)
        writer.option("txnAppId", application).option("txnVersion", version).save(table.location(root))

    retried(write)
