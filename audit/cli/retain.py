"""`audit retain`: delete the days that are older than the configuration keeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from audit.evidence.digest_log import DigestLog
    from audit.store.days.retention import Deleted


@click.command()
@click.option(
    "--days",
    type=click.IntRange(min=1),
    help="Days to keep, of all tables; default: retention_days and retention_by_table.",
)
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@root_option
@json_option
def retain(tool: Tool, output: Output, days: int | None, dry_run: bool) -> None:  # noqa: FBT001 - click's way
    """Delete records that are older than retention_days, by whole days.

    Delta frees their space a week later, with the next run.
    """
    # Imported here: `audit --help` needs no PySpark.
    from audit.core.clock import SystemClock
    from audit.evidence.digest_log import DigestLog
    from audit.store.commit_lock import commit_lock
    from audit.store.days.retention import retain as delete
    from audit.store.error_translation import as_ingest_error

    days_of = (lambda _table: days) if days else tool.config.days_of
    own = "" if days else tool.config.retention_by_table
    kept = f"{days or tool.config.retention_days} days{f' ({own})' if own else ''}"
    output.progress(f"{'Looking for' if dry_run else 'Deleting'} records older than {kept} under {tool.root}")
    clock = SystemClock()
    began = clock.now()
    with tool.spark() as spark:
        log = DigestLog(spark, tool.root, tool.config.spool_home, clock)
        deleted = delete(spark, tool.root, days_of, clock, partial(_sign, log), dry_run=dry_run)
        if not dry_run:
            with (
                commit_lock(spark, tool.root),
                as_ingest_error(f"{tool.root}/digests could not be shortened"),
            ):
                log.forget_leaves(min(one.oldest_kept for one in deleted))
    if not dry_run:
        tables = [
            {
                "table": one.table, "days_kept": days_of(one.table), "rows": one.rows,
                "oldest_kept": one.oldest_kept.isoformat(), "days": [day.isoformat() for day in one.days],
            }
            for one in deleted
        ]  # fmt: skip
        tool.note("AUDIT_RETAIN", "audit retain", {"deleted": tables}, began=began)
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


def _sign(log: DigestLog, deleted: Sequence[Deleted]) -> None:
    from audit.evidence.bind import bind_retention

    bind_retention(log, {one.table: one.days for one in deleted})
