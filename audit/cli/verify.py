"""`audit verify`: is every record as it was written, and does every statement have its record?"""

from __future__ import annotations

from datetime import datetime

import click

from audit.cli.output import Output, Row, json_option
from audit.cli.tool import Tool, root_option

_DAY = click.DateTime(formats=["%Y-%m-%d"])
_SHOWN = 100


@click.command()
@click.option("--since", type=_DAY, help="First day (UTC).")
@click.option("--until", type=_DAY, help="Last day (UTC).")
@root_option
@json_option
@click.pass_context
def verify(
    context: click.Context, tool: Tool, output: Output, since: datetime | None, until: datetime | None
) -> None:
    """Check the hash of each record.

    Also finds statements without a record, or with two.

    Exit code 1 if something is wrong.
    """
    from audit.store.verification import verify as check

    output.progress(f"Reading the records under {tool.root}")
    with tool.spark() as spark:
        found = check(
            spark,
            tool.root,
            since.date() if since else None,
            until.date() if until else None,
            progress=lambda done: output.progress(f"{done:,} records"),
        )
    # A damaged table may have a million faults; the title has their number.
    rows: list[Row] = [{"query_id": fault.query_id, "fault": fault.fault} for fault in found.faults[:_SHOWN]]
    if not rows:
        rows = [{"records": found.records, "statements": found.statements, "faults": 0}]
    output.rows(
        rows,
        title=f"{len(found.faults)} faults in {found.records:,} records of {found.statements:,} statements",
    )
    context.exit(1 if found.faults else 0)
