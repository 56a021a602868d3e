"""How a command answers: it returns data to an `Output`, which has a text and a JSON form.

Exit codes: 0 all is well, 1 the answer is "no" (a check failed), 2 the command could not be run.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from audit.cli.standard_output import hand_over
from audit.core.errors import AuditError
from audit.core.json_text import shown_json
from audit.core.plain_text import escaped

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

_FOLDED = 40
_LINES = "\n\t"
F = TypeVar("F", bound=Callable[..., Any])
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Output:
    """Where an answer goes: a table for people, or one JSON document on stdout."""

    as_json: bool

    def rows(self, rows: list[Row], title: str = "") -> None:
        """Show rows that have the same keys; the keys are the headings."""
        if self.as_json:
            hand_over(shown_json(rows))
            return
        title = escaped(title)
        if not rows:
            hand_over(f"{title}: no rows\n" if title else "no rows\n")
            return
        # Imported here, as rich is needed for tables alone.
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(soft_wrap=False)
        if title:
            # Not as the table's title, which rich folds to the width of a narrow table.
            hand_over(f"{title}\n")
        shown = [{escaped(key): _shown(value) for key, value in row.items()} for row in rows]
        if _width(shown) > console.width:
            hand_over(_down(shown))
            return
        table = Table()
        for key in rows[0]:
            justify: Literal["left", "right"] = "right" if _are_numbers(rows, key) else "left"
            # Folded: rich would cut a long query id or path off by default.
            table.add_column(Text(escaped(key)), overflow="fold", justify=justify)
        for row in shown:
            # As text: rich would read `[…]` in a statement or a path as its own markup.
            table.add_row(*map(Text, row.values()))
        hand_over(_drawn(table, console))

    def form_of(self, form: str | None, path: Path | None, forms: tuple[str, ...]) -> str:
        """The form of an answer: as asked for, else by the end of the file's name, else a table.

        Args:
            form: what `--format` says.
            path: the file that it goes to; None: stdout.
            forms: a table, and those that a file may have.

        Raises:
            click.UsageError: two forms are asked for, or one that a file cannot have.
        """
        if self.as_json and form not in (None, "json"):
            raise click.UsageError(f"--json and --format {form} are two forms of an answer: give one")
        by_name = "" if path is None else path.suffix.removeprefix(".").lower()
        chosen = form or ("json" if self.as_json else by_name or "table")
        _, *of_files = forms
        if path is not None and chosen not in of_files:
            listed = f"{', '.join(of_files[:-1])} or {of_files[-1]}"
            raise click.UsageError(f"--output {path}: give --format {listed}, or such an end of its name")
        return chosen

    def progress(self, line: str) -> None:
        """Show progress on stderr; stdout has the answer alone."""
        _tell(line)


def _are_numbers(rows: list[Row], key: str) -> bool:
    # In Python True is a number.
    return all(type(row[key]) in (int, float, type(None)) for row in rows)


def _tell(line: str) -> None:
    """A line on stderr."""
    # Whoever has closed it does not want to know, and the answer does not depend on it.
    with suppress(OSError):
        click.echo(escaped(line), err=True)


def _drawn(table: Table, console: Console) -> str:
    """A table as a console shows it: in its width, its colours and its encoding."""
    from rich.console import Console as Drawing

    made = io.BytesIO()
    # rich (15) writes to what it shows on, and leaves what could not be written there.
    text = io.TextIOWrapper(made, console.encoding, "backslashreplace", newline="", write_through=True)
    drawing = Drawing(file=text, width=console.width, force_terminal=console.is_terminal, soft_wrap=False)
    drawing.print(table)
    return made.getvalue().decode(console.encoding)


def _shown(value: Any) -> str:
    """A value in a cell: nothing of a record steers a terminal."""
    return "" if value is None else escaped(str(value), _LINES)


def _width(rows: list[dict[str, str]]) -> int:
    """What a table needs: each column as wide as its longest value, up to where folding reads well."""
    longest = [max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]]
    return sum(min(one, _FOLDED) + 3 for one in longest) + 1


def _down(rows: list[dict[str, str]]) -> str:
    """Rows below each other, a line a value: what is too wide for a table beside each other."""
    lines = []
    keys = max(map(len, rows[0]))
    for number, row in enumerate(rows, 1):
        lines.append(f"-[ {number} ]".ljust(keys + 12, "-"))
        for key, value in row.items():
            first, *rest = value.split("\n")
            lines.append(f"{key.ljust(keys)}  {first}".rstrip())
            lines += (f"{' ' * keys}  {line}".rstrip() for line in rest)
    return "\n".join(lines) + "\n"


class Commands(click.Group):
    """Commands that turn an `AuditError` into one line on stderr and exit code 2.

    Args:
        modules: a module for each command, from this folder on, with the command under its name; imported
            when the command is asked for, so that none waits for what another needs.
    """

    def __init__(self, *args: Any, modules: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A word of Python's has a `_` behind it in the module's name: `import_`.
        self._modules = {module.rpartition(".")[2].rstrip("_"): module for module in modules}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the alphabet."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        path = self._modules[cmd_name]
        found: click.Command = getattr(import_module(f"{__package__}.{path}"), path.rpartition(".")[2])
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except AuditError as error:
            _tell(f"audit: {error.code}: {error.message}")
            # Click's own usage errors have the exit code 2 as well.
            ctx.exit(2)
        except KeyboardInterrupt:
            _tell("audit: interrupted; what was not done is done by the next run")
            ctx.exit(2)
        except BrokenPipeError:
            # Who reads the answer has seen enough, and no exit code of a check is meant by it.
            ctx.exit(2)


def json_option(command: F) -> F:
    """The option `--json`, the same for every command; gives the command its `output`."""

    def to_output(_context: click.Context, _parameter: click.Parameter, value: bool) -> Output:  # noqa: FBT001 - click's signature
        return Output(as_json=value)

    return click.option(
        "--json", "output", is_flag=True, callback=to_output, help="Print JSON instead of a table."
    )(command)
