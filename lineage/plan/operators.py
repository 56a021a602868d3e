"""Operators of a plan into flows: which columns an operator hands up, and what steered its rows.

In: a node, the flows of its children, the outer scope. Out: a `Flow`. One function a family of
operators; `RULES` at the end says which operator belongs where. An operator that is not there is
reported as a doubt and read as one that hands everything on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from lineage.model import Column, Relation
from lineage.plan import expressions
from lineage.plan.expressions import evaluate, expression_id, function_name
from lineage.plan.facts import Leaf
from lineage.plan.scope import Attribute, Flow, Scope
from lineage.plan.tree import Node, Tree, children, is_tree, kind, trees
from lineage.plan.values import NOTHING, Value, as_condition, computed, union
from lineage.transformation import BELOW, COMPUTED


class Reader(expressions.Reader, Protocol):
    """The part of the plan's reader that operators need."""

    ctes: dict[int, Flow]
    loops: dict[int, Flow]
    scanned: dict[tuple[int, ...], dict[str, Value]]

    def relations(self, node: Node, columns: list[Attribute]) -> list[Relation]:
        """The objects that a leaf reads, [] for one that reads none."""

    def view(self, node: Node, columns: list[Attribute]) -> Relation | None:
        """The view that a View node marks, None for a temporary one."""


Rule = Callable[[Node, list[Flow], Scope | None, Reader], Flow]


def attributes(field: object) -> list[Attribute]:
    """The attributes in a field that holds a list of them."""
    if not isinstance(field, list):
        return []
    return [
        (expression_id(tree[0]), tree[0]["name"]) for tree in field if is_tree(tree) and "exprId" in tree[0]
    ]


def named(
    field: Iterable[Tree], scope: Scope, reader: Reader, env: dict[int, Value] | None = None
) -> tuple[list[Attribute], dict[int, Value]]:
    """Evaluate a list of named expressions."""
    out: list[Attribute] = []
    env = {} if env is None else env
    for tree in field:  # an empty list is not in the JSON at all
        head = tree[0]
        number = head["exprId"]["id"]
        env[number] = evaluate(tree, scope, reader)
        # OuterReference keeps its column in a field
        out.append((number, head["name"] if "name" in head else head["e"][0]["name"]))
    return out, env


def steering(node: Node, names: Iterable[str], scope: Scope, reader: Reader) -> Value:
    """What the expressions in some fields read, as conditions."""
    found = [evaluate(tree, scope, reader) for name in names for tree in trees(node.get(name))]
    return as_condition(union(found)) if found else NOTHING


