"""Reads the commands of a plan: writers, UPDATE, DELETE, MERGE.

In: a command's nodes, the target that the facts name, and the plan's reader. Out: a `WriteResult`: what is
modified, and the flow of what was read to do so. DDL is read in `ddl`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lineage.model import Domain, Relation
from lineage.plan.expressions import evaluate
from lineage.plan.facts import Leaf, Target
from lineage.plan.operator_fields import attributes
from lineage.plan.reader import PlanReader, leaf_of, name_of
from lineage.plan.scope import OperatorOutput, Scope
from lineage.plan.tree import Node, Tree, children, is_tree, kind, trees
from lineage.plan.untouched_fields import without_untouched
from lineage.plan.values import Value, as_condition, numbers, union


@dataclass(slots=True)
class WriteResult:
    """The writes of a command: the objects, their columns by name, and the flow that it read."""

    statement_type: str
    owners: tuple[Relation, ...] = ()
    columns: dict[str, Value] = field(default_factory=dict)
    read: OperatorOutput = field(default_factory=OperatorOutput)
    implied: int = 0
    """Object numbers of the target where the plan scans it: accessed only if a column of it is."""
    overwrites: bool = False
    """No earlier row of the objects stays."""


Rule = Callable[[Tree, Target, PlanReader], WriteResult]


def plan_in(nodes: Tree, name: str) -> Tree | None:
    """The plan in a command's field `name`; as a child the field is a number, or absent, or null."""
    value = nodes[0].get(name)
    if is_tree(value):
        return value
    below = children(nodes)
    # TreeNode.toJSON writes a child as its index among the children (Spark 4.2). A bool is an int in Python.
    if isinstance(value, int) and not isinstance(value, bool) and value < len(below):
        return below[value]
    return below[-1] if below else None


def _query(nodes: Tree, reader: PlanReader) -> OperatorOutput:
    query = plan_in(nodes, "query") or plan_in(nodes, "plan")
    if query is None:
        reader.mark_partial(f"{kind(nodes[0])}: its query is not in the JSON")
        return OperatorOutput()
    return reader.plan(query)


# What a foreachBatch function writes are statements of their own. The others (Spark 4.2) print rows, drop
# them, or keep them in the driver, where they are no object.
_STORE_NOTHING = frozenset({"foreachBatch", "ConsoleTable", "MemorySink", "NoopTable"})


def owners_of(target: Target, node: Node, reader: PlanReader) -> tuple[Relation, ...]:
    """The objects that a command writes."""
    leaf = target.leaf
    if leaf.provider in _STORE_NOTHING:
        return ()
    if leaf.name is None and not leaf.locations:
        leaf = _from_json(node)
    if leaf.name is None and not leaf.locations:
        reader.mark_partial(f"{kind(node)}: its target is not known")
        return ()
    return reader.resolve(leaf)


def _from_json(node: Node) -> Leaf:
    """What the JSON of a command says of its target, where no facts came along."""
    for name in ("catalogTable", "table", "tableDesc", "name"):
        value = node.get(name)
        if is_tree(value):
            return leaf_of(value[0], attributes(value[0].get("output")))
        if isinstance(value, dict):
            found = name_of(value) or name_of({"identifier": value})
            if found:
                return Leaf(kind(node), name=found)
    return Leaf(kind(node))


def _writer(nodes: Tree, target: Target, reader: PlanReader, how: str) -> WriteResult:
    """A query into a target: by name where the command says so, else by position."""
    node = nodes[0]
    flow = _query(nodes, reader)
    goal = _replaced(node, reader)
    scope = Scope.over([flow, goal] if goal else [flow], None)
    conditions = [evaluate(tree, scope, reader) for tree in trees(node.get("deleteExpr"))]
    owners = owners_of(target, node, reader)
    names = [name for _, name in flow.out]
    known = [column.name for column in target.leaf.columns] or _table_columns(node)
    # Spark's writers match by position, unless `isByName` is set: writeTo, INSERT BY NAME.
    if known and how == "INSERT":
        names = _by_name(names, known) if node.get("isByName") else known[: len(names)] + names[len(known) :]
    columns: dict[str, Value] = {}
    for name, value in zip(names, flow.values(), strict=False):
        columns[name] = union((columns[name], value)) if name in columns else value
    read = scope.flow(flow.out, flow.env, as_condition(union(conditions)))
    # replaceWhere reads the target for its condition; a target without a used column is not accessed.
    implied = goal.base & ~flow.base if goal else 0
    return WriteResult(how, owners, columns, read, implied, _overwrites(node, target, how))


