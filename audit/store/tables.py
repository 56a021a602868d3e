"""The audit tables: their columns, their creation by path, their names in a metastore.

In: a root and a SparkSession. Out: Delta tables `<root>/access_history`, `<root>/query_history`,
`<root>/column_lineage` and `<root>/table_lineage` that any Delta reader opens by path, and tables of
the same names in the schema `account_usage`.
"""

from __future__ import annotations

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
from lineage.names import delta_path
from lineage.types import simple_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMN = "columnName: STRING, columnId: BIGINT, objectDomain: STRING, objectId: BIGINT, objectName: STRING"
_SIGNATURE = "argumentSignature: STRING, dataType: STRING"
_SOURCE = f"STRUCT<{_COLUMN}, {_SIGNATURE}>"
_OBJECT = (
    "STRUCT<objectDomain: STRING, objectId: BIGINT, objectName: STRING,"
    " columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING>>,"
    f" location: STRING, stageKind: STRING, {_SIGNATURE}>"
)
_MODIFIED = (
    "STRUCT<objectDomain: STRING, objectId: BIGINT, objectName: STRING,"
    f" columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING, baseSources: ARRAY<{_SOURCE}>,"
    f" directSources: ARRAY<{_SOURCE}>>>, location: STRING, stageKind: STRING>"
)
_POLICY_FIELDS = "policyName: STRING, policyId: BIGINT, policyKind: STRING"
_POLICY_DETAILS = "policyVersion: STRING, changedResult: BOOLEAN"
_POLICY = f"STRUCT<{_POLICY_FIELDS}, {_POLICY_DETAILS}>"
_REFERENCED = (
    f"STRUCT<columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING, policies: ARRAY<{_POLICY}>>>,"
    f" objectDomain: STRING, objectId: BIGINT, objectName: STRING, policies: ARRAY<{_POLICY}>>"
)


@dataclass(frozen=True, slots=True)
class TableOfRoot:
    """A table under a root, by its name."""

    name: str

    def location(self, root: str) -> str:
        """Where the table lies under a root."""
        return f"{root.rstrip('/')}/{self.name}"


@dataclass(frozen=True, slots=True)
class AuditTable(TableOfRoot):
    """An audit table: `columns` are (name, SQL type, comment), `time` is the column of its partition.

    `stats_columns` are further columns with file statistics, for data skipping, beside id, time and user.
    """

    time: str
    columns: tuple[tuple[str, str, str], ...]
    stats_columns: tuple[str, ...] = ()

    @property
    def row_schema(self) -> str:
        """The DDL of a row as the spool carries it (without the generated partition column)."""
        return ", ".join(f"{name} {kind}" for name, kind, _ in self.columns)

    def create_sql(self, root: str) -> str:
        """CREATE TABLE by path; safe to run when the table is there.

        The partition is the UTC day by arithmetic on epoch seconds. `CAST(query_start_time AS DATE)`
        would be cut by the session's time zone: Delta 4.4 derives partition filters from such a cast
        in the reader's zone, and a reader in Tokyo silently loses rows that were written in UTC. Delta
        prunes by the minimum and maximum of the time column instead, which no zone touches.
        """
        day = f"DATE_ADD(DATE'1970-01-01', CAST(CAST({self.time} AS BIGINT) DIV 86400 AS INT))"
        skipping = ",".join(("query_id", self.time, "user_name", *self.stats_columns))
        lines = [f"{name} {kind} COMMENT '{text}'" for name, kind, text in self.columns]
        lines.insert(2, f"query_date DATE GENERATED ALWAYS AS ({day}) COMMENT 'Partition: the day (UTC)'")
        return (
            f"CREATE TABLE IF NOT EXISTS {path_name(self, root)} ({', '.join(lines)})"
            " USING delta PARTITIONED BY (query_date)"
            # Without deletion vectors any Delta reader opens the tables (docs/reference/tables.md).
            # A checkpoint takes as long as ten commits, and Delta (4.4) writes one at each tenth by default.
            " TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '100',"
            f" 'delta.dataSkippingStatsColumns' = '{skipping}')"
        )


