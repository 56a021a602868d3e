"""Access history for Spark and Delta Lake: who read and changed which column, when, through what."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from audit import errors

if TYPE_CHECKING:
    from audit.capture.interceptor import Interceptor
    from audit.covered import Coverage
    from audit.face import as_user, attach, coverage, detach, flush, procedure, session, suppress
    from audit.graph import LineageGraph, diff
    from audit.lineage_face import lineage

__all__ = [
    "Coverage",
    "Interceptor",
    "LineageGraph",
    "as_user",
    "attach",
    "coverage",
    "detach",
    "diff",
    "errors",
    "flush",
    "lineage",
    "procedure",
    "session",
    "suppress",
]

# Imported when first asked for: a command that needs no Spark answers before PySpark is imported. No module
# of this package may bear one of these names, since importing it would put it in the function's place.
_HOMES = {
    "Coverage": "audit.covered",
    "Interceptor": "audit.capture.interceptor",
    "LineageGraph": "audit.graph",
    "diff": "audit.graph",
    "lineage": "audit.lineage_face",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'audit' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOMES.get(name, "audit.face")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
