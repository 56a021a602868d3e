"""Evaluates the expressions of a plan: the columns that an expression is made of.

In: an expression tree (nodes in pre-order) and the scope of its operator. Out: a `Value`. It is the
union of its children's, except for expressions that are indirect sources (window and sort keys, EXISTS, IN),
fields of structs, functions, and subqueries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lineage.plan.scope import OperatorOutput, Scope
from lineage.plan.tree import Node, Tree, end, kind
from lineage.plan.values import NOTHING, Registry, Value, as_condition, computed, numbers, union
from lineage.transformation import AGGREGATED, BELOW, COMPUTED
from lineage.types import field_type

Kids = list[Value]


class ExpressionReader(Protocol):
    """The part of the plan's reader that expressions need."""

    registry: Registry

    def plan(self, nodes: Tree, outer: Scope | None) -> OperatorOutput:
        """Read a plan."""

    def function(self, name: str, node: str) -> int:
        """The number of the source that stands for a function."""

    def mark_partial(self, reason: str) -> None:
        """Note why the analysis is only partial."""


Rule = Callable[[Node, Kids, Scope, ExpressionReader], Value]

_CALL = "SQLScalarFunction"


def evaluate(nodes: Tree, scope: Scope, reader: ExpressionReader) -> Value:
    """The value of an expression.

    Walks the pre-order backwards, so that a node finds its children on top of the stack.
    """
    stack: list[Value] = []
    if any(node["class"].endswith(_CALL) for node in nodes):
        nodes = _called(nodes, scope, reader)
    for node in reversed(nodes):
        count = node["num-children"]
        # toJSON lists a tree in pre-order with the number of children of each node (Spark 4.2, TreeNode).
        rule = RULES.get(kind(node))
        if rule is None:
            if count == 1:
                stack[-1] = computed(stack[-1])
                continue
            kids = stack[len(stack) - count :] if count else []
            if count:
                del stack[len(stack) - count :]
                stack.append(computed(union(kids)))
            else:
                stack.append(_leaf(node, reader))
            continue
        kids = stack[len(stack) - count :][::-1] if count else []
        if count:
            del stack[len(stack) - count :]
        stack.append(rule(node, kids, scope, reader))
    return stack[-1]


def expression_id(node: Node) -> int:
    """The expression id of an attribute or alias (unique within a JVM)."""
    number: int = node["exprId"]["id"]
    return number


def _leaf(node: Node, reader: ExpressionReader) -> Value:
    """A leaf that is no column has no source; an unresolved one makes the analysis partial."""
    if kind(node).startswith("Unresolved"):
        reader.mark_partial(f"unresolved expression {kind(node)}")
    return NOTHING


