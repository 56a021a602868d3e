"""Which writers replace all that was in their target, and which leave some of it. No Spark."""

from __future__ import annotations

import json

import pytest

from lineage.model import Column
from lineage.plan import Leaf, PlanFacts, Target, analyze_plan


def _node(kind, children=0, /, **fields):
    return {"class": f"org.apache.spark.sql.{kind}", "num-children": children, **fields}


_A = _node("AttributeReference", name="a", exprId={"id": 1})
_TABLE = {"identifier": {"catalog": "c", "database": "s", "table": "t"}}
_READ = _node("LogicalRelation", output=[[_A]], catalogTable=_TABLE)
_ALWAYS = [_node("Literal", dataType="boolean", value="true")]
_CHOSEN = [_node("EqualTo", 2), _A, _node("Literal", dataType="integer", value="3")]


def _written(kind, target, **fields):
    leaf = Leaf(
        kind,
        name="c.s.w",
        columns=(Column("a"),),
        partition_columns=target.pop("partition_columns", ()),
    )
    access = analyze_plan(
        json.dumps([_node(kind, 1, **fields), _READ]), PlanFacts(targets=(Target(leaf, **target),))
    )
    assert access.analysis == "full"
    (found,) = access.objects_modified
    return found


@pytest.mark.parametrize(
    ("kind", "target", "fields", "overwrites"),
    [
        ("AppendData", {}, {}, False),
        ("OverwriteByExpression", {}, {"deleteExpr": _ALWAYS}, True),
        ("OverwriteByExpression", {}, {"deleteExpr": _CHOSEN}, False),
        ("OverwriteByExpression", {"partial": True}, {"deleteExpr": _ALWAYS}, False),
        ("OverwritePartitionsDynamic", {}, {}, False),
        ("DeltaDynamicPartitionOverwriteCommand", {}, {}, False),
        ("SaveIntoDataSourceCommand", {"mode": "Append"}, {}, False),
        ("SaveIntoDataSourceCommand", {"mode": "Overwrite"}, {}, True),
        ("SaveIntoDataSourceCommand", {"mode": "Overwrite", "partial": True}, {}, False),
        ("InsertIntoHadoopFsRelationCommand", {"mode": "Overwrite"}, {}, True),
        (
            "InsertIntoHadoopFsRelationCommand",
            {"mode": "Overwrite", "partition_columns": ("a",)},
            {},
            False,
        ),
        ("InsertIntoHiveTable", {}, {"overwrite": True}, True),
        ("CreateDataSourceTableAsSelectCommand", {"mode": "Append"}, {}, False),
        ("CreateTableAsSelect", {}, {}, True),
        ("ReplaceTableAsSelect", {}, {}, True),
        ("ReplaceTableAsSelect", {"partial": True}, {}, False),
    ],
)
def test_a_writer_overwrites_or_leaves_some(kind, target, fields, overwrites):
    """By the command, its mode and its options; where the plan does not say, nothing is taken for gone."""
    found = _written(kind, dict(target), **fields)
    assert found.overwrites is overwrites
    assert [ref.column_name for ref in found.columns[0].base_sources] == ["a"]


def test_what_chooses_the_replaced_rows_shapes_the_target():
    """The condition of an overwrite is an indirect source of every column."""
    found = _written("OverwriteByExpression", {}, deleteExpr=_CHOSEN)
    assert [ref.column_name for ref in found.base_indirect] == ["a"]
