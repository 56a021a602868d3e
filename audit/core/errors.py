"""The errors of the audit system: one root, a stable code each.

In: what went wrong and what to do about it. Out: an exception whose text is
`[CODE] problem; way out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from typing import ClassVar


class AuditError(Exception):
    """The root of all errors that this package raises on purpose.

    Args:
        problem: what is wrong, naming the object (a path, a table, a query id).
        way_out: what the reader can do next.
    """

    code: ClassVar[str] = "AUDIT_ERROR"

    def __init__(self, problem: str, way_out: str) -> None:
        # Both in `args`: pickle makes an exception again by calling its class with them.
        super().__init__(problem, way_out)
        self.problem = problem
        self.way_out = way_out

    @property
    def message(self) -> str:
        """Problem and way out as one line, without the code."""
        return f"{self.problem}; {self.way_out}"

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


# `import audit` raises it, so code that guards the import with `except ImportError` catches it.
class ImportShadowed(AuditError, ImportError):
    """A module of the user hides a package of this project on Python's path."""

    code = "AUDIT_IMPORT_SHADOWED"


class ConfigInvalid(AuditError):
    """An invalid value of a configuration field."""

    code = "AUDIT_CONFIG_INVALID"


class ConfigUnknownKey(ConfigInvalid):
    """A key of the configuration that does not exist."""

    code = "AUDIT_CONFIG_UNKNOWN_KEY"


class ConfigUnreadable(ConfigInvalid):
    """A configuration file that cannot be read."""

    code = "AUDIT_CONFIG_UNREADABLE"


class JavaNotFound(AuditError):
    """No Java where Spark looks for one."""

    code = "AUDIT_JAVA_NOT_FOUND"


class JavaUnsupported(AuditError):
    """A Java that Spark 4.2 does not start on."""

    code = "AUDIT_JAVA_UNSUPPORTED"


class ClassArchiveError(AuditError):
    """The class-data archive, which speeds up the start of the JVM, could not be made."""

    code = "AUDIT_CLASS_ARCHIVE"


class JarUnavailable(AuditError):
    """A jar that is not on this machine and could not be downloaded."""

    code = "AUDIT_JAR_UNAVAILABLE"


class JarCacheUnwritable(JarUnavailable):
    """The cache folder of the jars is not writable."""

    code = "AUDIT_JAR_CACHE_UNWRITABLE"


class JarCorrupt(AuditError):
    """A jar whose checksum differs from the lock file."""

    code = "AUDIT_JAR_CORRUPT"


class JavaClassesError(AuditError):
    """The jar of this project's Java is missing or altered, or the JVM has another build of it."""

    code = "AUDIT_JAVA_CLASSES"


class SparkUnavailable(AuditError):
    """Spark does not start, or the one that runs in this process cannot be used."""

    code = "AUDIT_SPARK_UNAVAILABLE"


class SparkRuns(SparkUnavailable):
    """This process already runs another Spark than the requested one."""

    code = "AUDIT_SPARK_RUNS"


class RootNotLocal(SparkUnavailable):
    """The embedded session was asked for a root that is not on this machine."""

    code = "AUDIT_ROOT_NOT_LOCAL"


class RootUnwritable(SparkUnavailable):
    """The root's folder cannot be made or written."""

    code = "AUDIT_ROOT_UNWRITABLE"


class RootMissing(AuditError):
    """There is no audit under the root that a command was given."""

    code = "AUDIT_ROOT_MISSING"


class SparkFailed(AuditError):
    """Spark or Delta could not do what a command needs."""

    code = "AUDIT_SPARK_FAILED"


class TableUnknown(AuditError):
    """A command was asked about a table or schema that does not exist."""

    code = "AUDIT_TABLE_UNKNOWN"


class QueryFailed(AuditError):
    """A query of `audit query` that has a mistake, or asks for what is not there."""

    code = "AUDIT_QUERY_FAILED"


