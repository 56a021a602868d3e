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
