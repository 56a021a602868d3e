"""What a question to the lineage graph can be wrong about.

In: the name or option that was asked for. Out: errors that say which one, and what to ask instead.
"""

from __future__ import annotations

from audit.core.errors import AuditError


class LineageNameUnknown(AuditError):
    """No table, view or column of this name is in the lineage tables, as of the moment asked for."""

    code = "AUDIT_LINEAGE_NAME_UNKNOWN"


class LineageNameAmbiguous(AuditError):
    """A name that several objects or columns answer to."""

    code = "AUDIT_LINEAGE_NAME_AMBIGUOUS"


class LineageOptionInvalid(AuditError):
    """A direction, depth, moment or format that does not exist."""

    code = "AUDIT_LINEAGE_OPTION_INVALID"


class LineageTablesUnreadable(AuditError):
    """The lineage tables are not there, or cannot be read from here."""

    code = "AUDIT_LINEAGE_TABLES_UNREADABLE"


class NetworkxMissing(AuditError):
    """`to_networkx` was called where networkx is not installed."""

    code = "AUDIT_NETWORKX_MISSING"
