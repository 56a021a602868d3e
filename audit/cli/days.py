"""Days on the command line.

In: `--from 2026-01-31`, `--to 2026-01-31`. Out: dates.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import click

from audit.cli.output import F


class _Day(click.DateTime):
    """Click has a type for a moment alone."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:  # type: ignore[override]
        return super().convert(value, param, ctx).date()


_DAY = _Day(formats=["%Y-%m-%d"])


def days_options(command: F) -> F:
    """The options `--from` and `--to`; gives the command its `first` and `last`, None for no bound."""
    begin: Callable[[Any], Any] = click.option(
        "--from", "first", type=_DAY, metavar="DAY", help="First day (UTC)."
    )
    end: Callable[[Any], Any] = click.option("--to", "last", type=_DAY, metavar="DAY", help="Last day (UTC).")
    decorated: F = begin(end(command))
    return decorated


def require_order(first: date | None, last: date | None) -> None:
    """Look whether a period has a day: of one that is turned round every check would say that all is well.

    Args:
        first: its first day; None: the first on record.
        last: its last day; None: the last on record.

    Raises:
        UsageError: the last day is before the first.
    """
    if first is not None and last is not None and last < first:
        raise click.UsageError(f"--from {first} is after --to {last}: swap the two days")
