"""The arguments of a SQL table function that a LATERAL join calls for each row.

In: the plan of the call, the columns around it. Out: what its arguments are made of; the flow of its rows
with these as direct sources of each column. Spark (4.2) puts the arguments in their places in the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage.plan.expressions import evaluate
from lineage.plan.operator_fields import OperatorReader
from lineage.plan.scope import OperatorOutput, Scope
from lineage.plan.tree import Tree, kind, trees
from lineage.plan.values import NOTHING, Value, union


def arguments_of(nodes: Tree, scope: Scope, reader: OperatorReader) -> Value:
    """What the arguments are made of; nothing where the plan is no call of a SQL table function."""
    head = next((node for node in nodes if kind(node) != "SubqueryAlias"), None)
    if head is None or kind(head) != "SQLFunctionNode":
        return NOTHING
    # A body sees no column around it but by its arguments; its own subqueries name columns of its own.
    found = [
        evaluate(place, scope, reader)
        for place in _outer_places(nodes)
        if scope.find(place[-1]["e"][0]["exprId"]["id"]) is not None
    ]
    return union(found)


def _outer_places(nodes: Tree) -> Iterator[Tree]:
    """Each column of the query around, with the fields that are taken of it."""
    for at, node in enumerate(nodes):
        if kind(node) == "OuterReference":
            first = at
            while first and kind(nodes[first - 1]) == "GetStructField":
                first -= 1
            yield nodes[first : at + 1]
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
