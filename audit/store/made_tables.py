"""Makes the audit tables under a root, looks at those that are there, and brings older ones up to date.

In: a root and a SparkSession. Out: the tables, or an error that names the one that is not as it was made.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.core.errors import TableAlteredError, TableMissingError
from audit.core.file_paths import local_path
from audit.core.origin import ORIGIN_FIELDS
from audit.spark import scala_values
from audit.spark.delta import delta_log
from audit.spark.delta.conflicts import retried
from audit.store.delta_files import types_of
from audit.store.tables import (
    AUDIT_TABLES,
    COLUMN_FIELDS,
    HISTORY_TABLES,
    LINEAGE_TABLES,
    MODIFIED,
    POLICY,
    POLICY_DETAILS,
    POLICY_FIELDS,
    QUERY_HISTORY,
    REFERENCED,
    SIGNATURE_FIELDS,
    SOURCE,
    AuditTable,
    TableOfRoot,
    path_name,
)
from lineage.types import simple_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class _AddedFields:
    """The fields that a column has gained since an older version, at the end of structs inside it.

    `before` is the column as that version made it, `structs` are the structs by their paths, `fields` what
    each has gained.
    """

    before: str
    structs: tuple[str, ...]
    fields: str

    @property
    def column(self) -> tuple[str, str]:
        """The column of before: its name and its type."""
        name, _, kind = self.before.partition(" ")
        return name, simple_type(kind)

    def add_sql(self, table: AuditTable, root: str) -> str:
        """ALTER TABLE … ADD COLUMNS: of the schema alone, no file is written anew."""
        fields = [f"{struct}.{field}" for struct in self.structs for field in self.fields.split(", ")]
        return f"ALTER TABLE {path_name(table, root)} ADD COLUMNS ({', '.join(fields).replace(':', '')})"


_UPGRADES = (
    # Before functions were sources, a source was a column.
    _AddedFields(
        f"objects_modified ARRAY<{MODIFIED.replace(SOURCE, f'STRUCT<{COLUMN_FIELDS}>')}>",
        tuple(
            f"objects_modified.element.columns.element.{side}.element"
            for side in ("baseSources", "directSources")
        ),
        SIGNATURE_FIELDS,
    ),
    # Before a record said which body was in force, and whether it could change anything.
    _AddedFields(
        f"policies_referenced ARRAY<{REFERENCED.replace(POLICY, f'STRUCT<{POLICY_FIELDS}>')}>",
        tuple(f"policies_referenced.element{inside}.policies.element" for inside in (".columns.element", "")),
        POLICY_DETAILS,
    ),
)

_ADDED_COLUMNS = {
    # Before a statement said where it came from and what for; before a row could stand for several.
    QUERY_HISTORY: frozenset(("query_tag", "purpose", *ORIGIN_FIELDS, "calls")),
}
"""Whole columns that a table has gained."""

_GENERATED = "delta.generationExpression"
"""The expression of a generated column, in the metadata of its field: Delta's protocol."""

_TOGETHER = (HISTORY_TABLES, LINEAGE_TABLES)
# Made together. A root that is older than lineage has the first pair alone, and gains the second.


def create_tables(spark: SparkSession, root: str, *, recreate: bool = False) -> None:
    """Create the audit tables under a root where they are missing; check those that are there.

    A root of before lineage gains its tables, an older table the fields that have come since. Any number of
    processes may do it at the same instant. The caller holds the `commit_lock`.

    Args:
        spark: a session with Delta.
        root: folder of the audit tables.
        recreate: make a missing table also where another one shows that it was there.

    Raises:
        TableAlteredError: a table at the path lacks a column, or has one with another type.
        TableMissingError: one table is there and holds commits, the other is gone.
    """
    missing = [table for table in AUDIT_TABLES if not exists(spark, table, root)]
    for pair in _TOGETHER:
        gone = [table for table in pair if table in missing]
        # Both tables of a pair are created together; one alone was deleted, unless its creation was
        # interrupted.
        if len(gone) == 1 and not recreate:
            (kept,) = (table for table in pair if table not in missing)
            if _was_written(spark, kept, root):
                raise _missing(gone[0], root)
    for table in missing:
        # The caller's lock makes sure that no other process is creating the table just now.
        _remove_remains(table, root)
        retried(partial(spark.sql, table.create_sql(root)))
    for table in AUDIT_TABLES:
        _check(spark, table, root, upgrade=True)


def require_tables(
    spark: SparkSession, root: str, *, edges: bool = True, upgrade: bool = False
) -> tuple[AuditTable, ...]:
    """Check that the tables are there, as this version makes them.

    Args:
        spark: a session with Delta.
        root: folder of the audit tables.
        edges: look at the tables of lineage, too.
        upgrade: make what an older root lacks; the caller holds the `commit_lock`.

    Returns:
        Those that are there: all that were asked for, but for lineage on an older root.

    Raises:
        TableAlteredError: a table lacks a column, or has one with another type.
        TableMissingError: a table is gone.
    """
    asked = AUDIT_TABLES if edges else HISTORY_TABLES
    there = tuple(table for table in asked if exists(spark, table, root))
    missing = [table for table in asked if table not in there]
    if upgrade and missing and all(table in LINEAGE_TABLES for table in missing):
        create_tables(spark, root)
        return asked
    _require_there(missing, root)
    for table in there:
        _check(spark, table, root, upgrade=upgrade)
    return there


