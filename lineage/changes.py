"""UPDATE, DELETE, TRUNCATE and MERGE.

In: a tree of one of them. Out: the target with its written columns and their sources; columns of WHERE and
ON are accessed, never sources.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.building import Tracer
from lineage.model import Access, Column, Domain
from lineage.scope import Entry, Frame, Scope, Sink, Source
from lineage.statement import Statement
from lineage.targets import parts_of
from lineage.writes import target_relation

Node = exp.Expr
Written = dict[str, tuple[Column, Sink]]


def trace_update(tracer: Tracer, statement: Statement, tree: exp.Update) -> Access:
    """UPDATE t SET a = … [FROM …] [WHERE …]."""
    entry, scope = _target_scope(tracer, tree)
    if tree.args.get("from_") is not None:
        tracer.from_clause(tree, scope)
    written: Written = {}
    _assignments(tracer, tree.expressions, entry, scope, written)
    where = tree.args.get("where")
    if where is not None:
        tracer.shaping(where.args["this"], scope, scope.shape)
    return _changed(tracer, statement, entry, scope, written)


def trace_delete(tracer: Tracer, statement: Statement, tree: exp.Delete) -> Access:
    """DELETE FROM t [WHERE …]: the object, no columns."""
    entry, scope = _target_scope(tracer, tree)
    where = tree.args.get("where")
    if where is not None:
        tracer.shaping(where.args["this"], scope, scope.shape)
    return _changed(tracer, statement, entry, scope, {}, overwrites=where is None)


def trace_truncate(tracer: Tracer, statement: Statement, tree: exp.TruncateTable) -> Access:
    """TRUNCATE TABLE t: the object, no columns."""
    whole = tree.args.get("partition") is None
    modified = [
        tracer.modified(target_relation(tracer, table), overwrites=whole) for table in tree.expressions
    ]
    return tracer.access(statement.statement_type, modified=modified)


def trace_merge(tracer: Tracer, statement: Statement, tree: exp.Merge) -> Access:
    """MERGE INTO t USING s: every branch writes; a column's sources are those of all its branches."""
    with_ = tree.args.get("with_")
    ctes = tracer.ctes(with_, None, {}) if with_ is not None else {}
    entry, scope = _target_scope(tracer, tree, ctes)
    target = scope.sources[0]
    source = tracer.source(tree.args["using"], scope)
    scope.add(source)
    tracer.shaping(tree.args.get("on"), scope, scope.shape)
    written: Written = {}
    whens = tree.args["whens"]
    # NOT MATCHED BY SOURCE sees the target alone.
    alone = Scope(None, scope.ctes)
    alone.add(target)
    for when in whens.expressions:
        seen = alone if when.args.get("source") and not when.args.get("matched") else scope
        tracer.shaping(when.args.get("condition"), seen, scope.shape)
        _branch(tracer, when, entry, (seen, target, source), written)
    return _changed(tracer, statement, entry, scope, written)


def _branch(
    tracer: Tracer, when: Node, entry: Entry, scopes: tuple[Scope, Source, Source], written: Written
) -> None:
    scope, target, source = scopes
    then = when.args.get("then")
    if isinstance(then, exp.Update):
        if _is_star(then.expressions):
            _all_by_name(tracer, entry, source, written)
        else:
            _assignments(tracer, then.expressions, entry, scope, written)
        return
    if not isinstance(then, exp.Insert):
        return
    columns, values = then.args.get("this"), then.args.get("expression")
    if columns is None or isinstance(columns, exp.Star):
        if values is None:
            _all_by_name(tracer, entry, source, written)
            return
        names = [c.name for c in entry.relation.columns]
    else:
        names = [c.name for c in columns.expressions]
    # An INSERT branch sees the source alone: the target has no row.
    alone = Scope(None, scope.ctes)
    alone.add(source)
    items = values.expressions if isinstance(values, exp.Tuple) else [values]
    if len(items) != len(names):
        tracer.doubt("MERGE INSERT with another number of values")
    for name, item in zip(names, items, strict=False):
        _write(tracer, item, name, entry, alone, written)
    del target


def _is_star(expressions: list[Node]) -> bool:
    return len(expressions) == 1 and isinstance(expressions[0], exp.Star)


def _all_by_name(tracer: Tracer, entry: Entry, source: Source, written: Written) -> None:
    # UPDATE SET * and INSERT *: each target column takes the source column of its name; with schema
    # evolution the source's further columns are added (Delta 4.4).
    if source.open or entry.open:
        tracer.doubt("MERGE with * over unknown columns")
    for out in source.all():
        column = entry.index.get(out.key)
        if column is None and not entry.open:
            continue
        _, sink = written.setdefault(out.key, (column or Column(out.name), Sink()))
        sink.merge(out)


def _assignments(tracer: Tracer, items: list[Node], entry: Entry, scope: Scope, written: Written) -> None:
    for item in items:
        if not isinstance(item, exp.EQ):
            tracer.doubt(f"assignment {item.sql('spark')[:60]}")
            continue
        name = _assigned(item.args["this"], entry)
        _write(tracer, item.args["expression"], name, entry, scope, written)


def _assigned(node: Node, entry: Entry) -> str:
    # t.a, a, a.field (a struct's field writes the column a), alias.a.field
    parts = [p.name for p in node.find_all(exp.Identifier)]
    parts = [p.name for p in node.parts] if isinstance(node, exp.Column) else parts
    for part in parts:
        if part.lower() in entry.index:
            return part
    return parts[-1] if parts else node.name


def _write(tracer: Tracer, value: Node, name: str, entry: Entry, scope: Scope, written: Written) -> None:
    column = entry.index.get(name.lower()) or Column(name)
    _, sink = written.setdefault(name.lower(), (column, Sink()))
    if isinstance(value, exp.Var) or (isinstance(value, exp.Column) and value.sql().upper() == "DEFAULT"):
        return
    sink.merge(tracer.out_of(value, scope))


def _target_scope(tracer: Tracer, tree: Node, ctes: dict[str, Frame] | None = None) -> tuple[Entry, Scope]:
    table = tree.args["this"]
    relation = target_relation(tracer, table)
    parts = parts_of(table)
    entry = tracer.entry(parts) if parts else Entry(relation)
    alias = table.args.get("alias")
    scope = Scope(None, ctes)
    name = alias.name if alias is not None else (parts[-1] if parts else "")
    full = () if alias is not None else tuple(relation.name.lower().split("."))
    scope.add(tracer.governed(entry, Source(name, entry=entry, parts=full), scope))
    return entry, scope


def _changed(
    tracer: Tracer,
    statement: Statement,
    entry: Entry,
    scope: Scope,
    written: Written,
    *,
    overwrites: bool = False,
) -> Access:
    for _, sink in written.values():
        tracer.ledger.touch(sink)
    tracer.ledger.touch(scope.shape)
    if entry.relation.domain is Domain.VIEW and entry.relation.temporary:
        tracer.doubt("write through a temporary view")
    modified = tracer.modified(entry.relation, list(written.values()), scope.shape, overwrites=overwrites)
    return tracer.access(statement.statement_type, modified=[modified])
