"""COPY INTO, both ways: a path is a STAGE.

In: a Copy of sqlglot's tree. Out: load (path → table) or unload (table or query → path).
"""

from __future__ import annotations

from sqlglot import exp

from lineage.model import Access, Column
from lineage.resolve.context import Trace
from lineage.resolve.from_clause.relations import relation_item
from lineage.resolve.query import read_query
from lineage.resolve.scope import Frame, Scope, SourceSet
from lineage.sql.statement import Statement
from lineage.sql.targets import parts_of
from lineage.statements.access_builder import build_access, modified_object
from lineage.statements.insert import target_relation

Node = exp.Expr


def trace_copy(trace: Trace, statement: Statement, tree: exp.Copy) -> Access:
    """COPY INTO t FROM 'path' | (SELECT … FROM 'path'), COPY INTO 'path' FROM t | (query)."""
    files = tree.args.get("files") or []
    if len(files) != 1:
        trace.mark_partial("COPY INTO with several sources")
    source = files[0] if files else None
    if statement.statement_type == "UNLOAD":
        return _unload(trace, statement, tree, source)
    return _load(trace, statement, tree, source)


def _load(trace: Trace, statement: Statement, tree: exp.Copy, source: Node | None) -> Access:
    target = tree.args["this"]
    relation = target_relation(trace, target)
    listed = [i.name for i in target.expressions] if isinstance(target, exp.Schema) else []
    index = {c.name.lower(): c for c in relation.columns}
    columns = [index.get(n.lower()) or Column(n) for n in listed] or list(relation.columns)
    if isinstance(source, exp.Subquery):
        frame = read_query(trace, _with_stages(source), None, {})
        # Loaded by name where the names fit, as the files' own columns are; else by position.
        pairs = [(c, o) for c, o in zip(columns, frame.columns, strict=False)]
        return build_access(
            trace,
            statement.statement_type,
            modified=[modified_object(trace, relation, pairs, frame.indirect)],
        )
    if not isinstance(source, exp.Literal):
        trace.mark_partial("COPY INTO from something else than a path")
        return build_access(trace, statement.statement_type, modified=[modified_object(trace, relation)])
    # "Snowflake logs this query only when the table is the source": a plain load reads no table;
    # the path is recorded as the stage that the columns came from.
    stage = trace.entry(("path", source.name)) if "/" in source.name else None
    if stage is not None:
        trace.ledger.direct_entries.setdefault(stage)
        trace.ledger.base_entries.setdefault(stage)
    return build_access(
        trace,
        statement.statement_type,
        modified=[modified_object(trace, relation, [(c, None) for c in columns])],
    )


def _with_stages(node: exp.Subquery) -> Node:
    # `FROM '/p'` is a Table whose quoted name is a path.
    copy = node.copy()
    for table in copy.find_all(exp.Table):
        if not table.args.get("db") and "/" in table.name:
            table.set("db", exp.to_identifier("path"))
    return copy


def _unload(trace: Trace, statement: Statement, tree: exp.Copy, source: Node | None) -> Access:
    location = parts_of(tree.args["this"])[-1]
    # No provider: files of any format lie in one stage.
    stage = trace.catalog.path("", location)
    frame: Frame
    if isinstance(source, exp.Subquery):
        frame = read_query(trace, source, None, {})
    elif source is not None:
        scope = Scope()
        parts = parts_of(source) or (source.name,)
        named = relation_item(trace, trace.entry(parts), parts[-1], (), scope)
        frame = Frame(named.columns(), scope.indirect, open_=named.open)
        if named.open:
            trace.mark_partial("COPY INTO from unknown columns")
        for out in frame.columns:
            # No query has recorded these reads yet.
            trace.ledger.add_reads(out)
        trace.ledger.add_reads(frame.indirect)
    else:
        frame = Frame([])
    pairs: list[tuple[Column, SourceSet | None]] = [(Column(o.name), o) for o in frame.columns]
    return build_access(
        trace, statement.statement_type, modified=[modified_object(trace, stage, pairs, frame.indirect)]
    )
