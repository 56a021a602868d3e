"""Reads the operators of a plan: the columns of their output, and the conditions on their rows.

In: a node, the flows of its children, the outer scope. Out: an `OperatorOutput`. One function a family of
operators; `RULES` at the end says which operator belongs where. An unknown operator makes the
analysis partial, and passes all columns on.
"""

from __future__ import annotations

from collections.abc import Sequence

from lineage.plan.expressions import evaluate
from lineage.plan.lateral_arguments import arguments_of, with_arguments
from lineage.plan.leaf_operators import LEAF_RULES
from lineage.plan.operator_fields import OperatorReader, Rule, attributes, condition_sources, named
from lineage.plan.scope import Attribute, OperatorOutput, Outputs, Scope
from lineage.plan.tree import Node, Tree, children, is_tree, kind, trees
from lineage.plan.values import NOTHING, Value, as_condition, computed, union


def _project(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    out, env = named(node.get("projectList", ()), scope, reader)
    return scope.flow(out, env)


def _aggregate(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    out, env = named(node.get("aggregateExpressions", ()), scope, reader)
    return scope.flow(out, env, condition_sources(node, ("groupingExpressions",), scope, reader))


def _window(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """Window adds columns; its keys are indirect sources of these columns, not of the rows."""
    scope = Scope.over(kids, outer)
    keys = condition_sources(node, ("partitionSpec", "orderSpec"), scope, reader)
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
)


def _pass(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """One child with unchanged columns; conditions are indirect sources of the rows."""
    kid = kids[-1]
    scope = Scope.over([kid], outer)
    conditions = condition_sources(node, _CONDITIONS, scope, reader)
    # No condition: the child's flow is shared, as plans of a thousand levels are common.
    if conditions is NOTHING:
        return kid
    return scope.flow(kid.out, kid.env, conditions)


def _join(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    conditions = condition_sources(node, _CONDITIONS, scope, reader)
    left, right = kids
    how = str(node.get("joinType"))
    # RewritePredicateSubquery makes it of an EXISTS below OR (Spark 4.2, an optimizer rule).
    if "ExistenceJoin" in how:
        found = attributes([[node["joinType"]["exists"]]] if isinstance(node["joinType"], dict) else [])
        env = {**left.env, **{number: conditions for number, _ in found}}
        return scope.flow(left.out + found, env, conditions)
    # Neither has columns of the right side in its output.
    if "LeftSemi" in how or "LeftAnti" in how:
        return scope.flow(left.out, left.env, conditions)
    return scope.flow(left.out + right.out, scope.env, conditions)


def _lateral_join(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    # The right side is a LateralSubquery expression, which toJSON nests (Spark 4.2).
    inside = node["right"][0]["plan"]
    right = with_arguments(reader.plan(inside, scope), arguments_of(inside, scope, reader))
    both = Scope({**kids[0].env, **right.env}, outer, scope.indirect, scope.direct, scope.base, scope.named)
    both.touch(right)
    return both.flow(kids[0].out + right.out, both.env, condition_sources(node, ("condition",), both, reader))


def _union(node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """By position, under the expression ids of the first child (`Union.mergeChildOutputs`)."""
    scope = Scope.over(kids, outer)
    out = kids[0].out
    columns = zip(*(kid.values() for kid in kids), strict=False)
    env = {number: union(values) for (number, _), values in zip(out, columns, strict=False)}
    # UnionLoop has expression ids of its own, which its references use.
    ids = node.get("outputAttrIds")
    if ids:
        env = {given["id"]: env[number] for given, (number, _) in zip(ids, out, strict=False)}
        out = [(given["id"], name) for given, (_, name) in zip(ids, out, strict=False)]
    return scope.flow(out, env)


def _distinct(_node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """DISTINCT groups by every column."""
    scope = Scope.over(kids, outer)
    return scope.flow(kids[0].out, kids[0].env, as_condition(kids[0].everything()))


def _intersect(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    flow = _union(node, kids, outer, reader)
    return flow if node.get("isAll") else _distinct(node, [flow], None, reader)


def _except(node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """The values are the left side's; the right side is an indirect source of the rows."""
    scope = Scope.over(kids, outer)
    # EXCEPT ALL removes as many rows as the right has; EXCEPT also removes duplicates, so the left's columns
    # decide, too.
    compared = kids[1:] if node.get("isAll") else kids
    return scope.flow(kids[0].out, kids[0].env, as_condition(union(kid.everything() for kid in compared)))


def _expand(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """Every projection gives all columns; grouping sets, cube, rollup and UNPIVOT are made of it."""
    scope = Scope.over(kids, outer)
    out = attributes(node.get("output"))
    if not node.get("projections"):
        # toJSON writes a Seq of Seqs as null (Spark 4.2); the compact form keeps it
        reader.mark_partial("Expand: the JSON lacks its projections")
        value = kids[0].everything()
        return scope.flow(out, {number: scope.env.get(number, value) for number, _ in out})
    rows = [[evaluate(tree, scope, reader) for tree in row] for row in node["projections"]]
    columns = zip(out, zip(*rows, strict=False), strict=False)
    return scope.flow(out, {number: _in_each_row(values) for (number, _), values in columns})


def _in_each_row(values: Sequence[Value]) -> Value:
    """What is the same in every projection, or null in some, is what it was: a struct keeps its fields."""
    found = [value for value in values if value[:4] != NOTHING[:4]]
    return found[0] if found and all(value == found[0] for value in found) else union(values)


def _generate(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    made = attributes(node.get("generatorOutput"))
    values = _generated(node["generator"], [name for _, name in made], scope, reader)
    env = dict(scope.env)
    env.update((number, value) for (number, _), value in zip(made, values, strict=True))
    # explode yields as many rows as its argument has elements, so the argument shapes the rows.
    fixed = kind(node["generator"][0]) in _FIXED_ROWS
    conditions = NOTHING if fixed else as_condition(evaluate(node["generator"], scope, reader))
    return scope.flow(kids[0].out + made, env, conditions)


_FIXED_ROWS = ("Stack", "JsonTuple")


def _generated(tree: Tree, names: list[str], scope: Scope, reader: OperatorReader) -> list[Value]:
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
        element = value._replace(shape=child.shape) if isinstance(child.shape, (tuple, dict)) else value
        return [*position, *([element] if of == 1 else [value] * of)]
    if name == "Inline":
        child = evaluate(tree[1:], scope, reader)
        if isinstance(child.shape, dict) and len(child.shape) == width:
            return list(child.shape.values())
        if isinstance(child.shape, tuple):
            # The names of the output are irrelevant here.
            own = [reader.registry.field_at(child.shape[0], at) or name for at, name in enumerate(names)]
            return _fields(child, own, reader)
    return [value] * width


def _fields(child: Value, names: list[str], reader: OperatorReader) -> list[Value]:
    found = []
    for name in names:
        direct, base = (reader.registry.field(number, name) for number in child.shape)
        found.append(
            Value(
                1 << direct,
                1 << base,
                child.direct_indirect,
                child.base_indirect,
                (direct, base),
                child.transformation,
            )
        )
    return found


def _all_to_all(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """Opaque code (a Python or Scala function over rows): each new column may come from each input column.

    It gets every column, whoever uses what it makes; and what decides how many rows it makes is any of them.
    """
    scope = Scope.over(kids, outer)
    given = [kid.everything() for kid in kids]
    for field in ("functionExpr", "func"):
        given.extend(evaluate(tree, scope, reader) for tree in trees(node.get(field)))
    value = computed(union(given))
    made = _made(node, kids)
    env = dict(scope.env)
    env.update((number, value) for number, _ in made)
    out = kids[0].out + made if kind(node) in _ADDING else made
    if kind(node) in _ROW_BY_ROW:
        scope.add_named(value)
        return scope.flow(out, env)
    return scope.flow(out, env, as_condition(value))


_ADDING = {"BatchEvalPython", "ArrowEvalPython", "AppendColumns"}
_ROW_BY_ROW = {
    "BatchEvalPython",
    "ArrowEvalPython",
    "AppendColumns",
    "AppendColumnsWithObject",
    "MapElements",
    "DeserializeToObject",
    "SerializeFromObject",
}
"""One row for each row."""


def _typed_filter(_node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """A predicate that is a function of the whole row."""
    scope = Scope.over(kids, outer)
    return scope.flow(kids[0].out, kids[0].env, as_condition(kids[0].everything()))


def _numbered(node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    """Pandas on Spark's index: a number of the row, made of no column."""
    scope = Scope.over(kids, outer)
    made = _made(node, kids)
    return scope.flow(
        made + kids[0].out, {**scope.env, **dict.fromkeys((number for number, _ in made), NOTHING)}
    )


def _made(node: Node, kids: Outputs) -> list[Attribute]:
    for field in ("output", "outputAttrs", "resultAttrs", "outputObjAttr", "serializer", "sequenceAttr"):
        value = node.get(field)
        if value is not None:
            found = attributes([value] if is_tree(value) else value)
            if found:
                return found
    return kids[0].out if kids else []


def _metrics(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """CollectMetrics (observe) reads columns beside the rows that it hands on."""
    scope = Scope.over(kids, outer)
    return scope.flow(kids[0].out, kids[0].env, condition_sources(node, ("metrics",), scope, reader))


def _multi(_node: Node, kids: Outputs, outer: Scope | None, _reader: OperatorReader) -> OperatorOutput:
    scope = Scope.over(kids, outer)
    return scope.flow(kids[-1].out, kids[-1].env)


def unknown(node: Node, kids: Outputs, outer: Scope | None, reader: OperatorReader) -> OperatorOutput:
    """An unknown operator: make the analysis partial, and count all input columns as sources."""
    reader.mark_partial(f"unknown operator {kind(node)}")
    scope = Scope.over(kids, outer)
    made = [item for item in _made(node, kids) if item[0] not in scope.env]
    value = computed(union(kid.everything() for kid in kids))
    env = {**scope.env, **{number: value for number, _ in made}}
    kept = [item for kid in kids for item in kid.out]
    return scope.flow(made or kept, env)


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
        ),
        _all_to_all,
    ),
    "TypedFilter": _typed_filter,
    "AttachDistributedSequence": _numbered,
    **LEAF_RULES,
    "CollectMetrics": _metrics,
    "MultiResult": _multi,
}
