"""UPDATE, DELETE, TRUNCATE and MERGE.

In: a tree of one of them. Out: the target with its written columns and their sources; columns of WHERE and
ON are accessed, never sources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from lineage.model import Access, Column, Relation
from lineage.resolve.columns import assigned_column
from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_indirect_sources, resolve_expression
from lineage.resolve.from_clause.items import read_from, read_item
from lineage.resolve.nodes import column_parts, path_of
from lineage.resolve.policies import apply_policies
from lineage.resolve.query import read_ctes
from lineage.resolve.scope import Entry, Frame, FromItem, ResolvedColumn, Scope, SourceSet
from lineage.resolve.views import open_view
from lineage.sql.statement import Statement
from lineage.sql.targets import parts_of
from lineage.sql.tokens import SCHEMA_EVOLUTION
from lineage.statements.access_builder import build_access, modified_object
from lineage.statements.insert import target_relation

Node = exp.Expr
WrittenColumns = dict[str, tuple[Column, SourceSet]]


@dataclass(slots=True)
class Target:
    """What a statement changes, and its columns by the (lower-case) names that it has for them.

    Delta (4.4) writes through a temporary view: its columns are then those of the table below. `in_source`
    has the columns that the source of a MERGE is made of: they may be of the same table.
    """

    entry: Entry
    columns: Mapping[str, Column]
    item: FromItem
    in_source: frozenset[tuple[Entry, str]] = frozenset()

    @property
    def open(self) -> bool:
        """Whether it may have other columns, too."""
        return self.entry.open


def trace_update(trace: Trace, statement: Statement, tree: exp.Update) -> Access:
    """UPDATE t SET a = … [FROM …] [WHERE …]."""
    target, scope = _target_scope(trace, tree, _ctes(trace, tree))
    if tree.args.get("from_") is not None:
        read_from(trace, tree, scope)
    written: WrittenColumns = {}
    _assignments(trace, tree.expressions, target, scope, written)
    where = tree.args.get("where")
    if where is not None:
        add_indirect_sources(trace, where.args["this"], scope, scope.indirect)
    return _changed(trace, statement, target, scope, written)


def trace_delete(trace: Trace, statement: Statement, tree: exp.Delete) -> Access:
    """DELETE FROM t [WHERE …]: the object, no columns."""
    target, scope = _target_scope(trace, tree, _ctes(trace, tree))
    where = tree.args.get("where")
    if where is not None:
        add_indirect_sources(trace, where.args["this"], scope, scope.indirect)
    return _changed(trace, statement, target, scope, {}, overwrites=where is None)


def trace_truncate(trace: Trace, statement: Statement, tree: exp.TruncateTable) -> Access:
    """TRUNCATE TABLE t: the object, no columns."""
    # TRUNCATE … PARTITION keeps the other partitions.
    whole = tree.args.get("partition") is None
    modified = [
        modified_object(trace, target_relation(trace, table), overwrites=whole) for table in tree.expressions
    ]
    return build_access(trace, statement.statement_type, modified=modified)


def trace_merge(trace: Trace, statement: Statement, tree: exp.Merge) -> Access:
    """MERGE INTO t USING s: every branch writes; a column's sources are those of all its branches."""
    target, scope = _target_scope(trace, tree, _ctes(trace, tree))
    source = read_item(trace, tree.args["using"], scope)
    target.in_source = frozenset((r.entry, r.column.name) for out in source.columns() for r in out.base)
    scope.add(source)
    add_indirect_sources(trace, tree.args.get("on"), scope, scope.indirect)
    written: WrittenColumns = {}
    whens = tree.args["whens"]
    # NOT MATCHED BY SOURCE sees the target alone, NOT MATCHED the source alone.
    of_target, of_source = Scope(None, scope.ctes), Scope(None, scope.ctes)
    of_target.add(target.item)
    of_source.add(source)
    evolves = bool(tree.meta.get(SCHEMA_EVOLUTION))
    for when in whens.expressions:
        matched = bool(when.args.get("matched"))
        seen = scope if matched else of_target if when.args.get("source") else of_source
        add_indirect_sources(trace, when.args.get("condition"), seen, scope.indirect)
        into = replace(target, in_source=frozenset()) if seen is of_target else target
        _branch(trace, when, into, (seen, source), written, evolves=evolves)
    return _changed(trace, statement, target, scope, written)


def _branch(
    trace: Trace,
    when: Node,
    target: Target,
    scopes: tuple[Scope, FromItem],
    written: WrittenColumns,
    *,
    evolves: bool,
) -> None:
    scope, source = scopes
    then = when.args.get("then")
    if isinstance(then, exp.Update):
        if _is_star(then.expressions):
            _all_by_name(trace, target, source, written, evolves=evolves)
        else:
            _assignments(trace, then.expressions, target, scope, written)
        return
    if not isinstance(then, exp.Insert):
        return
    columns, values = then.args.get("this"), then.args.get("expression")
    if columns is None or isinstance(columns, exp.Star):
        if values is None:
            _all_by_name(trace, target, source, written, evolves=evolves)
            return
        names = [out.name for out in target.item.columns()]
    else:
        names = [c.name for c in columns.expressions]
    items = values.expressions if isinstance(values, exp.Tuple) else [values]
    if len(items) != len(names):
        trace.mark_partial("MERGE INSERT with another number of values")
    for name, item in zip(names, items, strict=False):
        _write(trace, item, name, target, scope, written)


