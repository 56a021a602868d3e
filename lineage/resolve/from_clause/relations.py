"""A relation of the catalog as an item of a FROM: a table, or a view opened, behind its policies.

In: an entry of the catalog and the alias it stands under. Out: a `FromItem`; the ledger notes the relation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.resolve.context import Trace
from lineage.resolve.policies import apply_policies
from lineage.resolve.scope import Entry, Frame, FromItem, ResolvedColumn, Scope
from lineage.resolve.views import open_view

if TYPE_CHECKING:
    from sqlglot import exp


def relation_item(
    trace: Trace,
    entry: Entry,
    alias: str,
    parts: tuple[str, ...],
    scope: Scope,
    columns: exp.Expr | None = None,
) -> FromItem:
    """A relation of the catalog as a source: recorded as named, opened where it is a view."""
    relation = entry.relation
    # Columns may be qualified by the full name, too, where no alias hides it.
    full = relation.name if parts and relation.name and not relation.temporary else parts
    # The audit's own tables are not recorded, as sources neither.
    if relation.system:
        without_sources = [ResolvedColumn(c.name, c.type) for c in relation.columns]
        return FromItem(alias, without_sources, parts=parts, open_=entry.open)
    if relation.view_text is not None or relation.view_access is not None:
        frame = open_view(trace, entry)
        _record_view(trace, entry, frame, scope)
        source = FromItem(alias, list(frame.columns), view=frame, parts=full, open_=frame.open)
    else:
        if trace.is_own_text or not relation.temporary:
            trace.ledger.direct_entries.setdefault(entry)
        trace.ledger.base_entries.setdefault(entry)
        source = FromItem(alias, entry=entry, parts=full)
    source = apply_policies(trace, entry, source, scope)
    if columns is not None and columns.args.get("columns"):
        if source.open:
            trace.mark_partial("column aliases over unknown columns")
        return FromItem(alias, with_aliases(trace, source.columns(), columns), parts=parts)
    return source


def _record_view(trace: Trace, entry: Entry, frame: Frame, scope: Scope) -> None:
    if not entry.relation.temporary:
        trace.ledger.direct_entries.setdefault(entry)
    scope.indirect.add_indirect(frame.indirect)


def with_aliases(trace: Trace, outs: list[ResolvedColumn], alias: exp.Expr | None) -> list[ResolvedColumn]:
    """The columns under the names that an alias `t (a, b)` gives them."""
    columns = alias.args.get("columns") if alias is not None else None
    if not columns:
        return outs
    if len(columns) != len(outs):
        trace.mark_partial("column aliases that do not fit the columns")
    return [o.renamed(c.name) for o, c in zip(outs, columns, strict=False)]