def _attribute(node: Node, _kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    number = node["exprId"]["id"]
    # An attribute of an outer query is found in the scopes above.
    value = scope.env.get(number) or scope.find(number)
    if value is None:
        reader.mark_partial(f"column {node.get('name')}#{number} has no known origin")
        return NOTHING
    return value


def _same(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """Alias, Cast and their like keep the shape of a struct."""
    return kids[0]


def _outer(node: Node, _kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    """OuterReference is a leaf that keeps its column in a field (Spark 4.2)."""
    return evaluate(node["e"], scope, reader)


def _condition(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    return as_condition(union(kids))


def _aggregate(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """AggregateExpression: the function first, then the condition of its FILTER clause."""
    return computed(union((kids[0], as_condition(union(kids[1:])))), AGGREGATED)


def _nth_value(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """NthValue is a window function of its own, beside the aggregates first and last."""
    return computed(union(kids), AGGREGATED)


def _window(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """WindowExpression: the function, which says what it does, and its keys."""
    return union(kids)


def _field(node: Node, kids: Kids, _scope: Scope, reader: ExpressionReader) -> Value:
    """GetStructField and GetArrayStructFields follow the field where the struct is untouched."""
    value = kids[0]
    shape = value.shape
    name = node.get("name")
    if name is None and isinstance(node.get("field"), dict):
        name = node["field"].get("name")
    if name is None and isinstance(shape, tuple):
        name = reader.registry.field_at(shape[0], node["ordinal"])  # `s.*` gives no names
    # A struct that the query itself built: its fields are values.
    if isinstance(shape, dict):
        found = list(shape.values())[node["ordinal"]] if name is None else shape.get(name)
        return found if found is not None else value._replace(shape=None)
    if name is None:
        name = node.get("fieldName")
    if shape is None or name is None or not _has_field(shape[1], name, reader):
        return value._replace(shape=None)
    direct, base = (reader.registry.field(number, name) for number in shape)
    return Value(
        1 << direct,
        1 << base,
        value.direct_indirect,
        value.base_indirect,
        (direct, base),
        value.transformation,
    )


def _has_field(number: int, name: str, reader: ExpressionReader) -> bool:
    """Whether a source has a field of that name: a cast of a struct names its fields anew."""
    of = reader.registry.kind(number)
    return not of or field_type(of, name) is not None


def _element(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """GetArrayItem: an element at a constant place has the array's fields."""
    array, place = kids
    is_followed = isinstance(array.shape, (tuple, dict)) and not place.base
    return union(kids)._replace(shape=array.shape if is_followed else None)


def _element_at(node: Node, kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    """element_at of an array is an element of it, of a map a value."""
    shape = kids[0].shape
    is_array = isinstance(shape, tuple) and reader.registry.kind(shape[0]).lower().startswith("array")
    return _element(node, kids, scope, reader) if is_array else computed(union(kids))


def _struct(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """CreateNamedStruct: names and values in turn; a name arrives as the shape of its literal."""
    shape = {
        name.shape: value
        for name, value in zip(kids[::2], kids[1::2], strict=False)
        if isinstance(name.shape, str)
    }
    return computed(union(kids))._replace(shape=shape if len(shape) * 2 == len(kids) else None)


def _array(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """CreateArray: of structs that the query built it has their fields, each from all of them."""
    value = computed(union(kids))
    shapes = [kid.shape for kid in kids if isinstance(kid.shape, dict)]
    if not shapes or len(shapes) < len(kids) or len(set(map(len, shapes))) > 1:
        return value
    if len(shapes) == 1:
        return value._replace(shape=shapes[0])
    fields = zip(*(shape.values() for shape in shapes), strict=True)
    return value._replace(shape=dict(zip(shapes[0], map(union, fields), strict=True)))


def _literal(node: Node, _kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    # Literals carry their value as text; of string ones it may be the name in a CreateNamedStruct.
    if node.get("dataType") == "string" and isinstance(node.get("value"), str):
        return Value(shape=node["value"])
    return NOTHING


def _scalar_subquery(node: Node, _kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    """A scalar subquery: its column is the value, its filters are indirect; children are outer columns."""
    flow = reader.plan(node["plan"], scope)
    value = flow.values()[0] if flow.out else NOTHING
    read = union((value, flow.indirect, _touched(flow, reader)))
    scope.add_named(union((read, flow.named)))
    return read._replace(shape=value.shape)


def _condition_subquery(node: Node, _kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    """EXISTS and the list of IN are indirect sources (access-history document: "EXISTS Subquery")."""
    flow = reader.plan(node["plan"], scope)
    read = as_condition(union((flow.everything(), flow.indirect, _touched(flow, reader))))
    scope.add_named(union((read, flow.named)))
    return read


def _touched(flow: OperatorOutput, reader: ExpressionReader) -> Value:
    """The objects that a subquery reads, as sources without a column: they count where its value does."""
    registry = reader.registry
    direct = sum(1 << registry.source(number, None) for number in numbers(flow.direct))
    base = sum(1 << registry.source(number, None) for number in numbers(flow.base))
    return Value(0, 0, direct, base)


def _pivot_first(_node: Node, kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    """PivotFirst picks the value of one pivot value: the pivot column steers."""
    return computed(union((as_condition(kids[0]), *kids[1:])), AGGREGATED)


def _function(node: Node, kids: Kids, scope: Scope, reader: ExpressionReader) -> Value:
    """A function that Spark cannot look into: direct and base object, its arguments are sources."""
    name = node.get("udfName") or node.get("name")
    value = computed(union(kids))
    # Python's name of a function without one; all of them would be one object.
    if not isinstance(name, str) or name == "<lambda>":
        return value
    bit = 1 << reader.function(name, kind(node))
    scope.add_named(Value(bit, bit))
    return value._replace(direct=value.direct | bit, base=value.base | bit)


def _called(nodes: Tree, scope: Scope, reader: ExpressionReader) -> Tree:
    """The nodes with each call of a SQL function as a leaf that knows its value."""
    found, at = [], 0
    while at < len(nodes):
        node, stop = nodes[at], at + 1
        if kind(node) == _CALL:
            stop = end(nodes, at)
            value = _sql_function(node, nodes[at + 1 : stop], scope, reader)
            node = {"class": _CALL, "num-children": 0, "value": value}
        found.append(node)
        at = stop
    return found


def _value(node: Node, _kids: Kids, _scope: Scope, _reader: ExpressionReader) -> Value:
    value: Value = node["value"]
    return value


def _sql_function(node: Node, nodes: Tree, scope: Scope, reader: ExpressionReader) -> Value:
    """A SQL function: its arguments are direct sources, what its body reads are base sources.

    It is an object of direct alone; base records only functions that cannot be opened (document:
    "UDFs & Stored Procedure notes"). What the body calls and asks is named by the function, not by the
    statement.
    """
    inside = Scope(scope.env, scope.outer)
    body = evaluate(nodes, inside, reader)
    scope.add_named(Value(base=inside.named.base_indirect))
    given = union(evaluate(tree, scope, reader) for tree in node.get("inputs") or ())
    how = COMPUTED | (given.transformation & ~BELOW) | (body.transformation & BELOW)
    name = function_name(node)
    if name is None:
        # Spark's own toJSON drops fields that are no tree nodes, products or simple values (4.2).
        reader.mark_partial("SQLScalarFunction: the JSON lacks the function's name")
        return Value(
            given.direct,
            body.base,
            given.direct_indirect,
            body.base_indirect,
            None,
            how,
        )
    bit = 1 << reader.function(name, kind(node))
    scope.add_named(Value(bit))
    return Value(
        given.direct | bit,
        body.base,
        given.direct_indirect,
        body.base_indirect,
        None,
        how,
    )


def function_name(node: Node) -> str | None:
    """The name of a SQL function; Spark's own JSON leaves it out (`function` is no tree node)."""
    function = node.get("function")
    return function.get("name") if isinstance(function, dict) else None


RULES: dict[str, Rule] = {
    **dict.fromkeys(("AttributeReference", "PrettyAttribute"), _attribute),
    **dict.fromkeys(
        (
            "Alias",
            "Cast",
            "UpCast",
            "KnownNotNull",
            "KnownNullable",
            "AssertNotNull",
            # HAVING and ORDER BY over an aggregate, before it is pushed below.
            "TempResolvedColumn",
            # Added by the store assignment policy around a cast.
            "CheckOverflowInTableWrite",
        ),
        _same,
    ),
    "OuterReference": _outer,
    **dict.fromkeys(("WindowSpecDefinition", "SortOrder"), _condition),
    # Spark 4.2 gives these the window's sort keys as arguments (Analyzer, ResolveWindowOrder).
    **dict.fromkeys(("Rank", "DenseRank", "PercentRank"), _condition),
    "AggregateExpression": _aggregate,
    "NthValue": _nth_value,
    "WindowExpression": _window,
    **dict.fromkeys(("GetStructField", "GetArrayStructFields"), _field),
    "GetArrayItem": _element,
    "ElementAt": _element_at,
    "CreateNamedStruct": _struct,
    "CreateArray": _array,
    "Literal": _literal,
    **dict.fromkeys(
        ("ScalarSubquery", "LateralSubquery", "FunctionTableSubqueryArgumentExpression"), _scalar_subquery
    ),
    **dict.fromkeys(("Exists", "ListQuery"), _condition_subquery),
    "PivotFirst": _pivot_first,
    **dict.fromkeys(
        (
            "ScalaUDF",
            "PythonUDF",
            "PythonUDAF",
            # Python functions keep their name in `name`, Scala's in `udfName`.
            "PythonUDTF",
            "ScalaAggregator",
            "ScalaUDAF",
            "HiveSimpleUDF",
            "HiveGenericUDF",
            "HiveGenericUDTF",
            "HiveUDAFFunction",
            "ApplyFunctionExpression",
            "V2Aggregator",
        ),
        _function,
    ),
    _CALL: _value,
}
