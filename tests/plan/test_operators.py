"""Operators and expressions that the recorded plans lack: functions, elements, lost definitions. No Spark."""

from __future__ import annotations

import json

import pytest

from lineage.model import Column, Domain
from lineage.plan import Leaf, PlanFacts, analyze_plan
from tests.plan.trees import access, alias, attribute, equal, literal, node, project, table

T = table("t", a=1, b=2)
U = table("u", x=11, y=12)
A, B, X, Y = attribute("a", 1), attribute("b", 2), attribute("x", 11), attribute("y", 12)
TYPED = Leaf(
    "LogicalRelation", 1, "c.s.t", columns=(Column("a", "array<struct<p:int>>"), Column("b", "map<int,int>"))
)


def outputs(found):
    """The outputs as `name: direct sources | indirect sources`, the sources in order of their names."""
    return [
        f"{c.name}: {_names(c.direct_sources)}"
        + (f" | {_names(c.indirect_sources)}" if c.indirect_sources else "")
        for c in found.columns
    ]


def _names(refs):
    return ", ".join(sorted(".".join((ref.column_name, *ref.field_path)) for ref in refs))


def one(*expression, leaves=(), full=True):
    """A query of one expression over t."""
    return access([project(alias("z", 99, *expression)), T], leaves=leaves, full=full)


# -- functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("PythonUDF", {"name": "c.s.f"}),
        ("ScalaUDF", {"udfName": "c.s.f"}),
        ("HiveGenericUDF", {"name": "c.s.f"}),
        ("ScalaAggregator", {"name": "c.s.f"}),
    ],
)
def test_a_function_that_is_no_sql_is_a_direct_and_a_base_object(kind, fields):
    """The access-history document, UDF notes; its arguments are sources of its value."""
    found = one(node(kind, 2, **fields), A, B)
    assert outputs(found) == ["z: a, b"]
    for objects in (found.direct_objects_accessed, found.base_objects_accessed):
        assert [(o.name, o.domain) for o in objects] == [("c.s.t", Domain.TABLE), ("c.s.f", Domain.FUNCTION)]
    assert found.columns[0].direct_transformation == "TRANSFORMATION"


@pytest.mark.parametrize("fields", [{"name": "<lambda>"}, {"name": None}, {}])
def test_a_function_without_a_name_is_no_object(fields):
    """All lambdas would be one object."""
    found = one(node("PythonUDF", 1, **fields), A)
    assert (outputs(found), [o.name for o in found.direct_objects_accessed]) == (["z: a"], ["c.s.t"])


def test_a_function_that_only_filters_is_accessed():
    """It is no source of what the query yields."""
    plan = [node("Filter", 1, condition=[node("PythonUDF", 1, name="c.s.f"), B]), T]
    found = access(plan)
    assert outputs(found) == ["a: a | b", "b: b"]
    assert "c.s.f" in [o.name for o in found.direct_objects_accessed]


def test_a_sql_function_whose_name_the_json_lost_is_partial():
    """ToJSON drops the field; its argument is direct, what its body reads is base."""
    found = one(node("SQLScalarFunction", 1, inputs=[[A]]), B, full=False)
    (column,) = found.columns
    assert found.reason == "SQLScalarFunction: the JSON lacks the function's name"
    assert (_names(column.direct_sources), _names(column.base_sources)) == ("a", "b")


# -- fields and elements -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        ([node("GetArrayItem", 2), A, literal("0")], "a"),
        ([node("GetStructField", 1, ordinal=0, name="p"), node("GetArrayItem", 2), A, literal("0")], "a.p"),
        ([node("GetStructField", 1, ordinal=0, name="p"), node("ElementAt", 2), A, literal("1")], "a.p"),
        ([node("GetStructField", 1, ordinal=0, name="p"), node("GetArrayItem", 2), A, B], "a, b"),
        ([node("ElementAt", 2), B, literal("1")], "b"),
        ([node("GetArrayStructFields", 1, ordinal=0, field={"name": "p"}), A], "a.p"),
        (
            [node("GetStructField", 1, ordinal=0, name="nosuch"), node("GetArrayItem", 2), A, literal("0")],
            "a",
        ),
    ],
)
def test_a_field_is_followed_through_elements_of_an_array(expression, source):
    """At a constant place an element has the array's fields; of a computed place, or a map, it is a value."""
    assert outputs(one(*expression, leaves=(TYPED,))) == [f"z: {source}"]