def require_types(root: str, types: Callable[[str], Mapping[str, str]]) -> tuple[AuditTable, ...]:
    """As `require_tables`, without a session.

    Args:
        root: folder of the audit tables.
        types: gives the columns of a table, by its name, with their types; none where it is not there.

    Raises:
        TableAlteredError: a table lacks a column, or has one with another type.
        TableMissingError: a table is gone.
    """
    found = {table: types(table.name) for table in AUDIT_TABLES}
    there = tuple(table for table in AUDIT_TABLES if found[table])
    _require_there([table for table in AUDIT_TABLES if table not in there], root)
    for table in there:
        _outdated(table, root, found[table])
    return there


def current_types(table: AuditTable, found: Mapping[str, str]) -> dict[str, str]:
    """The columns of a table that an older version may have made, with the types that they have now."""
    now = {name: simple_type(kind) for name, kind, _ in table.columns}
    grown = [name for name, kind in (one.column for one in _UPGRADES) if found.get(name) == kind]
    return {**found, **{name: now[name] for name in (*grown, *_ADDED_COLUMNS.get(table, ()))}}


def _require_there(missing: list[AuditTable], root: str) -> None:
    if missing and missing != list(LINEAGE_TABLES):
        raise _missing(missing[0], root)


def exists(spark: SparkSession, table: TableOfRoot, root: str) -> bool:
    """Whether a table has a commit; `DeltaTable.isDeltaTable` goes by the folder of the log alone."""
    # A log without a commit has version -1 (Delta 4.4).
    return int(newest_snapshot(spark, table, root).version()) >= 0


def newest_snapshot(spark: SparkSession, table: TableOfRoot, root: str) -> Any:
    """Delta's own snapshot of the newest version of a table; the log is listed."""
    nothing, stale = scala_values.some(spark.sparkContext, None), False
    return delta_log.delta_log(spark, table.location(root)).update(stale, nothing, nothing)


def _remove_remains(table: AuditTable, root: str) -> None:
    """Remove the log of a creation that was killed before its commit: Delta (4.4) creates no table over it.

    On a local disk only, where the `commit_lock` says that nobody is at it.
    """
    folder = local_path(table.location(root))
    log = None if folder is None else folder / "_delta_log"
    # Delta names a commit by its version in 20 digits: 00000000000000000000.json.
    if log is not None and log.is_dir() and not any(path.name[:20].isdigit() for path in log.iterdir()):
        shutil.rmtree(log)


def _was_written(spark: SparkSession, table: AuditTable, root: str) -> bool:
    """Whether a table has a commit after its creation."""
    newest = spark.sql(f"DESCRIBE HISTORY {path_name(table, root)} LIMIT 1").first()
    return newest is not None and int(newest["version"]) > 0


def _missing(table: AuditTable, root: str) -> TableMissingError:
    return TableMissingError(
        f"the audit table {table.location(root)} is not there",
        "bring its folder back from a backup, or let an empty one begin with `audit ingest --create`; until"
        " then the records wait in the spool",
    )


def _check(spark: SparkSession, table: AuditTable, root: str, *, upgrade: bool) -> None:
    # Of the snapshot that was looked up before: what Spark would read takes twenty times as long to analyse.
    schema = delta_log.known_snapshot(spark, table.location(root)).metadata().schemaString()
    found = types_of(schema)
    outdated = _outdated(table, root, found)
    added = _ADDED_COLUMNS.get(table, frozenset()) - found.keys()
    if added and upgrade:
        columns = [f"{name} {kind} COMMENT '{text}'" for name, kind, text in table.columns if name in added]
        add = f"ALTER TABLE {path_name(table, root)} ADD COLUMNS ({', '.join(columns)})"
        retried(partial(spark.sql, add))
    for older in outdated if upgrade else ():
        retried(partial(spark.sql, older.add_sql(table, root)))
    if upgrade and table.day not in schema:
        retried(partial(_renew_day, spark, table, root))


def _renew_day(spark: SparkSession, table: AuditTable, root: str) -> None:
    """Give a table of an older version the expression of its day that delta-rs can read, too.

    It gives the same days, so no file changes; Delta has no statement for it.
    """
    action = json.loads(newest_snapshot(spark, table, root).metadata().json())
    schema = json.loads(action["metaData"]["schemaString"])
    (day,) = (field for field in schema["fields"] if field["name"] == "query_date")
    day["metadata"][_GENERATED] = table.day
    action["metaData"]["schemaString"] = json.dumps(schema)
    delta_log.change_metadata(spark, table.location(root), json.dumps(action))


def _outdated(table: AuditTable, root: str, found: Mapping[str, str]) -> list[_AddedFields]:
    """What columns of an older version have yet to gain.

    Raises:
        TableAlteredError: a column is missing, or has a type that no version gave it.
    """
    outdated, added = [], _ADDED_COLUMNS.get(table, frozenset())
    for name, kind, _ in table.columns:
        there, wanted = found.get(name), simple_type(kind)
        if there == wanted or (there is None and name in added):
            continue
        older = [one for one in _UPGRADES if one.column == (name, there)]
        if not older:
            fault = "is missing" if there is None else f"is of type {there}, not {wanted}"
            path = table.location(root)
            raise TableAlteredError(
                f"the column {name} of the audit table {path} {fault}",
                f"undo the change (RESTORE TABLE delta.`{path}` TO VERSION AS OF ..., see DESCRIBE HISTORY)"
                " and run `audit ingest`; until then the records wait in the spool",
            )
        outdated += older
    return outdated
