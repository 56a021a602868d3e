"""The errors of Time Travel: one root, a stable code each.

In: the problem and the way out. Out: an exception whose text is
`[CODE] problem; way out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from audit.core.errors import (
    StatementDeniedError,
    TimeTravelError,
    UnreadableTableError,  # noqa: F401 - found with the others
)


class NotAttachedError(TimeTravelError):
    """A session that is not audited."""

    code = "TIME_TRAVEL_NOT_ATTACHED"


class BadClauseError(TimeTravelError):
    """An AT or BEFORE clause with a syntax error."""

    code = "TIME_TRAVEL_BAD_CLAUSE"


class BadMomentError(TimeTravelError):
    """The expression after TIMESTAMP, OFFSET, STATEMENT or VERSION has no value of that type."""

    code = "TIME_TRAVEL_BAD_MOMENT"


class BadOffsetError(BadMomentError):
    """An OFFSET above zero."""

    code = "TIME_TRAVEL_BAD_OFFSET"


class FutureMomentError(TimeTravelError):
    """A time in the future."""

    code = "TIME_TRAVEL_IN_THE_FUTURE"


class BeforeCreationError(TimeTravelError):
    """A time before the table was created."""

    code = "TIME_TRAVEL_BEFORE_CREATION"


class OutsideRetentionError(TimeTravelError):
    """A time before the retention period of the table."""

    code = "TIME_TRAVEL_OUTSIDE_RETENTION"


class UnknownVersionError(TimeTravelError):
    """A version that the table does not have, or no longer has."""

    code = "TIME_TRAVEL_UNKNOWN_VERSION"


class UnknownStatementError(TimeTravelError):
    """A query id that no statement on record has."""

    code = "TIME_TRAVEL_UNKNOWN_STATEMENT"


class NotAQueryError(TimeTravelError):
    """A statement without a query, where a query is needed."""

    code = "TIME_TRAVEL_NOT_A_QUERY"


class NotRepeatableError(TimeTravelError):
    """A statement whose record does not tell what it read."""

    code = "TIME_TRAVEL_NOT_REPEATABLE"


class VersionGoneError(TimeTravelError):
    """A version that a recorded statement read and that is no longer available."""

    code = "TIME_TRAVEL_VERSION_GONE"


class UnknownColumnError(TimeTravelError):
    """A column that does not exist."""

    code = "TIME_TRAVEL_UNKNOWN_COLUMN"


class NoHistoryError(TimeTravelError):
    """An object without versions: it is not a Delta table."""

    code = "TIME_TRAVEL_NO_HISTORY"


class BadParameterError(TimeTravelError):
    """An invalid value of a retention parameter."""

    code = "TIME_TRAVEL_BAD_PARAMETER"


class UnknownObjectError(TimeTravelError):
    """An object that does not exist."""

    code = "TIME_TRAVEL_UNKNOWN_OBJECT"


class SchemaHoldsFilesError(TimeTravelError):
    """A DROP SCHEMA that would delete a folder with the files of a Delta table."""

    code = "TIME_TRAVEL_SCHEMA_HOLDS_FILES"


class ObjectExistsError(TimeTravelError):
    """A name that is in use."""

    code = "TIME_TRAVEL_OBJECT_EXISTS"


class UnprotectableError(TimeTravelError):
    """A CREATE TABLE that cannot set policies on its table."""

    code = "TIME_TRAVEL_UNPROTECTABLE"


class NothingDroppedError(TimeTravelError):
    """An UNDROP of an object that was not dropped, or not within its retention period."""

    code = "TIME_TRAVEL_NOTHING_DROPPED"


class RetainedError(TimeTravelError):
    """A VACUUM that would delete files within retention."""

    code = "TIME_TRAVEL_RETAINED"


class NothingToRestoreError(TimeTravelError):
    """A RESTORE to the current version."""

    code = "TIME_TRAVEL_NOTHING_TO_RESTORE"


class StalePlanError(TimeTravelError):
    """An undo plan that is out of date: a table has changed since."""

    code = "TIME_TRAVEL_STALE_PLAN"


class BackupError(TimeTravelError):
    """The root of the errors of backups, backup sets and backup policies."""

    code = "BACKUP"


class BadBackupClauseError(BackupError):
    """A statement about backups with a clause that it does not have."""

    code = "BACKUP_BAD_CLAUSE"


class BadBackupPolicyError(BackupError):
    """A backup policy with an invalid schedule or expiration."""

    code = "BACKUP_BAD_POLICY"


class UnknownBackupError(BackupError):
    """A backup policy, a backup set or a backup that does not exist."""

    code = "BACKUP_UNKNOWN"


class BackupExistsError(BackupError):
    """A name of a backup policy or backup set that is in use."""

    code = "BACKUP_EXISTS"


class BackupDeniedError(BackupError, StatementDeniedError):
    """A statement about backups that its user has no privilege for."""

    code = "BACKUP_DENIED"


class BackupLockedError(BackupError):
    """A statement that a retention lock forbids to everybody."""

    code = "BACKUP_LOCKED"


class BackupHeldError(BackupError):
    """A statement that would delete a backup under a legal hold."""

    code = "BACKUP_HELD"


class BackupPolicyInUseError(BackupError):
    """A backup policy that cannot go, or come, because of what is applied."""

    code = "BACKUP_POLICY_IN_USE"


class BackupHistoryError(BackupError):
    """The table `backup_history` cannot be read, or has an event that this version cannot apply."""

    code = "BACKUP_HISTORY_UNREADABLE"


class BackupDamagedError(BackupError):
    """A backup whose files are not those of its manifest, or that has no manifest."""

    code = "BACKUP_DAMAGED"


class BackupIncompleteError(BackupError):
    """A backup that could not be made whole, because a file could not be taken into it."""

    code = "BACKUP_INCOMPLETE"


class BackupConflictError(BackupError):
    """Other drivers changed the backups at each attempt of this one."""

    code = "BACKUP_CONFLICT"


class BackupStoreError(BackupError):
    """An object store that refuses, or that cannot be reached.

    Attributes:
        refusal: the store's own code for it; "" where it did not answer.
    """

    code = "BACKUP_STORE"
    refusal: str = ""


class BackupStoreUnknownError(BackupError):
    """A place that no kind of backup store knows, by its scheme or by its form."""

    code = "BACKUP_STORE_UNKNOWN"


class BackupExtraMissingError(BackupError):
    """A backup store whose library is not installed."""

    code = "BACKUP_EXTRA_MISSING"


class BackupNotLocalError(BackupError):
    """A table whose files are not on a file system of this machine."""

    code = "BACKUP_NOT_LOCAL"


class BackupBusyError(BackupError):
    """A restore under a name that another one is restoring to."""

    code = "BACKUP_BUSY"
