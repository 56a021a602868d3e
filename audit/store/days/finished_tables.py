"""The tables of finished days, which `audit.store.days.summary` writes."""

from __future__ import annotations

from dataclasses import dataclass

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, TableOfRoot


@dataclass(frozen=True, slots=True)
class FinishedTable(TableOfRoot):
    """A table with the rows of a view for the days that are over, as `audit summarize` has written them.

    `view` has the columns. `source` is the table of statements that says how long its days are kept.
    """

    view: str
    source: str


FINISHED_TABLES = (
    FinishedTable("finished_reads", "top_readers", ACCESS_HISTORY.name),
    FinishedTable("finished_sessions", "sessions_by_day", QUERY_HISTORY.name),
)
"""They need not be there: the views give the same rows without them."""