ACCESS_HISTORY = AuditTable(
    "access_history",
    "query_start_time",
    (
        ("query_id", "STRING", "Identifier of the statement, as in query_history"),
        ("query_start_time", "TIMESTAMP", "When the statement started (UTC, microseconds)"),
        ("user_name", "STRING", "Who issued the statement"),
        ("direct_objects_accessed", f"ARRAY<{_OBJECT}>", "Objects and columns that the statement names"),
        ("base_objects_accessed", f"ARRAY<{_OBJECT}>", "Objects and columns below views"),
        ("objects_modified", f"ARRAY<{_MODIFIED}>", "Objects written, with the sources of each column"),
        (
            "object_modified_by_ddl",
            (
                "STRUCT<objectDomain: STRING, objectId: BIGINT, objectName: STRING, operationType: STRING,"
                " properties: STRING>"
            ),
            "The DDL operation; properties is JSON text",
        ),
        (
            "policies_referenced",
            f"ARRAY<{_REFERENCED}>",
            "Policies in force on what was accessed",
        ),
        ("parent_query_id", "STRING", "The statement, script or procedure that ran this one"),
        ("root_query_id", "STRING", "The topmost of the chain of parents"),
        ("session_id", "STRING", "The Spark session"),
        ("application_id", "STRING", "The Spark application"),
        ("captured_by", "STRING", "text, plan or listener"),
        ("analysis", "STRING", "full, partial or opaque"),
        ("analysis_reason", "STRING", "Why the analysis is not full"),
        (
            "object_versions",
            "ARRAY<STRUCT<objectName: STRING, objectId: BIGINT, access: STRING, version: BIGINT>>",
            "The Delta version of each object read and written",
        ),
        ("record_hash", "STRING", "SHA-256 over the canonical JSON of the record"),
    ),
)

QUERY_HISTORY = AuditTable(
    "query_history",
    "start_time",
    (
        ("query_id", "STRING", "Identifier of the statement"),
        ("start_time", "TIMESTAMP", "When the statement started (UTC, microseconds)"),
        ("user_name", "STRING", "Who issued the statement"),
        ("end_time", "TIMESTAMP", "When it ended (UTC); null while it runs or after a crash"),
        ("total_elapsed_time", "BIGINT", "Milliseconds between the two"),
        ("query_text", "STRING", "The SQL text, or the DataFrame action with its plan"),
        (
            "query_type",
            "STRING",
            "SELECT, INSERT, MERGE, CREATE_TABLE, ...; GAP: what is not on record; AUDIT_…: of the logging",
        ),
        ("role_name", "STRING", "The role in force"),
        ("database_name", "STRING", "The current catalog"),
        ("schema_name", "STRING", "The current schema"),
        ("execution_status", "STRING", "SUCCESS, FAIL, DENIED, RUNNING or INCOMPLETE (after a crash)"),
        ("error_code", "STRING", "The error class of Spark, or the type of the exception"),
        ("error_message", "STRING", "The message of the error"),
        ("rows_produced", "BIGINT", "Rows returned or written, where Spark knows them"),
        ("bytes_scanned", "BIGINT", "Bytes of the files read, where Spark knows them"),
        ("bytes_written", "BIGINT", "Bytes of the files written, where Spark knows them"),
        ("query_hash", "STRING", "The same for texts that differ in white space, comments and case only"),
        ("query_parameterized_hash", "STRING", "The same for texts that differ in literals, too"),
        ("parent_query_id", "STRING", "The statement, script or procedure that ran this one"),
        ("root_query_id", "STRING", "The topmost of the chain of parents"),
        ("objects_tried", "ARRAY<STRING>", "The objects that the statement names"),
        ("action", "STRING", "The Python call that ran it"),
        ("session_id", "STRING", "The Spark session"),
        ("application_id", "STRING", "The Spark application"),
        ("query_tag", "STRING", "What the session or the program calls this work: audit.query_tag"),
        ("purpose", "STRING", "What it is done for: audit.purpose"),
        ("client_address", "STRING", "The IP address of the machine that it came from"),
        ("client_host", "STRING", "The name of that machine"),
        ("client_program", "STRING", "The script, module or shell that issued it"),
        ("client_version", "STRING", "Its Python and PySpark"),
        ("os_user", "STRING", "The user of the operating system, whoever user_name is"),
        ("calls", "BIGINT", "Statements that the row stands for, by aggregated_tables; null: one"),
    ),
)

_WHO = (
    ("query_id", "STRING", "The statement that made it, as in query_history"),
    ("query_start_time", "TIMESTAMP", "When the statement started (UTC, microseconds)"),
    ("user_name", "STRING", "Who issued the statement"),
    ("query_type", "STRING", "INSERT, MERGE, CREATE_VIEW, DROP_TABLE, ..., as in query_history"),
)
_STATS_COLUMNS = ("source_object_id", "source_object_name", "target_object_id", "target_object_name")


def _side(side: str) -> tuple[tuple[str, str, str], ...]:
    return (
        (f"{side}_object_id", "BIGINT", f"The {side}: its id, which survives a rename"),
        (f"{side}_object_name", "STRING", f"The {side}: its name at that time"),
        (f"{side}_object_domain", "STRING", f"The {side}: Table, VIEW, STAGE, ..."),
    )


_KIND = ("source_kind", "STRING", "direct: named by the statement; base: the table below a view")
_OVERWRITES = ("overwrites", "BOOLEAN", "Nothing stayed of what was in the target")