def test_nth_value_aggregates():
    """It is a window function of its own, beside first and last."""
    spec = [node("WindowSpecDefinition", 1), B]
    found = one(node("WindowExpression", 2), node("NthValue", 2), A, literal("2"), *spec)
    assert (outputs(found), found.columns[0].base_transformation) == (["z: a | b"], "AGGREGATION")


def test_an_unresolved_expression_is_partial():
    """A plan that was not analyzed to its end says so by name."""
    found = one(node("UnresolvedFunction", 0), full=False)
    assert found.reason == "unresolved expression UnresolvedFunction"


# -- operators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("Inner", ["a: a | x", "b: b | a, x", "x: x | a", "y: y | a, x"]),
        ({"object": "org.apache.spark.sql.LeftSemi"}, ["a: a | x", "b: b | a, x"]),
        ("LeftAnti", ["a: a | x", "b: b | a, x"]),
        (
            {"product-class": "ExistenceJoin", "exists": attribute("there", 50)},
            ["a: a | x", "b: b | a, x", "there:  | a, x"],
        ),
    ],
    ids=["inner", "semi", "anti", "existence"],
)
def test_a_join_yields_what_its_kind_says(join, expected):
    """Keys shape every row; an existence join adds a flag that they decide."""
    assert outputs(access([node("Join", 2, joinType=join, condition=equal(A, X)), T, U])) == expected


def test_what_is_observed_is_read_and_changes_nothing():
    """df.observe(max(b)) reads columns beside the rows."""
    found = access([node("CollectMetrics", 1, metrics=[alias("m", 60, node("Max", 1), B)]), T])
    assert outputs(found) == ["a: a | b", "b: b"]


def test_a_multi_result_of_queries_is_its_last_one():
    """MultiResult runs all of its children and hands on the rows of the last."""
    found = access([node("MultiResult", 2), T, U])
    assert outputs(found) == ["x: x", "y: y"]
    assert [o.name for o in found.direct_objects_accessed] == ["c.s.t", "c.s.u"]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (
            [node("CTERelationRef", cteId=5, output=[[A]])],
            "CTERelationRef: its definition is not in the plan",
        ),
        ([node("UnionLoopRef", loopId=5, output=[[A]])], "UnionLoopRef: its loop is not in the plan"),
        (
            [node("LogicalRDD", output=[[A]], originStats=None)],
            "LogicalRDD: a checkpoint has cut the plan off from its sources",
        ),
        ([node("Expand", 1, output=[[X]], projections=None), T], "Expand: the JSON lacks its projections"),
        ([node("SQLFunctionNode", 1), T], "SQLFunctionNode: the JSON lacks the function's name"),
    ],
)
def test_what_the_json_has_lost_makes_the_analysis_partial(plan, reason):
    """The reason names the operator; its columns are there."""
    found = access(plan, full=False)
    assert (found.analysis, found.reason) == ("partial", reason)
    assert found.columns


def of_an_rdd(leaf, origins):
    """The access of a plan over RDDs, with the plans that these were made of."""
    return analyze_plan(json.dumps([leaf]), PlanFacts(origins=origins))


def stored(*rdds, exact=True, unknown=()):
    """A plan over RDDs, with two columns."""
    output = [[attribute("n", 90)], [attribute("m", 91)]]
    return node(
        "LogicalRDD", output=output, rows={"of": list(rdds), "exact": exact, "unknown": list(unknown)}
    )


def test_the_stored_rows_of_a_plan_have_its_sources():
    """Column by column, under the names that they have now; filters of the plan are theirs, too."""
    found = of_an_rdd(
        stored(7), origins={7: [project([A], [B]), node("Filter", 1, condition=equal(A, B)), T]}
    )
    assert (found.analysis, outputs(found)) == ("full", ["n: a | b", "m: b | a"])
    assert [o.name for o in found.direct_objects_accessed] == ["c.s.t"]


def test_stored_rows_of_stored_rows():
    """A plan over an RDD that was made of a plan over an RDD: a thousand of them are followed."""
    deep = {number: [stored(number + 1)] for number in range(1, 1000)} | {1000: [project([A], [B]), T]}
    found = of_an_rdd(stored(1), origins=deep)
    assert (found.analysis, outputs(found)) == ("full", ["n: a", "m: b"])


def test_a_function_over_rows_may_use_each_column():
    """Its columns come of all; the record is partial, and never full without any source."""
    found = of_an_rdd(stored(7, exact=False), origins={7: [project([A], [B]), T]})
    assert (found.analysis, outputs(found)) == ("partial", ["n: a, b", "m: a, b"])
    assert found.reason == "LogicalRDD: a function over rows, whose columns may come of any column"


