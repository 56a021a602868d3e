"""Facts of a parsed statement that decide how its session runs it.

In: a parsed statement. Out: the request that records it, and how it is treated.
"""

from __future__ import annotations

from dataclasses import replace

import lineage
from audit.analysis.work_items import StatementRequest
from lineage.sql.commands.command import Command
from lineage.sql.commands.time_travel.statement_chain import StatementChain


def may_hand_on(statement: lineage.Statement) -> bool:
    """Whether a statement may return a query that has not run, as `a ->> b` does."""
    return statement.statement_type == "EXECUTE_IMMEDIATE" or isinstance(statement.typed, StatementChain)


def request_of_sql(statement: lineage.Statement) -> StatementRequest:
    """The request of a statement that comes as text."""
    return StatementRequest(
        text=statement.text,
        query_type=statement.statement_type,
        action="SparkSession.sql",
        statement=statement,
        changes_session=statement.changes_session or statement.is_ddl,
    )


def without_tree(statement: lineage.Statement) -> lineage.Statement:
    """Drop the tree of a text with {…} templates: PySpark's temporary views for them are gone afterwards."""
    typed = None if isinstance(statement.typed, Command) else statement.typed
    return replace(
        statement, tree=None, command=None, typed=typed, changes=(), reason="text with {…} templates"
    )
