"""What can be wrong about a report that is asked for.

In: what was asked for. Out: errors that name it, and what to ask instead.
"""

from __future__ import annotations

from audit.core.errors import AuditError


class ReportUnknown(AuditError):
    """A report, or a norm, that does not exist."""

    code = "AUDIT_REPORT_UNKNOWN"


class ReportPeriodInvalid(AuditError):
    """A day that is no day, or a period that ends before it begins."""

    code = "AUDIT_REPORT_PERIOD"


class ReportNameUnknown(AuditError):
    """Nothing on record has the name of the user or object that a report is to be about."""

    code = "AUDIT_REPORT_NAME_UNKNOWN"


class ReportNameAmbiguous(AuditError):
    """Several objects answer to the name that a report is to be about."""

    code = "AUDIT_REPORT_NAME_AMBIGUOUS"


class SubjectKeyInvalid(AuditError):
    """The key of a person is not a comparison of a column with a value, or not of the column's type."""

    code = "AUDIT_SUBJECT_KEY"


class SubjectTableInvalid(AuditError):
    """What was named as the table of a person's key is none, or lacks the column."""

    code = "AUDIT_SUBJECT_TABLE"


class ReportRootUnreadable(AuditError):
    """A root on a store that only Spark can read: reports are made without Spark."""

    code = "AUDIT_REPORT_ROOT_UNREADABLE"


class ReportUnwritable(AuditError):
    """The file of a report cannot be written, or its ending names no format."""

    code = "AUDIT_REPORT_UNWRITABLE"


class ReportExtraMissing(AuditError):
    """The packages that draw a report are not installed."""

    code = "AUDIT_REPORT_EXTRA_MISSING"


class BrowserMissing(AuditError):
    """A report cannot be printed to PDF: no Chromium was found."""

    code = "AUDIT_REPORT_BROWSER_MISSING"


class PrintFailed(AuditError):
    """Chromium was found, and has not printed the report."""

    code = "AUDIT_REPORT_PRINT_FAILED"
