"""Access history for Spark and Delta Lake: who read and changed which column, when, through what."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from audit.core import errors
from audit.core.shadowing import require_own_packages

if TYPE_CHECKING:
    from audit.api import as_user, attach, coverage, detach, flush, procedure, session, suppress, tagged
    from audit.capture.audited_session import AuditedSession
    from audit.capture.coverage import Coverage
    from audit.expect_api import expect
    from audit.graph import LineageGraph, diff
    from audit.lineage_api import lineage

__all__ = [
    "AuditedSession",
    "Coverage",
    "LineageGraph",
    "as_user",
    "attach",
    "coverage",
    "detach",
    "diff",
    "errors",
    "expect",
    "flush",
    "lineage",
    "procedure",
    "session",
    "suppress",
    "tagged",
]

require_own_packages(__file__)
logging.getLogger("audit").addHandler(logging.NullHandler())  # who uses this package decides what is logged

# Imported when first asked for: a command that needs no Spark answers before PySpark is imported. No module
# of this package may bear one of these names, since importing it would put it in the function's place.
_HOMES = {
    "AuditedSession": "audit.capture.audited_session",
    "Coverage": "audit.capture.coverage",
    "LineageGraph": "audit.graph",
    "diff": "audit.graph",
    "expect": "audit.expect_api",
    "lineage": "audit.lineage_api",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'audit' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOMES.get(name, "audit.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
