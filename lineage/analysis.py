"""Text in, `Access` out: the face for those who have no Spark.

In: SQL text and a catalog. Out: one `Access`, or one a statement for a script, in which later statements
see the tables and views that earlier ones made.
"""

from __future__ import annotations

from lineage.catalog import Catalog
from lineage.errors import UnknownDialectError
from lineage.model import Access
from lineage.overlay import Overlay
from lineage.parse import parse
from lineage.seen import recalled
from lineage.tokens import split_statements
from lineage.trace import trace


def analyze(sql: str, catalog: Catalog, *, dialect: str = "spark", user: str | None = None) -> Access:
    """What one statement accesses and changes.

    A query seen before, over a catalog with the same `version`, is not traced again.

    Args:
        sql: one statement of Spark SQL.
        catalog: names to objects.
        dialect: only "spark".
        user: who asks; changes nothing so far: of a policy every branch counts, whoever asks.

    Raises:
        UnknownDialectError: another dialect.

    >>> from lineage.memory import MemoryCatalog
    >>> access = analyze("SELECT a FROM s.t", MemoryCatalog({"s.t": {"a": "int"}}))
    >>> access.columns[0].base_sources[0].object_name
    'spark_catalog.s.t'
    """
    if dialect != "spark":
        raise UnknownDialectError(dialect)
    return recalled(parse(sql), catalog, user, trace)


def analyze_script(
    sql: str, catalog: Catalog, *, dialect: str = "spark", user: str | None = None
) -> tuple[Access, ...]:
    """One `Access` a statement; tables and views made by earlier statements are known to later ones.

    Raises:
        UnknownDialectError: another dialect.
    """
    del user
    if dialect != "spark":
        raise UnknownDialectError(dialect)
    overlay = Overlay(catalog)
    found: list[Access] = []
    for text in split_statements(sql):
        statement = parse(text)
        access = trace(statement, overlay)
        found.append(access)
        overlay.follow(statement, access)
    return tuple(found)
