"""Audited sessions of the one Spark of a test process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NO_TABLES = {"ingest": "external"}
"""Options of a session whose records stay in the spool: its attach and detach write no table."""
_JDBC = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


def add_derby_catalog(session: SparkSession, name: str) -> None:
    """Give a session another catalog, over an empty database in memory that lives as long as the JVM."""
    catalog = f"spark.sql.catalog.{name}"
    session.conf.set(catalog, _JDBC)
    session.conf.set(f"{catalog}.url", f"jdbc:derby:memory:{name};create=true")
    session.conf.set(f"{catalog}.driver", "org.apache.derby.jdbc.EmbeddedDriver")


@contextmanager
def attached(
    spark: SparkSession, root: Path, user: str = "ann", provider: str = "delta", **options: Any
) -> Iterator[SparkSession]:
    """A new session, audited under a root of its own.

    Its audit tables and global views go with it, and what it left in the schema `default`: the other
    modules of the test process find that as it was.

    Args:
        spark: the session of the test process.
        root: an empty folder.
        user: who runs the statements.
        provider: the provider of a table whose statement names none.
        options: of `audit.attach`. By default nothing is synced, and ingest runs at a flush alone.
    """
    from .ops.helpers import make_tables  # imports more than tests without Spark need

    options = {"durable": False, "ingest_interval_seconds": 3600, **options}
    if options.get("ingest") != "external":
        make_tables(spark, root)
    before = in_default(spark)
    session = spark.newSession()
    session.conf.set("spark.sql.sources.default", provider)
    audit.attach(session, user=user, root=str(root), **options)
    try:
        yield session
    finally:
        audit.detach(session)
        session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")
        session._jsparkSession.sharedState().globalTempViewManager().clear()
        for kind, name in sorted(in_default(spark) - before):
            spark.sql(f"DROP {kind} spark_catalog.default.`{name}`")


def in_default(spark: SparkSession) -> set[tuple[str, str]]:
    """The kind and the name of each table, view and function of the schema `default`."""
    schema = "spark_catalog.default"
    views = {row.viewName for row in spark.sql(f"SHOW VIEWS IN {schema}").collect() if not row.isTemporary}
    rows = spark.sql(f"SHOW TABLES IN {schema}").collect()
    tables = {row.tableName for row in rows if not row.isTemporary} - views
    functions = {row.function for row in spark.sql(f"SHOW USER FUNCTIONS IN {schema}").collect()}
    return (
        {("VIEW", name) for name in views}
        | {("TABLE", name) for name in tables}
        | {("FUNCTION", name.rpartition(".")[2]) for name in functions}
    )
