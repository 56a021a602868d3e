"""Traces what a statement reads and writes from Spark's analyzed plan.

In: a plan's JSON and its facts. Out: an `Access`. An unknown node makes the analysis partial, an unknown
command opaque, with the node in the reason.
"""

from __future__ import annotations

from lineage.model import Access, AccessedObject, Analysis, Domain, OutputColumn, each_once
from lineage.plan import commands, ddl
from lineage.plan.commands import WriteResult
from lineage.plan.facts import Leaf, PlanFacts, Target
from lineage.plan.operators import RULES
from lineage.plan.reader import PlanReader, Resolver
from lineage.plan.scope import OperatorOutput
from lineage.plan.tree import Tree, children, kind, parse
from lineage.plan.values import Value, numbers, union
from lineage.plan.written import modified_object
from lineage.transformation import named


def analyze_plan(plan_json: str | bytes, facts: PlanFacts, resolver: Resolver | None = None) -> Access:
    """The access of the statement behind an analyzed plan.

    Args:
        plan_json: `queryExecution().analyzed().toJSON()`, or the smaller text of the same shape that
            the plan reader of the audit makes.
        facts: the relations and targets behind the plan; `PlanFacts()` where nobody collected them.
        resolver: gives the objects of a leaf, view or target (with ids and column ids), or None to
            leave it to the facts.

    Raises:
        PlanJsonError: the text is no plan JSON.
    """
    reader = PlanReader(facts, resolver)
    nodes = parse(plan_json)
    commanded = _commands(nodes)
    if not commanded:
        return _queried(reader, reader.plan(nodes))
    pairs = zip(commanded, _targets(facts, commanded), strict=True)
    accesses = [_command(tree, target, reader) for tree, target in pairs]
    return accesses[0] if len(accesses) == 1 else _several(accesses)


def _commands(nodes: Tree) -> list[Tree]:
    """The commands of a plan: its root, or the branches of a multi-insert's Union."""
    head = kind(nodes[0])
    # FROM … INSERT … INSERT is a Union, or a MultiResult, of commands (Spark 4.2).
    if head in ("Union", "MultiResult"):
        branches = children(nodes)
        found = [branch for branch in branches if _is_command(kind(branch[0]))]
        return found if len(found) == len(branches) else []
    # CTESubstitution puts WithCTE above a command that is no CTEInChildren; its last child is the command.
    if head == "WithCTE" and _is_command(kind(children(nodes)[-1][0])):
        return [nodes]
    return [nodes] if _is_command(head) else []


def _is_command(name: str) -> bool:
    # A command of another library is known by Spark's naming only; it gives an opaque record.
    return name in commands.RULES or ddl.known(name) or (name not in RULES and name.endswith("Command"))


def _targets(facts: PlanFacts, commanded: list[Tree]) -> list[Target]:
    """The targets of the commands: in order, matched by node."""
    left = list(facts.targets)
    found = []
    for tree in commanded:
        name = kind((children(tree)[-1] if kind(tree[0]) == "WithCTE" else tree)[0])
        # Facts list inner commands, too, such as the one below a CTAS.
        while left and left[0].leaf.node != name:
            left.pop(0)
        found.append(left.pop(0) if left else Target(Leaf(name)))
    return found


def _command(nodes: Tree, target: Target, reader: PlanReader) -> Access:
    if kind(nodes[0]) == "WithCTE":
        below = children(nodes)
        for definition in below[:-1]:
            reader.plan(definition)
        nodes = below[-1]
    name = kind(nodes[0])
    rule = commands.RULES.get(name)
    if rule is not None:
        return _modified(rule(nodes, target, reader), reader)
    if ddl.known(name):
        return ddl.analyze(nodes, target, reader, _queried)
    return Access(name, analysis="opaque", reason=f"unknown command {name}")


def _queried(reader: PlanReader, flow: OperatorOutput, statement_type: str = "SELECT") -> Access:
    """A query: its output columns, and the objects with the columns that it used."""
    direct, base = accessed(reader, flow)
    analysis, reason = analysis_of(reader)
    refs = reader.registry.refs
    columns = tuple(
        OutputColumn(
            name,
            refs(value.base),
            refs(value.direct),
            refs((value.base_indirect | flow.indirect.base_indirect) & ~value.base),
            *reversed(named(value.transformation)),
        )
        for (_, name), value in zip(flow.out, flow.values(), strict=True)
    )
    return Access(statement_type, direct, base, columns=columns, analysis=analysis, reason=reason)


def _modified(written: WriteResult, reader: PlanReader) -> Access:
    direct, base = accessed(reader, written.read, written.implied)
    defined = ddl.created(written)
    analysis, reason = analysis_of(reader)
    modified = tuple(
        modified_object(reader, owner, written.columns, written.read.indirect, overwrites=written.overwrites)
        for owner in written.owners
    )
    return Access(written.statement_type, direct, base, modified, defined, analysis=analysis, reason=reason)


def analysis_of(reader: PlanReader) -> tuple[Analysis, str | None]:
    """Whether the plan was read in full, and the reasons if not."""
    if not reader.partial_reasons:
        return "full", None
    return "partial", "; ".join(reader.partial_reasons)


def accessed(
    reader: PlanReader, flow: OperatorOutput, implied: int = 0
) -> tuple[tuple[AccessedObject, ...], tuple[AccessedObject, ...]]:
    """The direct and the base objects, each with the columns that the plan uses.

    Objects in `implied` count only if one of their columns is used.
    """
    used = union((flow.everything(), flow.indirect, flow.named))
    return (
        _objects(reader, flow.direct, implied, used.direct | used.direct_indirect),
        _objects(reader, flow.base, implied, used.base | used.base_indirect),
    )


def _objects(reader: PlanReader, touched: int, implied: int, bits: int) -> tuple[AccessedObject, ...]:
    columns = reader.registry.columns(bits)
    wanted = {number for number in numbers(touched) if not implied >> number & 1} | columns.keys()
    found = []
    for number in sorted(wanted):
        owner = reader.registry.objects[number]
        used = columns.get(number, {})
        order = {column.name: place for place, column in enumerate(owner.columns)}
        listed = sorted(used.values(), key=lambda column: order.get(column.name, len(order)))
        found.append(
            AccessedObject(
                owner.name,
                owner.domain,
                owner.object_id,
                tuple(listed),
                owner.location if owner.domain is Domain.STAGE else None,
                version=owner.version,
            )
        )
    return tuple(found)


def _several(accesses: list[Access]) -> Access:
    """The branches of a multi-insert as one statement."""
    # FROM … INSERT … INSERT is one statement: one record with all its targets.
    reasons = [access.reason for access in accesses if access.reason]
    return Access(
        "INSERT",
        each_once([item for access in accesses for item in access.direct_objects_accessed]),
        each_once([item for access in accesses for item in access.base_objects_accessed]),
        tuple(item for access in accesses for item in access.objects_modified),
        analysis="partial" if reasons else "full",
        reason="; ".join(dict.fromkeys(reasons)) or None,
    )


__all__ = ["Value", "analyze_plan"]
