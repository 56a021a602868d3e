"""Plans of single shapes, as the plan reader writes them for statements of Spark's own tests (Spark 4.2)."""

from __future__ import annotations

import json

from lineage.model import Column
from lineage.plan import analyze_plan
from lineage.plan.facts import ColumnChange, Leaf, PlanFacts, Target


def attribute(number, name):
    """A column by its expression id."""
    return {"class": "AttributeReference", "num-children": 0, "exprId": {"id": number}, "name": name}


def alias(number, name, *inner):
    """An expression under a name."""
    return [{"class": "Alias", "num-children": 1, "exprId": {"id": number}, "name": name}, *inner]


def scan(*columns):
    """A table `s.t` with columns from expression id 1 on."""
    output = [[attribute(at, name)] for at, name in enumerate(columns, 1)]
    return {"class": "LogicalRelation", "num-children": 0, "output": output}


def facts(*columns):
    """What is known of that table."""
    known = tuple(Column(name, kind) for name, kind in columns)
    return PlanFacts((Leaf("LogicalRelation", 1, "spark_catalog.s.t", columns=known),))


def analysed(nodes, found):
    """The access, its outputs as pairs of name and base sources."""
    access = analyze_plan(json.dumps(nodes), found)
    assert access.analysis == "full", access.reason
    outputs = [
        (c.name, [".".join((r.column_name, *r.field_path)) for r in c.base_sources]) for c in access.columns
    ]
    return access, outputs


def test_project_of_no_column():
    """SELECT * EXCEPT (all of them): an empty list is not in the JSON at all."""
    nodes = [{"class": "Project", "num-children": 1}, scan("a")]
    access, outputs = analysed(nodes, facts(("a", "int")))
    assert outputs == []
    assert [item.name for item in access.direct_objects_accessed] == ["spark_catalog.s.t"]


def test_lateral_subquery_hands_on_an_outer_column():
    """FROM t, LATERAL (SELECT a): an outer column that a subquery hands on has no name of its own."""
    outer = {
        "class": "OuterReference",
        "num-children": 0,
        "exprId": {"id": 1},
        "e": [attribute(1, "a")],
    }
    inner = [
        {"class": "Project", "num-children": 1, "projectList": [[outer]]},
        {"class": "OneRowRelation", "num-children": 0},
    ]
    subquery = [{"class": "LateralSubquery", "num-children": 1, "plan": inner}, attribute(1, "a")]
    nodes = [
        {"class": "LateralJoin", "num-children": 1, "right": subquery, "joinType": {"object": "Inner"}},
        scan("a"),
    ]
    assert analysed(nodes, facts(("a", "int")))[1] == [("a", ["a"]), ("a", ["a"])]


def test_inline_table_of_expressions():
    """VALUES (now()): rows that are evaluated later read nothing."""
    rows = [[[{"class": "Now", "num-children": 0}]], [[{"class": "Now", "num-children": 0}]]]
    nodes = [
        {"class": "ResolvedInlineTable", "num-children": 0, "rows": rows, "output": [[attribute(9, "ts")]]}
    ]
    assert analysed(nodes, PlanFacts())[1] == [("ts", [])]


def test_position_is_no_value_of_its_array():
    """posexplode(a): the position comes from no column, the value from the array."""
    nodes = [
        {
            "class": "Generate",
            "num-children": 1,
            "generator": [{"class": "PosExplode", "num-children": 1}, attribute(1, "a")],
            "generatorOutput": [[attribute(7, "pos")], [attribute(8, "col")]],
        },
        scan("a"),
    ]
    assert analysed(nodes, facts(("a", "array<int>")))[1] == [("a", ["a"]), ("pos", []), ("col", ["a"])]


def test_star_over_a_struct_names_its_fields():
    """t.st.*: Spark takes the fields by their place, and the reader adds their names."""
    field = {"class": "GetStructField", "num-children": 1, "ordinal": 1, "fieldName": "y"}
    nodes = [
        {"class": "Project", "num-children": 1, "projectList": [alias(5, "y", field, attribute(1, "st"))]},
        scan("st"),
    ]
    assert analysed(nodes, facts(("st", "struct<x:int,y:int>")))[1] == [("y", ["st.y"])]


def test_hidden_column_of_files_is_no_column_of_the_table():
    """SELECT _metadata.file_name: facts about files."""
    field = {"class": "GetStructField", "num-children": 1, "ordinal": 1, "name": "file_name"}
    nodes = [
        {
            "class": "Project",
            "num-children": 1,
            "projectList": [alias(5, "file_name", field, attribute(2, "_metadata"))],
        },
        scan("a", "_metadata"),
    ]
    access, outputs = analysed(nodes, facts(("a", "int")))
    assert outputs == [("file_name", [])]
    assert [(item.name, item.columns) for item in access.direct_objects_accessed] == [
        ("spark_catalog.s.t", ())
    ]


def test_view_has_the_columns_that_the_statement_lists():
    """CREATE VIEW v (x) AS SELECT a: the output is x, in the record too."""
    query = [{"class": "Project", "num-children": 1, "projectList": [[attribute(1, "a")]]}, scan("a")]
    nodes = [{"class": "CreateViewCommand", "num-children": 0, "plan": query, "replace": False}]
    target = Target(Leaf("CreateViewCommand", name="spark_catalog.s.v"), changes=(ColumnChange("ADD", "x"),))
    access, outputs = analysed(nodes, PlanFacts(facts(("a", "int")).leaves, (target,)))
    assert outputs == [("x", ["a"])]
    assert list(access.object_modified_by_ddl.properties["columns"]) == ["x"]
