"""What every operator of a plan is read with: its attributes, its named expressions, its conditions.

In: fields of a node. Out: attributes and values. `OperatorReader` is the part of the plan's reader that they
need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from lineage.model import Relation
from lineage.plan import expressions
from lineage.plan.expressions import evaluate, expression_id
from lineage.plan.scope import Attribute, OperatorOutput, Outputs, Scope
from lineage.plan.tree import Node, Tree, is_tree, trees
from lineage.plan.values import NOTHING, Value, as_condition, union


class OperatorReader(expressions.ExpressionReader, Protocol):
    """The part of the plan's reader that operators need."""

    ctes: dict[int, OperatorOutput]
    loops: dict[int, OperatorOutput]
    scanned: dict[tuple[int, ...], dict[str, Value]]

    def relations(self, node: Node, columns: list[Attribute]) -> list[Relation]:
        """The objects that a leaf reads, [] for one that reads none."""

    def view(self, node: Node, columns: list[Attribute]) -> Relation | None:
        """The view that a View node marks, None for a temporary one."""

    def origin(self, number: int) -> OperatorOutput:
        """What the plan gives that an RDD was made of."""


Rule = Callable[[Node, Outputs, Scope | None, OperatorReader], OperatorOutput]


def attributes(field: object) -> list[Attribute]:
    """The attributes in a field that holds a list of them."""
    if not isinstance(field, list):
        return []
    return [
        # An attribute is an array of one node; exprId is unique within a JVM.
        (expression_id(tree[0]), tree[0]["name"])
        for tree in field
        if is_tree(tree) and "exprId" in tree[0]
    ]


def named(
    field: Iterable[Tree], scope: Scope, reader: OperatorReader, env: dict[int, Value] | None = None
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


def condition_sources(node: Node, names: Iterable[str], scope: Scope, reader: OperatorReader) -> Value:
    """What the expressions in some fields read, as conditions."""
    found = [evaluate(tree, scope, reader) for name in names for tree in trees(node.get(name))]
    return as_condition(union(found)) if found else NOTHING
