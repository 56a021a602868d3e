"""Statements that neither query nor write tables, and a few that read a query.

In: a command or a tree. Out: an `Access`: empty and full for what touches no data, opaque for what
runs something that the text does not show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lineage.model import Access, Domain
from lineage.resolve.context import Trace
from lineage.resolve.from_clause.relations import relation_item
from lineage.resolve.query import read_query
from lineage.resolve.scope import Frame, Scope
from lineage.sql.commands.command import Command
from lineage.sql.parse import parse
from lineage.sql.statement import Statement
from lineage.statements.access_builder import build_access, modified_object
from lineage.statements.insert import target_relation

if TYPE_CHECKING:
    from sqlglot import exp

_WITHOUT_ACCESS = frozenset(
    {"USE", "SET", "RESET", "SHOW", "DESCRIBE", "EXPLAIN", "REFRESH", "UNCACHE", "ADD", "LIST", "DECLARE",
     "ANALYZE", "OPTIMIZE", "VACUUM", "REPAIR", "COMMENT", "DROP_VARIABLE", "ALTER_ACCOUNT"}
)  # fmt: skip


def trace_command(
    trace: Trace, statement: Statement, command: Command, trace_inner: Callable[[Statement], Access]
) -> Access:
    """A command that is no DDL of an object."""
    kind = command.kind
    if kind == "EXECUTE_IMMEDIATE" and command.text is not None:
        # The type is that of the statement that the user ran.
        return replace(trace_inner(parse(command.text)), statement_type=kind)
    handler = _WITH_ACCESS.get(kind)
    found = None if handler is None else handler(trace, statement, command)
    if found is not None:
        return found
    if kind in _WITHOUT_ACCESS:
        # They read metadata, or rewrite files without changing a row.
        return Access(kind)
    return Access(
        kind, analysis="opaque", reason=f"{kind.replace('_', ' ')} runs what its text does not show"
    )


def _recommitted(trace: Trace, statement: Statement, command: Command) -> Access | None:
    if not command.target:
        return None
    # Neither runs a query (Delta 4.4): RESTORE commits the files of the older version again, CONVERT TO DELTA
    # those that are there.
    relation = trace.entry(command.target).relation
    return build_access(trace, statement.statement_type, modified=[modified_object(trace, relation)])


def _called(trace: Trace, statement: Statement, command: Command) -> Access | None:
    procedure = trace.function(command.target) if command.target else None
    if procedure is None or procedure.domain is not Domain.PROCEDURE:
        return None
    trace.record_call(procedure)  # what it runs has records of its own
    return build_access(trace, statement.statement_type)


def _assigned(trace: Trace, statement: Statement, command: Command) -> Access | None:
    # SET VAR runs its query at once (Spark 4.2), so its reads count.
    if not command.text:
        return None
    query = parse(f"SELECT {command.text}")
    if query.tree is None:
        return Access(statement.statement_type, analysis="opaque", reason=query.reason)
    read_query(trace, query.tree, None, {})
    return build_access(trace, statement.statement_type)


def _cached(trace: Trace, statement: Statement, command: Command) -> Access:
    # CACHE TABLE runs the query at once, so its reads count; LAZY leaves it to the first use.
    if command.lazy:
        return Access(statement.statement_type)
    if command.text:
        query = parse(command.text)
        if query.tree is None or not query.is_query:
            return Access(statement.statement_type, analysis="opaque", reason=query.reason)
        read_query(trace, query.tree, None, {})
        return build_access(trace, statement.statement_type)
    if not command.target:
        return Access(statement.statement_type)
    scope = Scope()
    named = relation_item(trace, trace.entry(command.target), command.target[-1], (), scope)
    frame = Frame(named.columns(), scope.indirect)
    if named.open:
        trace.mark_partial(f"columns of {named.alias}")
    for out in frame.columns:
        trace.ledger.add_reads(out)
    trace.ledger.add_reads(frame.indirect)
    return build_access(trace, statement.statement_type)


_WITH_ACCESS: dict[str, Callable[[Trace, Statement, Command], Access | None]] = {
    "CACHE": _cached,
    "CALL": _called,
    "CONVERT": _recommitted,
    "DECLARE": _assigned,
    "RESTORE": _recommitted,
    "SET": _assigned,
}


def trace_cache(trace: Trace, statement: Statement, tree: exp.Cache) -> Access:
    """CACHE TABLE t AS query, as sqlglot reads it."""
    query = tree.args.get("expression")
    if query is None:
        return build_access(trace, statement.statement_type)
    read_query(trace, query, None, {})
    return build_access(trace, statement.statement_type)


def trace_load(trace: Trace, statement: Statement, tree: exp.LoadData) -> Access:
    """LOAD DATA INPATH 'p' INTO TABLE t: every column comes from the files."""
    relation = target_relation(trace, tree.args["this"])
    path = tree.args["inpath"].name
    stage = trace.entry(("path", path)) if "/" in path else None
    if stage is not None:
        trace.ledger.direct_entries.setdefault(stage)
        trace.ledger.base_entries.setdefault(stage)
    # None: the columns of a file are columns of no object.
    columns = [(column, None) for column in relation.columns]
    whole = bool(tree.args.get("overwrite")) and not tree.args.get("partition")
    modified = modified_object(trace, relation, columns, overwrites=whole)
    return build_access(trace, statement.statement_type, modified=[modified])
