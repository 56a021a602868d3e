"""`audit ingest`: ingest every spool of a root, once or repeatedly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.cli.output import Row
    from audit.ingest.adopt import Adopted


@click.command()
@click.option("--watch", is_flag=True, help="Repeat every ingest_interval_seconds, until interrupted.")
@click.option("--create", is_flag=True, help="Create a deleted audit table anew, without its past records.")
@root_option
@json_option
@click.pass_context
def ingest(context: click.Context, tool: Tool, output: Output, watch: bool, create: bool) -> None:  # noqa: FBT001 - click's way
    """Move the records of all drivers from their spools to the audit tables.

    Takes in drivers that run and drivers that have died. Exit code 1 if a spool could not be taken in; its
    records stay where they are.
    """
    with tool.spark() as spark:
        while True:
            began = SystemClock().now()
            rows = ingest_all(spark, tool, output, create=create)
            if any(row["statements"] for row in rows):
                tool.note("AUDIT_INGEST", "audit ingest", {"spools": rows}, began=began)
            if rows or not watch:
                output.rows(rows, title=f"Taken into {tool.root}")
            if not watch:
                break
            time.sleep(tool.config.ingest_interval_seconds)
    # 1 is the answer "no" (`audit.cli.output`); the records of that spool are still in it.
    context.exit(1 if any(row["error"] for row in rows) else 0)


def ingest_all(spark: SparkSession, tool: Tool, output: Output, *, create: bool = False) -> list[Row]:
    """One round over all spools and files in quarantine; a row for each with new records."""
    # Imported here, as in every command: `audit --help` needs no PySpark, whose import takes 0.3 s.
    from audit.ingest.adopt import ingest_spools, salvage_all
    from audit.store.commit_lock import commit_lock
    from audit.store.error_translation import as_ingest_error
    from audit.store.made_tables import create_tables

    with (
        commit_lock(spark, tool.root),
        as_ingest_error(f"the audit tables under {tool.root} could not be made"),
    ):
        # Under the lock, since a driver may create the same tables at this moment.
        create_tables(spark, tool.root, recreate=create)
    catalog = tool.catalog(spark)
    rows = []
    for done in ingest_spools(catalog, tool.config, SystemClock()):
        row = _row(done)
        # A spool may hold rows about the logging alone: those of the commands.
        if done.error or done.ingested.statements or done.ingested.damaged or row["incomplete"]:
            output.progress(f"{done.folder.name}: {row['statements']} statements")
            rows.append(row)
    # After the spools: one that is retired leaves its damaged files in quarantine.
    for file, statements in salvage_all(catalog, tool.config).items():
        rows.append({**_row(None), "spool": str(file), "statements": statements})
    return rows


def _row(done: Adopted | None) -> Row:
    if done is None:
        return {"spool": "", "segments": 0, "statements": 0, "incomplete": 0, "damaged": "", "error": ""}
    return {
        "spool": str(done.folder),
        "segments": done.ingested.segments,
        "statements": done.ingested.statements,
        "incomplete": len(done.recovery.incomplete) if done.recovery else 0,
        "damaged": ", ".join(str(path) for path in done.ingested.damaged),
        "error": str(done.error) if done.error else "",
    }
