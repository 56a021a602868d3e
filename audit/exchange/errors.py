"""What can be wrong about an export, an import or a receiver.

In: what was asked for, or what came. Out: errors that name it and the way out.
"""

from __future__ import annotations

from audit.core.errors import AuditError


class ExportFailed(AuditError):
    """The history could not be exported."""

    code = "AUDIT_EXPORT"


class SendingFailed(AuditError):
    """Statements could not be sent to the receiver of `openlineage_url`; they wait in the tables."""

    code = "AUDIT_SENDING"


class ImportFailed(AuditError):
    """Events of another system could not be taken in; none of them was."""

    code = "AUDIT_IMPORT"


class EventInvalid(ImportFailed):
    """A line is no event of OpenLineage."""

    code = "AUDIT_EVENT_INVALID"
