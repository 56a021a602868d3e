"""Edges of lineage from text, one fixture a rule: what a statement made of what, and how."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from audit.record.lineage_edges import edges
from lineage import MemoryCatalog, analyze
from lineage.catalog.identify import identify

_SPEC = importlib.util.spec_from_file_location("lineage_fixtures", Path(__file__).parent / "fixtures.py")
fixtures = importlib.util.module_from_spec(_SPEC)
sys.modules["lineage_fixtures"] = fixtures
_SPEC.loader.exec_module(fixtures)

FILES = sorted((fixtures.FOLDER / "edges").glob("*.sql"))
CASES = [case for path in FILES for case in fixtures.cases(f"edges/{path.name}")]


def _short(name):
    return "-" if name is None else name.removeprefix(fixtures.CATALOG)


def _kinds(edge):
    kinds = edge["source_kinds"]
    return "" if kinds in (["direct", "base"], [None]) else f"{', '.join(kinds)} "


def rendered(access):
    """A target a line, below it its edges and the tables that they come from; `*` is every column."""
    lines = [f"{access.statement_type} {access.analysis}"]
    for target in edges(access):
        lines.append(_short(target["target_object_name"]) + (" overwritten" if target["overwrites"] else ""))
        for edge in target["columns"]:
            source = f"{_short(edge['source_object_name'])}.{edge['source_column_name']}"
            to = edge.get("target_column_name", "*")
            assert edge["is_indirect"] == (edge["transformation"] == "INDIRECT")
            lines.append(f"  {_kinds(edge)}{source} -> {to} {edge['transformation']}")
        for row in target["tables"]:
            name, by = _short(row.get("source_object_name")), " indirect" if row["is_indirect"] else ""
            lines.append(f"  {_kinds(row)}table {name}{by}")
    return tuple(lines)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_statement_makes_the_edges_of_its_fixture(case):
    """The edges of the statement, written as text, are the fixture's."""
    assert rendered(analyze(case.sql.rstrip(";"), fixtures.catalog())) == case.expected, case.rule


def test_every_fixture_states_its_rule_and_its_source():
    """A fixture without a reason is a guess."""
    assert CASES
    assert all(case.rule and case.source for case in CASES)


def test_keys_of_a_wide_statement_are_stored_once():
    """2,000 columns grouped by 2,000 keys are 2,000 indirect edges a kind, not four million."""
    names = [f"c{n}" for n in range(2000)]
    catalog = MemoryCatalog({"s.wide": dict.fromkeys(names, "int")}, current_schema="s")
    listed = ", ".join(names)
    (target,) = edges(analyze(f"CREATE TABLE o AS SELECT {listed} FROM wide GROUP BY {listed}", catalog))
    assert len(target["columns"]) == 4000
    assert [edge["is_indirect"] for edge in target["columns"]].count(True) == 2000


def test_keys_of_many_wide_windows_are_said_of_the_object():
    """300 columns over one window of 300 keys are 300 indirect edges, not 90,000."""
    names = [f"c{n}" for n in range(300)]
    catalog = MemoryCatalog({"s.wide": dict.fromkeys(names, "int")}, current_schema="s")
    sums = ", ".join(f"sum({name}) OVER w AS {name}" for name in names)
    sql = f"CREATE TABLE o AS SELECT {sums} FROM wide WINDOW w AS (PARTITION BY {', '.join(names)})"
    (target,) = edges(analyze(sql, catalog))
    indirect = [edge for edge in target["columns"] if edge["is_indirect"]]
    assert len(indirect) == 300
    assert not any("target_column_name" in edge for edge in indirect)


def test_names_of_any_kind_stand_as_they_are():
    """Dots, letters beyond ASCII and markup in names reach the edges unchanged."""
    columns = {"weird.col": "int", "Ünïcode": "int", "<script>": "int", "it's": "int"}
    catalog = MemoryCatalog({"s.`odd.tab`": columns, "s.t": columns}, current_schema="s")
    (target,) = edges(analyze("INSERT INTO t SELECT * FROM `odd.tab`", catalog))
    assert [edge["source_column_name"] for edge in target["columns"]] == list(columns)
    assert [edge["target_column_name"] for edge in target["columns"]] == list(columns)
    assert {edge["source_object_name"] for edge in target["columns"]} == {"spark_catalog.s.`odd.tab`"}


def test_edges_have_ids_where_the_catalog_knows_none():
    """What `identify` fills in reaches both ends of an edge, those of a view's definition too."""
    for sql in (
        "INSERT INTO w SELECT a, b FROM t WHERE c > 1",
        "CREATE VIEW n AS SELECT a, b FROM t WHERE c > 1",
    ):
        access = identify(analyze(sql, fixtures.catalog()), {})
        (target,) = edges(access)
        assert target["target_object_id"]
        for edge in target["columns"]:
            assert edge["source_object_id"]
            assert edge["source_column_id"]
            assert edge["is_indirect"] or edge["target_column_id"]
