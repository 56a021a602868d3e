"""`audit status`: what waits in the spools, what the tables hold, what was set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from audit.cli.output import Row


@click.command()
@root_option
@json_option
@click.pass_context
def status(context: click.Context, tool: Tool, output: Output) -> None:
    """Show spools, audit tables, analyses and quarantine. Exit code 1 if a file is in quarantine."""
    tool.require_audit()
    rows = [*_spools(tool.config.spool_home), *_quarantine(tool.config.spool_home)]
    with tool.spark() as spark:
        rows += [*_tables(spark, tool.root), *_analyses(spark, tool.root)]
    output.rows(rows, title=f"Audit under {tool.root}")
    context.exit(1 if any(row["kind"] == "quarantine" for row in rows) else 0)


def _row(kind: str, name: str, state: str, **more: object) -> Row:
    # `Output.rows` takes its headings from the first row, so all rows have the same keys.
    keys = ("waiting", "bytes", "rows", "days", "last_record")
    return {"kind": kind, "name": name, "state": state, **{key: more.get(key) for key in keys}}


def _spools(home: Path) -> list[Row]:
    from audit.spool import find_spools

    rows = []
    for spool in find_spools(home):
        files = [path for name in ("journal", "sealed") for path in (spool.path / name).glob("*.*")]
        size = sum(path.stat().st_size for path in files if path.is_file())
        # A driver that has ended well leaves no open segment: what it has sealed waits for an ingest.
        state = "alive" if spool.alive else "died" if spool.journal else "ended"
        rows.append(_row("spool", spool.driver_id, state, waiting=spool.sealed, bytes=size))
    return rows


def _quarantine(home: Path) -> list[Row]:
    # Files of retired drivers lie under the root, those of others in their spools (`audit.spool.cleanup`).
    found = [*home.glob("quarantine/*/*"), *home.glob("spool/*/quarantine/*")]
    return [
        _row(
            "quarantine",
            str(path),
            "salvaged" if path.suffix == ".salvaged" else "damaged",
            bytes=path.stat().st_size,
        )
        for path in sorted(found)
    ]


def _tables(spark: SparkSession, root: str) -> list[Row]:
    from pyspark.sql import functions as f

    from audit.store.tables import AUDIT_TABLES, exists, path_name

    rows = []
    for table in AUDIT_TABLES:
        path = table.location(root)
        if not exists(spark, table, root):
            rows.append(_row("table", table.name, "not there"))
            continue
        # As text with its offset: `collect` would give a local time without one.
        last = f.date_format(f.max(table.time), "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")
        frame = spark.read.format("delta").load(path)
        (found,) = frame.agg(f.count(f.lit(1)), f.countDistinct("query_date"), last).collect()
        # The size of the newest version; files of older ones stay until a VACUUM.
        size = spark.sql(f"DESCRIBE DETAIL {path_name(table, root)}").collect()[0]["sizeInBytes"]
        rows.append(
            _row("table", table.name, "there", bytes=size, rows=found[0], days=found[1], last_record=found[2])
        )
    return rows


def _analyses(spark: SparkSession, root: str) -> list[Row]:
    """How many records are full, partial and opaque, and the reason that most of them give."""
    from pyspark.sql import functions as f

    from audit.store.tables import ACCESS_HISTORY, exists

    if not exists(spark, ACCESS_HISTORY, root):
        return []
    records = spark.read.format("delta").load(ACCESS_HISTORY.location(root))
    # `mode` ignores nulls (Spark 4.2), and a full record has no reason.
    counted = records.groupBy("analysis").agg(f.count(f.lit(1)), f.mode("analysis_reason"))
    return [
        _row("analysis", analysis, reason or "", rows=count)
        for analysis, count, reason in sorted(counted.collect())
    ]
