"""A year of history in the audit's own tables, made by Spark from a few thousand statements that recur.

In: days and records a day. Out: `access_history` and `query_history` as the audit has them, in files of the
size that its compaction leaves, and the lineage of the last days, kept under `.data`. What recurs is the
accesses; each row has its own id, time, user and hash.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from audit.core.json_text import to_json
from audit.ingest.arrow_lists import fields_of
from audit.ingest.arrow_records import parsed
from audit.ingest.edges import PARTS, edge_rows
from audit.record.access_record import build_row
from audit.store.made_tables import create_tables
from audit.store.tables import ACCESS_HISTORY, LINEAGE_TABLES, QUERY_HISTORY, AuditTable
from benchmarks.rare_statements import rare_templates
from benchmarks.result import DATA, Say
from benchmarks.workload import USERS, Template, ended, templates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEMPLATES = 5_000
RARE_TEMPLATES = 1_100
FIRST_DAY = datetime(2025, 1, 1, tzinfo=timezone.utc)
LINEAGE_DAYS = 30
"""The last days have lineage: a year of it would be as large as all the rest."""
_FILES_A_DAY = {ACCESS_HISTORY: 6, QUERY_HISTORY: 2}
"""Of 100,000 records. Compaction leaves a file alone from 4 MiB (`audit.store.days.compaction`)."""
_LAYOUT = 2
"""Goes up with what changes the files, so that those that are there are made anew."""
_DAYS_A_COMMIT = 73
_HASH_BITS = 256
_BY_ANYBODY = 50
_RARE = 200
"""One run in so many is a definition, a grant, an export, a denial, ..."""


def history(spark: SparkSession, days: int, records: int, say: Say) -> Path:
    """The root that holds the year, made where it is not there in full."""
    root = DATA / f"history-{days}-{records}"
    complete = root / f"complete-{_LAYOUT}"
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
    made = _templates(spark)
    for first in range(0, days, _DAYS_A_COMMIT):
        last = min(first + _DAYS_A_COMMIT, days)
        say(f"making days {first + 1} to {last} of {days}, {records:,} records each")
        for table, row in ((ACCESS_HISTORY, "get(row.access, 0)"), (QUERY_HISTORY, "row.query")):
            runs = _runs(spark, first, last, records, _FILES_A_DAY[table]).join(made, "template")
            found = runs.where(f"{row} IS NOT NULL")
            _append(found.selectExpr(*_columns(table, row)), table, root)
    first = max(days - LINEAGE_DAYS, 0)
    say(f"making the lineage of days {first + 1} to {days}")
    runs = _runs(spark, first, days, records).join(made, "template")
    for table in LINEAGE_TABLES:
        edges = _edges(spark, table).withColumnRenamed("query_id", "template_id")
        of_runs = runs.join(edges, runs["template"] == edges["template_id"])
        _append(of_runs.selectExpr(*_columns(table, "")), table, root)


def _append(rows: DataFrame, table: AuditTable, root: Path) -> None:
    rows.write.format("delta").mode("append").save(table.location(str(root)))


def _templates(spark: SparkSession) -> DataFrame:
    """One row a template: its number and the record of one run."""
    from pyspark.sql import functions as f

    records = _records()
    numbered = records.append_column("template", pa.array(range(len(records)), pa.int32()))
    made = spark.createDataFrame(numbered.select(["template", "query", "access"]))
    return f.broadcast(made.selectExpr("template", "struct(query, access) AS row").cache())


def _edges(spark: SparkSession, table: AuditTable) -> DataFrame:
    """The rows of a lineage table, of one run of each template; the id of the query is the template's."""
    from pyspark.sql import functions as f

    records = _records()
    rows = edge_rows(table, records, fields_of(records["query"]), PARTS.empty_table())
    return f.broadcast(spark.createDataFrame(rows.table.select(table.names)).cache())


def _records() -> pa.Table:
    """The record of one run of each template, as ingest parses it."""
    every = (*statements(), *rare_templates(RARE_TEMPLATES))
    rows = (
        build_row(t.started(str(number), 0, ""), ended(0, t.status), t.finding())
        for number, t in enumerate(every)
    )
    return parsed(b"\n".join(map(to_json, rows)))


_OF_A_RUN = {
    "query_id": "concat_ws('-', substr(time, 1, 8), substr(time, 9, 4), concat('7', substr(noise, 1, 3)),"
    " concat('8', substr(noise, 4, 3)), substr(noise, 7, 12))",
    "query_start_time": "timestamp_micros(micros)",
    "start_time": "timestamp_micros(micros)",
    "end_time": "timestamp_micros(micros + 250000)",
    # A statement that recurs is the work of two users; one in fifty runs is anybody's.
    "user_name": f"concat('user_', pmod(if(pmod(hash(id, 4), {_BY_ANYBODY}) = 0, hash(id, 1),"
    f" hash(template, pmod(hash(id, 1), 2))), {USERS}))",
    "session_id": "concat('5e0b3b5e-3bb0-4b0c-9a44-', lpad(pmod(hash(id, 2), 500), 12, '0'))",
    "record_hash": f"sha2(CAST(id AS STRING), {_HASH_BITS})",
}
"""What each run has of its own, by column."""


def _columns(table: AuditTable, row: str) -> list[str]:
    place = f"{row}." if row else ""
    return [f"{_OF_A_RUN.get(name, f'{place}{name}')} AS {name}" for name, _, _ in table.columns]


def _runs(spark: SparkSession, first: int, last: int, records: int, files: int = 1) -> DataFrame:
    """The runs of some days; each task makes one file of a day."""
    start = int((FIRST_DAY + timedelta(days=first)).timestamp() * 1_000_000)
    runs = spark.range(first * records, last * records, 1, (last - first) * files).selectExpr(
        "id",
        # Cubed: the first of the templates run far more often than the last.
        f"if(pmod(hash(id, 5), {_RARE}) = 0, {TEMPLATES} + pmod(hash(id, 6), {RARE_TEMPLATES}),"
        f" CAST(pow(pmod(hash(id, 3), 1000003) / 1000003D, 3) * {TEMPLATES} AS INT)) AS template",
        f"{start} + (id - {first * records}) * {86_400_000_000 // records} AS micros",
        "substr(sha2(CAST(id AS STRING), 224), 1, 18) AS noise",
    )
    return runs.selectExpr("*", "lpad(lower(hex(micros DIV 1000)), 12, '0') AS time")
