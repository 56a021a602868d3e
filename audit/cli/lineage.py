"""`audit lineage`: where a column or table comes from and where it has gone, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from audit.graph import Direction, LineageGraph

FORMATS = ("tree", "mermaid", "json", "svg")


@click.command()
@click.argument("name")
@click.option("--upstream", is_flag=True, help="Where it comes from (the default).")
@click.option("--downstream", is_flag=True, help="Where its data has gone.")
@click.option("--both", is_flag=True, help="Both.")
@click.option("--depth", type=click.IntRange(min=1), help="The most hops; all by default.")
@click.option("--as-of", metavar="TIME", help="The state at this time: 2026-01-31, or 2026-01-31T12:00; UTC.")
@click.option("--include-indirect", is_flag=True, help="Also follow columns that filter, join or sort.")
@click.option(
    "--include-history", is_flag=True, help="Also show what was replaced, truncated or dropped since."
)
@click.option("--tables", is_flag=True, help="Show tables only, without columns.")
@click.option("--failed-checks", is_flag=True, help="Mark what audit.expect has found not to be as expected.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="tree", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@root_option
def lineage(
    tool: Tool,
    name: str,
    depth: int | None,
    as_of: str | None,
    form: str,
    *,
    upstream: bool,
    downstream: bool,
    both: bool,
    as_json: bool,
    include_indirect: bool,
    include_history: bool,
    tables: bool,
    failed_checks: bool,
) -> None:
    """Show where NAME comes from: `schema.table.column` or `schema.table`.

    Reads the lineage tables with delta-rs; for a root that it cannot read, with Spark.
    """
    # numpy and pyarrow are imported here: `audit --help` needs neither.
    from audit.graph import Question, answer, parse_as_of
    from audit.store.lineage_tables import snapshot_of

    flags: dict[Direction, bool] = {"upstream": upstream, "downstream": downstream, "both": both}
    asked = [way for way, given in flags.items() if given]
    if len(asked) > 1:
        text = " and ".join(f"--{way}" for way in asked)
        raise click.UsageError(f"{text} are different questions: give one (--both for both directions)")
    direction = asked[0] if asked else "upstream"
    tool.require_audit()
    at = parse_as_of(as_of)
    question = Question(name, direction, depth, at, include_indirect, include_history)
    graph = answer(snapshot_of(tool.root, at), question)
    if failed_checks:
        from audit.checks.results_table import failed_checks as find_failed
        from audit.graph.marks import with_failed_checks

        graph = with_failed_checks(graph, find_failed(tool.root, at))
    hand_over(_formatted(graph.by_table() if tables else graph, "json" if as_json else form))


def _formatted(graph: LineageGraph, form: str) -> str:
    say = {"tree": graph.__str__, "mermaid": graph.to_mermaid, "json": graph.to_json, "svg": graph.to_svg}
    return say[form]().rstrip("\n") + "\n"
