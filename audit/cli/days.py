"""Days on the command line.

In: `2026-01-31`. Out: a date.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import click


class _Day(click.DateTime):
    """Click has a type for a moment alone."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:  # type: ignore[override]
        return super().convert(value, param, ctx).date()


DAY = _Day(formats=["%Y-%m-%d"])
"""The type of an option that names a day (UTC)."""


def require_order(first: date | None, last: date | None, names: tuple[str, str]) -> None:
    """Look whether a period has a day: of one that is turned round every check would say that all is well.

    Args:
        first: its first day; None: the first on record.
        last: its last day; None: the last on record.
        names: of the two options.

    Raises:
        UsageError: the last day is before the first.
    """
    if first is not None and last is not None and last < first:
        raise click.UsageError(f"{names[0]} {first} is after {names[1]} {last}: swap the two days")
