"""INSERT in all its forms: by position, by name, column list, partitions, overwrite, multi-insert, directory.

In: an Insert of sqlglot's tree. Out: what was written, column by column; reads land in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.building import Tracer
from lineage.model import Access, Column, Domain, ModifiedObject, Relation
from lineage.scope import Frame, Out, Scope, Sink, Source
from lineage.statement import Statement
from lineage.targets import parts_of

Node = exp.Expr


def trace_insert(tracer: Tracer, statement: Statement, tree: exp.Insert) -> Access:
    """INSERT INTO | OVERWRITE a table or a directory."""
    ctes = _ctes(tracer, tree)
    frame = _frame(tracer, tree, None, ctes)
    return tracer.access(statement.statement_type, modified=[_written(tracer, tree, frame)])


def trace_multi_insert(tracer: Tracer, statement: Statement, tree: exp.MultitableInserts) -> Access:
    """FROM t INSERT … INSERT …: one source, several targets."""
    ctes = _ctes(tracer, tree)
    scope = Scope(None, ctes)
    tracer.add(tree.args["source"], scope)
    modified: list[ModifiedObject] = []
    for insert in tree.expressions:
        select = insert.args["expression"]
        inner = Scope(None, ctes)
        inner.sources, inner.steps = list(scope.sources), list(scope.steps)
        inner.using = scope.using
        inner.shape.shape(scope.shape)
        tracer.from_clause(select, inner)
        frame = tracer.projected(inner, select.args)
        modified.append(_written(tracer, insert, frame))
    return tracer.access(statement.statement_type, modified=modified)


def target_relation(tracer: Tracer, node: Node | None) -> Relation:
    """The relation that a write names; an unknown one with no columns and a doubt."""
    parts = parts_of(node)
    if not parts:
        tracer.doubt("target of the write")
        return Relation("")
    relation = tracer.entry(parts).relation
    if relation.domain is Domain.VIEW:
        tracer.doubt(f"write through view {relation.name}")
    return relation


def _ctes(tracer: Tracer, tree: Node) -> dict[str, Frame]:
    with_ = tree.args.get("with_")
    return {} if with_ is None else tracer.ctes(with_, None, {})


def _frame(tracer: Tracer, tree: exp.Insert, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    query = tree.args.get("expression")
    if query is None:
        query = tree.args.get("source")
    if isinstance(query, exp.Values):
        frame = tracer.values_frame(query, Scope(outer, ctes))
        for out in frame.outs:
            tracer.ledger.touch(out)
        return frame
    if not isinstance(query, exp.Expr):
        tracer.doubt("INSERT without a query")
        return Frame([])
    return tracer.query(query, outer, ctes)


def _written(tracer: Tracer, tree: exp.Insert, frame: Frame) -> ModifiedObject:
    target = tree.args["this"]
    if isinstance(target, exp.Directory):
        location = target.name
        relation = tracer.catalog.path("", location)
        return tracer.modified(
            relation, _by_output(frame), frame.shape, overwrites=bool(tree.args.get("overwrite"))
        )
    relation = target_relation(tracer, target)
    replaced = _replaced_rows(tracer, tree, target)
    parts = _partition(tree, target)
    static = [item.args["this"].name.lower() for item in parts if isinstance(item, exp.EQ)]
    pairs: list[tuple[Column, Sink | None]] = [(_known(relation, name), None) for name in static]
    columns = _listed(relation, target)
    if tree.args.get("by_name"):
        pairs += [(_known(relation, out.name), out) for out in frame.outs]
    elif columns is not None:
        pairs += _by_position(tracer, columns, frame, relation)
    elif relation.columns:
        # A dynamic partition has the place that the table gives it: Delta as declared, Parquet last.
        free = [c for c in relation.columns if c.name.lower() not in static]
        pairs += _by_position(tracer, free, frame, relation)
    else:
        tracer.doubt(f"columns of {relation.name}")
        pairs += _by_output(frame)
    shape = Sink()
    shape.shape(frame.shape)
    shape.shape(replaced)
    # With partitions named, or rows (REPLACE WHERE), the others stay.
    whole = tree.args.get("overwrite") and not (parts or tree.args.get("where"))
    return tracer.modified(relation, pairs, shape, overwrites=bool(whole))


def _by_output(frame: Frame) -> list[tuple[Column, Sink | None]]:
    return [(Column(out.name), out) for out in frame.outs]


def _by_position(
    tracer: Tracer, columns: Sequence[Column], frame: Frame, relation: Relation
) -> list[tuple[Column, Sink | None]]:
    if len(frame.outs) > len(columns) or frame.open:
        tracer.doubt(f"number of columns written to {relation.name}")
    # Spark 3.4+ fills columns that the query lacks with their defaults.
    return [(column, out) for column, out in zip(columns, frame.outs, strict=False)]


def _listed(relation: Relation, target: Node) -> list[Column] | None:
    if not isinstance(target, exp.Schema):
        return None
    return [_known(relation, item.name) for item in target.expressions]


def _known(relation: Relation, name: str) -> Column:
    key = name.lower()
    for column in relation.columns:
        if column.name.lower() == key:
            return column
    return Column(name)


def _partition(tree: exp.Insert, target: Node) -> list[Node]:
    table = target.args["this"] if isinstance(target, exp.Schema) else target
    partition = table.args.get("partition") or tree.args.get("partition")
    return list(partition.expressions) if isinstance(partition, exp.Partition) else []


def _replaced_rows(tracer: Tracer, tree: exp.Insert, target: Node) -> Sink:
    # INSERT INTO t REPLACE WHERE p reads the target's columns in p.
    condition = tree.args.get("where")
    keys = tree.args.get("using")
    own = Sink()
    if condition is None and not keys:
        return own
    scope = Scope()
    entry = tracer.entry(parts_of(target))
    scope.add(tracer.governed(entry, Source("", entry=entry), scope))
    tracer.shaping(condition, scope, own)
    for key in keys or ():
        out = tracer.name([key.name], scope)
        own.shape(out or Out(key.name))
    tracer.ledger.touch(scope.shape)
    tracer.ledger.touch(own)
    return own
