"""Plans by hand: nodes as `TreeNode.toJSON` writes them (Spark 4.2), and the accesses that they give."""

from __future__ import annotations

import json
from typing import Any

from lineage.model import Access, Column
from lineage.plan import Leaf, PlanFacts, Target, analyze_plan

Tree = list[dict[str, Any]]


def node(kind: str, children: int = 0, /, **fields: Any) -> dict[str, Any]:
    """A node of a class, with its fields."""
    return {"class": f"org.apache.spark.sql.{kind}", "num-children": children, **fields}


def attribute(name: str, number: int) -> dict[str, Any]:
    """A column by its expression id."""
    return node("AttributeReference", name=name, exprId={"id": number})


def alias(name: str, number: int, *inner: dict[str, Any]) -> Tree:
    """An expression under a name."""
    return [node("Alias", 1, name=name, exprId={"id": number}), *inner]


def literal(value: str, kind: str = "integer") -> dict[str, Any]:
    """A constant."""
    return node("Literal", dataType=kind, value=value)


def table(name: str, /, **columns: int) -> dict[str, Any]:
    """A table `c.s.name`, its columns with their expression ids."""
    identifier = {"identifier": {"catalog": "c", "database": "s", "table": name}}
    output = [[attribute(column, number)] for column, number in columns.items()]
    return node("LogicalRelation", output=output, catalogTable=identifier)


def project(*expressions: Tree) -> dict[str, Any]:
    """A Project of named expressions."""
    return node("Project", 1, projectList=list(expressions))


def equal(one: dict[str, Any], two: dict[str, Any]) -> Tree:
    """A comparison of two leaves."""
    return [node("EqualTo", 2), one, two]


def target(kind: str, name: str | None, *columns: str, **more: Any) -> Target:
    """The target of a command, with what the session knows of it."""
    full = None if name is None else f"c.s.{name}"
    fields = {key: more.pop(key) for key in ("provider", "locations", "temporary", "view") if key in more}
    return Target(Leaf(kind, name=full, columns=tuple(map(Column, columns)), **fields), **more)


def access(plan: Tree, *targets: Target, leaves: tuple[Leaf, ...] = (), full: bool = True) -> Access:
    """What a plan reads and writes; it is read in full unless the test says otherwise."""
    found = analyze_plan(json.dumps(plan), PlanFacts(leaves, targets))
    assert not full or found.analysis == "full", found.reason
    return found
