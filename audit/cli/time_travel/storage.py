"""`audit storage`: what tables hold, day by day, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option
from audit.core.errors import TableUnknown
from audit.time_travel.errors import BackupStoreError

if TYPE_CHECKING:
    from audit.time_travel.backups.service import Backups
    from audit.time_travel.retention.storage import StorageBytes, StoredTable

_NARROWEST, _WIDEST = 12, 60
# What bytes are kept for, its column, and how the chart draws it.
_KINDS = (
    ("active", "active", "█", "green"),
    ("time_travel", "Time Travel", "▓", "blue"),
    ("fail_safe", "Fail-safe", "▒", "yellow"),
    ("retained_for_clone", "for clones", "░", "magenta"),
    ("purgeable", "purgeable", "·", "red"),
)


@click.command()
@click.argument("name", required=False)
@click.option(
    "--past", type=click.IntRange(min=0), default=0, show_default=True, help="Also show so many past days."
)
@click.option(
    "--days", type=click.IntRange(min=0), default=15, show_default=True, help="Show so many days ahead."
)
@root_option
@json_option
def storage(tool: Tool, output: Output, name: str | None, past: int, days: int) -> None:
    """Show what tables hold: active, Time Travel, Fail-safe.

    NAME is a schema or schema.table; all tables without it, and what backups alone keep.

    Days ahead assume that nothing is written and nothing is purged. Days back lack what has been purged
    since.
    """
    from audit.time_travel.retention.periods import DAY
    from audit.time_travel.versions.version_lookup import time_text
    from lineage.names import quote_name, split_name

    wanted = tuple(part.lower() for part in split_name(name)) if name else ()
    # One time for the whole chart: the maintenance counts its days from it.
    actor = tool.actor()
    chosen: list[str] = []

    def is_asked(one: StoredTable) -> bool:
        if not _is_asked(one, wanted):
            return False
        chosen.append(quote_name(one.name))
        return True

    with tool.services() as services:
        maintenance = services.time_travel.maintenance
        found = maintenance.by_day(actor.time - past * DAY, past + days, actor.time, is_asked)
        bound = None if wanted else _bound(services.backups, output)
    if wanted and not chosen:
        raise TableUnknown(
            f"there is no Delta table, nor schema with one, of the name {name}",
            "name it as schema.table; `audit storage` without a name shows all of them",
        )
    rows = [(time_text(at)[:10], one) for at, one in found]
    if output.as_json:
        now = {time_text(actor.time)[:10]: bound}
        output.rows(
            [
                {"day": at, **{kind: getattr(one, kind) for kind, *_ in _KINDS}, "backups": now.get(at)}
                for at, one in rows
            ]
        )
        return
    _draw(name or "all tables", rows)
    if bound:
        from rich.filesize import decimal

        click.echo(f"Backups keep {decimal(bound)} more, which no table has any longer")


def _bound(backups: Backups, output: Output) -> int | None:
    """What backups alone keep; None where a bucket with backups does not answer, which is told."""
    try:
        return backups.bytes_bound()
    except BackupStoreError as error:
        output.progress(f"What backups keep is not known: {error}")
        return None


def _is_asked(one: StoredTable, wanted: tuple[str, ...]) -> bool:
    name = tuple(part.lower() for part in one.name)
    # NAME is a table by its last parts, or a schema by the parts before them.
    return not wanted or name[-len(wanted) :] == wanted or name[-1 - len(wanted) : -1] == wanted


def _draw(title: str, rows: list[tuple[str, StorageBytes]]) -> None:
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table
    from rich.text import Text

    kinds = [one for one in _KINDS if any(getattr(found, one[0]) for _, found in rows)] or [_KINDS[0]]
    console = Console()
    # Two blanks around each column: the day's 10 characters, headings or sizes, the bar.
    taken = 14 + sum(2 + max(len(heading) + 2, 8) for _, heading, _, _ in kinds)
    width = max(_NARROWEST, min(_WIDEST, console.width - taken))
    # 1 where there are no bytes: the bars are divided by it.
    most = max((found.total for _, found in rows), default=0) or 1
    # Not as the table's title, which rich folds to the width of a narrow table.
    click.echo(f"Storage of {title} (UTC)")
    table = Table(box=None, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for _, heading, sign, colour in kinds:
        table.add_column(Text(f"{sign} {heading}", style=colour), justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for at, found in rows:
        bar = Text()
        for kind, _, sign, colour in kinds:
            bar.append(sign * round(getattr(found, kind) / most * width), style=colour)
        sizes: list[Any] = [
            Text(decimal(size) if size else "", style=colour)
            for size, colour in ((getattr(found, kind), colour) for kind, _, _, colour in kinds)
        ]
        table.add_row(at, *sizes, bar)
    console.print(table)
