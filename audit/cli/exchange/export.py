"""`audit export openlineage | access-history | datahub`: the history for other tools, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.cli.answers.tables import opened
from audit.cli.days import days_options, require_order
from audit.cli.on_record import note
from audit.cli.output import F, Output, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock
from audit.core.json_text import to_json

if TYPE_CHECKING:
    from audit.exchange.history import Days

FORMATS = ("snowflake-json", "unity-json")
Write = Callable[[bytes], object]


@click.group()
def export() -> None:
    """Write the history for other tools: OpenLineage, DataHub, in Snowflake's or Unity Catalog's shape."""


def _file_option(command: F) -> F:
    return click.option(
        "--output",
        "-o",
        "path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A file for it; else stdout.",
    )(command)


@export.command()
@days_options
@_file_option
@root_option
@json_option
def openlineage(tool: Tool, output: Output, first: date | None, last: date | None, path: Path | None) -> None:
    """Write statements as OpenLineage events, one a line: a START, and a COMPLETE, FAIL or ABORT.

    Receivers take the lines one a request, or the file, as `audit import openlineage` of another root does.
    Tables are in the namespaces that `openlineage_namespaces` names. --json tells how many lines there are,
    and needs --output.

    That the tables were read is on record: `logging_history` has an AUDIT_EXPORT.
    """
    from audit.exchange.catalog import CatalogFacts
    from audit.exchange.history import recorded_statements
    from audit.exchange.names import DatasetNames
    from audit.exchange.openlineage.events import Exporting

    def lines(source: Any, days: Days) -> Iterator[bytes]:
        exporting = Exporting(source, DatasetNames.of(tool.config), CatalogFacts.read(source))
        for event in exporting.events(recorded_statements(source, days)):
            yield to_json(event) + b"\n"

    _export(tool, output, "openlineage", lines, (first, last), path)


@export.command()
@click.option("--format", "form", type=click.Choice(FORMATS), help="Whose shape the rows have.")
@click.option(
    "--rows",
    "view",
    type=click.Choice(("table_lineage", "column_lineage")),
    default="table_lineage",
    show_default=True,
    help="Of unity-json: which of Unity Catalog's two tables.",
)
@days_options
@_file_option
@root_option
@json_option
def access_history(
    tool: Tool,
    output: Output,
    first: date | None,
    last: date | None,
    path: Path | None,
    form: str | None,
    view: str,
) -> None:
    """Write the history in the shape of another system, one JSON document a line.

    snowflake-json: rows of ACCOUNT_USAGE.ACCESS_HISTORY. unity-json: rows of system.access.table_lineage, or
    of system.access.column_lineage. --json tells how many there are, and needs --output.

    That the tables were read is on record: `logging_history` has an AUDIT_EXPORT.
    """
    from audit.exchange.rows_of_others import snowflake_rows, unity_rows

    if form is None:
        raise click.UsageError(f"whose shape? Give --format {' or '.join(FORMATS)}")

    def lines(source: Any, days: Days) -> Iterator[bytes]:
        found = snowflake_rows(source, days) if form == FORMATS[0] else unity_rows(source, view, days)
        return (to_json(row) + b"\n" for row in found)

    _export(tool, output, form, lines, (first, last), path)


@export.command()
@click.option(
    "--env", "environment", default="PROD", show_default=True, metavar="FABRIC", help="DataHub's environment."
)
@days_options
@_file_option
@root_option
@json_option
def datahub(
    tool: Tool,
    output: Output,
    first: date | None,
    last: date | None,
    path: Path | None,
    environment: str,
) -> None:
    """Write tables, views and files with their lineage as DataHub's metadata change proposals.

    One JSON document, as DataHub's file emitter writes it; its source `file` takes it. What went into a table
    is told from its last overwrite within the days on. --json tells how many lines there are, and needs
    --output.

    That the tables were read is on record: `logging_history` has an AUDIT_EXPORT.
    """
    from audit.exchange.catalog import CatalogFacts
    from audit.exchange.datahub.proposals import proposals
    from audit.exchange.datahub.urns import Urns
    from audit.exchange.history import recorded_statements
    from audit.exchange.names import DatasetNames

    def lines(source: Any, days: Days) -> Iterator[bytes]:
        statements = recorded_statements(source, days)
        names, known = DatasetNames.of(tool.config), CatalogFacts.read(source)
        between = b"[\n"
        for one in proposals(statements, names, known, Urns(environment)):
            yield between + to_json(one)
            between = b",\n"
        yield b"\n]\n" if between == b",\n" else b"[]\n"

    _export(tool, output, "datahub", lines, (first, last), path)


@export.command()
@root_option
@json_option
@click.pass_context
def send(context: click.Context, tool: Tool, output: Output) -> None:
    """Send what the receiver of `openlineage_url` does not have yet, as a driver does in the background.

    For roots that `audit ingest` fills, and after a receiver was down. Only one at a time sends on a machine.

    Exit code 1 if statements still wait.
    """
    from audit.core.clock import to_datetime
    from audit.exchange.errors import SendingFailed
    from audit.exchange.live.sending import send_waiting

    tool.require_audit()
    if not tool.config.openlineage_url:
        raise SendingFailed("no receiver is named", "set openlineage_url, or AUDIT_OPENLINEAGE_URL")
    now = to_datetime(SystemClock().now()).replace(tzinfo=None)
    done = send_waiting(tool.config, now)
    row = {"sent": done.sent, "refused": done.refused, "waiting": done.waiting, "error": done.error}
    output.rows([row], title=f"Sent to {tool.config.openlineage_url}")
    context.exit(1 if done.waiting else 0)


def _export(
    tool: Tool,
    output: Output,
    form: str,
    lines: Callable[[Any, Days], Iterator[bytes]],
    bounds: tuple[date | None, date | None],
    path: Path | None,
) -> None:
    """Write lines to a file or stdout, and note that the tables were read."""
    from audit.exchange.history import Days

    tool.require_audit()
    days = Days(*bounds)
    require_order(*bounds)
    if output.as_json and path is None:
        raise click.UsageError("--json tells what was written: name a file by --output")
    began, number = SystemClock().now(), 0
    with opened(tool) as source, _writing(path) as write:
        for line in lines(source, days):
            write(line)
            number += 1
    told = {"format": form, "from": str(days.first or ""), "to": str(days.last or ""), "lines": number}
    note(tool, output, "AUDIT_EXPORT", told, began=began)
    if output.as_json:
        output.rows([{**told, "output": str(path)}])
    elif path is not None:
        output.progress(f"{number:,} lines in {path}")


@contextmanager
def _writing(path: Path | None) -> Iterator[Write]:
    from audit.core.whole_file import growing_file
    from audit.exchange.errors import ExportFailed

    if path is None:
        yield hand_over
        return
    with growing_file(path, ExportFailed) as write:
        yield write
