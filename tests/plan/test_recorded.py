"""The engine on recorded plans: no Spark, milliseconds."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from lineage.model import Column
from lineage.plan import Leaf, PlanFacts, PlanJsonError, analyze_plan
from tests.plan.brief import brief

CASES = sorted((Path(__file__).parent / "recorded").glob("*.json"))


def _node(kind, children=0, /, **fields):
    return {"class": f"org.apache.spark.sql.{kind}", "num-children": children, **fields}


def _attribute(name, number):
    return _node("AttributeReference", name=name, exprId={"id": number})


def _relation(name, *columns):
    table = {"identifier": {"catalog": "c", "database": "s", "table": name}}
    output = [[_attribute(column, number)] for column, number in columns]
    return _node("LogicalRelation", output=output, catalogTable=table)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_recorded_plan(case):
    """A plan that Spark 4.2 made gives the objects and sources that were reviewed when it was recorded."""
    recorded = json.loads(case.read_text())
    leaves = tuple(
        Leaf(**{**leaf, "columns": tuple(Column(**column) for column in leaf.get("columns", ()))})
        for leaf in recorded["leaves"]
    )
    access = analyze_plan(orjson.dumps(recorded["plan"]), PlanFacts(leaves))
    assert brief(access) == recorded["expect"]


def test_works_without_facts():
    """Where nobody collected facts, the table names in the JSON itself serve."""
    plan = [_node("Project", 1, projectList=[[_attribute("a", 1)]]), _relation("t", ("a", 1), ("b", 2))]
    access = analyze_plan(json.dumps(plan), PlanFacts())
    assert [item.name for item in access.direct_objects_accessed] == ["c.s.t"]
    assert access.analysis == "full"


def test_unknown_operator_is_named():
    """An operator of a later Spark makes the analysis partial, by name, and claims too much at worst."""
    plan = [_node("NewOperator", 1, output=[[_attribute("z", 9)]]), _relation("t", ("a", 1), ("b", 2))]
    access = analyze_plan(json.dumps(plan), PlanFacts())
    assert (access.analysis, access.reason) == ("partial", "unknown operator NewOperator")
    assert [ref.column_name for ref in access.columns[0].base_sources] == ["a", "b"]


def test_unknown_command_is_opaque():
    """A command of a later Spark is opaque, by name."""
    access = analyze_plan(json.dumps([_node("BrandNewCommand")]), PlanFacts())
    assert (access.analysis, access.reason) == ("opaque", "unknown command BrandNewCommand")


def test_column_without_origin_is_noticed():
    """A column that no child hands up is never passed over in silence."""
    plan = [_node("Project", 1, projectList=[[_attribute("lost", 7)]]), _relation("t", ("a", 1))]
    access = analyze_plan(json.dumps(plan), PlanFacts())
    assert access.reason == "column lost#7 has no known origin"


def test_relation_without_name_is_noticed():
    """A relation that neither JSON nor facts name makes the analysis partial."""
    plan = [_node("LogicalRelation", output=[[_attribute("a", 1)]])]
    access = analyze_plan(json.dumps(plan), PlanFacts())
    assert access.reason == "LogicalRelation: neither a table name nor a location is known"


def test_location_is_a_stage_until_registered():
    """Reading by path names the registered table where there is one, else the location."""
    plan = json.dumps([_node("LogicalRelation", output=[[_attribute("a", 1)]])])
    leaf = Leaf("LogicalRelation", key=1, locations=("s3://bucket/x",))
    stage = analyze_plan(plan, PlanFacts((leaf,))).direct_objects_accessed[0]
    assert (stage.name, stage.domain.value, stage.location) == ("s3://bucket/x", "STAGE", "s3://bucket/x")
    table = analyze_plan(
        plan, PlanFacts((leaf,), registered={"s3://bucket/x": "c.s.x"})
    ).direct_objects_accessed[0]
    assert (table.name, table.domain.value, table.location) == ("c.s.x", "Table", None)


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '{"class": 1}'])
def test_no_plan(text):
    """Text that is no plan raises one error with a stable code."""
    with pytest.raises(PlanJsonError) as error:
        analyze_plan(text, PlanFacts())
    assert error.value.code == "PLAN_JSON"


def test_deep_plan_does_not_recurse():
    """Five thousand operators on top of each other are read without recursion."""
    plan = [_node("SubqueryAlias", 1) for _ in range(5000)] + [_relation("t", ("a", 1))]
    assert analyze_plan(json.dumps(plan), PlanFacts()).columns[0].base_sources[0].column_name == "a"


def test_deep_expression_does_not_recurse():
    """An expression of five thousand levels is read without recursion."""
    deep = [
        _node("Alias", 1, name="z", exprId={"id": 9}),
        *(_node("Not", 1) for _ in range(5000)),
        _attribute("a", 1),
    ]
    plan = [_node("Project", 1, projectList=[deep]), _relation("t", ("a", 1))]
    assert analyze_plan(json.dumps(plan), PlanFacts()).columns[0].base_sources[0].column_name == "a"


def test_wide_union():
    """A union of a thousand branches of fifty columns is united by position."""
    branches = [
        _relation(f"t{branch}", *((f"c{place}", branch * 50 + place) for place in range(50)))
        for branch in range(1000)
    ]
    access = analyze_plan(json.dumps([_node("Union", 1000), *branches]), PlanFacts())
    assert [len(column.base_sources) for column in access.columns] == [1000] * 50
