"""`audit verify`: is every record as it was written, and does every statement have its record?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import click

from audit.cli.answers.tables import opened
from audit.cli.bars import bars
from audit.cli.days import days_options, require_order
from audit.cli.on_record import note
from audit.cli.output import Output, Row, json_option
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock
from audit.core.config import TABLE_NAMES

_SHOWN = 100


@click.command()
@days_options
@click.option(
    "--against",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A file of `audit digest anchor`, kept elsewhere: finds a log that was cut off or exchanged.",
)
@click.option(
    "--against-backups",
    is_flag=True,
    help="The same with each backup of the table digests: see CREATE BACKUP SET.",
)
@click.option(
    "--key",
    default="",
    help="The key that the log was begun with, or a file with it; default: that of this machine.",
)
@root_option
@json_option
@click.pass_context
def verify(
    context: click.Context,
    tool: Tool,
    output: Output,
    first: date | None,
    last: date | None,
    files: tuple[Path, ...],
    against_backups: bool,  # noqa: FBT001  click gives it by name
    key: str,
) -> None:
    """Check each row against the signed log of digests.

    Finds what was altered, deleted or inserted, statements without a record, and what stands there twice.
    DuckDB reads the tables' files: no Spark starts, but for a root on a store that delta-rs does not know.

    Exit code 1 if something is wrong.
    """
    from rich.progress import BarColumn, MofNCompleteColumn

    from audit.query.digests.backed_up import anchors_of_backups
    from audit.query.digests.held import held_by
    from audit.query.verification import verify as check
    from audit.store.days.kept_days import all_kept_since

    require_order(first, last)
    output.progress(f"Reading the records under {tool.root}")
    began = SystemClock().now()
    # Not `whole`: which table is gone, and the way out, `verify` says itself.
    home, is_beside = tool.config.spool_home, tool.config.local_root == tool.config.spool_home
    held = held_by(home, began, key, files, has_all_spools=is_beside)
    if against_backups:
        held = replace(held, anchors=[*held.anchors, *anchors_of_backups(tool.config, tool.conf)])
    with opened(tool, whole=False) as source, bars(BarColumn(), MofNCompleteColumn()) as bar:
        rows_read = bar.add_task("Rows", total=None)
        found = check(
            source,
            first,
            last,
            all_kept_since(began, map(tool.config.days_of, TABLE_NAMES)),
            progress=lambda done, total: bar.update(rows_read, completed=done, total=total),
            held=held,
        )
    for gap in found.gaps:
        output.progress(gap)
    days = {"since": str(first) if first else None, "until": str(last) if last else None}
    counts = {"records": found.records, "statements": found.statements, "faults": len(found.faults)}
    note(tool, output, "AUDIT_VERIFY", {**days, **counts}, began=began)
    # A damaged table may have a million faults; the title has their number.
    rows: list[Row] = [{"query_id": fault.query_id, "fault": fault.fault} for fault in found.faults[:_SHOWN]]
    if not rows:
        rows = [
            {
                "records": found.records, "statements": found.statements, "faults": 0,
                "entries": found.entries, "gaps": len(found.gaps), "unsigned": found.unsigned,
                "waiting": found.waiting + found.late, "key": found.key, "key_is_known": found.is_known,
            }
        ]  # fmt: skip
    output.rows(
        rows,
        title=f"{len(found.faults)} faults in {found.records:,} records of {found.statements:,} statements",
    )
    context.exit(1 if found.faults else 0)
