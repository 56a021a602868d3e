"""The audit tables: their columns, their creation by path, their names in a metastore.

In: a root and a SparkSession. Out: Delta tables `<root>/access_history`, `<root>/query_history`,
`<root>/column_lineage` and `<root>/table_lineage` that any Delta reader opens by path, and tables of
the same names in the schema `account_usage`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage.names import delta_path

COLUMN_FIELDS = (
    "columnName: STRING, columnId: BIGINT, objectDomain: STRING, objectId: BIGINT, objectName: STRING"
)
SIGNATURE_FIELDS = "argumentSignature: STRING, dataType: STRING"
SOURCE = f"STRUCT<{COLUMN_FIELDS}, {SIGNATURE_FIELDS}>"
_OBJECT = (
    "STRUCT<objectDomain: STRING, objectId: BIGINT, objectName: STRING,"
    " columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING>>,"
    f" location: STRING, stageKind: STRING, {SIGNATURE_FIELDS}>"
)
MODIFIED = (
    "STRUCT<objectDomain: STRING, objectId: BIGINT, objectName: STRING,"
    f" columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING, baseSources: ARRAY<{SOURCE}>,"
    f" directSources: ARRAY<{SOURCE}>>>, location: STRING, stageKind: STRING>"
)
POLICY_FIELDS = "policyName: STRING, policyId: BIGINT, policyKind: STRING"
POLICY_DETAILS = "policyVersion: STRING, changedResult: BOOLEAN"
POLICY = f"STRUCT<{POLICY_FIELDS}, {POLICY_DETAILS}>"
REFERENCED = (
    f"STRUCT<columns: ARRAY<STRUCT<columnId: BIGINT, columnName: STRING, policies: ARRAY<{POLICY}>>>,"
    f" objectDomain: STRING, objectId: BIGINT, objectName: STRING, policies: ARRAY<{POLICY}>>"
)


@dataclass(frozen=True, slots=True)
class TableOfRoot:
    """A table under a root, by its name."""

    name: str

    def location(self, root: str) -> str:
        """Where the table lies under a root."""
        return f"{root.rstrip('/')}/{self.name}"


def path_name(table: TableOfRoot, root: str) -> str:
    """A table by its path, as SQL names it."""
    return delta_path(table.location(root))


@dataclass(frozen=True, slots=True)
class AuditTable(TableOfRoot):
    """An audit table: `columns` are (name, SQL type, comment), `time` is the column of its partition.

    `stats_columns` are further columns with file statistics, for data skipping, beside id, time and user.
    """

    time: str
    columns: tuple[tuple[str, str, str], ...]
    stats_columns: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Of the columns, without the generated one."""
        return [name for name, _, _ in self.columns]

    @property
    def row_schema(self) -> str:
        """The DDL of a row as the spool carries it (without the generated partition column)."""
        return ", ".join(f"{name} {kind}" for name, kind, _ in self.columns)

    @property
    def day(self) -> str:
        """The SQL of the UTC day of a row, which Spark and DataFusion, the engine of delta-rs, both take.

        As a number a time has seconds in Spark, and nanoseconds in DataFusion. Divided by a time of the same
        type, a day after the epoch, it has days in both.
        """
        first = "TIMESTAMP'1970-01-02 00:00:00Z'"
        number = (
            f"CAST(COALESCE({self.time}, {first}) AS BIGINT) / CAST(COALESCE({first}, {self.time}) AS BIGINT)"
        )
        return f"DATE'1970-01-01' + CAST(FLOOR({number}) AS INT)"

    def create_sql(self, root: str) -> str:
        """CREATE TABLE by path; safe to run when the table is there.

        The partition is the UTC day by arithmetic. `CAST(query_start_time AS DATE)` would be cut by the
        session's time zone: Delta 4.4 derives partition filters from such a cast in the reader's zone, and a
        reader in Tokyo silently loses rows that were written in UTC. Delta prunes by the minimum and maximum
        of the time column instead, which no zone touches.
        """
        skipping = ",".join(("query_id", self.time, "user_name", *self.stats_columns))
        lines = [f"{name} {kind} COMMENT '{text}'" for name, kind, text in self.columns]
        lines.insert(
            2, f"query_date DATE GENERATED ALWAYS AS ({self.day}) COMMENT 'Partition: the day (UTC)'"
        )
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
        ("objects_modified", f"ARRAY<{MODIFIED}>", "Objects written, with the sources of each column"),
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
            f"ARRAY<{REFERENCED}>",
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