def test_rows_from_elsewhere_are_told():
    """An RDD of files, say: the record is partial, with the kind of RDD."""
    found = of_an_rdd(stored(exact=False, unknown=["HadoopRDD"]), origins={})
    assert (found.analysis, found.reason) == (
        "partial",
        "LogicalRDD: rows of a HadoopRDD, whose sources are not known",
    )


@pytest.mark.parametrize(
    "leaf",
    [
        node("LogicalRDD", output=[[A]]),
        node("LocalRelation", output=[[A]]),
        node("Range", output=[[A]]),
        node("ExternalRDD", outputObjAttr=[A]),
    ],
)
def test_rows_of_the_session_come_from_no_object(leaf):
    """createDataFrame, range, local rows."""
    found = access([leaf])
    assert (found.direct_objects_accessed, outputs(found)) == ((), ["a: "])


def test_a_hive_table_has_its_partition_columns_last():
    """HiveTableRelation keeps data and partition columns apart."""
    meta = {"identifier": {"database": "s", "table": "h"}}
    found = access([node("HiveTableRelation", tableMeta=meta, dataCols=[[A]], partitionCols=[[B]])])
    assert (outputs(found), [o.name for o in found.direct_objects_accessed]) == (["a: a", "b: b"], ["s.h"])


@pytest.mark.parametrize(
    ("fields", "direct"),
    [
        (
            {"isTempView": False, "desc": {"identifier": {"catalog": "c", "database": "s", "table": "v"}}},
            "c.s.v",
        ),
        ({"isTempView": True, "desc": {}}, "c.s.t"),
    ],
)
def test_a_view_is_the_direct_object_unless_it_is_temporary(fields, direct):
    """Of a view the own columns are direct sources, what lies below is base."""
    found = access(
        [node("View", 1, **fields), node("Filter", 1, condition=equal(B, literal("1"))), project([A], [B]), T]
    )
    assert [o.name for o in found.direct_objects_accessed] == [direct]
    assert [o.name for o in found.base_objects_accessed] == ["c.s.t"]
    assert {ref.object_name for c in found.columns for ref in c.direct_sources} == {direct}
    assert [_names(c.indirect_sources) for c in found.columns] == ["b", ""]


def test_except_yields_values_of_the_left_side():
    """The right side takes rows away; without ALL whole rows are compared."""
    sides = [project([A], [B]), T, project([X], [Y]), U]
    assert outputs(access([node("Except", 2, isAll=True), *sides])) == ["a: a | x, y", "b: b | x, y"]
    assert outputs(access([node("Except", 2, isAll=False), *sides])) == ["a: a | b, x, y", "b: b | a, x, y"]


def test_intersect_yields_values_of_both_sides():
    """Without ALL whole rows are compared, so each column shapes the others."""
    sides = [project([A], [B]), T, project([X], [Y]), U]
    assert outputs(access([node("Intersect", 2, isAll=True), *sides])) == ["a: a, x", "b: b, y"]
    assert outputs(access([node("Intersect", 2, isAll=False), *sides])) == [
        "a: a, x | b, y",
        "b: b, y | a, x",
    ]


@pytest.mark.parametrize(
    ("generator", "made", "expected"),
    [
        ([node("JsonTuple", 2), B, literal("k", "string")], ["c0"], ["c0: b"]),
        ([node("Inline", 1), B], ["p", "q"], ["p: b.p", "q: b.q"]),
        (
            [node("Stack", 5), literal("2"), A, B, literal("1"), A],
            ["col0", "col1"],
            ["col0: a", "col1: a, b"],
        ),
    ],
)
def test_a_generator_makes_columns_of_its_argument(generator, made, expected):
    """json_tuple makes each of the whole, inline of a field each, stack spreads its cells."""
    output = [[attribute(name, 70 + at)] for at, name in enumerate(made)]
    found = access([node("Generate", 1, generator=generator, generatorOutput=output), T])
    assert [text.partition(" |")[0] for text in outputs(found)[2:]] == expected


def test_code_over_rows_makes_each_column_of_each():
    """MapInPandas: nobody can look into the function."""
    plan = [node("MapInPandas", 1, output=[[attribute("p", 80)], [attribute("q", 81)]]), T]
    assert outputs(access(plan)) == ["p: a, b", "q: a, b"]
    adding = [node("ArrowEvalPython", 1, resultAttrs=[[attribute("p", 80)]]), T]
    assert outputs(access(adding)) == ["a: a", "b: b", "p: a, b"]