class OutputUnwritable(AuditError):
    """The answer of a command could not be handed over: the standard output takes no more."""

    code = "AUDIT_OUTPUT_UNWRITABLE"


class RootUnreachable(AuditError):
    """The file system of the root is unknown to Spark, or cannot be used."""

    code = "AUDIT_ROOT_UNREACHABLE"


class CatalogUnknownError(AuditError):
    """A command needs the catalog of the tables, and none is configured."""

    code = "AUDIT_CATALOG_UNKNOWN"


class RootBusy(AuditError):
    """Another process has the metastore of this root open."""

    code = "AUDIT_ROOT_BUSY"


class SpoolError(AuditError):
    """Something about the local spool."""

    code = "AUDIT_SPOOL_ERROR"


class SpoolUnavailableError(SpoolError):
    """The spool cannot take an entry now (disk full, read-only, permission, I/O error)."""

    code = "AUDIT_SPOOL_UNAVAILABLE"


class SpoolFullError(SpoolUnavailableError):
    """The spool has reached its size limit, `max_bytes`."""

    code = "AUDIT_SPOOL_FULL"


class SpoolForkedError(SpoolError):
    """A forked child used the spool of its parent."""

    code = "AUDIT_SPOOL_FORKED"


class SpoolClosedError(SpoolError):
    """The spool was closed before."""

    code = "AUDIT_SPOOL_CLOSED"


class SpoolVersionError(SpoolError):
    """A spool directory was written by another format version, or says none."""

    code = "AUDIT_SPOOL_VERSION"


class SpoolBusyError(SpoolError):
    """Another process works on the spool directory."""

    code = "AUDIT_SPOOL_BUSY"


class SpoolEntryError(SpoolError):
    """A payload that no entry can hold (not JSON, or another statement's query id)."""

    code = "AUDIT_SPOOL_ENTRY"


class RecordLossWarning(UserWarning):
    """Records are being lost, and the user chose `on_record_failure = "warn"`."""


class TagsNotPropagatedWarning(UserWarning):
    """A statement has run, and derived columns may lack the tags of their sources (`propagate_tags`)."""


class TableUnreadable(AuditError):
    """A file of an audit table is damaged, or gone."""

    code = "AUDIT_TABLE_UNREADABLE"


class TableAlteredError(AuditError):
    """An audit table is not as this version made it."""

    code = "AUDIT_TABLE_ALTERED"


class TableMissingError(TableAlteredError):
    """An audit table was deleted."""

    code = "AUDIT_TABLE_MISSING"


class StatementDeniedError(AuditError):
    """A statement that may not run; it is recorded as DENIED."""

    code = "AUDIT_STATEMENT_DENIED"


class AttachError(AuditError):
    """A session that cannot be audited as asked."""

    code = "AUDIT_ATTACH"


class SchemaTakenError(AttachError):
    """The schema of the audit tables shows those of another root."""

    code = "AUDIT_SCHEMA_TAKEN"


class InternalsChangedError(AuditError):
    """PySpark, Spark or Delta lack an internal member that this package uses."""

    code = "AUDIT_INTERNALS_CHANGED"


class ProcedureError(AuditError):
    """A function that cannot be marked as a procedure."""

    code = "AUDIT_PROCEDURE"


class IngestError(AuditError):
    """Records could not be ingested into the tables; they stay in the spool."""

    code = "AUDIT_INGEST"


class CopyError(AuditError):
    """A COPY INTO that Spark cannot run as written."""

    code = "AUDIT_COPY_INTO"


class TimeTravelError(AuditError):
    """The root of every error that Time Travel raises on purpose."""

    code = "TIME_TRAVEL"


class UnreadableTableError(TimeTravelError):
    """A Delta table whose log cannot be read."""

    code = "TIME_TRAVEL_UNREADABLE_TABLE"


class FilesNotMovedError(AuditError):
    """The store has not renamed the folder of a table."""

    code = "AUDIT_FILES_NOT_MOVED"
