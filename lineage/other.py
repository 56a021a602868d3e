"""Statements that neither query nor write tables, and the few that read in passing.

In: a command or a tree. Out: an `Access`: empty and full for what touches no data, opaque for what
runs something that the text does not show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lineage.building import Tracer
from lineage.model import Access, Domain
from lineage.parse import parse
from lineage.scope import Frame, Scope
from lineage.statement import Command, Statement
from lineage.writes import target_relation

if TYPE_CHECKING:
    from sqlglot import exp

_SILENT = frozenset(
    {"USE", "SET", "RESET", "SHOW", "DESCRIBE", "EXPLAIN", "REFRESH", "UNCACHE", "ADD", "LIST", "DECLARE",
     "ANALYZE", "OPTIMIZE", "VACUUM", "REPAIR", "COMMENT", "CONVERT", "DROP_VARIABLE"}
)  # fmt: skip


def trace_command(
    tracer: Tracer, statement: Statement, command: Command, trace_inner: Callable[[Statement], Access]
) -> Access:
    """A command that is no DDL of an object."""
    kind = command.kind
    if kind == "EXECUTE_IMMEDIATE" and command.text is not None:
        return replace(trace_inner(parse(command.text)), statement_type=kind)
    touching = _TOUCHING.get(kind)
    found = None if touching is None else touching(tracer, statement, command)
    if found is not None:
        return found
    if kind in _SILENT:
        # They read metadata, or rewrite files without changing a row.
        return Access(kind)
    return Access(
        kind, analysis="opaque", reason=f"{kind.replace('_', ' ')} runs what its text does not show"
    )


def _restored(tracer: Tracer, statement: Statement, command: Command) -> Access | None:
    if not command.target:
        return None
    relation = tracer.entry(command.target).relation
    return tracer.access(statement.statement_type, modified=[tracer.modified(relation)])


def _called(tracer: Tracer, statement: Statement, command: Command) -> Access | None:
    procedure = tracer.function(command.target) if command.target else None
    if procedure is None or procedure.domain is not Domain.PROCEDURE:
        return None
    tracer.saw_function(procedure)  # what it runs has records of its own
    return tracer.access(statement.statement_type)


def _assigned(tracer: Tracer, statement: Statement, command: Command) -> Access | None:
    # A session variable takes what a query finds: its reads are reads.
    if not command.text:
        return None
    query = parse(f"SELECT {command.text}")
    if query.tree is None:
        return Access(statement.statement_type, analysis="opaque", reason=query.reason)
    tracer.query(query.tree, None, {})
    return tracer.access(statement.statement_type)


def _cached(tracer: Tracer, statement: Statement, command: Command) -> Access:
    # CACHE TABLE runs the query at once: its reads are reads.
    if command.text:
        query = parse(command.text)
        if query.tree is None or not query.is_query:
            return Access(statement.statement_type, analysis="opaque", reason=query.reason)
        tracer.query(query.tree, None, {})
        return tracer.access(statement.statement_type)
    if not command.target:
        return Access(statement.statement_type)
    scope = Scope()
    named = tracer.named(tracer.entry(command.target), command.target[-1], (), scope)
    frame = Frame(named.all(), scope.shape)
    if named.open:
        tracer.doubt(f"columns of {named.alias}")
    for out in frame.outs:
        tracer.ledger.touch(out)
    tracer.ledger.touch(frame.shape)
    return tracer.access(statement.statement_type)


_TOUCHING: dict[str, Callable[[Tracer, Statement, Command], Access | None]] = {
    "CACHE": _cached,
    "CALL": _called,
    "DECLARE": _assigned,
    "RESTORE": _restored,
    "SET": _assigned,
}


def trace_cache(tracer: Tracer, statement: Statement, tree: exp.Cache) -> Access:
    """CACHE TABLE t AS query, as sqlglot reads it."""
    query = tree.args.get("expression")
    if query is None:
        return tracer.access(statement.statement_type)
    tracer.query(query, None, {})
    return tracer.access(statement.statement_type)


def trace_load(tracer: Tracer, statement: Statement, tree: exp.LoadData) -> Access:
    """LOAD DATA INPATH 'p' INTO TABLE t: every column comes from the files."""
    relation = target_relation(tracer, tree.args["this"])
    path = tree.args["inpath"].name
    stage = tracer.entry(("path", path)) if "/" in path else None
    if stage is not None:
        tracer.ledger.direct_entries.setdefault(stage)
        tracer.ledger.base_entries.setdefault(stage)
    columns = [(column, None) for column in relation.columns]
    whole = bool(tree.args.get("overwrite")) and not tree.args.get("partition")
    modified = tracer.modified(relation, columns, overwrites=whole)
    return tracer.access(statement.statement_type, modified=[modified])
