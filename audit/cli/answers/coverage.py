"""`audit coverage`: how many statements were analysed in full, from their text or from Spark's plan?"""

from __future__ import annotations

from datetime import date

import click

from audit.cli.answers.tables import opened
from audit.cli.days import days_options, require_order
from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option


@click.command()
@days_options
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit code 1 if fewer are analysed in full.",
)
@root_option
@json_option
@click.pass_context
def coverage(
    context: click.Context,
    tool: Tool,
    output: Output,
    first: date | None,
    last: date | None,
    min_coverage: float | None,
) -> None:
    """Show the share of successful statements that were analysed in full.

    It is the number on the cover of `audit report`. `audit query partly_analysed` shows the others, with the
    reason. DuckDB answers from the tables' files: no Spark starts, but for a root on a store that delta-rs
    does not know.
    """
    from audit.query import coverage as records

    require_order(first, last)
    with opened(tool) as source:
        found = records.coverage(source, first or date.min, last or date.max)
    output.rows([found], title=f"Coverage of the analysis under {tool.root}")
    full = found["full_percent"]
    context.exit(1 if min_coverage is not None and full is not None and full < min_coverage else 0)
