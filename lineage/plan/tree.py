"""Plan JSON into nodes: Spark writes a tree as the flat list of its nodes in pre-order.

In: the text of `LogicalPlan.toJSON` or of the compact form with the same shape. Out: lists of dicts
(`class`, `num-children`, fields); a nested tree is a nested list. Nothing here recurses: plans of a
thousand levels are common (a union of a thousand branches, a thousand `withColumn`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

import orjson

from lineage.errors import LineageError

Node = dict[str, Any]
Tree = list[Node]


class PlanJsonError(LineageError):
    """The text is no plan JSON."""

    code = "PLAN_JSON"


def parse(plan_json: str | bytes) -> Tree:
    """The nodes of a plan.

    Raises:
        PlanJsonError: the text is not JSON, or not a list of nodes.
    """
    try:
        nodes = orjson.loads(plan_json)
    except orjson.JSONDecodeError as error:
        raise PlanJsonError(
            "plan", f"not JSON ({error}); pass queryExecution().analyzed().toJSON()"
        ) from error
    if not is_tree(nodes):
        raise PlanJsonError("plan", "no list of nodes; pass queryExecution().analyzed().toJSON()")
    return nodes


def kind(node: Node) -> str:
    """The simple name of a node's class.

    >>> kind({"class": "org.apache.spark.sql.catalyst.plans.logical.Project"})
    'Project'
    """
    name: str = node["class"]
    # Nested classes and objects of Scala have a `$` in their names.
    return name.rpartition(".")[2].rpartition("$")[2] or name.rpartition(".")[2].rstrip("$")


def end(nodes: Tree, start: int) -> int:
    """Where the subtree that begins at `start` ends (exclusive)."""
    open_nodes = 1
    while open_nodes:
        open_nodes += nodes[start]["num-children"] - 1
        start += 1
    return start


def children(nodes: Tree) -> list[Tree]:
    """The subtrees below the first node."""
    found, at = [], 1
    for _ in range(nodes[0]["num-children"]):
        stop = end(nodes, at)
        found.append(nodes[at:stop])
        at = stop
    return found


def is_tree(value: object) -> TypeGuard[Tree]:
    """Whether a field holds a tree (and not a list of trees or a value)."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "class" in value[0]


def trees(value: object) -> Iterator[Tree]:
    """The trees in a field, however deep its lists, options and tuples nest them."""
    todo = [value]
    while todo:
        item = todo.pop()
        if is_tree(item):
            yield item
        elif isinstance(item, list):
            todo.extend(reversed(item))
        # toJSON writes a case class as an object with its class under this key (Spark 4.2, TreeNode).
        elif isinstance(item, dict) and "product-class" in item:
            todo.extend(reversed(item.values()))
