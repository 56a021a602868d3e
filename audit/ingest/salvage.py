"""Ingests the intact records of damaged segments in quarantine, after their driver has ended.

In: `<root>/quarantine/<driver id>/*.jsonl`, as they are or repaired by a person. Out: the records that are
not in the tables yet, in the tables. A damaged line costs a record only where its start is damaged, too:
start and end of a statement lie in the same file, so that its record can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_datetime
from audit.core.ids import id_micros
from audit.ingest.folder import ingest_folder
from audit.record.aggregation import MARK
from audit.spool import Entry, Spool, read_segment, retire
from audit.store.tables import QUERY_HISTORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Complete = Callable[[Entry, Entry | None, tuple[Entry, ...]], Mapping[str, Any]]

_DONE = ".salvaged"


def salvage(spark: SparkSession, home: Path, root: str, complete: Complete) -> dict[Path, int]:
    """Ingest the records of files in quarantine that the tables lack.

    Args:
        spark: a session of the audit's own.
        home: the folder that holds `quarantine/` and `spool/`.
        root: folder of the audit tables.
        complete: makes the record of a statement whose own is damaged.

    Returns:
        How many statements each file gave. It stays, renamed to `….salvaged`, for a person to look at;
        one that is mended later is taken in again under its old name.

    Raises:
        IngestError: Spark or Delta refused; the files stay as they are.
    """
    files = sorted((home / "quarantine").glob("*/*.jsonl"))
    return {file: _salvage(spark, home, root, file, complete) for file in files}


def _salvage(spark: SparkSession, home: Path, root: str, file: Path, complete: Complete) -> int:
    found = _records(file, complete)
    known = _known(spark, root, list(found)) | _aggregated(spark, root, found)
    missing = {query_id: row for query_id, row in found.items() if query_id not in known}
    if missing:
        # Ingested from a spool of its own, so that a killed run can be run again.
        with Spool.open(home, application_id=f"salvage of {file}") as spool:
            for query_id, row in missing.items():
                spool.record(query_id, row)
        ingest_folder(spark, spool.path, root)
        retire(spool.path)
    file.rename(file.with_name(file.name + _DONE))
    return len(missing)


def _records(file: Path, complete: Complete) -> dict[str, Mapping[str, Any]]:
    """The record of each statement in a file, intact or made again."""
    records: dict[str, Mapping[str, Any]] = {}
    starts: dict[str, Entry] = {}
    ends: dict[str, Entry] = {}
    for entry in read_segment(file).entries:
        if entry.kind == "R":
            records[entry.query_id] = entry.payload
        elif entry.kind in ("S", "E"):
            (starts if entry.kind == "S" else ends).setdefault(entry.query_id, entry)
    for query_id, start in starts.items():
        if query_id not in records:
            records[query_id] = complete(start, ends.get(query_id), ())
    return records


def _aggregated(spark: SparkSession, root: str, found: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The statements with a mark that a row tells of: one of their kind in the same hour."""
    from pyspark.sql import functions as f

    marked = [(query_id, row["query"]) for query_id, row in found.items() if MARK in row]
    if not marked:
        return set()
    names = ("user_name", "session_id", "query_type", "query_parameterized_hash")
    rows = [(query_id, row["start_time"], *map(row.get, names)) for query_id, row in marked]
    columns = ", ".join(f"{name} STRING" for name in ("query_id", "start_time", *names))
    wanted = spark.createDataFrame(rows, columns).alias("w")
    there = (
        spark.read.format("delta").load(QUERY_HISTORY.location(root)).where("calls IS NOT NULL").alias("t")
    )
    alike = " AND ".join(f"w.{name} <=> t.{name}" for name in names)
    hour = "date_trunc('HOUR', CAST(w.start_time AS TIMESTAMP)) = date_trunc('HOUR', t.start_time)"
    known = wanted.join(there, f.expr(f"{alike} AND {hour}"), "left_semi")
    return {row["query_id"] for row in known.select("w.query_id").collect()}


def _known(spark: SparkSession, root: str, query_ids: list[str]) -> set[str]:
    if not query_ids:
        return set()
    days = sorted({str(to_datetime(id_micros(query_id)).date()) for query_id in query_ids})
    frame = spark.read.format("delta").load(QUERY_HISTORY.location(root))
    # A child's id is younger than its start, by days at most where it is a long stream's.
    near = frame.where(f"query_date BETWEEN DATE_SUB(DATE'{days[0]}', 7) AND DATE'{days[-1]}'")
    wanted = spark.createDataFrame([(query_id,) for query_id in query_ids], "query_id STRING")
    return {
        row["query_id"] for row in near.select("query_id").join(wanted, "query_id", "left_semi").collect()
    }
