"""What stands on the terminal: one column of text and tables, 100 characters wide at most.

In: rows, lines. Out: the terminal; beside it, where a picture is wanted, the same on a recording console.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH = 100
CATALOG = "spark_catalog."


class Screen:
    """The terminal, and a recording of it that holds no progress bars."""

    def __init__(self, *, record: bool = False) -> None:
        self.terminal = Console(highlight=False)
        if self.terminal.width > WIDTH:
            self.terminal = Console(highlight=False, width=WIDTH)
        self.recording = (
            Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False) if record else None
        )

    def show(self, *what: Any) -> None:
        """Print something."""
        for console in filter(None, (self.terminal, self.recording)):
            console.print(*what)

    def heading(self, question: str, source: str = "") -> None:
        """Begin an answer with its question, and where it comes from."""
        self.show()
        self.show(Text.assemble((question, "bold cyan"), "  ", (source, "dim")))

    def done(self, user: str, what: str, seconds: float) -> None:
        """A line for what a user has done; on a narrow terminal it is broken under itself."""
        line = Table.grid(padding=(0, 1), expand=True)
        for width, justify in ((1, "left"), (6, "left"), (None, "left"), (8, "right")):
            line.add_column(width=width, ratio=1 if width is None else None, justify=justify)
        line.add_row(Text("✓", "green"), Text(user, "bold"), what, Text(f"{seconds:.1f} s", "dim"))
        self.show(line)

    def rows(self, rows: Sequence[Any], columns: dict[str, Callable[[Any], Any] | str]) -> None:
        """Show rows as a table; `columns` are headings with a field or a function each."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
        for heading, field in columns.items():
            numbers = all(isinstance(_value(row, field), (int, float)) for row in rows)
            table.add_column(heading, justify="right" if numbers and rows else "left", overflow="fold")
        for row in rows:
            table.add_row(*(_cell(_value(row, field)) for field in columns.values()))
        self.show(table)

    @contextmanager
    def working(self, total: int) -> Iterator[Progress]:
        """A bar that goes away when its work is done; nothing of it where the output is no terminal."""
        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            console=self.terminal,
            transient=True,
            disable=not self.terminal.is_terminal,
        )
        with progress:
            progress.add_task("", total=total)
            yield progress

    def save(self, path: Path, title: str) -> None:
        """Write the recording as an SVG picture."""
        if self.recording is not None:
            svg = self.recording.export_svg(title=title, theme=MONOKAI, unique_id="demo")
            # Some viewers drop spaces at the start of a text, which would unhinge the columns.
            path.write_text(svg.replace("<text ", '<text xml:space="preserve" '), encoding="utf-8")


def short(name: str | None) -> str:
    """A name without the default catalog, a location as its last part.

    >>> short("spark_catalog.raw.planes"), short("file:/data/flights.parquet")
    ('raw.planes', 'flights.parquet')
    """
    name = name or ""
    return name.rsplit("/", 1)[1] if "/" in name else name.removeprefix(CATALOG)


def _value(row: Any, field: Callable[[Any], Any] | str) -> Any:
    return row[field] if isinstance(field, str) else field(row)


def _cell(value: Any) -> Text:
    if isinstance(value, datetime):
        return Text(f"{value:%Y-%m-%d %H:%M:%S}")
    if isinstance(value, (int, float)):
        return Text(f"{value:,}")
    return Text("" if value is None else str(value))