def _project(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    out, env = named(node.get("projectList", ()), scope, reader)
    return scope.flow(out, env)


def _aggregate(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    out, env = named(node.get("aggregateExpressions", ()), scope, reader)
    return scope.flow(out, env, steering(node, ("groupingExpressions",), scope, reader))


def _window(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """Window adds columns; its keys steer these columns, not the rows."""
    scope = Scope.over(kids, outer)
    keys = steering(node, ("partitionSpec", "orderSpec"), scope, reader)
    more, added = named(node.get("windowExpressions", ()), scope, reader)
    env = dict(scope.env)
    env.update((number, union((value, keys))) for number, value in added.items())
    return scope.flow(kids[0].out + more, env)


_CONDITIONS = (
    "condition",
    "order",
    "partitionExpressions",
    "keys",
    "limitExpr",
    "offsetExpr",
    "asOfCondition",
    "toleranceAssertion",
    "rankingExpression",
    "deserializer",
)


def _pass(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """One child, whose columns go on unchanged; conditions steer the rows."""
    kid = kids[-1]
    scope = Scope.over([kid], outer)
    steered = steering(node, _CONDITIONS, scope, reader)
    if steered is NOTHING:
        return kid
    return scope.flow(kid.out, kid.env, steered)


def _join(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    steered = steering(node, _CONDITIONS, scope, reader)
    left, right = kids
    how = str(node.get("joinType"))
    if "ExistenceJoin" in how:
        found = attributes([[node["joinType"]["exists"]]] if isinstance(node["joinType"], dict) else [])
        env = {**left.env, **{number: steered for number, _ in found}}
        return scope.flow(left.out + found, env, steered)
    if "LeftSemi" in how or "LeftAnti" in how:
        return scope.flow(left.out, left.env, steered)
    return scope.flow(left.out + right.out, scope.env, steered)


def _lateral_join(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    right = reader.plan(node["right"][0]["plan"], scope)
    both = Scope({**kids[0].env, **right.env}, outer, scope.by, scope.direct, scope.base, scope.named)
    both.touch(right)
    return both.flow(kids[0].out + right.out, both.env, steering(node, ("condition",), both, reader))


def _union(node: Node, kids: list[Flow], outer: Scope | None, _reader: Reader) -> Flow:
    """By position, under the expression ids of the first child (`Union.mergeChildOutputs`)."""
    scope = Scope.over(kids, outer)
    out = kids[0].out
    columns = zip(*(kid.values() for kid in kids), strict=False)
    env = {number: union(values) for (number, _), values in zip(out, columns, strict=False)}
    ids = node.get("outputAttrIds")
    if ids:
        env = {given["id"]: env[number] for given, (number, _) in zip(ids, out, strict=False)}
        out = [(given["id"], name) for given, (_, name) in zip(ids, out, strict=False)]
    return scope.flow(out, env)


def _distinct(_node: Node, kids: list[Flow], outer: Scope | None, _reader: Reader) -> Flow:
    """DISTINCT groups by every column."""
    scope = Scope.over(kids, outer)
    return scope.flow(kids[0].out, kids[0].env, as_condition(kids[0].everything()))


def _intersect(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    flow = _union(node, kids, outer, reader)
    return flow if node.get("isAll") else _distinct(node, [flow], None, reader)


def _except(node: Node, kids: list[Flow], outer: Scope | None, _reader: Reader) -> Flow:
    """Values come from the left alone; the right takes rows away."""
    scope = Scope.over(kids, outer)
    compared = kids[1:] if node.get("isAll") else kids
    return scope.flow(kids[0].out, kids[0].env, as_condition(union(kid.everything() for kid in compared)))


def _expand(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """Every projection gives all columns; grouping sets, cube, rollup and UNPIVOT are made of it."""
    scope = Scope.over(kids, outer)
    out = attributes(node.get("output"))
    if not node.get("projections"):
        # toJSON writes a Seq of Seqs as null (Spark 4.2); the compact form keeps it
        reader.doubt("Expand: the JSON lacks its projections")
        value = kids[0].everything()
        return scope.flow(out, {number: scope.env.get(number, value) for number, _ in out})
    rows = [[evaluate(tree, scope, reader) for tree in row] for row in node["projections"]]
    columns = zip(out, zip(*rows, strict=False), strict=False)
    return scope.flow(out, {number: _in_each_row(values) for (number, _), values in columns})


def _in_each_row(values: Sequence[Value]) -> Value:
    """What is the same in every projection, or null in some, is what it was: a struct keeps its fields."""
    found = [value for value in values if value[:4] != NOTHING[:4]]
    return found[0] if found and all(value == found[0] for value in found) else union(values)


def _generate(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    made = attributes(node.get("generatorOutput"))
    values = _generated(node["generator"], [name for _, name in made], scope, reader)
    env = dict(scope.env)
    env.update((number, value) for (number, _), value in zip(made, values, strict=True))
    fixed = kind(node["generator"][0]) in _FIXED_ROWS
    steered = NOTHING if fixed else as_condition(evaluate(node["generator"], scope, reader))
    return scope.flow(kids[0].out + made, env, steered)


_FIXED_ROWS = ("Stack", "JsonTuple")
"""Generators whose number of rows does not depend on their arguments."""


def _generated(tree: Tree, names: list[str], scope: Scope, reader: Reader) -> list[Value]:
    """The values of a generator's columns; stack and inline are followed column by column."""
    name = kind(tree[0])
    width = len(names)
    if name == "Stack":
        cells = [evaluate(child, scope, reader) for child in children(tree)[1:]]
        return [union(cells[at::width]) for at in range(width)]
    value = evaluate(tree, scope, reader)
    if name in ("Explode", "PosExplode"):
        child = evaluate(tree[1:], scope, reader)
        position = [NOTHING] if name == "PosExplode" else []  # a number of its own, not a value of the array
        of = width - len(position)
        # An element of an array has the array's fields.
        element = value._replace(shape=child.shape) if isinstance(child.shape, tuple) else value
        return [*position, *([element] if of == 1 else [value] * of)]
    if name == "Inline":
        child = evaluate(tree[1:], scope, reader)
        if isinstance(child.shape, tuple):
            # What they are called outside is no matter.
            own = [reader.registry.field_at(child.shape[0], at) or name for at, name in enumerate(names)]
            return _fields(child, own, reader)
    return [value] * width


def _fields(child: Value, names: list[str], reader: Reader) -> list[Value]:
    found = []
    for name in names:
        direct, base = (reader.registry.field(number, name) for number in child.shape)
        found.append(Value(1 << direct, 1 << base, child.direct_by, child.base_by, (direct, base), child.how))
    return found


def _all_to_all(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """Code that Spark cannot look into: each new column may come from each column that it was given."""
    scope = Scope.over(kids, outer)
    given = [kid.everything() for kid in kids]
    for field in ("functionExpr", "func"):
        given.extend(evaluate(tree, scope, reader) for tree in trees(node.get(field)))
    value = computed(union(given))
    made = _made(node, kids)
    env = dict(scope.env)
    env.update((number, value) for number, _ in made)
    out = kids[0].out + made if kind(node) in _ADDING else made
    return scope.flow(out, env, steering(node, ("groupingAttributes",), scope, reader))


_ADDING = {"BatchEvalPython", "ArrowEvalPython", "AppendColumns", "AttachDistributedSequence"}


def _made(node: Node, kids: list[Flow]) -> list[Attribute]:
    for field in ("output", "outputAttrs", "resultAttrs", "outputObjAttr", "serializer", "sequenceAttr"):
        value = node.get(field)
        if value is not None:
            found = attributes([value] if is_tree(value) else value)
            if found:
                return found
    return kids[0].out if kids else []


def _relation(node: Node, _kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    """A leaf that reads objects; one read from several locations belongs to each of them."""
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
    return Flow(out, {number: values[name] for number, name in out}, direct=touched, base=touched)


def _column_of(name: str, known: list[dict[str, Column]], numbers: tuple[int, ...], reader: Reader) -> Value:
    """A column of a scan: of one object, or of each location that is read as one.

    The hidden column of file sources tells of files: it is no column of the object.
    """
    if name == "_metadata" and all(known) and not any(name in columns for columns in known):
        return NOTHING
    sources = [
        reader.registry.source(number, columns.get(name) or Column(name))
        for number, columns in zip(numbers, known, strict=True)
    ]
    bits = sum(1 << source for source in sources)
    return Value(bits, bits, 0, 0, (sources[0], sources[0]) if len(sources) == 1 else None)


def _values(node: Node, _kids: list[Flow], _outer: Scope | None, _reader: Reader) -> Flow:
    """Rows that stand in the plan itself, or were made by the session: no object."""
    out = attributes(node.get("output")) or attributes(
        [node["outputObjAttr"]] if node.get("outputObjAttr") else None
    )
    return Flow(out, dict.fromkeys((number for number, _ in out), NOTHING))


def _inline(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """An inline table whose cells are expressions, such as now(): what they read makes their columns."""
    scope = Scope.over(kids, outer)
    out = attributes(node.get("output"))
    cells = [[evaluate(tree, scope, reader) for tree in row] for row in node.get("rows", ())]
    columns = [union(column) for column in zip(*cells, strict=False)] or [NOTHING] * len(out)
    return scope.flow(out, {number: value for (number, _), value in zip(out, columns, strict=False)})


def _stored(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """LogicalRDD: in-memory rows; a checkpointed DataFrame also becomes one and loses its origin."""
    if "originStats" in node:
        reader.doubt("LogicalRDD: a checkpoint has cut the plan off from its sources")
    return _values(node, kids, outer, reader)


def _view(node: Node, kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    """A view is the direct object instead of what it reads; an outer view hides an inner one.

    Of what its text names, only what stands behind a column that is used counts.
    """
    kid = kids[0]
    relation = reader.view(node, kid.out)
    if relation is None:
        return Flow(kid.out, kid.env, kid.by, kid.direct, kid.base)
    owner = reader.registry.object(relation)
    known = {column.name: column for column in relation.columns}
    env = {}
    for number, name in kid.out:
        value = kid.env[number]
        source = reader.registry.source(owner, known.get(name) or Column(name))
        base = value.shape[1] if isinstance(value.shape, tuple) else None
        env[number] = Value(
            1 << source,
            value.base,
            0,
            value.base_by,
            (source, base) if base is not None else None,
            value.how & BELOW,
        )
    return Flow(kid.out, env, Value(0, 0, 0, kid.by.base_by), 1 << owner, kid.base)


def _sql_table_function(node: Node, kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    """A SQL table function: what its body reads is base alone, the function is direct alone.

    Its arguments, columns of the outer query, stay direct sources.
    """
    kid = kids[0]
    name = function_name(node)
    direct = 0
    if name is None:
        reader.doubt("SQLFunctionNode: the JSON lacks the function's name")
    else:
        direct = 1 << reader.registry.sources[reader.function(name, kind(node))].owner
    inside = reader.registry.of(kid.direct)
    env = {
        number: Value(
            value.direct & ~inside,
            value.base,
            value.direct_by & ~inside,
            value.base_by,
            None,
            value.how | (COMPUTED & ~BELOW),
        )
        for number, value in kid.env.items()
    }
    return Flow(kid.out, env, Value(0, 0, kid.by.direct_by & ~inside, kid.by.base_by), direct, kid.base)


def _cte_def(node: Node, kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    reader.ctes[node["id"]] = kids[0]
    return kids[0]


def _cte_ref(node: Node, _kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    found = reader.ctes.get(node["cteId"])
    if found is None:
        reader.doubt("CTERelationRef: its definition is not in the plan")
        return _values(node, [], None, reader)
    return _renamed(found, attributes(node.get("output")))


def _loop_ref(node: Node, _kids: list[Flow], _outer: Scope | None, reader: Reader) -> Flow:
    found = reader.loops.get(node["loopId"])
    if found is None:
        reader.doubt("UnionLoopRef: its loop is not in the plan")
        return _values(node, [], None, reader)
    return _renamed(found, attributes(node.get("output")))


def _renamed(flow: Flow, out: list[Attribute]) -> Flow:
    """The same columns, by position, under other expression ids."""
    env = {number: flow.env[old] for (number, _), (old, _) in zip(out, flow.out, strict=False)}
    return Flow(out, env, flow.by, flow.direct, flow.base, flow.named)


def _metrics(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """CollectMetrics (observe) reads columns beside the rows that it hands on."""
    scope = Scope.over(kids, outer)
    return scope.flow(kids[0].out, kids[0].env, steering(node, ("metrics",), scope, reader))


def _multi(_node: Node, kids: list[Flow], outer: Scope | None, _reader: Reader) -> Flow:
    scope = Scope.over(kids, outer)
    return scope.flow(kids[-1].out, kids[-1].env)


def unknown(node: Node, kids: list[Flow], outer: Scope | None, reader: Reader) -> Flow:
    """An operator that this version does not know: note it, and claim too much rather than too little."""
    reader.doubt(f"unknown operator {kind(node)}")
    scope = Scope.over(kids, outer)
    made = [item for item in _made(node, kids) if item[0] not in scope.env]
    value = computed(union(kid.everything() for kid in kids))
    env = {**scope.env, **{number: value for number, _ in made}}
    kept = [item for kid in kids for item in kid.out]
    return scope.flow(made or kept, env)


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

RULES: dict[str, Rule] = {
    "Project": _project,
    "Aggregate": _aggregate,
    **dict.fromkeys(("Window", "WindowGroupLimit"), _window),
    **dict.fromkeys(
        (
            "Filter",
            "Sort",
            "SubqueryAlias",
            "GlobalLimit",
            "LocalLimit",
            "LimitAll",
            "Tail",
            "Offset",
            "Deduplicate",
            "DeduplicateWithinWatermark",
            "Sample",
            "Repartition",
            "RepartitionByExpression",
            "RebalancePartitions",
            "ResolvedHint",
            "UnresolvedHint",
            "ReturnAnswer",
            "Subquery",
            "EventTimeWatermark",
            "UpdateEventTimeWatermarkColumn",
            "TypedFilter",
            "WithCTE",
            "WithWindowDefinition",
            "PipeOperator",
        ),
        _pass,
    ),
    **dict.fromkeys(("Join", "AsOfJoin", "NearestByJoin"), _join),
    "LateralJoin": _lateral_join,
    **dict.fromkeys(("Union", "UnionLoop", "SequentialStreamingUnion"), _union),
    "Distinct": _distinct,
    "Intersect": _intersect,
    "Except": _except,
    "Expand": _expand,
    "Generate": _generate,
    **dict.fromkeys(
        (
            "MapInPandas",
            "MapInArrow",
            "FlatMapGroupsInPandas",
            "FlatMapGroupsInArrow",
            "FlatMapCoGroupsInPandas",
            "FlatMapCoGroupsInArrow",
            "FlatMapGroupsInPandasWithState",
            "TransformWithStateInPySpark",
            "BatchEvalPython",
            "ArrowEvalPython",
            "BatchEvalPythonUDTF",
            "ArrowEvalPythonUDTF",
            "ScriptTransformation",
            "DeserializeToObject",
            "SerializeFromObject",
            "MapElements",
            "MapPartitions",
            "MapGroups",
            "CoGroup",
            "AppendColumns",
            "AppendColumnsWithObject",
            "MapPartitionsInR",
            "MapPartitionsInRWithArrow",
            "FlatMapGroupsInR",
            "FlatMapGroupsInRWithArrow",
            "FlatMapGroupsWithState",
            "TransformWithState",
            "AttachDistributedSequence",
        ),
        _all_to_all,
    ),
    **dict.fromkeys(LEAVES, _relation),
    **dict.fromkeys(
        (
            "LocalRelation",
            "OneRowRelation",
            "Range",
            "EmptyRelation",
            "CommandResult",
            "ExternalRDD",
            "PythonWorkerLogs",
        ),
        _values,
    ),
    "ResolvedInlineTable": _inline,
    "LogicalRDD": _stored,
    "View": _view,
    "SQLFunctionNode": _sql_table_function,
    "CTERelationDef": _cte_def,
    "CTERelationRef": _cte_ref,
    "UnionLoopRef": _loop_ref,
    "CollectMetrics": _metrics,
    "MultiResult": _multi,
}
__all__ = ["LEAVES", "RULES", "Leaf", "Reader", "attributes", "evaluate", "named", "steering", "unknown"]
