"""The tables of finished days, which `audit.store.days.summary` writes."""

from __future__ import annotations

from dataclasses import dataclass

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, TableOfRoot


@dataclass(frozen=True, slots=True)
class SumTable(TableOfRoot):
    """A table that `audit summarize` writes of the records of days that are over.

    Attributes:
        sources: the tables of statements that it is made of; the first one says which days there are. A day
            is kept until one of them loses it.
        view: takes those days from it, and has its columns.
    """

    sources: tuple[str, ...]
    view: str


@dataclass(frozen=True, slots=True)
class FinishedTable(SumTable):
    """The rows of a view for the days that are over.

    If the newest of these days has no rows, one stands for it that has its date alone.

    Attributes:
        never_null: a column that is null in that row alone.
        upon: another such table, before this one, that its rows are made of; None: over records. They say
            what was before, so a day is made anew with all days after it.
    """

    never_null: str
    upon: FinishedTable | None = None


@dataclass(frozen=True, slots=True)
class LastTable(SumTable):
    """The rows of a view as of the end of some days (`as_of`).

    The view has a row for the last of many, or for their sum: it opens one day of this table in place of all
    days before.

    Attributes:
        upon: the table of finished days that its rows are made of.
        adds_up: its rows are sums over days. They are wrong once one of these is gone.
    """

    upon: FinishedTable
    adds_up: bool = False


READS = FinishedTable("finished_reads", (ACCESS_HISTORY.name,), "top_readers", "statements")
WRITES = FinishedTable("finished_writes", (ACCESS_HISTORY.name,), "top_writers", "writes")
POLICIES = FinishedTable(
    "finished_policy_statements", (ACCESS_HISTORY.name, QUERY_HISTORY.name), "policy_statements", "query_id"
)
USER_DAYS = FinishedTable("finished_user_days", (QUERY_HISTORY.name,), "users_by_day", "statements")
SESSIONS = FinishedTable("finished_sessions", (QUERY_HISTORY.name,), "sessions_by_day", "statements")
OBJECTS_LAST_READ = LastTable("finished_objects_last_read", READS.sources, "objects_last_read", READS)
"""`first_time_access` opens it, too."""
FINISHED_TABLES = (
    READS,
    FinishedTable("finished_first_reads", (ACCESS_HISTORY.name,), "first_time_access", "query_id", READS),
    WRITES,
    POLICIES,
    USER_DAYS,
    SESSIONS,
)
"""They need not be there: the views give the same rows without them."""
LAST_TABLES = (
    OBJECTS_LAST_READ,
    LastTable("finished_columns_last_read", READS.sources, "columns_last_read", READS),
    LastTable("finished_objects_last_written", WRITES.sources, "objects_last_written", WRITES),
    LastTable("finished_users_last_active", USER_DAYS.sources, "users_last_active", USER_DAYS),
    LastTable(
        "finished_top_readers_of_all_days", READS.sources, "top_readers_of_all_days", READS, adds_up=True
    ),
    LastTable(
        "finished_policy_statements_of_all_days",
        POLICIES.sources,
        "policy_statements_of_all_days",
        POLICIES,
        adds_up=True,
    ),
    LastTable("finished_sessions_of_all_days", SESSIONS.sources, "sessions", SESSIONS, adds_up=True),
)
"""Nor need these."""
SUM_TABLES: tuple[FinishedTable | LastTable, ...] = (*FINISHED_TABLES, *LAST_TABLES)
