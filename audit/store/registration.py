"""The audit tables under their names, as `account_usage.access_history`.

In: a root, a schema of the metastore. Out: entries of the catalog. A schema shows one root: names of a root
that is over give way, names of one that others may still use are left, and the new root is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from audit.core.errors import SchemaTakenError
from audit.core.file_paths import local_path
from audit.spark.delta.catalog_entries import CatalogEntries
from audit.spark.delta.delta_java import DeltaJava
from audit.spark.delta.values import Table
from audit.store.days.finished_tables import SUM_TABLES
from audit.store.later_tables import LATER_TABLES
from audit.store.made_tables import exists
from audit.store.tables import AUDIT_TABLES, DIGESTS
from lineage.names import split_name, sql_name, sql_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.store.tables import AuditTable


def register_tables(
    spark: SparkSession,
    root: str,
    schema: str,
    tables: Sequence[AuditTable] = AUDIT_TABLES,
    former: Collection[str] = (),
) -> None:
    """Make the tables known by name; those that come later as well, where they are there.

    Args:
        spark: a session with the metastore.
        root: folder of the audit tables.
        schema: where they are registered.
        tables: those of the audit tables that are there.
        former: roots that this process has detached from: nobody misses their names.

    Raises:
        SchemaTakenError: the schema shows another root, which has records.
    """
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {sql_name(split_name(schema))}")
    entries = CatalogEntries(spark, DeltaJava.load(spark, lambda *_: None))
    later = [table for table in (*LATER_TABLES, DIGESTS, *SUM_TABLES) if exists(spark, table, root)]
    for table in (*tables, *later):
        parts, location = (*split_name(schema), table.name), table.location(root)
        known = entries.find(parts)
        there = (known.location or "") if isinstance(known, Table) else location
        if not _same(there, location):
            other = there.rpartition("/")[0]
            if not any(_same(other, one) for one in former) and exists(spark, table, other):
                raise SchemaTakenError(
                    f"the schema {schema} shows the records of {other}, not those of {root}",
                    f'attach with another one (schema="..."), or run DROP SCHEMA {schema} CASCADE first: the'
                    " files stay",
                )
            _forget(entries, schema, other)
        spark.sql(f"CREATE TABLE IF NOT EXISTS {sql_name(parts)} USING delta LOCATION {sql_text(location)}")
    for table in SUM_TABLES:
        known = None if table in later else entries.find((*split_name(schema), table.name))
        if isinstance(known, Table) and _same(known.location or "", table.location(root)):
            # Its folder is gone, which costs time alone: views are made without it.
            entries.drop(known)


def _forget(entries: CatalogEntries, schema: str, root: str) -> None:
    """Take the names of another root's tables out of a schema; files stay, as do views over the names."""
    for entry in entries.tables(split_name(schema)[-1]):
        if isinstance(entry, Table) and not entry.managed:
            folder = (entry.location or "").rpartition("/")[0]
            if _same(folder, root):
                entries.drop(entry)


def _same(one: str, other: str) -> bool:
    return (local_path(one) or one) == (local_path(other) or other)
