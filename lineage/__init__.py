"""Lineage from SQL text and from Spark's analyzed plans; imports no Spark.

In: SQL text and a `Catalog`. Out: an `Access`, the lineage half of an ACCESS_HISTORY record.
"""

from lineage.analysis import analyze, analyze_script
from lineage.catalog import Catalog, GovernedCatalog
from lineage.errors import LineageError
from lineage.memory import MemoryCatalog
from lineage.model import Access, Attachment, ColumnRef, Function, Policy
from lineage.parse import parse
from lineage.statement import Statement
from lineage.trace import trace

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
    "Statement",
    "analyze",
    "analyze_script",
    "parse",
    "trace",
]