COLUMN_LINEAGE = AuditTable(
    "column_lineage",
    "query_start_time",
    (
        *_WHO,
        *_side("source"),
        ("source_column_id", "BIGINT", "The source column: its id"),
        ("source_column_name", "STRING", "The source column, with the path of a field inside it"),
        *_side("target"),
        ("target_column_id", "BIGINT", "The target column: its id"),
        ("target_column_name", "STRING", "The target column; null: the source shaped every column"),
        _KIND,
        ("is_indirect", "BOOLEAN", "A filter or key that shaped the target and gave it no value"),
        ("transformation", "STRING", "IDENTITY (cast or not), TRANSFORMATION, AGGREGATION or INDIRECT"),
    ),
    _STATS_COLUMNS,
)

TABLE_LINEAGE = AuditTable(
    "table_lineage",
    "query_start_time",
    (
        *_WHO,
        *_side("source"),
        *_side("target"),
        _KIND,
        ("is_indirect", "BOOLEAN", "The source shaped rows alone"),
        _OVERWRITES,
    ),
    _STATS_COLUMNS,
)

DATA_QUALITY = AuditTable(
    "data_quality_results",
    "run_time",
    (
        ("query_id", "STRING", "The statement that wrote the version; null where its commit names none"),
        ("run_time", "TIMESTAMP", "When the validation began (UTC, microseconds)"),
        ("user_name", "STRING", "Who validated: the policies that hold for him have been in force"),
        ("run_id", "STRING", "The validation: its rows share it"),
        ("object_id", "BIGINT", "The table or view, as objectId in access_history"),
        ("object_name", "STRING", "Its name at that time"),
        ("object_domain", "STRING", "Table, VIEW, ..."),
        ("object_version", "BIGINT", "The Delta version that was validated; null for a view"),
        ("suite_name", "STRING", "The suite of Great Expectations"),
        ("expectation_name", "STRING", "What the suite calls it, else its type with its column"),
        ("expectation_type", "STRING", "expect_column_values_to_not_be_null, ..."),
        ("column_name", "STRING", "The column that it is about; null for several, or the whole table"),
        ("description", "STRING", "What is expected, where the suite says it"),
        ("arguments", "STRING", "JSON: what the expectation was given"),
        ("severity", "STRING", "critical, warning or info"),
        ("outcome", "STRING", "PASSED, FAILED, or ERROR where it could not be asked"),
        ("element_count", "BIGINT", "Rows that were looked at, where the expectation counts them"),
        ("unexpected_count", "BIGINT", "Rows that are not as expected, where it counts them"),
        ("unexpected_percent", "DOUBLE", "Their percentage"),
        ("error_message", "STRING", "Why it could not be asked"),
    ),
    ("object_id", "object_name", "outcome"),
)
"""The outcomes of `audit.expect`, a row for each expectation; the first validation makes it. It holds no
values of what was validated: who may read it need not be one who may read that."""

DIGESTS = TableOfRoot("digests")
"""The signed log of what the tables hold (`audit.evidence`)."""

LINEAGE_TABLES = (COLUMN_LINEAGE, TABLE_LINEAGE)
"""The lineage tables. A statement that writes nothing has no row in them."""

HISTORY_TABLES = (ACCESS_HISTORY, QUERY_HISTORY)
"""The tables with a row for every statement."""

AUDIT_TABLES = (ACCESS_HISTORY, *LINEAGE_TABLES, QUERY_HISTORY)
"""In the order of ingest's commits: a statement in query_history is in all of them."""


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
        f"objects_modified ARRAY<{_MODIFIED.replace(_SOURCE, f'STRUCT<{_COLUMN}>')}>",
        tuple(
            f"objects_modified.element.columns.element.{side}.element"
            for side in ("baseSources", "directSources")
        ),
        _SIGNATURE,
    ),
    # Before a record said which body was in force, and whether it could change anything.
    _AddedFields(
        f"policies_referenced ARRAY<{_REFERENCED.replace(_POLICY, f'STRUCT<{_POLICY_FIELDS}>')}>",
        tuple(f"policies_referenced.element{inside}.policies.element" for inside in (".columns.element", "")),
        _POLICY_DETAILS,
    ),
)

_ADDED_COLUMNS = {
    # Before a statement said where it came from and what for; before a row could stand for several.
    QUERY_HISTORY: frozenset(("query_tag", "purpose", *ORIGIN_FIELDS, "calls")),
}
"""Whole columns that a table has gained."""

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


def path_name(table: TableOfRoot, root: str) -> str:
    """A table by its path, as SQL names it."""
    return delta_path(table.location(root))


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
    found = dict(spark.read.format("delta").load(table.location(root)).dtypes)
    outdated = _outdated(table, root, found)
    added = _ADDED_COLUMNS.get(table, frozenset()) - found.keys()
    if added and upgrade:
        columns = [f"{name} {kind} COMMENT '{text}'" for name, kind, text in table.columns if name in added]
        add = f"ALTER TABLE {path_name(table, root)} ADD COLUMNS ({', '.join(columns)})"
        retried(partial(spark.sql, add))
    for older in outdated if upgrade else ():
        retried(partial(spark.sql, older.add_sql(table, root)))


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
