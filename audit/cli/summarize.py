"""`audit summarize`: write the sums of finished days, for the views that ask all days."""

from __future__ import annotations

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option


@click.command()
@root_option
@json_option
def summarize(tool: Tool, output: Output) -> None:
    """Sum up the days that are over, so that views over all days answer in seconds.

    The views top_readers, top_writers, first_time_access, sessions and those of what nobody uses give the
    same rows without it. A day (UTC) is summed up when it is over, and again when records of it come later.
    The first run over a long history takes some seconds for each day of 100,000 statements.
    """
    # Imported here: `audit --help` needs no PySpark.
    from audit.core.clock import SystemClock
    from audit.query.sum_up import summarize as sum_up

    with tool.spark() as spark:
        done = sum_up(spark, tool.root, SystemClock(), output.progress)
    title = f"Finished days summed up under {tool.root}"
    if not any(one.days for one in done):
        title = f"Nothing to sum up under {tool.root}: each day that is over is there already"
    output.rows(
        [
            {
                "table": one.table,
                "days": len(one.days),
                "rows": one.rows,
                "first": str(one.days[0]) if one.days else None,
                "last": str(one.days[-1]) if one.days else None,
            }
            for one in done
        ],
        title=title,
    )
