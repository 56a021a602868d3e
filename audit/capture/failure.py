"""Turns an exception into the error columns of query_history.

In: the exception of a call. Out: an `Ended` with Spark's error class (or the exception's type) and message.
"""

from __future__ import annotations

from audit.core.errors import StatementDeniedError
from audit.record.access_record import Ended, Status

_LONGEST_MESSAGE = 10_000


def describe_failure(error: BaseException, end_time: int) -> Ended:
    """FAIL or DENIED, with code and message.

    >>> describe_failure(ValueError("no"), 5).error_code
    'ValueError'
    """
    status: Status = "DENIED" if isinstance(error, StatementDeniedError) else "FAIL"
    return Ended(status, end_time, error_code(error), str(error)[:_LONGEST_MESSAGE])


def error_code(error: BaseException) -> str:
    """Spark's error class, else the name of the exception's type."""
    # Exceptions of PySpark have getCondition (since 4.0), errors of this system an attribute `code`.
    condition = getattr(error, "getCondition", None)
    code = condition() if callable(condition) else getattr(error, "code", None)
    return code if isinstance(code, str) and code else type(error).__name__
