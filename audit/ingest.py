"""Spool to Delta: PySpark Structured Streaming over sealed segments, exactly once into both tables.

In: a spool folder's `sealed/*.jsonl`. Out: appended rows in `<root>/access_history` and
`<root>/query_history`. Exactly once by two means: the file source's checkpoint lies beside the
segments and never reads a file twice, and Delta's txnAppId/txnVersion make a batch that is run again
after a crash a no-op for the table that already has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audit.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable, create_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.spool import SpoolFolder

# An entry is `<crc32, 8 hex digits> <kind> <json>`; the checksum is over `<kind> <json>`.
_CHECKSUM_LENGTH = 8
_BODY_FROM = _CHECKSUM_LENGTH + 2
_JSON_FROM = _BODY_FROM + 2


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one ingest took in: segments (files), records (rows of query_history)."""

    segments: int
    records: int


def ingest_folder(spark: SparkSession, folder: SpoolFolder, root: str) -> Ingested:
    """Take all sealed segments of one spool folder into the audit tables.

    Returns when everything that was sealed at the call is committed. Safe to kill at any point and to
    run again; two processes never run it at once on one folder.
    """
    with folder.ingest_lock():
        segments = folder.sealed_segments()
        if not segments:
            return Ingested(0, 0)
        create_tables(spark, root)
        records = _run(spark, folder.path, root)
        folder.remove_ingested(segments)
        return Ingested(len(segments), records)


def _run(spark: SparkSession, folder: Path, root: str) -> int:
    counted: list[int] = []

    def take(batch: DataFrame, batch_id: int) -> None:
        counted.append(_append_batch(batch, batch_id, f"audit-ingest-{folder.name}", root))

    stream = (
        spark.readStream.format("text")
        .option("recursiveFileLookup", "true")
        .load(str(folder / "sealed"))
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    return sum(counted)


def _append_batch(batch: DataFrame, batch_id: int, application: str, root: str) -> int:
    from pyspark.sql import functions as f

    records = batch.where(
        (f.substring("value", _BODY_FROM, 2) == "R ")
        & (f.lower(f.substring("value", 1, _CHECKSUM_LENGTH)) == _checksum_of_body())
    ).select(f.expr(f"substring(value, {_JSON_FROM})").alias("json"))
    for table, rows in ((ACCESS_HISTORY, _access_rows(records)), (QUERY_HISTORY, _query_rows(records))):
        _append(rows, table, root, application, batch_id)
    return 0


def _checksum_of_body() -> Any:
    from pyspark.sql import functions as f

    body = f.expr(f"encode(substring(value, {_BODY_FROM}), 'utf-8')")
    return f.lower(f.lpad(f.hex(f.crc32(body)), _CHECKSUM_LENGTH, "0"))


def _access_rows(records: DataFrame) -> DataFrame:
    return _rows(records, ACCESS_HISTORY, "ARRAY<STRUCT<{}>>").selectExpr("explode(r.access) AS row")


def _query_rows(records: DataFrame) -> DataFrame:
    return _rows(records, QUERY_HISTORY, "STRUCT<{}>").selectExpr("r.query AS row")


def _rows(records: DataFrame, table: AuditTable, shape: str) -> DataFrame:
    from pyspark.sql import functions as f

    part = table.name.removesuffix("_history")
    columns = table.row_schema.replace(" ", ": ", 1)
    return records.select(f.from_json("json", f"{part} {shape.format(columns)}").alias("r"))


def _append(rows: DataFrame, table: AuditTable, root: str, application: str, batch_id: int) -> None:
    (
        rows.select("row.*")
        .write.format("delta")
        .mode("append")
        .option("txnAppId", application)
        .option("txnVersion", batch_id)
        .save(table.location(root))
    )