def _overwrites(node: Node, target: Target, how: str) -> bool:
    """Whether a writer replaces all that was in its target: not some partitions, not chosen rows."""
    if how != "INSERT":
        return not target.partial  # saveAsTable with replaceWhere looks like a REPLACE (Delta 4.4)
    if target.keeps_some:
        return False
    # `overwrite` of the whole table has the literal true as its deleteExpr (Spark 4.2).
    if kind(node) == "OverwriteByExpression":
        return all(len(tree) == 1 and kind(tree[0]) == "Literal" for tree in trees(node.get("deleteExpr")))
    # V1 commands hold SaveMode, InsertIntoStatement a flag.
    return target.mode == "Overwrite" or node.get("overwrite") is True


def _replaced(node: Node, reader: PlanReader) -> OperatorOutput | None:
    """The target as the delete expression of an overwrite sees it; None where that reads no column."""
    table = node.get("table")
    asked = any(kind(item) == "AttributeReference" for tree in trees(node.get("deleteExpr")) for item in tree)
    return reader.plan(table) if asked and is_tree(table) else None


def _table_columns(node: Node) -> list[str]:
    for name in ("table", "logicalRelation"):
        value = node.get(name)
        if is_tree(value):
            return [column for _, column in attributes(value[0].get("output"))]
    return []


def _by_name(names: list[str], known: list[str]) -> list[str]:
    """The target's spelling of each name."""
    spelling = {name.lower(): name for name in known}
    return [spelling.get(name.lower(), name) for name in names]


