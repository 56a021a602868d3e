"""Reads a plan bottom-up: each node once, children before parents, without recursion.

In: the nodes of a plan and its facts. Out: the `OperatorOutput` of its root, objects and sources numbered in
a `Registry`, and the reasons for a partial analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lineage.model import Column, Domain, Relation
from lineage.plan.facts import Leaf, PlanFacts, qualified, relations
from lineage.plan.leaf_operators import LEAVES
from lineage.plan.operator_fields import attributes
from lineage.plan.operators import RULES, unknown
from lineage.plan.scope import Attribute, OperatorOutput, Outputs, Scope
from lineage.plan.tree import Node, Tree, kind
from lineage.plan.values import Registry, Value

Resolver = Callable[[Leaf], "tuple[Relation, ...] | None"]


@dataclass(slots=True)
class PlanReader:
    """The state of one analysis of a plan."""

    facts: PlanFacts
    resolver: Resolver | None = None
    registry: Registry = field(default_factory=Registry)
    partial_reasons: dict[str, None] = field(default_factory=dict)
    ctes: dict[int, OperatorOutput] = field(default_factory=dict)
    loops: dict[int, OperatorOutput] = field(default_factory=dict)
    scanned: dict[tuple[int, ...], dict[str, Value]] = field(default_factory=dict)
    _by_key: dict[int, Leaf] = field(default_factory=dict)
    _origins: dict[int, OperatorOutput] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_key.update((leaf.key, leaf) for leaf in self.facts.leaves if leaf.key is not None)

    def mark_partial(self, reason: str) -> None:
        """Note why the analysis is only partial; each reason once."""
        self.partial_reasons[reason] = None

    def plan(self, nodes: Tree, outer: Scope | None = None) -> OperatorOutput:
        """The flow of the plan's root.

        A node waits on the stack until its children have arrived. A recursive CTE is read again until
        its columns gain no more sources.
        """
        waiting: list[tuple[int, Outputs]] = []
        at = 0
        while True:
            node = nodes[at]
            at += 1
            flow = None if node["num-children"] else self._read(node, [], outer)
            if flow is None:
                waiting.append((at - 1, []))
                continue
            while waiting:
                start, kids = waiting[-1]
                kids.append(flow)
                node = nodes[start]
                if len(kids) < node["num-children"]:
                    if kind(node) == "UnionLoop":
                        self.loops[node["id"]] = flow
                    break
                waiting.pop()
                flow = self._read(node, kids, outer)
                # Sets of sources only grow and are finite, so the rounds end.
                if kind(node) == "UnionLoop" and self._grown(node, flow):
                    at = self._again(nodes, start, kids, waiting)
                    break
            else:
                return flow

    def origin(self, number: int) -> OperatorOutput:
        """What the plan gives that an RDD was made of."""
        # The plans of a loop's checkpoints stand one in the other: from the innermost out, nothing recurses
        # deep.
        origins = self.facts.origins
        for known in reversed(tuple(origins)) if number not in self._origins else ():
            if known not in self._origins:
                self._origins[known] = self.plan(origins[known])
        return self._origins[number]

    def _again(
        self,
        nodes: Tree,
        start: int,
        kids: Outputs,
        waiting: list[tuple[int, Outputs]],
    ) -> int:
        """Go back to the recursive half of a loop; returns its first place."""
        waiting.append((start, kids[:1]))
        at, open_nodes = start + 1, 1
        while open_nodes:
            open_nodes += nodes[at]["num-children"] - 1
            at += 1
        return at

    def _grown(self, node: Node, flow: OperatorOutput) -> bool:
        """Whether a round through a loop has brought new sources."""
        before = self.loops[node["id"]]
        old = [value[:4] for value in before.values()]
        new = [value[:4] for value in flow.values()]
        if old == new and before.indirect[:4] == flow.indirect[:4] and before.base == flow.base:
            return False
        self.loops[node["id"]] = flow
        return True

    def _read(self, node: Node, kids: Outputs, outer: Scope | None) -> OperatorOutput:
        rule = RULES.get(kind(node))
        return (rule or unknown)(node, kids, outer, self)

    def relations(self, node: Node, columns: list[Attribute]) -> list[Relation]:
        """The objects behind a leaf: from the facts, else from what the JSON itself says."""
        leaf = self._by_key.get(columns[0][0]) if columns else None
        # A fact about a node of another class is about another relation.
        if leaf is None or leaf.node != kind(node):
            leaf = leaf_of(node, columns)
        found = self.resolve(leaf)
        if not found:
            self.mark_partial(f"{kind(node)}: neither a table name nor a location is known")
        return list(found)

    def resolve(self, leaf: Leaf) -> tuple[Relation, ...]:
        """The objects of a leaf or target, by the caller's resolver first."""
        found = self.resolver(leaf) if self.resolver else None
        return relations(leaf, self.facts) if found is None else found

    def function(self, name: str, node: str) -> int:
        """The number of the source that stands for a function, found by the caller's resolver first."""
        found = self.resolver(Leaf(node, name=name)) if self.resolver else None
        relation = found[0] if found else Relation(name, Domain.FUNCTION)
        return self.registry.source(self.registry.object(relation), None)

    def view(self, node: Node, columns: list[Attribute]) -> Relation | None:
        """The view that a View node marks; temporary ones are transparent."""
        if node["isTempView"]:
            return None
        leaf = Leaf(
            "View", name=name_of(node["desc"]), columns=tuple(Column(name) for _, name in columns), view=True
        )
        found = self.resolve(leaf)
        return found[0] if found else None


def leaf_of(node: Node, columns: list[Attribute]) -> Leaf:
    """A leaf as far as its JSON tells: the catalog table of a v1 relation, columns by name."""
    table = node.get("catalogTable") or node.get("tableMeta")
    name = name_of(table) if isinstance(table, dict) else None
    if name is None and isinstance(node.get("identifier"), dict):
        name = name_of(node)
    return Leaf(kind(node), name=name, columns=tuple(Column(column) for _, column in columns))


def name_of(table: Node) -> str | None:
    """The qualified name in a CatalogTable or in anything with a TableIdentifier."""
    identifier = table.get("identifier")
    if not isinstance(identifier, dict):
        return None
    return qualified(identifier.get("catalog"), identifier.get("database"), identifier.get("table"))


__all__ = ["LEAVES", "Domain", "PlanReader", "Resolver", "attributes", "leaf_of", "name_of"]
