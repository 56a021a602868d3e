"""Access history for Spark and Delta Lake: who read and changed which column, when, through what."""

from audit.capture.interceptor import Interceptor
from audit.coverage import Coverage
from audit.face import as_user, attach, coverage, detach, flush, procedure, session, suppress

__all__ = [
    "Coverage",
    "Interceptor",
    "as_user",
    "attach",
    "coverage",
    "detach",
    "flush",
    "procedure",
    "session",
    "suppress",
]
