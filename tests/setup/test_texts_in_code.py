"""Texts inside the code: names of modules that docstrings mention, and SQL, which has no `#` comments."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for package in ("audit", "lineage", "views") for path in (ROOT / package).rglob("*.py"))
MENTIONED = re.compile(r"`((?:audit|lineage|views)(?:\.\w+)+)(?:\(\))?`")
OF_SQL = re.compile(r"\b(SELECT|INSERT|CREATE|DELETE|UPDATE|MERGE|FROM|WHERE|JOIN)\b")


def exists(name):
    """Whether a dotted name is a module, or what stands in one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            known = getattr(found, "__annotations__", {})
            if not hasattr(found, part) and part not in known:
                return False
            found = getattr(found, part, None)
        return True
    return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_mentioned_is_there(path):
    """A module that has moved is called by its new name, in docstrings and comments too."""
    names = set(MENTIONED.findall(path.read_text("utf-8")))
    assert sorted(name for name in names if not name.endswith((".py", ".toml")) and not exists(name)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sql_has_no_comments_of_pythons(path):
    """In the middle of a query in several lines, `#` is a part of the query."""
    source = path.read_text("utf-8")
    docs = {
        node.body[0].value.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    wrong = [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if tokenize.tok_name[token.type] in ("STRING", "FSTRING_MIDDLE")
        and token.start[0] not in docs
        and OF_SQL.search(token.string)
        and any(line.strip().startswith("#") for line in token.string.splitlines())
    ]
    assert wrong == []
