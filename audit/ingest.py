"""Spool to Delta: PySpark Structured Streaming over sealed segments, exactly once into both tables.

In: a spool folder's `sealed/*.jsonl`. Out: appended rows in `<root>/access_history` and
`<root>/query_history`. Exactly once by two means: the file source's checkpoint lies beside the
segments and never reads a file twice, and Delta's txnAppId/txnVersion make a batch that is run again
after a crash a no-op for the table that already has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.errors import IngestError
from audit.spool import ingest_lock, remove_ingested
from audit.spool.layout import Layout
from audit.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable, create_tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# An entry is `<crc32, 8 hex digits> <kind> <json>`; the checksum is over `<kind> <json>`.
_BODY_FROM = 10
_JSON_FROM = 12
_LOCK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one ingest took in: segments (files), statements, and files set aside as damaged."""

    segments: int = 0
    statements: int = 0
    damaged: tuple[Path, ...] = ()


def ingest_folder(spark: SparkSession, folder: Path, root: str) -> Ingested:
    """Take all sealed segments of one driver's spool into the audit tables.

    Returns when everything that was sealed at the call is committed. Safe to kill at any point and to
    run again; two processes never run it at once on one folder.

    Raises:
        IngestError: Spark or Delta refused; the records stay in the spool.
        TableAlteredError: an audit table is not as this version made it.
    """
    with ingest_lock(folder, timeout=_LOCK_SECONDS):
        segments = Layout(folder).sealed_segments()
        if not segments:
            return Ingested()
        create_tables(spark, root)
        statements = _run(spark, folder, root)
        damaged = remove_ingested(folder, segments)
        return Ingested(len(segments), statements, damaged)


def _run(spark: SparkSession, folder: Path, root: str) -> int:
    from pyspark.errors import StreamingQueryException

    counted: list[int] = []

    def take(batch: DataFrame, batch_id: int) -> None:
        counted.append(_append_batch(batch, batch_id, f"audit-ingest-{folder.name}", root))

    stream = (
        spark.readStream.format("text")
        .load((folder / "sealed").as_uri())
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", (folder / "checkpoint").as_uri())
        .trigger(availableNow=True)
        .start()
    )
    try:
        stream.awaitTermination()
    except StreamingQueryException as error:
        raise IngestError(
            f"the records of {folder} could not be taken into {root}: {error}",
            "they are safe in the spool; mend the cause and run `audit ingest`",
        ) from error
    return sum(counted)


def _append_batch(batch: DataFrame, batch_id: int, application: str, root: str) -> int:
    from pyspark.sql import functions as f

    intact = (f.substring("value", _BODY_FROM, 2) == "R ") & (f.substring("value", 1, 8) == _checksum())
    records = batch.where(intact).select(f.expr(f"substring(value, {_JSON_FROM})").alias("json"))
    _append(_access_rows(records), ACCESS_HISTORY, root, application, batch_id)
    return _append(_query_rows(records), QUERY_HISTORY, root, application, batch_id)


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


def _append(rows: DataFrame, table: AuditTable, root: str, application: str, batch_id: int) -> int:
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation()
    writer: Any = rows.observe(seen, f.count(f.lit(1)).alias("rows")).write.format("delta").mode("append")
    writer.option("txnAppId", application).option("txnVersion", batch_id).save(table.location(root))
    return int(seen.get["rows"])
