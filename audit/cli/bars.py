"""Bars of progress on a terminal.

In: columns of rich. Out: bars on stderr that are gone at the end; nothing where stderr is no terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn


@contextmanager
def bars(*columns: ProgressColumn) -> Iterator[Progress]:
    """Bars, each of which begins with what it is of."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True)
    described = TextColumn("{task.description}")
    bar = Progress(described, *columns, console=console, transient=True, disable=not console.is_terminal)
    # One that is disabled still prints an empty line at its end (rich 13.9).
    with bar if console.is_terminal else nullcontext():
        yield bar
