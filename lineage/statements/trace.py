"""The stages of lineage for a statement: parse → resolve → trace.

In: a `Statement` and a `Catalog`. Out: an `Access`. `lineage.sql` parses. `lineage.resolve` resolves names to
objects and columns to their sources, in one walk over the tree. Each family of statements is a file of this
folder, listed in `_FAMILIES`; `access_builder` makes the result.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lineage.catalog.protocol import Catalog
from lineage.model import Access
from lineage.resolve.context import Trace
from lineage.resolve.query import new_trace, read_query
from lineage.sql.commands.backups.statements import BackupStatement
from lineage.sql.statement import Statement
from lineage.statements.access_builder import build_access
from lineage.statements.backup_ddl import trace_backups
from lineage.statements.copy import trace_copy
from lineage.statements.ddl import trace_alter, trace_create, trace_ddl_command, trace_drop
from lineage.statements.dml import trace_delete, trace_merge, trace_truncate, trace_update
from lineage.statements.governance_ddl import is_governance, trace_governance, with_policies
from lineage.statements.insert import trace_insert, trace_multi_insert
from lineage.statements.misc_commands import trace_cache, trace_command, trace_load

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
    """The access of a statement: the objects and columns that it reads and changes.

    Args:
        statement: from `lineage.parse`.
        catalog: names to objects, as of the moment that the statement ran.
        existed: for IF [NOT] EXISTS: whether the target existed before; None takes the catalog's word.

    Returns:
        The access; `analysis` is partial (objects known, columns not all) or opaque with a reason
        where a construct is not understood.
    """
    found = new_trace(catalog)
    try:
        return _dispatch(found, statement, existed=existed)
    # sqlglot and this walk recurse into nested queries; the stack of Python ends at 1,000 frames by default.
    except RecursionError:
        return Access(statement.statement_type, analysis="opaque", reason="nested too deep to trace")


def _dispatch(trace: Trace, statement: Statement, *, existed: bool | None) -> Access:  # noqa: PLR0911
    tree, command = statement.tree, statement.command
    if isinstance(statement.typed, BackupStatement):
        return trace_backups(trace, statement, statement.typed, existed=existed)
    if command is not None:
        if command.domain is not None and is_governance(command):
            return trace_governance(trace, statement, command, existed=existed)
        if command.domain is not None:
            return trace_ddl_command(trace, statement, command, existed=existed)
        return trace_command(
            trace, statement, command, lambda inner: _dispatch(trace, inner, existed=existed)
        )
    if tree is None:
        return Access(statement.statement_type, analysis="opaque", reason=statement.reason)
    if statement.is_query:
        return build_access(trace, statement.statement_type, frame=read_query(trace, tree, None, {}))
    ddl = _DDL.get(type(tree))
    if ddl is not None:
        access = ddl(trace, statement, tree, existed=existed)
        return with_policies(trace, access, statement.changes) if statement.changes else access
    family = _FAMILIES.get(type(tree))
    if family is None:
        return Access(statement.statement_type, analysis="opaque", reason=f"{type(tree).__name__}")
    return family(trace, statement, tree)
