"""The tables of finished days, which `audit.store.days.summary` writes."""

from __future__ import annotations

from dataclasses import dataclass

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, TableOfRoot


@dataclass(frozen=True, slots=True)
class SumTable(TableOfRoot):
    """A table that `audit summarize` writes of the records of days that are over.

    Attributes:
        source: the table of statements that says how long its days are kept.
    """

    source: str


@dataclass(frozen=True, slots=True)
class FinishedTable(SumTable):
    """The rows of a view for the days that are over.

    Attributes:
        view: has the columns.
        upon: the view over another such table, before this one, that its rows are made of; "": over records.
            They say what was before, so a day is made anew with all days after it.
    """

    view: str
    upon: str = ""


READS = FinishedTable("finished_reads", ACCESS_HISTORY.name, "top_readers")
FINISHED_TABLES = (
    READS,
    FinishedTable("finished_first_reads", ACCESS_HISTORY.name, "first_time_access", "top_readers"),
    FinishedTable("finished_sessions", QUERY_HISTORY.name, "sessions_by_day"),
)
"""They need not be there: the views give the same rows without them."""
LAST_READS = SumTable("finished_last_reads", ACCESS_HISTORY.name)
"""When each user had read each object last, as of the end of some days, made of `finished_reads`: in place of
all days before, first_time_access opens one file."""
SUM_TABLES = (*FINISHED_TABLES, LAST_READS)
