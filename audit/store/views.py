"""The flattening views beside the audit tables; their SQL, a file a view, lies in `views/sql/`.

In: a session whose catalog has the audit tables, and their schema. Out: views there. Those over storage need
its measurement, which the first text that names one of them makes.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import resources
from typing import TYPE_CHECKING

from audit.time_travel.retention.storage_names import TABLES as STORAGE
from audit.time_travel.retention.storage_names import VIEWS as _OF_STORAGE
from lineage.names import split_name, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = (
    "objects_read", "columns_read", "columns_written", "ddl_history", "statements", "policies_in_force",
    "logging_history",
    *_OF_STORAGE,
)  # fmt: skip
"""Each after those that it reads."""


def create_views(spark: SparkSession, schema: str, there: Collection[str] = ()) -> tuple[str, ...]:
    """Create the views, or bring them up to date.

    Args:
        spark: not audited, or inside of `audit.suppress`.
        schema: of the audit tables.
        there: views that need not be made again.

    Returns:
        The names of those that were made: those over storage where it has been measured.
    """
    # Before storage was measured its table is not there, and views over it would not resolve.
    measured = spark.catalog.tableExists(f"{sql_name(split_name(schema))}.{STORAGE}")
    names = [name for name in VIEWS if name not in there and (measured or name not in _OF_STORAGE)]
    for name in names:
        spark.sql(definition(name, schema))
    return tuple(names)


def definition(name: str, schema: str = "account_usage") -> str:
    """The statement that creates a view.

    >>> definition("statements").splitlines()[0]
    '-- One row for each statement: query_history beside what the analysis made of it. The flags are null for'
    """
    text = (resources.files("views") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return text.replace("{schema}", sql_name(split_name(schema)))
