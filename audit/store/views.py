"""The views beside the audit tables; their SQL, a file a view, lies in `views/sql/`.

In: a session whose catalog has the audit tables, and their schema. Out: views there. Those over what is
measured need its measurement, which the first text that names one of them makes; `data_quality` needs a
result of `audit.expect`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Literal

from audit.store.days.finished_tables import LAST_TABLES, OBJECTS_LAST_READ, SUM_TABLES, FinishedTable
from audit.store.measured.names import STANDS_ON
from audit.store.tables import COLUMN_LINEAGE, DATA_QUALITY, TABLE_LINEAGE
from lineage.names import split_name, sql_name
from lineage.sql.mentions import named_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Literal["spark", "duckdb"]
OF_RECORDS = (
    "objects_read", "columns_read", "columns_written", "ddl_history", "statements", "policies_in_force",
    "logging_history", "top_readers", "top_readers_of_all_days", "top_writers", "objects_last_read",
    "columns_last_read", "objects_last_written", "first_time_access", "exports", "failed_and_denied_attempts",
    "administrator_access", "policy_statements", "policy_statements_of_all_days", "policy_changes",
    "users_by_day", "users_last_active", "sessions_by_day", "sessions", "aggregate_query_history",
    "aggregate_access_history", "snowflake_query_history", "system_access_audit", "system_query_history",
    "information_schema_jobs",
)  # fmt: skip
"""The views over the two tables of statements. The last four have names of other systems: what is
`system.access.audit` there is `system_access_audit` here."""
OF_LINEAGE = {
    "system_access_table_lineage": TABLE_LINEAGE.name,
    "system_access_column_lineage": COLUMN_LINEAGE.name,
}
"""The views over the lineage tables, which an older root gains when a session attaches."""
BELOW: Mapping[str, str] = {**OF_LINEAGE, **STANDS_ON, "data_quality": DATA_QUALITY.name}
"""The table below each other view. It comes later than the audit tables: with the first measurement, with the
first validation by `audit.expect`."""
VIEWS = (*OF_RECORDS, *BELOW)
"""Each after those that it reads."""
SUMMED = {table.view: table for table in SUM_TABLES}
"""The table that holds the finished days of a view, where it is there."""
_PART = re.compile(r"^ *-- <(\w+)>\n(.*?)^ *-- </\1>\n", re.MULTILINE | re.DOTALL)
"""A part of a view's text that stands at times alone: where a table of `audit summarize` is there, which it
reads; for one engine, where the other one would take several times as long with the same text."""
_EXAMPLE = "Example:"
_COLUMN = re.compile(r"(\w+) COMMENT '([^']*)'")
_LATE = timedelta(days=30)
"""Late records nearly always come within these days."""
NO_DAY = "DATE'1970-01-01'"
"""SQL: the newest day of a table without rows."""


def with_those_below(names: Collection[str]) -> tuple[str, ...]:
    """Views, with the views that they read, in the order in which they can be made.

    >>> with_those_below(["top_readers_of_all_days"])
    ('top_readers', 'top_readers_of_all_days')
    """
    wanted = {*names}
    for name in reversed(VIEWS):
        if name in wanted:
            wanted |= named_in(definition(name), "account_usage")
    return tuple(name for name in VIEWS if name in wanted)


def tables_below(name: str) -> set[str]:
    """The tables in `BELOW` of a view, and of the views that it reads.

    >>> sorted(tables_below("objects_without_owner"))
    ['object_catalog', 'object_governance']
    """
    return {BELOW[view] for view in with_those_below([name]) if view in BELOW}


def create_views(spark: SparkSession, schema: str, wanted: Sequence[str] = VIEWS) -> tuple[str, ...]:
    """Create views, or bring them up to date.

    Args:
        spark: not audited, or inside of `audit.suppress`.
        schema: of the audit tables.
        wanted: their names, each after those that it reads.

    Returns:
        The names of those that were made: those whose tables in `BELOW` are there.
    """
    # Views over a table that is not there would not resolve.
    full = sql_name(split_name(schema))
    made = {table for table in {*BELOW.values()} if spark.catalog.tableExists(f"{full}.{table}")}
    names = [name for name in wanted if not tables_below(name) - made]
    lately = cache(partial(_lately, spark))
    for name in names:
        day = newest_finished(name, full, lambda table: spark.catalog.tableExists(f"{full}.{table}"))
        # The tables of what was last hold a few days only.
        since = lately(day) if day is not None and day.column == "query_date" else None
        # Asked at each query. Spark leaves out the files of other days by its answer.
        finished = None if day is None else f"({day.query(since)})"
        spark.sql(definition(name, schema, finished))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class ViewDescription:
    """What a view says of itself.

    Attributes:
        question: what it answers.
        about: what a row is, and what else to know.
        example: a query of it, in Spark's SQL.
        columns: the meaning of each.
    """

    question: str
    about: str
    example: str
    columns: Mapping[str, str]


def description(name: str) -> ViewDescription:
    """What a view says of itself, in the comments of its file.

    >>> description("unused_tables").question
    'Which tables and views has nobody read, and how large are they?'
    """
    comment, _, statement = definition(name).partition("\nCREATE OR REPLACE VIEW ")
    lines = [line[3:] for line in comment.splitlines()]
    at = lines.index(_EXAMPLE)
    question, mark, about = " ".join(lines[:at]).partition("?")
    example = "\n".join(line.removeprefix("  ") for line in lines[at + 1 :])
    # Before the comment of the view itself, which has no name before it.
    head, _, _ = statement.partition("\n)")
    return ViewDescription(question + mark, about.strip(), example, dict(_COLUMN.findall(head)))


@dataclass(frozen=True, slots=True)
class NewestDay:
    """Where the newest day stands that `audit summarize` has finished of a view.

    Attributes:
        table: its name, as SQL has it.
        column: of the days.
    """

    table: str
    column: str

    def query(self, since: date | None = None) -> str:
        """The query for the day.

        Args:
            since: days before it are not looked at; None: all are.
        """
        bound = "" if since is None else f" WHERE {self.column} >= DATE'{since}'"
        return f"SELECT coalesce(max({self.column}), {NO_DAY}) FROM {self.table}{bound}"  # noqa: S608 - our own names


def newest_finished(view: str, schema: str, is_there: Callable[[str], bool]) -> NewestDay | None:
    """Where the newest day of a view in the tables of `audit summarize` stands; None without these.

    Args:
        view: its name.
        schema: of the tables, as SQL has it.
        is_there: tells whether a table is there.
    """
    own = SUMMED.get(view)
    # What was read last is written after the first reads until that day, and taken out before them.
    newest = OBJECTS_LAST_READ if isinstance(own, FinishedTable) and own.upon else own
    if own is None or newest is None or not (is_there(own.name) and is_there(newest.name)):
        return None
    return NewestDay(f"{schema}.{newest.name}", "as_of" if newest in LAST_TABLES else "query_date")


def _lately(spark: SparkSession, day: NewestDay) -> date | None:
    """The first day in which a view looks for the newest one. Without it Spark opens a file of each day.

    Days that are finished after this are later ones. Where a record comes so late that no day from this one
    on stays finished, the view reads the records of all days until the next `audit summarize`.
    """
    # Delta answers this from its log, without a look at the files.
    ((newest,),) = spark.sql(f"SELECT max({day.column}) FROM {day.table}").collect()  # noqa: S608 - our own names
    return None if newest is None else newest - _LATE


def definition(
    name: str, schema: str = "account_usage", finished: str | None = None, engine: Engine = "spark"
) -> str:
    """The statement that creates a view.

    Args:
        name: of the view.
        schema: of the audit tables.
        finished: SQL of the day that `NewestDay.query` asks for; None: of the records alone.
        engine: that asks the view. The text is Spark's SQL for both, and has the same rows.

    >>> definition("statements").splitlines()[0][:60]
    '-- What ran, who ran it, and how well is its lineage known? '
    """
    parts = set() if finished is None else {table.name for table in SUM_TABLES}
    return _text(name, finished, parts | {engine}).replace("{schema}", sql_name(split_name(schema)))


def temporary_definition(name: str, finished: str | None = None) -> str:
    """The statement that creates a temporary view of that name over temporary views.

    Args:
        name: of the view.
        finished: SQL of a day: its rows are those of later days; None: of all days.
    """
    parts = set() if finished is None else {table.name for table in LAST_TABLES}
    text = _text(name, finished, parts | {"spark"})
    return text.replace("OR REPLACE VIEW {schema}.", "OR REPLACE TEMPORARY VIEW ").replace("{schema}.", "")


def _text(name: str, finished: str | None, parts: Collection[str]) -> str:
    """The text of a view with some of its parts."""
    text = (resources.files("views") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    text = _PART.sub(lambda part: part[2] if part[1] in parts else "", text)
    if finished is None:
        return text.replace("{unfinished}", "true")
    return text.replace("{unfinished}", f"query_date > {finished}").replace("{newest}", finished)
