"""Whether a schema, relation or function is there, by the session's own catalog.

In: a session, the parts of a name. Out: a truth value. The JVM is asked: PySpark's `Catalog` is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage.names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Names are quoted for Spark's Catalog: it parses the text, in which a dot would part a name.
def schema_exists(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether there is a schema of that name."""
    return bool(spark._jsparkSession.catalog().databaseExists(sql_name(parts)))


def relation_exists(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether there is a table or view of that name."""
    return bool(spark._jsparkSession.catalog().tableExists(sql_name(parts)))


def function_exists(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Whether there is a function of that name."""
    return bool(spark._jsparkSession.catalog().functionExists(sql_name(parts)))
