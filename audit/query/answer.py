"""What a query gives.

In: nothing. Out: `Answer`, from DuckDB or from Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WAY_OUT = "mend it; `audit query` lists those that come along, docs/reference/views.md the columns"
"""What to do about a query that is refused, or fails."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The names of the columns, and rows of Python's values; times are UTC, without a zone."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
