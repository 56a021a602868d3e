"""The tables of finished days, which `audit.store.days.summary` writes."""

from __future__ import annotations

from dataclasses import dataclass

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, TableOfRoot


@dataclass(frozen=True, slots=True)
class FinishedTable(TableOfRoot):
    """A table with the rows of a view for the days that are over, as `audit summarize` has written them.

    Attributes:
        view: has the columns.
        source: the table of statements that says how long its days are kept.
        upon: the view over another such table, before this one, that its rows are made of; "": over records.
            They say what was before, so a day is made anew with all days after it.
    """

    view: str
    source: str
    upon: str = ""


FINISHED_TABLES = (
    FinishedTable("finished_reads", "top_readers", ACCESS_HISTORY.name),
    FinishedTable("finished_first_reads", "first_time_access", ACCESS_HISTORY.name, "top_readers"),
    FinishedTable("finished_sessions", "sessions_by_day", QUERY_HISTORY.name),
)
"""They need not be there: the views give the same rows without them."""
