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
