"""The logical operators of Spark and Delta, from their jars: each has a place; those with code read all."""

from __future__ import annotations

import pytest

from lineage.plan import commands, ddl
from lineage.plan.operators import RULES
from tests.plan.spark_classes import classes, extends, simple
from tests.plan.trees import access, alias, attribute, literal, node, table

_LOGICAL = "org/apache/spark/sql/catalyst/plans/logical/"
# Spark has replaced them before a plan is analyzed, or makes them later.
_GONE_WHEN_ANALYZED = {
    "CurrentNamespace",
    "DataFrameDropColumns",
    "DomainJoin",
    "DummyExpressionHolder",
    "GeneralParameterizedQuery",
    "InsertIntoDir",
    "InsertIntoStatement",
    "NamedStreamingRelation",
    "NameParameterizedQuery",
    "NonGroupingAggregateReference",
    "OrderedJoin",
    "Pivot",
    "PlanWithUnresolvedIdentifier",
    "PosParameterizedQuery",
    "RelationChanges",
    "RelationTimeTravel",
    "ResolvedMetricView",
    "SQLTableFunction",
    "TemporaryViewRelation",
    "Transpose",
    "Unpivot",
    "V2TableReference",
    "WriteToStreamStatement",
    # Delta's.
    "CDCNameBased",
    "CDCPathBased",
    "CloneTableStatement",
    "ClusterByPlan",
    "DeltaDelete",
    "DeltaMergeInto",
    "DeltaReorgTable",
    "DeltaUpdateTable",
    "RestoreTableStatement",
    "TableChanges",
    "TimeTravel",
}
_MADE_BY_THE_OPTIMIZER_OR_LATER = {
    "InMemoryRelation",
    "LogicalQueryStage",
    "MergeRows",
    "OffsetHolder",
    "ScanBuilderHolder",
    "WriteFiles",
    "WriteToContinuousDataSource",
    "WriteToDataSourceV2",
    "InsertOnlyMerge",
    "ReplaceData",
    "WriteDelta",
    # Delta's.
    "DeltaInvariantChecker",
    "ExpressionLogicalPlanWrapper",
    "FakeLogicalPlan",
}
_STATEMENTS_OF_SCRIPTS = {
    "CompoundBody",
    "ErrorCondition",
    "ExceptionHandler",
    "ForStatement",
    "IfElseStatement",
    "IterateStatement",
    "LeaveStatement",
    "LoopStatement",
    "RepeatStatement",
    "SearchedCaseStatement",
    "SimpleCaseStatement",
    "SingleStatement",
    "WhileStatement",
    "OpenCursor",
    "CloseCursor",
    "FetchCursor",
    "DeclareCursor",
}
_NAMES_INSIDE_COMMANDS = {
    "ResolvedIdentifier",
    "ResolvedNamespace",
    "ResolvedNonPersistentFunc",
    "ResolvedPathBasedNonDeltaTable",
    "ResolvedPersistentFunc",
    "ResolvedPersistentView",
    "ResolvedProcedure",
    "ResolvedTable",
    "ResolvedTempView",
}
# The record of such a statement is made of its text, or it is opaque and says so.
_TRACED_BY_TEXT_OR_OPAQUE = {
    "Call",
    "ConvertToDeltaCommand",
    "WriteToStream",
    "MetricViewPlaceholder",
    "CreateMetricView",
    "CreateFlowCommand",
    "CreateIndex",
    "DropIndex",
    "CreateMaterializedViewAsSelect",
    "CreateStreamingTable",
    "CreateStreamingTableAsSelect",
    "LoadData",
    "LoadDataCommand",
    "SetTableSerDeProperties",
    "SetNamespaceCollationCommand",
}
_ELSEWHERE = (
    _GONE_WHEN_ANALYZED
    | _MADE_BY_THE_OPTIMIZER_OR_LATER
    | _STATEMENTS_OF_SCRIPTS
    | _NAMES_INSIDE_COMMANDS
    | _TRACED_BY_TEXT_OR_OPAQUE
)
OPERATORS = {
    simple(one.name): one
    for one in classes().values()
    if one.concrete and extends(one.name, f"{_LOGICAL}LogicalPlan")
}
# Fields that hold a function over rows.
_CODE = {"func", "functionExpr", "script", "udtf", "statefulProcessor"}
RUN_CODE = sorted(
    name for name, one in OPERATORS.items() if one.fields & _CODE and not name.startswith("Resolved")
)


def _has_a_place(name):
    return name in RULES or name in commands.RULES or ddl.known(name) or name in _ELSEWHERE


def test_every_operator_has_a_place():
    """One that a new version brings is read, or named above with its reason."""
    unresolved = {name for name in OPERATORS if name.startswith("Unresolved")}
    assert {name for name in OPERATORS.keys() - unresolved if not _has_a_place(name)} == set()


def test_no_place_is_kept_for_an_operator_that_is_not_there():
    """A renamed operator is not forgotten under its old name."""
    assert _ELSEWHERE - OPERATORS.keys() == set()
    assert {
        name for name in _ELSEWHERE if name in RULES or name in commands.RULES or ddl.known(name)
    } == set()


def test_the_operators_that_run_code_are_found():
    """By their fields; these are some of them."""
    assert {"MapInPandas", "CoGroup", "TypedFilter", "ScriptTransformation", "TransformWithState"} < {
        *RUN_CODE
    }


@pytest.mark.parametrize("name", RUN_CODE)
def test_code_gets_every_column_of_its_input(name):
    """Also where the statement uses nothing that it makes: `df.mapInPandas(…).count()` reads all columns."""
    sides = [table("t", a=1, b=2), table("u", x=11, y=12)]
    two = "left" in OPERATORS[name].fields
    inputs = sides if two else sides[:1]
    operator = node(name, len(inputs), output=[[attribute("p", 80)]])
    count = node("Aggregate", 1, aggregateExpressions=[alias("n", 99, literal("1"))])
    for plan in ([operator, *inputs], [count, operator, *inputs]):
        found = access(plan)
        read = {c.name for one in found.base_objects_accessed for c in one.columns}
        assert read == ({"a", "b", "x", "y"} if two else {"a", "b"})
        assert found.direct_objects_accessed == found.base_objects_accessed
