"""The views beside the audit tables: nested arrays as rows that short SQL can ask, and what is measured.

In: a SparkSession that knows the audit tables. Out: views beside them, in the same schema. The SQL, with
a description of every column, is in `views/sql/`. An audited session makes them by itself when a text first
names one; other sessions of the same catalog, and readers of DataFrames, have them by `install`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.core.errors import AuditError
from audit.spark.sessions import require_session
from audit.spark.unrecorded import unrecorded
from audit.store.tables import HISTORY_TABLES
from audit.store.views import VIEWS, create_views, definition
from lineage.names import split_name, sql_name

__all__ = ["VIEWS", "ViewsError", "definition", "install"]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ViewsError(AuditError):
    """The views have no tables to stand on."""

    code = "AUDIT_VIEWS"


def install(spark: SparkSession, schema: str = "account_usage") -> tuple[str, ...]:
    """Create the views, or bring them up to date; safe to call at every start.

    Args:
        spark: an audited session, or any session whose metastore knows the audit tables.
        schema: the schema of the audit tables.

    Returns:
        The names of the views, with the schema: those of storage, governance and the catalog where an audited
        session has measured these.

    Raises:
        AttachError: it is no session, or has been stopped.
        ViewsError: the audit tables are not in that schema.
    """
    from audit.attached_sessions import find

    _require_tables(require_session(spark), schema)
    with unrecorded():
        audited = find(spark)
        if audited is not None:
            audited.services.measurement.measure()
        names = create_views(spark, schema)
    return tuple(f"{schema}.{name}" for name in names)


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
