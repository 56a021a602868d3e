"""What the catalog holds today, as a temporary view: the history alone cannot name a table never touched.

In: a SparkSession. Out: the temp view `catalog_tables`, one row for each table and view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.spark.unrecorded import unrecorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "catalog_tables"
COLUMNS = "object_name STRING, schema_name STRING, object_domain STRING"


def register_catalog(spark: SparkSession, *, without: tuple[str, ...] = ("account_usage",)) -> str:
    """Make the temp view `catalog_tables` of all tables and views of the current catalog, as of now.

    Args:
        spark: the session that gets the view.
        without: schemas that are left out.

    Returns:
        The name of the view.
    """
    with unrecorded():
        rows = [
            (f"{table.catalog}.{schema.name}.{table.name}", schema.name, _domain(table.tableType))
            # `listTables` without a schema lists the current one alone.
            for schema in spark.catalog.listDatabases()
            if schema.name not in without
            for table in spark.catalog.listTables(schema.name)
            # `listTables` adds the temporary views to each schema (Spark 4.2).
            if not table.isTemporary
        ]
        # With a schema, since PySpark cannot infer one from no rows.
        spark.createDataFrame(rows, COLUMNS).createOrReplaceTempView(NAME)
    return NAME


def _domain(table_type: str) -> str:
    return "VIEW" if table_type == "VIEW" else "Table"
