"""COPY INTO, both ways: a path is a STAGE.

In: a Copy of sqlglot's tree. Out: load (path → table) or unload (table or query → path).
"""

from __future__ import annotations

from sqlglot import exp

from lineage.building import Tracer
from lineage.model import Access, Column, Domain
from lineage.scope import Frame, Scope, Sink, Source
from lineage.statement import Statement
from lineage.targets import parts_of
from lineage.writes import target_relation

Node = exp.Expr


def trace_copy(tracer: Tracer, statement: Statement, tree: exp.Copy) -> Access:
    """COPY INTO t FROM 'path' | (SELECT … FROM 'path'), COPY INTO 'path' FROM t | (query)."""
    files = tree.args.get("files") or []
    if len(files) != 1:
        tracer.doubt("COPY INTO with several sources")
    source = files[0] if files else None
    if statement.statement_type == "UNLOAD":
        return _unload(tracer, statement, tree, source)
    return _load(tracer, statement, tree, source)


def _load(tracer: Tracer, statement: Statement, tree: exp.Copy, source: Node | None) -> Access:
    target = tree.args["this"]
    relation = target_relation(tracer, target)
    listed = [i.name for i in target.expressions] if isinstance(target, exp.Schema) else []
    index = {c.name.lower(): c for c in relation.columns}
    columns = [index.get(n.lower()) or Column(n) for n in listed] or list(relation.columns)
    if isinstance(source, exp.Subquery):
        frame = tracer.query(_with_stages(source), None, {})
        # Loaded by name where the names fit, as the files' own columns are; else by position.
        pairs = [(c, o) for c, o in zip(columns, frame.outs, strict=False)]
        return tracer.access(
            statement.statement_type, modified=[tracer.modified(relation, pairs, frame.shape)]
        )
    if not isinstance(source, exp.Literal):
        tracer.doubt("COPY INTO from something else than a path")
        return tracer.access(statement.statement_type, modified=[tracer.modified(relation)])
    # "Snowflake logs this query only when the table is the source": a plain load reads no table;
    # the path is recorded as the stage that the columns came from.
    stage = tracer.entry(("path", source.name)) if "/" in source.name else None
    if stage is not None:
        tracer.ledger.direct_entries.setdefault(stage)
        tracer.ledger.base_entries.setdefault(stage)
    return tracer.access(
        statement.statement_type, modified=[tracer.modified(relation, [(c, None) for c in columns])]
    )


def _with_stages(node: exp.Subquery) -> Node:
    # `FROM '/p'` is a Table whose quoted name is a path.
    copy = node.copy()
    for table in copy.find_all(exp.Table):
        if not table.args.get("db") and "/" in table.name:
            table.set("db", exp.to_identifier("path"))
    return copy


def _unload(tracer: Tracer, statement: Statement, tree: exp.Copy, source: Node | None) -> Access:
    location = parts_of(tree.args["this"])[-1]
    stage = tracer.catalog.path("", location)
    frame: Frame
    if isinstance(source, exp.Subquery):
        frame = tracer.query(source, None, {})
    elif source is not None:
        scope = Scope()
        parts = parts_of(source) or (source.name,)
        named = tracer.named(tracer.entry(parts), parts[-1], (), scope)
        frame = Frame(named.all(), scope.shape, open_=named.open)
        if named.open:
            tracer.doubt("COPY INTO from unknown columns")
        for out in frame.outs:
            tracer.ledger.touch(out)
        tracer.ledger.touch(frame.shape)
    else:
        frame = Frame([])
    pairs: list[tuple[Column, Sink | None]] = [(Column(o.name), o) for o in frame.outs]
    return tracer.access(statement.statement_type, modified=[tracer.modified(stage, pairs, frame.shape)])


__all__ = ["Domain", "Source", "trace_copy"]
