"""`audit lineage`: where a column or table comes from and where it has gone, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from audit.graph import Direction, LineageGraph

FORMATS = ("tree", "mermaid", "json", "svg")


@click.command()
@click.argument("name")
@click.option(
    "--upstream",
    "direction",
    flag_value="upstream",
    default="upstream",
    help="Where it comes from (so if unsaid).",
)
@click.option("--downstream", "direction", flag_value="downstream", help="Where it has gone.")
@click.option("--both", "direction", flag_value="both", help="Both ways.")
@click.option("--depth", type=click.IntRange(min=0), help="Hops at most; all of them if unsaid.")
@click.option("--as-of", metavar="TIME", help="Answer as of then: 2026-01-31, or 2026-01-31T12:00; UTC.")
@click.option("--include-indirect", is_flag=True, help="Follow what filters, joins and sorts as well.")
@click.option(
    "--include-history", is_flag=True, help="Everything ever, what has been replaced since as well."
)
@click.option("--tables", is_flag=True, help="Tables alone, without their columns.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="tree", show_default=True)
@root_option
def lineage(
    tool: Tool,
    name: str,
    direction: Direction,
    depth: int | None,
    as_of: str | None,
    form: str,
    *,
    include_indirect: bool,
    include_history: bool,
    tables: bool,
) -> None:
    """Show where NAME comes from: `schema.table.column` or `schema.table`.

    Reads the lineage tables with delta-rs; for a root that it cannot read, with Spark.
    """
    from audit.graph import Question, answer, moment
    from audit.store.lineage_tables import snapshot_of

    at = moment(as_of)
    question = Question(name, direction, depth, at, include_indirect, include_history)
    graph = answer(snapshot_of(tool.root, at), question)
    click.echo(_said(graph.by_table() if tables else graph, form))


def _said(graph: LineageGraph, form: str) -> str:
    say = {"tree": graph.__str__, "mermaid": graph.to_mermaid, "json": graph.to_json, "svg": graph.to_svg}
    return say[form]().rstrip("\n")
