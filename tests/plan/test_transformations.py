"""What is done to a value on its way: the plan engine and the text engine say the same. No Spark."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from lineage import MemoryCatalog, analyze
from lineage.model import Column, Function
from lineage.plan import Leaf, PlanFacts, analyze_plan

CASES = sorted((Path(__file__).parent / "recorded").glob("*.json"))
CATALOG = MemoryCatalog(
    tables={
        "default.t": {
            "a": "int",
            "b": "string",
            "c": "struct<x:int,y:struct<z:string>>",
            "arr": "array<int>",
            "m": "map<string,int>",
            "sa": "array<struct<p:int,q:string>>",
        },
        "default.s": {"a": "int", "b": "string", "d": "double"},
        "default.d": {"a": "int", "b": "string"},
    },
    views={
        "default.v": "SELECT a, upper(b) AS ub FROM t WHERE c.x > 0",
        "default.w": "SELECT a AS wa, ub FROM v",
    },
    functions={
        "default.plus1": Function("plus1", parameters=(Column("n", "INT"),), data_type="INT", body="n + 1"),
        "default.maxd": Function("maxd", data_type="DOUBLE", body="(SELECT max(d) FROM s)"),
        "default.rows_of": Function(
            "rows_of", parameters=(Column("k", "INT"),), body="SELECT a, d FROM s WHERE a = k", is_table=True
        ),
    },
    current_schema="default",
)


def _of_plan(recorded):
    leaves = tuple(
        Leaf(**{**leaf, "columns": tuple(Column(**column) for column in leaf.get("columns", ()))})
        for leaf in recorded["leaves"]
    )
    return analyze_plan(orjson.dumps(recorded["plan"]), PlanFacts(leaves))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_both_engines_name_the_same_transformation(case):
    """Of each output column of a recorded plan, for its direct and for its base sources."""
    recorded = json.loads(case.read_text())
    by_plan, by_text = _of_plan(recorded), analyze(recorded["sql"], CATALOG)
    if by_text.analysis == "opaque":
        assert case.stem == "pipe"
        return
    assert len(by_plan.columns) == len(by_text.columns)
    for one, two in zip(by_plan.columns, by_text.columns, strict=True):
        if one.direct_sources:  # a table function's arguments, which toJSON leaves out, are none here
            assert one.direct_transformation == two.direct_transformation, one.name
        if one.base_sources:
            assert one.base_transformation == two.base_transformation, one.name


def test_recorded_plans_hold_each_transformation():
    """The comparison above sees values that are copied, computed and aggregated."""
    accesses = [_of_plan(json.loads(case.read_text())) for case in CASES]
    found = {column.base_transformation for access in accesses for column in access.columns}
    assert found == {"IDENTITY", "TRANSFORMATION", "AGGREGATION"}
