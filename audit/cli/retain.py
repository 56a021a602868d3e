"""`audit retain`: delete the days that are older than the configuration keeps."""

from __future__ import annotations

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option


@click.command()
@click.option("--days", type=click.IntRange(min=1), help="Days to keep; default: retention_days.")
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@root_option
@json_option
def retain(tool: Tool, output: Output, days: int | None, dry_run: bool) -> None:  # noqa: FBT001 - click's way
    """Delete records that are older than retention_days, by whole days.

    Delta frees their space a week later, with the next run.
    """
    # Imported here: `audit --help` needs no PySpark.
    from audit.core.clock import SystemClock
    from audit.store.retention import retain as delete

    keep = days or tool.config.retention_days
    output.progress(
        f"{'Looking for' if dry_run else 'Deleting'} records older than {keep} days under {tool.root}"
    )
    with tool.spark() as spark:
        deleted = delete(spark, tool.root, keep, SystemClock(), dry_run=dry_run)
    output.rows(
        [
            {
                "table": one.table,
                "oldest_kept": str(one.oldest_kept),
                "days": len(one.days),
                "rows": one.rows,
                "first": str(one.days[0]) if one.days else None,
                "last": str(one.days[-1]) if one.days else None,
            }
            for one in deleted
        ],
        title="Would be deleted" if dry_run else "Deleted",
    )
