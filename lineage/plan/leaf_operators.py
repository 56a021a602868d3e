"""Leaf operators of a plan: tables, views, local rows, CTEs.

In: a node, the flows of its children, the outer scope. Out: an `OperatorOutput`. `LEAF_RULES` says which
function reads which operator.
"""

from __future__ import annotations

from lineage.model import Column
from lineage.plan.expressions import evaluate, function_name
from lineage.plan.operator_fields import OperatorReader, Rule, attributes
from lineage.plan.scope import Attribute, OperatorOutput, Outputs, Scope
from lineage.plan.tree import Node, kind
from lineage.plan.values import NOTHING, Value, computed, union
from lineage.transformation import BELOW, COMPUTED

LEAVES = (
    "LogicalRelation",
    "HiveTableRelation",
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
    "StreamingRelation",
    "StreamingRelationV2",
    "StreamingExecutionRelation",
    "RelationV2",
    "StreamingDataSourceV2Relation",
    "StreamingDataSourceV2ScanRelation",
)


def relation(node: Node, _kids: Outputs, _outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """A leaf that reads objects; a scan of several locations reads each of them."""
    out = attributes(node.get("output")) or attributes(node.get("dataCols")) + attributes(
        node.get("partitionCols")
    )
    owners = reader.relations(node, out)
    numbers = tuple(reader.registry.object(owner) for owner in owners)
    # One dict a table: TPC-DS queries scan date_dim up to nine times, 28 columns each.
    values = reader.scanned.setdefault(numbers, {})
    if any(name not in values for _, name in out):
        known = [{column.name: column for column in owner.columns} for owner in owners]
        values.update(
            (name, _column_of(name, known, numbers, reader)) for _, name in out if name not in values
        )
    touched = sum(1 << number for number in set(numbers))
    return OperatorOutput(out, {number: values[name] for number, name in out}, direct=touched, base=touched)


def _column_of(
    name: str, known: list[dict[str, Column]], numbers: tuple[int, ...], reader: OperatorReader
) -> Value:
    """A column of a scan: of one object, or of each location that is read as one.

    The hidden column of file sources tells of files: it is no column of the object.
    """
    # Spark appends it to file sources as a metadata column (FileFormat.METADATA_NAME).
    if name == "_metadata" and all(known) and not any(name in columns for columns in known):
        return NOTHING
    sources = [
        reader.registry.source(number, columns.get(name) or Column(name))
        for number, columns in zip(numbers, known, strict=True)
    ]
    bits = sum(1 << source for source in sources)
    return Value(bits, bits, 0, 0, (sources[0], sources[0]) if len(sources) == 1 else None)


def local_rows(node: Node, _kids: Outputs, _outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """Rows that stand in the plan itself, or were made by the session: no object."""
    out = attributes(node.get("output")) or attributes(
        [node["outputObjAttr"]] if node.get("outputObjAttr") else None
    )
    return OperatorOutput(out, dict.fromkeys((number for number, _ in out), NOTHING))


def inline_table(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """An inline table whose cells are expressions, such as now(): what they read makes their columns."""
    scope = Scope.over(kids, outer)
    out = attributes(node.get("output"))
    cells = [[evaluate(tree, scope, reader) for tree in row] for row in node.get("rows", ())]
    columns = [union(column) for column in zip(*cells, strict=False)] or [NOTHING] * len(out)
    return scope.flow(out, {number: value for (number, _), value in zip(out, columns, strict=False)})


def stored_rows(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """LogicalRDD: rows in memory, or of the plan that they were stored from, or a function over its rows."""
    # Dataset.checkpoint keeps the statistics of the plan that it cuts off; createDataFrame has none (Spark
    # 4.2, LogicalRDD).
    if "originStats" in node:
        reader.mark_partial("LogicalRDD: a checkpoint has cut the plan off from its sources")
    rows = node.get("rows")
    if rows is None:
        return local_rows(node, kids, outer, reader)
    out = attributes(node.get("output"))
    origins = [reader.origin(number) for number in rows["of"]]
    if rows["exact"] and len(origins[0].out) == len(out):
        return _renamed(origins[0], out)
    for name in rows["unknown"]:
        reader.mark_partial(f"LogicalRDD: rows of a {name}, whose sources are not known")
    if origins:
        reader.mark_partial("LogicalRDD: a function over rows, whose columns may come of any column")
    scope = Scope.over(origins, outer)
    value = computed(union(origin.everything() for origin in origins))
    return scope.flow(out, dict.fromkeys((number for number, _ in out), value))


def view(node: Node, kids: Outputs, _outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """A view is the direct object instead of the tables below it; an outer view hides an inner one.

    Of the tables in its text only those behind a used column count.
    """
    kid = kids[0]
    relation = reader.view(node, kid.out)
    if relation is None:
        return OperatorOutput(kid.out, kid.env, kid.indirect, kid.direct, kid.base)
    owner = reader.registry.object(relation)
    known = {column.name: column for column in relation.columns}
    env = {}
    for number, name in kid.out:
        value = kid.env[number]
        source = reader.registry.source(owner, known.get(name) or Column(name))
        # The fields of a struct are the view's and its base table's at once.
        base = value.shape[1] if isinstance(value.shape, tuple) else None
        env[number] = Value(
            1 << source,
            value.base,
            0,
            value.base_indirect,
            (source, base) if base is not None else None,
            value.transformation & BELOW,
        )
    return OperatorOutput(kid.out, env, Value(0, 0, 0, kid.indirect.base_indirect), 1 << owner, kid.base)


def sql_table_function(
    node: Node, kids: Outputs, _outer: Scope | None, reader: OperatorReader
) -> OperatorOutput:
    """A SQL table function: what its body reads is base alone, the function is direct alone.

    Its arguments, columns of the outer query, stay direct sources.
    """
    kid = kids[0]
    name = function_name(node)
    direct = called = 0
    if name is None:
        reader.mark_partial("SQLFunctionNode: the JSON lacks the function's name")
    else:
        number = reader.function(name, kind(node))
        called, direct = 1 << number, 1 << reader.registry.sources[number].owner
    inside = reader.registry.sources_of(kid.direct)
    env = {
        number: Value(
            value.direct & ~inside | called,
            value.base,
            value.direct_indirect & ~inside,
            value.base_indirect,
            None,
            value.transformation | (COMPUTED & ~BELOW),
        )
        for number, value in kid.env.items()
    }
    return OperatorOutput(
        kid.out,
        env,
        Value(0, 0, kid.indirect.direct_indirect & ~inside, kid.indirect.base_indirect),
        direct,
        kid.base,
    )


def cte_definition(node: Node, kids: Outputs, _outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """A CTE where it is defined: kept for its references."""
    # Definitions come before their references in a WithCTE, so one pass suffices.
    reader.ctes[node["id"]] = kids[0]
    return kids[0]


def cte_reference(node: Node, _kids: Outputs, _outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """A CTE where it is named: the columns of its definition."""
    found = reader.ctes.get(node["cteId"])
    if found is None:
        reader.mark_partial("CTERelationRef: its definition is not in the plan")
        return local_rows(node, [], None, reader)
    return _renamed(found, attributes(node.get("output")))


def loop_reference(
    node: Node, _kids: Outputs, _outer: Scope | None, reader: OperatorReader
) -> OperatorOutput:
    """A recursive CTE inside its own step: the columns found so far."""
    # UnionLoop is the operator of a recursive CTE (Spark 4.2).
    found = reader.loops.get(node["loopId"])
    if found is None:
        reader.mark_partial("UnionLoopRef: its loop is not in the plan")
        return local_rows(node, [], None, reader)
    return _renamed(found, attributes(node.get("output")))


def _renamed(flow: OperatorOutput, out: list[Attribute]) -> OperatorOutput:
    """The same columns, by position, under other expression ids."""
    env = {number: flow.env[old] for (number, _), (old, _) in zip(out, flow.out, strict=False)}
    return OperatorOutput(out, env, flow.indirect, flow.direct, flow.base, flow.named)


LEAF_RULES: dict[str, Rule] = {
    **dict.fromkeys(LEAVES, relation),
    **dict.fromkeys(
        (
            "LocalRelation",
            "OneRowRelation",
            "Range",
            "EmptyRelation",
            "CommandResult",
            "ExternalRDD",
            "PythonWorkerLogs",
            "MemoryPlan",
        ),
        local_rows,
    ),
    "ResolvedInlineTable": inline_table,
    "LogicalRDD": stored_rows,
    "View": view,
    "SQLFunctionNode": sql_table_function,
    "CTERelationDef": cte_definition,
    "CTERelationRef": cte_reference,
    "UnionLoopRef": loop_reference,
}
"""How each operator that stands for an object, or for rows named elsewhere, is read."""
