"""Lineage from SQL text and from Spark's analyzed plans; imports no Spark.

In: SQL text and a `Catalog`. Out: an `Access`, the lineage half of an ACCESS_HISTORY record.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage.analysis import analyze, analyze_script
    from lineage.catalog.in_memory_catalog import MemoryCatalog
    from lineage.catalog.protocol import Catalog, GovernedCatalog
    from lineage.errors import LineageError
    from lineage.model import Access, Attachment, ColumnRef, Function, Policy, Relation
    from lineage.sql.parse import parse
    from lineage.sql.statement import Statement
    from lineage.statements.trace import trace

__all__ = [
    "Access",
    "Attachment",
    "Catalog",
    "ColumnRef",
    "Function",
    "GovernedCatalog",
    "LineageError",
    "MemoryCatalog",
    "Policy",
    "Relation",
    "Statement",
    "analyze",
    "analyze_script",
    "parse",
    "trace",
]

logging.getLogger("lineage").addHandler(
    logging.NullHandler()
)  # a library sets no logging: the application does

# Imported on first use: importing sqlglot takes longer than most work on names and ids.
_HOMES = {
    "Access": "lineage.model",
    "Attachment": "lineage.model",
    "Catalog": "lineage.catalog.protocol",
    "ColumnRef": "lineage.model",
    "Function": "lineage.model",
    "GovernedCatalog": "lineage.catalog.protocol",
    "LineageError": "lineage.errors",
    "MemoryCatalog": "lineage.catalog.in_memory_catalog",
    "Policy": "lineage.model",
    "Relation": "lineage.model",
    "Statement": "lineage.sql.statement",
    "analyze": "lineage.analysis",
    "analyze_script": "lineage.analysis",
    "parse": "lineage.sql.parse",
    "trace": "lineage.statements.trace",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lineage' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOMES[name]), name)
    # Python calls `__getattr__` only for names that the module lacks (PEP 562): the next access is plain.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
