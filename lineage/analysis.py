"""SQL text in, `Access` out: the entry point, which needs no Spark.

In: SQL text and a catalog. Out: one `Access`, or one a statement for a script, in which later statements
see the tables and views that earlier ones made.
"""

from __future__ import annotations

from lineage.catalog.overlay import Overlay
from lineage.catalog.protocol import Catalog
from lineage.errors import UnknownDialectError
from lineage.model import Access
from lineage.result_cache import cached_access
from lineage.sql.parse import parse
from lineage.sql.script import steps
from lineage.sql.statement import Statement
from lineage.sql.tokens import split_statements
from lineage.statements.trace import trace


def analyze(sql: str, catalog: Catalog, *, dialect: str = "spark", user: str | None = None) -> Access:
    """The access of one statement: the objects and columns that it reads and changes.

    The result of a query is cached for a catalog with the same `version`.

    Args:
        sql: one statement of Spark SQL.
        catalog: names to objects.
        dialect: only "spark".
        user: has no effect so far: every branch of a policy counts, for any user.

    Raises:
        UnknownDialectError: another dialect.

    >>> from lineage.catalog.in_memory_catalog import MemoryCatalog
    >>> access = analyze("SELECT a FROM s.t", MemoryCatalog({"s.t": {"a": "int"}}))
    >>> access.columns[0].base_sources[0].object_name
    'spark_catalog.s.t'
    """
    if dialect != "spark":
        raise UnknownDialectError(dialect)
    return cached_access(parse(sql), catalog, user, trace)


def analyze_script(
    sql: str, catalog: Catalog, *, dialect: str = "spark", user: str | None = None
) -> tuple[Access, ...]:
    """One `Access` a statement; tables and views made by earlier statements are known to later ones.

    Of a block, BEGIN … END, each statement has its own, the query of a FOR among them. What a statement takes
    of a loop's row comes from that query, and what shapes its rows shapes what the statement writes.

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
        if statement.statement_type != "SCRIPT":
            found.append(_applied(statement, overlay))
            continue
        for step in steps(text):
            if step.ends:
                overlay.loops = overlay.loops[:-1]
                continue
            inner = parse(step.text)
            found.append(_applied(inner, overlay))
            if step.loop is not None:
                overlay.loops = (*overlay.loops, (step.loop, inner))
    return tuple(found)


def _applied(statement: Statement, overlay: Overlay) -> Access:
    """The access of a statement, and what it changes for those behind it."""
    # `trace`, not `cached_access`: each statement may change the overlay, so its results hold once.
    access = trace(statement, overlay)
    # After the trace: CREATE OR REPLACE TABLE t AS SELECT … FROM t reads the table of before.
    overlay.apply(statement, access)
    return access
