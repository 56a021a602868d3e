"""What a check can be asked wrongly, or cannot do.

In: what was asked for. Out: errors that name it, and say what to ask instead.
"""

from __future__ import annotations

from audit.core.errors import AuditError


class GreatExpectationsMissing(AuditError):
    """Checks were asked for where Great Expectations is not installed, or not in a version that fits."""

    code = "AUDIT_GREAT_EXPECTATIONS_MISSING"


class PeriodInvalid(AuditError):
    """A period that ends before it begins."""

    code = "AUDIT_PERIOD_INVALID"


class SuiteInvalid(AuditError):
    """A suite that is none of Great Expectations', or a bound that no suite can have."""

    code = "AUDIT_SUITE_INVALID"


class ReportUnwritable(AuditError):
    """A report that cannot be written where it was asked for."""

    code = "AUDIT_CHECK_UNWRITABLE"


class ResultsNotRecorded(AuditError):
    """A table was validated, and its results could not be written to data_quality_results."""

    code = "AUDIT_RESULTS_NOT_RECORDED"
