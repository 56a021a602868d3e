"""`audit.lineage`: where data comes from and where it has gone, across all statements on record.

In: a SparkSession, a name, options. Out: a `LineageGraph`. The tables are read without Spark; the session
says which root, has its records taken in first, and knows of columns that no statement has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.checks.results_table import failed_checks as find_failed
from audit.core.config import load
from audit.graph import Direction, LineageGraph, Question, answer, parse_as_of
from audit.graph.errors import LineageNameUnknown
from audit.graph.marks import with_failed_checks
from audit.graph.model import Node
from audit.graph.naming import parts_of
from audit.store.lineage_tables import snapshot_of
from lineage.names import quote_name, sql_name

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import SparkSession

_FULL = 3  # parts of a table's name with its catalog


def lineage(
    spark: SparkSession,
    name: str,
    direction: Direction = "upstream",
    depth: int | None = None,
    as_of: datetime | str | None = None,
    *,
    include_indirect: bool = False,
    include_history: bool = False,
    failed_checks: bool = False,
    root: str | None = None,
) -> LineageGraph:
    """The upstream and downstream lineage of a column or table.

    Answers with what is in force: a statement counts as long as what it wrote is in its target, or in
    something that was made of it before. What was replaced, truncated or dropped since does not, unless
    `include_history` is set. A view's sources are what they were when the view was read.

    Args:
        spark: a session; if it is audited, its records are taken in first.
        name: `schema.table.column` or `schema.table`, with the catalog before it where it is needed.
        direction: upstream, downstream or both.
        depth: hops at most; None: to the end.
        as_of: answer as of then: a datetime, or ISO 8601 text; UTC where it says no zone.
        include_indirect: follow columns that filter, join or sort as well.
        include_history: everything ever, what has been replaced since as well.
        failed_checks: mark the columns and tables for which `audit.expect` has found that an expectation
            does not hold, at the newest version that was validated.
        root: folder of the audit tables; that of the session, or of the configuration, by default.

    Raises:
        AttachError: it is no session, or has been stopped.
        LineageNameUnknown: there is nothing of that name.
        LineageNameAmbiguous: several objects or columns answer to it.
        LineageOptionInvalid: an option cannot have that value.
        LineageTablesUnreadable: there are no lineage tables under the root, or nothing here can read them.
    """
    # These import PySpark, which the command line does without.
    from audit import attached_sessions
    from audit.api import suppress
    from audit.spark.sessions import require_session

    at = parse_as_of(as_of)
    question = Question(name, direction, depth, at, include_indirect, include_history)
    audited = attached_sessions.find(require_session(spark))
    if audited is not None and root in (None, audited.services.config.root):
        root = audited.services.config.root
        audited.recorder.flush()
    else:
        root = load({"root": root}).root
    with suppress():
        snapshot = snapshot_of(root, at, lambda: spark)
        failed = find_failed(root, at, lambda: spark) if failed_checks else {}
        try:
            return with_failed_checks(answer(snapshot, question), failed)
        except LineageNameUnknown:
            node = _of_catalog(spark, name) if at is None else None
            if node is None:
                raise
            return LineageGraph(node.name, direction, None, (node,), ())


def _of_catalog(spark: SparkSession, name: str) -> Node | None:
    """The graph of a table or column of the catalog that no recorded statement has read or written."""
    parts = parts_of(name)
    catalogs = {catalog.name.casefold() for catalog in spark.catalog.listCatalogs()}
    for cut in (len(parts) - 1, len(parts)):
        # Spark raises an error for a table of an unknown catalog, where tableExists could return False.
        if cut not in (1, 2) and (cut != _FULL or parts[0] not in catalogs):
            continue
        table = sql_name(parts[:cut])
        if not spark.catalog.tableExists(table):
            continue
        columns = {column.casefold(): column for column in spark.table(table).columns}
        full = quote_name(parts[:cut])
        if cut == len(parts):
            return Node(0, full)
        if parts[-1] in columns:
            return Node(0, full, 0, columns[parts[-1]])
    return None