def _is_star(expressions: list[Node]) -> bool:
    return len(expressions) == 1 and isinstance(expressions[0], exp.Star)


def _all_by_name(
    trace: Trace, target: Target, source: FromItem, written: WrittenColumns, *, evolves: bool
) -> None:
    # UPDATE SET * and INSERT *: each target column takes the source column of its name; with schema
    # evolution the target gains the source's further columns (Delta 4.4).
    if source.open or target.open:
        trace.mark_partial("MERGE with * over unknown columns")
    for out in source.columns():
        column = target.columns.get(out.key)
        if column is None and not target.open and not evolves:
            continue
        _, sink = written.setdefault(out.key, (column or Column(out.name), SourceSet()))
        sink.merge(out)


def _assignments(
    trace: Trace, items: list[Node], target: Target, scope: Scope, written: WrittenColumns
) -> None:
    for item in items:
        if not isinstance(item, exp.EQ):
            trace.mark_partial(f"assignment {item.sql('spark')[:60]}")
            continue
        name = assigned_column(_path(item.args["this"]), target.item)
        _write(trace, item.args["expression"], name, target, scope, written)


def _path(node: Node) -> list[str]:
    return (column_parts(node) if isinstance(node, exp.Column) else path_of(node)) or [node.name]


def _write(
    trace: Trace, value: Node, name: str, target: Target, scope: Scope, written: WrittenColumns
) -> None:
    column = target.columns.get(name.lower()) or Column(name)
    _, sink = written.setdefault(name.lower(), (column, SourceSet()))
    # The default of a column is a constant (Spark 4.2: INVALID_DEFAULT_VALUE.NOT_CONSTANT).
    if isinstance(value, exp.Var) or (isinstance(value, exp.Column) and value.sql().upper() == "DEFAULT"):
        return
    found = resolve_expression(trace, value, scope)
    fields = list((found.fields or {}).values())
    kept = [field for field in fields if _stays(field, column, target)]
    for part in [field for field in fields if field not in kept] if kept else [found]:
        sink.merge(part)


def _stays(field: ResolvedColumn, column: Column, target: Target) -> bool:
    """Whether a field of an assigned struct stays as it is.

    Delta's plan (4.4) of `SET s = named_struct('a', s.a, 'b', 1)` is that of `SET s.b = 1`.
    """
    if not field.plain or len(field.base) != 1:
        return False
    (ref,) = field.base
    if (ref.entry, ref.column.name) in target.in_source:
        return False  # as the source has it
    place = (ref.column.name.lower(), *map(str.lower, ref.path))
    return ref.entry is target.entry and place == (column.name.lower(), field.key)


def _ctes(trace: Trace, tree: Node) -> dict[str, Frame]:
    with_ = tree.args.get("with_")
    return read_ctes(trace, with_, None, {}) if with_ is not None else {}


def _target_scope(trace: Trace, tree: Node, ctes: dict[str, Frame]) -> tuple[Target, Scope]:
    table = tree.args["this"]
    relation = target_relation(trace, table)
    parts = parts_of(table)
    entry = trace.entry(parts) if parts else Entry(relation)
    alias = table.args.get("alias")
    scope = Scope(None, ctes)
    name = alias.name if alias is not None else (parts[-1] if parts else "")
    if relation.temporary:
        target = _below(trace, entry, name, scope)
    else:
        full = () if alias is not None else relation.name
        item = apply_policies(trace, entry, FromItem(name, entry=entry, parts=full), scope)
        target = Target(entry, entry.index, item)
    scope.add(target.item)
    return target, scope


def _below(trace: Trace, view: Entry, name: str, scope: Scope) -> Target:
    """The table below a temporary view, under the view's columns."""
    frame = open_view(trace, view)
    scope.indirect.add_indirect(frame.indirect)
    item = FromItem(name, list(frame.columns), view=frame, open_=frame.open)
    entries = {ref.entry for out in frame.columns for ref in out.base}
    if len(entries) != 1 or frame.open:
        trace.mark_partial(f"write through the temporary view {view.relation.name}")
        return Target(Entry(Relation("")), {}, item)
    plain = {out.key: ref.column for out in frame.columns if out.plain for ref in out.base}
    return Target(entries.pop(), plain, item)


def _changed(
    trace: Trace,
    statement: Statement,
    target: Target,
    scope: Scope,
    written: WrittenColumns,
    *,
    overwrites: bool = False,
) -> Access:
    for _, sink in written.values():
        trace.ledger.add_reads(sink)
    trace.ledger.add_reads(scope.indirect)
    relation = target.entry.relation
    if not relation.name:
        return build_access(trace, statement.statement_type)
    modified = modified_object(trace, relation, list(written.values()), scope.indirect, overwrites=overwrites)
    return build_access(trace, statement.statement_type, modified=[modified])
