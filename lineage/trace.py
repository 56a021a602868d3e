"""The way of a statement through lineage: parse → resolve → trace.

In: a `Statement` and a `Catalog`. Out: an `Access`. Parsing is lineage.parse; resolving (names to objects,
views opened) and tracing (columns to sources) are one walk, `building.Tracer`; each statement family is a
file of its own, listed in `_FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lineage.building import Tracer
from lineage.catalog import Catalog
from lineage.changes import trace_delete, trace_merge, trace_truncate, trace_update
from lineage.copying import trace_copy
from lineage.ddl import trace_alter, trace_create, trace_ddl_command, trace_drop
from lineage.governance_ddl import is_governance, protected, trace_governance
from lineage.model import Access
from lineage.other import trace_cache, trace_command, trace_load
from lineage.statement import Statement
from lineage.writes import trace_insert, trace_multi_insert

_Family = Callable[..., Access]
_DDL: dict[type, _Family] = {exp.Create: trace_create, exp.Drop: trace_drop, exp.Alter: trace_alter}
_FAMILIES: dict[type, _Family] = {
    exp.Insert: trace_insert,
    exp.MultitableInserts: trace_multi_insert,
    exp.Merge: trace_merge,
    exp.Update: trace_update,
    exp.Delete: trace_delete,
    exp.TruncateTable: trace_truncate,
    exp.Copy: trace_copy,
    exp.Cache: trace_cache,
    exp.LoadData: trace_load,
}


def trace(statement: Statement, catalog: Catalog, *, existed: bool | None = None) -> Access:
    """What a statement accesses and changes.

    Args:
        statement: from `lineage.parse`.
        catalog: names to objects, as of the moment that the statement ran.
        existed: for IF [NOT] EXISTS: whether the target existed before; None takes the catalog's word.

    Returns:
        The access; `analysis` is partial (objects known, columns not all) or opaque with a reason
        where a construct is not understood.
    """
    try:
        return _trace(Tracer(catalog), statement, existed=existed)
    except RecursionError:
        return Access(statement.statement_type, analysis="opaque", reason="nested too deep to trace")


def _trace(tracer: Tracer, statement: Statement, *, existed: bool | None) -> Access:  # noqa: PLR0911
    tree, command = statement.tree, statement.command
    if command is not None:
        if command.domain is not None and is_governance(command):
            return trace_governance(tracer, statement, command, existed=existed)
        if command.domain is not None:
            return trace_ddl_command(tracer, statement, command, existed=existed)
        return trace_command(tracer, statement, command, lambda inner: _trace(tracer, inner, existed=existed))
    if tree is None:
        return Access(statement.statement_type, analysis="opaque", reason=statement.reason)
    if statement.is_query:
        return tracer.access(statement.statement_type, frame=tracer.query(tree, None, {}))
    ddl = _DDL.get(type(tree))
    if ddl is not None:
        access = ddl(tracer, statement, tree, existed=existed)
        return protected(tracer, access, statement.changes) if statement.changes else access
    family = _FAMILIES.get(type(tree))
    if family is None:
        return Access(statement.statement_type, analysis="opaque", reason=f"{type(tree).__name__}")
    return family(tracer, statement, tree)
