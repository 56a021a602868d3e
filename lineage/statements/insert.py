"""INSERT in all its forms: by position, by name, column list, partitions, overwrite, multi-insert, directory.

In: an Insert of sqlglot's tree. Out: what was written, column by column; reads land in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.model import Access, Column, Domain, ModifiedObject, Relation
from lineage.resolve.columns import resolve_name
from lineage.resolve.context import Trace
from lineage.resolve.expressions import add_indirect_sources
from lineage.resolve.from_clause.items import add_item, read_from, read_item, values_table
from lineage.resolve.policies import apply_policies
from lineage.resolve.query import read_ctes, read_query
from lineage.resolve.scope import Frame, FromItem, ResolvedColumn, Scope, SourceSet
from lineage.resolve.select import read_select
from lineage.sql.statement import Statement
from lineage.sql.syntax.pipe_syntax import REPLACING
from lineage.sql.targets import parts_of
from lineage.sql.tokens import SCHEMA_EVOLUTION
from lineage.statements.access_builder import build_access, modified_object

Node = exp.Expr


def trace_insert(trace: Trace, statement: Statement, tree: exp.Insert) -> Access:
    """INSERT INTO | OVERWRITE a table or a directory."""
    ctes = _ctes(trace, tree)
    frame = _frame(trace, tree, None, ctes)
    written = _known_writes([_written(trace, tree, frame)])
    return build_access(trace, statement.statement_type, modified=written)


def _known_writes(found: Sequence[ModifiedObject | None]) -> list[ModifiedObject]:
    return [item for item in found if item is not None]


def trace_multi_insert(trace: Trace, statement: Statement, tree: exp.MultitableInserts) -> Access:
    """FROM t INSERT … INSERT …: one source, several targets."""
    ctes = _ctes(trace, tree)
    scope = Scope(None, ctes)
    add_item(trace, tree.args["source"], scope)
    modified: list[ModifiedObject | None] = []
    for insert in tree.expressions:
        select = insert.args["expression"]
        inner = Scope(None, ctes)
        # Copies: no branch sees the LATERAL VIEWs of another one.
        inner.sources, inner.steps = list(scope.sources), list(scope.steps)
        inner.using = scope.using
        inner.indirect.add_indirect(scope.indirect)
        read_from(trace, select, inner)
        frame = read_select(trace, inner, select.args)
        modified.append(_written(trace, insert, frame))
    return build_access(trace, statement.statement_type, modified=_known_writes(modified))


def target_relation(trace: Trace, node: Node | None) -> Relation:
    """The relation that a write names; an unknown one has no columns and makes the analysis partial."""
    parts = parts_of(node)
    if not parts:
        trace.mark_partial("target of the write")
        return Relation("")
    relation = trace.entry(parts).relation
    if relation.domain is Domain.VIEW and not relation.temporary:
        trace.mark_partial(f"write through view {relation.name}")
    return relation


def _ctes(trace: Trace, tree: Node) -> dict[str, Frame]:
    with_ = tree.args.get("with_")
    return {} if with_ is None else read_ctes(trace, with_, None, {})


def _frame(trace: Trace, tree: exp.Insert, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
    query = tree.args.get("expression")
    if query is None:
        # INSERT INTO t TABLE s: sqlglot 30 has the table as `source`.
        query = tree.args.get("source")
    # VALUES goes through no SELECT, which would record its reads.
    if isinstance(query, exp.Values):
        frame = values_table(trace, query, Scope(outer, ctes))
        for out in frame.columns:
            trace.ledger.add_reads(out)
        return frame
    if not isinstance(query, exp.Expr):
        trace.mark_partial("INSERT without a query")
        return Frame([])
    return read_query(trace, query, outer, ctes)


def _written(trace: Trace, tree: exp.Insert, frame: Frame) -> ModifiedObject | None:
    target = tree.args["this"]
    if isinstance(target, exp.Directory):
        location = target.name
        relation = trace.catalog.path("", location)
        return modified_object(
            trace, relation, _by_output(frame), frame.indirect, overwrites=bool(tree.args.get("overwrite"))
        )
    relation = target_relation(trace, target)
    if relation.temporary:
        trace.mark_partial(f"write through the temporary view {relation.name}")  # Spark refuses it
        return None
    replaced = _replaced_rows(trace, tree, target, frame)
    evolves = bool(tree.meta.get(SCHEMA_EVOLUTION))
    parts = _partition(tree, target)
    static = [item.args["this"].name.lower() for item in parts if isinstance(item, exp.EQ)]
    # PARTITION (c = 1) writes a constant.
    pairs: list[tuple[Column, SourceSet | None]] = [(_known(relation, name), None) for name in static]
    columns = _listed(relation, target)
    if tree.args.get("by_name"):
        pairs += [(_known(relation, out.name), out) for out in frame.columns]
    elif columns is not None:
        pairs += _by_position(trace, columns, frame, relation)
    elif relation.columns:
        # A dynamic partition has the place that the table gives it: Delta as declared, Parquet last.
        free = [c for c in relation.columns if c.name.lower() not in static]
        pairs += _by_position(trace, free, frame, relation, evolves=evolves)
    else:
        trace.mark_partial(f"columns of {relation.name}")
        pairs += _by_output(frame)
    shape = SourceSet()
    shape.add_indirect(frame.indirect)
    shape.add_indirect(replaced)
    # With partitions named, or rows (REPLACE WHERE), the others stay.
    whole = tree.args.get("overwrite") and not (parts or tree.args.get("where"))
    return modified_object(trace, relation, pairs, shape, overwrites=bool(whole))


def _by_output(frame: Frame) -> list[tuple[Column, SourceSet | None]]:
    return [(Column(out.name), out) for out in frame.columns]


def _by_position(
    trace: Trace, columns: Sequence[Column], frame: Frame, relation: Relation, *, evolves: bool = False
) -> list[tuple[Column, SourceSet | None]]:
    if evolves:
        # What the table lacks is added to it, under the query's names (Delta 4.4).
        columns = [*columns, *(Column(out.name) for out in frame.columns[len(columns) :])]
    if len(frame.columns) > len(columns) or frame.open:
        trace.mark_partial(f"number of columns written to {relation.name}")
    # Spark 3.4+ fills columns that the query lacks with their defaults.
    return [(column, out) for column, out in zip(columns, frame.columns, strict=False)]


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


def _replaced_rows(trace: Trace, tree: exp.Insert, target: Node, frame: Frame) -> SourceSet:
    # INSERT INTO t REPLACE WHERE p reads the target's columns in p, REPLACE ON those of the query, too.
    condition = tree.args.get("where")
    keys = tree.args.get("using")
    own = SourceSet()
    if condition is None and not keys:
        return own
    scope = Scope()
    entry = trace.entry(parts_of(target))
    name = target.alias or parts_of(target)[-1]
    item = FromItem(name, entry=entry, parts=() if target.alias else entry.relation.name)
    scope.add(apply_policies(trace, entry, item, scope))
    source = tree.args["expression"].args.get("from_") if tree.args.get("expression") else None
    if source is not None and source.args["this"].alias == REPLACING:
        scope.add(read_item(trace, source.args["this"], scope))
    add_indirect_sources(trace, condition, scope, own)
    for key in keys or ():
        out = resolve_name(trace, [key.name], scope)
        own.add_indirect(out or ResolvedColumn(key.name))
        # The rows are those whose keys the query yields.
        own.add_indirect(next((c for c in frame.columns if c.key == key.name.lower()), ResolvedColumn("")))
    trace.ledger.add_reads(scope.indirect)
    trace.ledger.add_reads(own)
    return own
