"""`DESCRIBE` of an audit table or a view: each column, its type as Spark names it, its meaning.

In: the text of a query; a type of DuckDB's. Out: what it asks about; the type of Spark's. No Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from audit.core.errors import QueryFailed
from audit.store.later_tables import LATER_TABLES
from audit.store.tables import AUDIT_TABLES, DIGESTS
from audit.store.views import VIEWS, description
from lineage.types import simple_type

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = ("col_name", "data_type", "comment")
"""Those of the answer, as Spark calls them."""
_DAY = "Partition: the day (UTC)"


def asked_about(text: str, schema: str) -> str | None:
    """The name of the table or view of a schema that a text describes; None for any other text.

    >>> asked_about("DESCRIBE account_usage.Statements", "account_usage")
    'statements'

    Raises:
        QueryFailed: it describes one without its schema.
    """
    if "desc" not in text.lower():
        return None
    try:
        tree = parse_one(text, read="spark")
    except SqlglotError:
        return None  # the error of a query says where
    if not isinstance(tree, exp.Describe) or tree.args.get("style") == "HISTORY":
        return None
    named = tree.this
    kind = str(tree.args.get("kind") or "TABLE").upper()
    if kind != "TABLE" or not isinstance(named, exp.Table) or named.catalog:
        return None
    name = str(named.name).lower()
    if not named.db and meanings(name):
        raise QueryFailed(f"{name} is in the schema {schema}", f"DESCRIBE {schema}.{name}")
    return name if named.db.lower() == schema.lower() else None


def spark_type(kind: str) -> str:
    """A type of DuckDB's as Spark's `simpleString` writes it.

    >>> spark_type('STRUCT("objectId" BIGINT, names VARCHAR[])[]')
    'array<struct<objectId:bigint,names:array<string>>>'
    """
    found = simple_type(exp.DataType.build(kind, dialect="duckdb").sql("spark"))
    # All times of the audit are UTC, and have no zone in DuckDB.
    return found.replace("timestamp_ntz", "timestamp")


def meanings(name: str) -> Mapping[str, str]:
    """What the columns of an audit table or a view hold; empty for any other name."""
    if name in VIEWS:
        return description(name).columns
    if name == DIGESTS.name:
        from audit.evidence.digest_log import COLUMNS  # with pyarrow, which few questions need

        return {column: said for column, _, said in COLUMNS}
    tables = {table.name: table for table in (*AUDIT_TABLES, *LATER_TABLES)}
    if name not in tables:
        return {}
    return {**{column: said for column, _, said in tables[name].columns}, "query_date": _DAY}
