"""A year of history in the audit's own table, made by Spark from a few thousand statements that recur.

In: days and records a day. Out: an `access_history` of the audit's own schema and partitions, one file a
day, kept under `.data`. What recurs is the accesses; each row has its own id, time, user and hash.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.json_text import to_json
from audit.record.access_record import build_row
from audit.store.tables import ACCESS_HISTORY, create_tables
from benchmarks.result import DATA, Say
from benchmarks.workload import USERS, Template, ended, templates

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TEMPLATES = 5_000
FIRST_DAY = datetime(2025, 1, 1, tzinfo=timezone.utc)
_DAYS_A_COMMIT = 73
_HASH_BITS = 256


def history(spark: SparkSession, days: int, records: int, say: Say) -> Path:
    """The root that holds the year, made where it is not there in full."""
    root = DATA / f"year-{days}-{records}"
    complete = root / "complete"
    if not complete.exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        create_tables(spark, str(root))
        _fill(spark, root, days, records, say)
        complete.touch()
    return root


def statements() -> tuple[Template, ...]:
    """The statements that recur; the first ones most often."""
    return tuple(templates(TEMPLATES))


def _fill(spark: SparkSession, root: Path, days: int, records: int, say: Say) -> None:
    accesses = _accesses(spark)
    for first in range(0, days, _DAYS_A_COMMIT):
        last = min(first + _DAYS_A_COMMIT, days)
        say(f"making days {first + 1} to {last} of {days}, {records:,} records each")
        rows = _rows(spark, accesses, first, last, records)
        rows.write.format("delta").mode("append").save(ACCESS_HISTORY.location(str(root)))


def _accesses(spark: SparkSession) -> DataFrame:
    """One row a template: its number and the record of one run, as ingest parses it."""
    from pyspark.sql import functions as f

    runs = (t.started("", 0, "") for t in statements())
    rows = (
        build_row(run, ended(0), t.finding())["access"][0] for run, t in zip(runs, statements(), strict=True)
    )
    numbered = [(number, to_json(row).decode()) for number, row in enumerate(rows)]
    frame = spark.createDataFrame(numbered, "template INT, json STRING")
    schema = ", ".join(f"{name}: {kind}" for name, kind, _ in ACCESS_HISTORY.columns)
    parsed = frame.select("template", f.from_json("json", f"STRUCT<{schema}>").alias("row"))
    # Pruned to what the record shares with all runs; the rest is made anew for each.
    return f.broadcast(parsed.cache())


def _rows(spark: SparkSession, accesses: DataFrame, first: int, last: int, records: int) -> DataFrame:
    """The rows of some days; each task makes one day, so that a day is one file."""
    start = int((FIRST_DAY + timedelta(days=first)).timestamp() * 1_000_000)
    made = {
        "query_id": "concat_ws('-', substr(time, 1, 8), substr(time, 9, 4), concat('7', substr(noise, 1, 3)),"
        " concat('8', substr(noise, 4, 3)), substr(noise, 7, 12))",
        "query_start_time": "timestamp_micros(micros)",
        "user_name": f"concat('user_', pmod(hash(id, 1), {USERS}))",
        "session_id": "concat('5e0b3b5e-3bb0-4b0c-9a44-', lpad(pmod(hash(id, 2), 500), 12, '0'))",
        "record_hash": f"sha2(CAST(id AS STRING), {_HASH_BITS})",
    }
    runs = spark.range(first * records, last * records, 1, last - first).selectExpr(
        "id",
        # Cubed: the first of the templates run far more often than the last.
        f"CAST(pow(pmod(hash(id, 3), 1000003) / 1000003D, 3) * {TEMPLATES} AS INT) AS template",
        f"{start} + (id - {first * records}) * {86_400_000_000 // records} AS micros",
        "substr(sha2(CAST(id AS STRING), 224), 1, 18) AS noise",
    )
    timed = runs.withColumn("time", _expr("lpad(lower(hex(micros DIV 1000)), 12, '0')"))
    columns = [f"{made.get(name, f'row.{name}')} AS {name}" for name, _, _ in ACCESS_HISTORY.columns]
    return timed.join(accesses, "template").selectExpr(*columns)


def _expr(text: str) -> Column:
    from pyspark.sql import functions as f

    return f.expr(text)
