"""The views beside the audit tables; their SQL, a file a view, lies in `views/sql/`.

In: a session whose catalog has the audit tables, and their schema. Out: views there. Those over what is
measured need its measurement, which the first text that names one of them makes; `data_quality` needs a
result of `audit.expect`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from audit.store.days.finished_tables import FINISHED_TABLES
from audit.store.measured.names import STANDS_ON
from audit.store.tables import COLUMN_LINEAGE, DATA_QUALITY, TABLE_LINEAGE
from lineage.names import split_name, sql_name
from lineage.sql.mentions import named_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_RECORDS = (
    "objects_read", "columns_read", "columns_written", "ddl_history", "statements", "policies_in_force",
    "logging_history", "top_readers", "first_time_access", "exports", "failed_and_denied_attempts",
    "administrator_access", "policy_changes", "sessions_by_day", "sessions", "aggregate_query_history",
    "aggregate_access_history", "system_access_audit", "system_query_history", "information_schema_jobs",
)  # fmt: skip
"""The views over the two tables of statements. The last three have names of other systems: what is
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
FINISHED = {table.view: table for table in FINISHED_TABLES}
"""The table that holds the finished days of a view, where it is there."""
_FROM_TABLE = "\n-- Finished days, as `audit summarize` has written them:\n"
NO_DAY = "DATE'1970-01-01'"
"""SQL: the newest finished day of a table without rows."""


def with_those_below(names: Collection[str]) -> tuple[str, ...]:
    """Views, with the views that they read, in the order in which they can be made.

    >>> with_those_below(["columns_read"])
    ('objects_read', 'columns_read')
    """
    wanted = {*names}
    for name in reversed(VIEWS):
        if name in wanted:
            wanted |= named_in(definition(name), "account_usage")
    return tuple(name for name in VIEWS if name in wanted)


def create_views(spark: SparkSession, schema: str, wanted: Sequence[str] = VIEWS) -> tuple[str, ...]:
    """Create views, or bring them up to date.

    Args:
        spark: not audited, or inside of `audit.suppress`.
        schema: of the audit tables.
        wanted: their names, each after those that it reads.

    Returns:
        The names of those that were made: those in `BELOW` where their table is there.
    """
    # Views over a table that is not there would not resolve.
    full = sql_name(split_name(schema))
    made = {table for table in {*BELOW.values()} if spark.catalog.tableExists(f"{full}.{table}")}
    names = [name for name in wanted if BELOW.get(name) in (None, *made)]
    for name in names:
        finished = FINISHED.get(name)
        newest = None
        if finished is not None and spark.catalog.tableExists(f"{full}.{finished.name}"):
            # Asked at each query. Spark leaves out the files of other days by its answer.
            newest = f"coalesce((SELECT max(query_date) FROM {full}.{finished.name}), {NO_DAY})"  # noqa: S608 - our own names
        spark.sql(definition(name, schema, newest))
    return tuple(names)


def definition(name: str, schema: str = "account_usage", finished: str | None = None) -> str:
    """The statement that creates a view.

    Args:
        name: of the view.
        schema: of the audit tables.
        finished: SQL of the newest day in the view's table of finished days; None: without that table.

    >>> definition("statements").splitlines()[0]
    '-- One row for each statement: query_history beside what the analysis made of it. The flags are null for'
    """
    return _text(name, finished).replace("{schema}", sql_name(split_name(schema)))


def temporary_definition(name: str, finished: str | None = None) -> str:
    """The statement that creates a temporary view of that name over temporary views.

    Args:
        name: of the view.
        finished: SQL of a day: its rows are those of later days; None: of all days.
    """
    text = _text(name, finished).partition(_FROM_TABLE)[0]
    return text.replace("OR REPLACE VIEW {schema}.", "OR REPLACE TEMPORARY VIEW ").replace("{schema}.", "")


def _text(name: str, finished: str | None) -> str:
    text = (resources.files("views") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    if finished is None:
        return text.partition(_FROM_TABLE)[0].replace("{unfinished}", "true")
    return text.replace("{unfinished}", f"query_date > {finished}")
