"""Checks by Great Expectations: of the audit tables, and of tables that users name.

In: a session, a suite. Out: what holds and what does not. Great Expectations is the extra `checks` of this
package; it is imported when a suite is made or run.
"""

from audit.checks.expectations import columns
from audit.checks.history import check_history, suite
from audit.checks.outcome import Outcome
from audit.checks.result import CheckResult
from audit.checks.validation import Validation

__all__ = ["COLUMNS", "CheckResult", "Outcome", "Validation", "check_history", "suite"]

COLUMNS: tuple[str, ...] = tuple(name for name, _ in columns())
"""The columns of the frame that `suite()` is asked of: a row for each day."""
