"""The flattening views: nested arrays of the audit tables as rows that short SQL can ask.

In: a SparkSession that knows the audit tables. Out: views beside them, in the same schema. The SQL, with
a description of every column, is in `views/sql/`.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import audit
from audit.core.errors import AuditError
from audit.spark.sessions import require_session
from audit.store.tables import HISTORY_TABLES
from audit.time_travel.attached import is_attached, time_travel_of
from audit.time_travel.retention.storage_views import TABLES as STORAGE
from lineage.names import split_name, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.time_travel.service import TimeTravel

_OF_STORAGE = ("tables", "schemata", "table_storage_metrics", "table_storage")
VIEWS = (
    "objects_read", "columns_read", "columns_written", "ddl_history", "statements", "policies_in_force",
    *_OF_STORAGE,
)  # fmt: skip


class ViewsError(AuditError):
    """The views have no tables to stand on."""

    code = "AUDIT_VIEWS"


def install(spark: SparkSession, schema: str = "account_usage") -> tuple[str, ...]:
    """Create the views, or bring them up to date; safe to call at every start.

    Args:
        spark: an audited session, or any session whose metastore knows the audit tables.
        schema: the schema of the audit tables.

    Returns:
        The names of the views, with the schema: those of storage where an audited session has measured it.

    Raises:
        AttachError: it is no session, or has been stopped.
        ViewsError: the audit tables are not in that schema.
    """
    _require_tables(require_session(spark), schema)
    with audit.suppress():
        if is_attached(spark):
            travel: TimeTravel = time_travel_of(spark)
            travel.measure()
        # Before storage was measured its table is not there, and views over it would not resolve.
        measured = spark.catalog.tableExists(f"{sql_name(split_name(schema))}.{STORAGE}")
        names = [name for name in VIEWS if measured or name not in _OF_STORAGE]
        for name in names:
            spark.sql(definition(name, schema))
    return tuple(f"{schema}.{name}" for name in names)


def definition(name: str, schema: str = "account_usage") -> str:
    """The statement that creates a view.

    >>> definition("statements").splitlines()[0]
    '-- One row for each statement: query_history beside what the analysis made of it. The flags are null for'
    """
    text = (resources.files("views") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return text.replace("{schema}", sql_name(split_name(schema)))


def _require_tables(spark: SparkSession, schema: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        for table in HISTORY_TABLES:
            # Naming the schema makes an audited session finish its tables, which are made in the background.
            spark.sql(f"SELECT * FROM {sql_name(split_name(schema))}.{table.name}")  # noqa: S608 - names of our own, quoted
    except AnalysisException as error:
        raise ViewsError(
            f"there are no audit tables in the schema {schema}: {error.getCondition()}",
            "call audit.attach(spark) first, or name the schema that it was given",
        ) from error
