"""The arguments of a SQL table function that a LATERAL join calls for each row.

In: the plan of the call, the columns around it. Out: what its arguments are made of; the flow of its rows
with these as direct sources of each column. Spark (4.2) puts the arguments in their places in the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage.plan.expressions import evaluate
from lineage.plan.operator_fields import OperatorReader
from lineage.plan.scope import OperatorOutput, Scope
from lineage.plan.tree import Tree, end, kind, trees
from lineage.plan.values import NOTHING, Value, union

_TAKING = ("GetStructField", "GetArrayStructFields", "GetArrayItem", "GetMapValue", "ElementAt")


def arguments_of(nodes: Tree, scope: Scope, reader: OperatorReader) -> Value:
    """What the arguments are made of; nothing where the plan is no call of a SQL table function."""
    head = next((node for node in nodes if kind(node) != "SubqueryAlias"), None)
    if head is None or kind(head) != "SQLFunctionNode":
        return NOTHING
    # A body sees no column around it but by its arguments; its own subqueries name columns of its own.
    return union(
        evaluate(place, scope, reader)
        for number, place in _outer_places(nodes)
        if scope.find(number) is not None
    )


def _outer_places(nodes: Tree) -> Iterator[tuple[int, Tree]]:
    """Each column of the query around, by its id, with what is taken of it: a field, an element."""
    for at, node in enumerate(nodes):
        if kind(node) == "OuterReference":
            first = at
            while first and kind(nodes[first - 1]) in _TAKING:
                first -= 1
            yield node["e"][0]["exprId"]["id"], nodes[first : end(nodes, first)]
            continue
        for value in node.values():
            for tree in trees(value):
                yield from _outer_places(tree)


def with_arguments(flow: OperatorOutput, given: Value) -> OperatorOutput:
    """The rows of a call whose arguments are these."""
    if given is NOTHING:
        return flow
    env = {
        number: value._replace(
            direct=value.direct | given.direct, direct_indirect=value.direct_indirect | given.direct_indirect
        )
        for number, value in flow.env.items()
    }
    named = Scope({}, named=flow.named)
    named.add_named(given)
    return OperatorOutput(flow.out, env, flow.indirect, flow.direct, flow.base, named.named)
