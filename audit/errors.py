"""The errors of the audit system: one root, a stable code each.

In: what went wrong and what to do about it. Out: an exception whose text is
`[CODE] problem; way out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from typing import ClassVar


class AuditError(Exception):
    """The root of every error that this package raises on purpose.

    Args:
        problem: what is wrong, naming the object (a path, a table, a query id).
        way_out: what the reader can do next.
    """

    code: ClassVar[str] = "AUDIT_ERROR"

    def __init__(self, problem: str, way_out: str) -> None:
        super().__init__(problem, way_out)
        self.problem = problem
        self.way_out = way_out

    @property
    def message(self) -> str:
        """Problem and way out as one line, without the code."""
        return f"{self.problem}; {self.way_out}"

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class ConfigInvalid(AuditError):
    """A value that a field of the configuration cannot have."""

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
    """The archive of classes that makes a start quicker could not be made."""

    code = "AUDIT_CLASS_ARCHIVE"


class JarUnavailable(AuditError):
    """A jar that is nowhere on this machine and could not be fetched."""

    code = "AUDIT_JAR_UNAVAILABLE"


class JarCacheUnwritable(JarUnavailable):
    """The folder that keeps the jars cannot be written."""

    code = "AUDIT_JAR_CACHE_UNWRITABLE"


class JarCorrupt(AuditError):
    """Bytes that are not those of the lock file."""

    code = "AUDIT_JAR_CORRUPT"


class SparkUnavailable(AuditError):
    """Spark does not start, or the one that runs in this process cannot be used."""

    code = "AUDIT_SPARK_UNAVAILABLE"


class SparkRuns(SparkUnavailable):
    """This process already runs a Spark, and not the one that was asked for."""

    code = "AUDIT_SPARK_RUNS"


class RootNotLocal(SparkUnavailable):
    """The embedded session was asked for a root that is not on this machine."""

    code = "AUDIT_ROOT_NOT_LOCAL"


class RootUnwritable(SparkUnavailable):
    """The root's folder cannot be made or written."""

    code = "AUDIT_ROOT_UNWRITABLE"


class CatalogUnknownError(AuditError):
    """A command that needs the catalog of the tables, and none is known."""

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
    """The spool holds as many bytes as `max_bytes` lets it."""

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
    """A statement has run, and columns that it made of tagged ones may lack their tags (`propagate_tags`)."""


class TableAlteredError(AuditError):
    """An audit table is not as this version made it."""

    code = "AUDIT_TABLE_ALTERED"


class TableMissingError(TableAlteredError):
    """An audit table that was there is gone."""

    code = "AUDIT_TABLE_MISSING"


class StatementDeniedError(AuditError):
    """A statement that may not run; it is recorded as DENIED."""

    code = "AUDIT_STATEMENT_DENIED"


class AttachError(AuditError):
    """A session that cannot be audited as asked."""

    code = "AUDIT_ATTACH"


class ProcedureError(AuditError):
    """A function that cannot be marked as a procedure."""

    code = "AUDIT_PROCEDURE"


class IngestError(AuditError):
    """Records that are safe in the spool could not be taken into the tables."""

    code = "AUDIT_INGEST"


class CopyError(AuditError):
    """A COPY INTO that Spark cannot run as written."""

    code = "AUDIT_COPY_INTO"
