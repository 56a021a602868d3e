"""Each question about a name, a path or an id has one answer, in one module."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = "lineage/names.py"
PATHS = "audit/core/file_paths.py"
IDS = "lineage/catalog/object_ids.py"
SOURCES = [path for folder in ("audit", "lineage", "views") for path in sorted((ROOT / folder).rglob("*.py"))]


def constants(tree):
    """The texts of a module that are not docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def matches(pattern, home):
    """Where a text other than a docstring matches, outside the module that may."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in SOURCES
        if path != ROOT / home
        for line, text in constants(ast.parse(path.read_text()))
        if re.search(pattern, text)
    ]


def quotes(path):
    """The lines that put back-ticks in or take them out by `replace`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "replace"
        and any(isinstance(arg, ast.Constant) and arg.value in ("`", "``") for arg in node.args)
    ]


def test_names_are_quoted_in_one_module():
    """Back-ticks are put in and taken out in `lineage.names` alone."""
    found = [f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for line in quotes(path)]
    assert {one.partition(":")[0] for one in found} == {NAMES}, found


@pytest.mark.parametrize(
    ("what", "pattern", "home"),
    [
        ("the session catalog's name", r"(^|\.)spark_catalog$", NAMES),
        ("the words for a schema", r"\b(DATABASES?|NAMESPACES?)($|\|)", NAMES),
        ("a pattern that splits names", r"\[\^\.?`(?!\]\*`\|--)", NAMES),
        ("a pattern for file:", r"\^file:|^file://$", PATHS),
    ],
)  # fmt: skip
def test_one_module_holds(what, pattern, home):
    """What is asked in many places is written down in one."""
    assert (ROOT / home).is_file()
    assert matches(pattern, home) == [], f"{what}: use {home}"


def test_ids_are_made_in_one_module():
    """One module makes integers of names; two more make them of random bytes and for sampling."""
    found = {str(path.relative_to(ROOT)) for path in SOURCES if "int.from_bytes(" in path.read_text()}
    assert found == {IDS, "audit/core/ids.py", "audit/analysis/analyst.py"}