def insert(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """A writer into a table or location that is there."""
    return _writer(nodes, target, reader, "INSERT")


def create_as(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """A writer that also defines its table."""
    # saveAsTable(mode="append") on an existing table plans CreateDataSourceTableAsSelectCommand all the same
    # (Spark 4.2).
    if target.mode == "Append":
        return _writer(nodes, target, reader, "INSERT")
    replaces = kind(nodes[0]) == "ReplaceTableAsSelect" or target.mode == "Overwrite"
    return _writer(nodes, target, reader, f"{'REPLACE' if replaces else 'CREATE'}_TABLE_AS_SELECT")


def save(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """`df.write.save(path)`: a location, whose columns are the query's."""
    return _writer(nodes, target, reader, "INSERT")


def _scanned(nodes: Tree, target: Target, reader: PlanReader) -> tuple[OperatorOutput, tuple[Relation, ...]]:
    """The target as the plan scans it: its flow, and the objects that it stands for."""
    flow = reader.plan(nodes)
    found = tuple(reader.registry.objects[number] for number in numbers(flow.base))
    if target.leaf.name is None and not target.leaf.locations:
        return flow, found
    return flow, reader.resolve(target.leaf)


def delete(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """DELETE: rows of the target, by a condition."""
    flow, owners = _scanned(plan_in(nodes, "target") or plan_in(nodes, "child") or nodes[1:], target, reader)
    scope = Scope.over([flow], None)
    conditions = as_condition(
        union(evaluate(tree, scope, reader) for tree in trees(nodes[0].get("condition")))
    )
    # DELETE without WHERE has no condition, or the literal true.
    every = not any(kind(tree[0]) != "Literal" for tree in trees(nodes[0].get("condition")))
    read = scope.flow([], {}, conditions)
    return WriteResult("DELETE", owners, {}, read, flow.base | flow.direct, every)


def update(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """UPDATE: one expression a column of the target (Delta 4.4); an untouched column is itself."""
    flow, owners = _scanned(plan_in(nodes, "target") or nodes[1:], target, reader)
    scope = Scope.over([flow], None)
    conditions = as_condition(
        union(evaluate(tree, scope, reader) for tree in trees(nodes[0].get("condition")))
    )
    columns = {
        name: evaluate(without_untouched(tree, number), scope, reader)
        for (number, name), tree in zip(flow.out, nodes[0].get("updateExpressions") or (), strict=False)
        if not _untouched(tree, number)
    }
    if not columns:
        reader.mark_partial(f"{kind(nodes[0])}: no assignment found")
    # One column stands for all assignments: an UPDATE has no output.
    read = scope.flow([(-1, "")], {-1: union(columns.values())}, conditions)
    return WriteResult("UPDATE", owners, columns, read, flow.base | flow.direct)


def _untouched(tree: Tree, number: int) -> bool:
    plain = all(kind(node) in ("AttributeReference", "Alias", "Cast") for node in tree)
    # Delta's PreprocessTableUpdate (4.4) assigns every column, an untouched one to itself, perhaps in a cast.
    return plain and bool(tree[-1]["exprId"]["id"] == number)


def merge(nodes: Tree, target: Target, reader: PlanReader) -> WriteResult:
    """MERGE: the columns of every branch; all conditions are indirect sources."""
    node = nodes[0]
    below = children(nodes)
    goal = node["target"] if is_tree(node.get("target")) else below[0]
    from_plan = node["source"] if is_tree(node.get("source")) else below[-1]
    flow, owners = _scanned(goal, target, reader)
    source = reader.plan(from_plan)
    scope = Scope.over([flow, source], None)
    conditions = [evaluate(tree, scope, reader) for tree in trees(node.get("condition"))]
    columns: dict[str, Value] = {}
    ids = {name.lower(): number for number, name in flow.out}
    # The fields of DeltaMergeInto and MergeIntoCommand (Delta 4.4).
    for name in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"):
        for clause in trees(node.get(name)):
            asked, assigned = _clause(clause)
            conditions.extend(evaluate(tree, scope, reader) for tree in asked)
            for column, tree in assigned:
                number = ids.get(column.lower(), -1)
                if not _untouched(tree, number):
                    found = evaluate(without_untouched(tree, number), scope, reader)
                    columns[column] = union((columns[column], found)) if column in columns else found
    read = scope.flow([(-1, "")], {-1: union(columns.values())}, as_condition(union(conditions)))
    # A table that is its own source is read as that, too.
    implied = (flow.base | flow.direct) & ~(source.base | source.direct)
    return WriteResult("MERGE", owners, columns, read, implied)


def _clause(clause: Tree) -> tuple[list[Tree], list[tuple[str, Tree]]]:
    """The conditions of a branch, and its assignments; both are children (`DeltaMergeAction`)."""
    conditions, assignments = [], []
    for child in children(clause):
        if kind(child[0]) in ("DeltaMergeAction", "Assignment"):
            assignments.append(_assignment(child))
        else:
            conditions.append(child)
    return conditions, assignments


def _assignment(action: Tree) -> tuple[str, Tree]:
    """The column (its top-level name) and the expression of an assignment."""
    below = children(action)
    parts = action[0].get("targetColNameParts")
    if isinstance(parts, str):  # toJSON writes a list of strings as "[a]"
        return parts[1:-1], below[-1]
    # The JSON of `PlanFacts.java` keeps the list.
    if isinstance(parts, list):
        return str(parts[0]), below[-1]
    return next(
        str(node["name"]) for node in reversed(below[0]) if kind(node) == "AttributeReference"
    ), below[-1]


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "AppendData",
            "OverwriteByExpression",
            "OverwritePartitionsDynamic",
            "DeltaDynamicPartitionOverwriteCommand",
            "InsertIntoDataSourceCommand",
            "InsertIntoHiveTable",
            # Micro-batches of a stream; V1 is for sinks of the old interface, Delta's among them.
            "WriteToMicroBatchDataSource",
            "WriteToMicroBatchDataSourceV1",
            "WriteIntoDelta",
            "AppendDataExec",
            "DeltaInsertReplaceOnOrUsingCommand",
        ),
        insert,
    ),
    **dict.fromkeys(
        (
            "CreateTableAsSelect",
            "ReplaceTableAsSelect",
            "CreateDataSourceTableAsSelectCommand",
            "SaveAsV1TableCommand",
            "CreateHiveTableAsSelectCommand",
        ),
        create_as,
    ),
    **dict.fromkeys(
        (
            "SaveIntoDataSourceCommand",
            "InsertIntoHadoopFsRelationCommand",
            "InsertIntoDataSourceDirCommand",
            "InsertIntoHiveDirCommand",
        ),
        save,
    ),
    **dict.fromkeys(("DeleteCommand", "DeleteFromTable", "DeleteFromTableWithFilters"), delete),
    **dict.fromkeys(("UpdateCommand", "UpdateTable"), update),
    **dict.fromkeys(("MergeIntoCommand", "MergeIntoTable"), merge),
}
__all__ = ["RULES", "Domain", "WriteResult", "owners_of", "plan_in"]
