"""The errors of Time Travel: one root, a stable code each.

In: the object, what was asked of it, what can be had. Out: an exception whose text is
`[CODE] problem; way out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from audit.errors import AuditError


class TimeTravelError(AuditError):
    """The root of every error that Time Travel raises on purpose."""

    code = "TIME_TRAVEL"


class NotAttachedError(TimeTravelError):
    """A session that no audit has been attached to."""

    code = "TIME_TRAVEL_NOT_ATTACHED"


class BadClauseError(TimeTravelError):
    """An AT or BEFORE that cannot be read."""

    code = "TIME_TRAVEL_BAD_CLAUSE"


class BadMomentError(TimeTravelError):
    """What stands after TIMESTAMP, OFFSET, STATEMENT or VERSION has no value of that kind."""

    code = "TIME_TRAVEL_BAD_MOMENT"


class BadOffsetError(BadMomentError):
    """An OFFSET that does not lead back."""

    code = "TIME_TRAVEL_BAD_OFFSET"


class FutureMomentError(TimeTravelError):
    """A time that is still to come."""

    code = "TIME_TRAVEL_IN_THE_FUTURE"


class BeforeCreationError(TimeTravelError):
    """A time before the table was there."""

    code = "TIME_TRAVEL_BEFORE_CREATION"


class OutsideRetentionError(TimeTravelError):
    """A time that the retention period of the table does not reach."""

    code = "TIME_TRAVEL_OUTSIDE_RETENTION"


class UnknownVersionError(TimeTravelError):
    """A version that the table never had, or has no longer."""

    code = "TIME_TRAVEL_UNKNOWN_VERSION"


class UnknownStatementError(TimeTravelError):
    """A query id that no statement on record has."""

    code = "TIME_TRAVEL_UNKNOWN_STATEMENT"


class UntouchedError(TimeTravelError):
    """A statement that neither wrote nor read the table."""

    code = "TIME_TRAVEL_STATEMENT_DID_NOT_TOUCH"


class NotAQueryError(TimeTravelError):
    """A statement without a query, where one is asked for."""

    code = "TIME_TRAVEL_NOT_A_QUERY"


class NotRepeatableError(TimeTravelError):
    """What a statement read cannot be told from its record."""

    code = "TIME_TRAVEL_NOT_REPEATABLE"


class VersionGoneError(TimeTravelError):
    """A version that a statement read, and that can be read no longer."""

    code = "TIME_TRAVEL_VERSION_GONE"


class UnknownColumnError(TimeTravelError):
    """A name that stands for no column."""

    code = "TIME_TRAVEL_UNKNOWN_COLUMN"


class NoHistoryError(TimeTravelError):
    """An object without versions: not a Delta table."""

    code = "TIME_TRAVEL_NO_HISTORY"


class BadParameterError(TimeTravelError):
    """A retention that cannot be."""

    code = "TIME_TRAVEL_BAD_PARAMETER"


class UnknownObjectError(TimeTravelError):
    """A name that stands for nothing."""

    code = "TIME_TRAVEL_UNKNOWN_OBJECT"


class SchemaHoldsFilesError(TimeTravelError):
    """DROP SCHEMA, and the folder that goes with it holds the files of a Delta table."""

    code = "TIME_TRAVEL_SCHEMA_HOLDS_FILES"


class ObjectExistsError(TimeTravelError):
    """UNDROP, and the name is taken."""

    code = "TIME_TRAVEL_OBJECT_EXISTS"


class UnprotectableError(TimeTravelError):
    """A table that cannot get policies with its CREATE TABLE."""

    code = "TIME_TRAVEL_UNPROTECTABLE"


class NothingDroppedError(TimeTravelError):
    """UNDROP of a name under which nothing was dropped that could be brought back."""

    code = "TIME_TRAVEL_NOTHING_DROPPED"


class RetainedError(TimeTravelError):
    """A VACUUM of what is still kept."""

    code = "TIME_TRAVEL_RETAINED"


class UnreadableTableError(TimeTravelError):
    """A Delta table whose log cannot be read."""

    code = "TIME_TRAVEL_UNREADABLE_TABLE"


class NothingToRestoreError(TimeTravelError):
    """RESTORE to the version that a table has now."""

    code = "TIME_TRAVEL_NOTHING_TO_RESTORE"


class StalePlanError(TimeTravelError):
    """A plan, and a table has changed since it was made."""

    code = "TIME_TRAVEL_STALE_PLAN"
