"""The house rules of the source tree: no circle of imports, files and folders of a size one can read."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PACKAGES = ("audit", "lineage", "views")
LONGEST_FILE = 500  # lines
FULLEST_FOLDER = 15  # files, without __init__.py


def modules() -> dict[str, Path]:
    """The files of the packages, by the names under which they are imported."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> dict[str, set[str]]:
    """What each file imports of ours: for types alone or inside a function, too."""
    known = modules()
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        found: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{one.name}" for one in node.names}
                found |= inside & known.keys() or {node.module}
        graph[name] = (found & known.keys()) - {name}
    return graph


def java_references() -> dict[str, set[str]]:
    """What each Java file names of ours: by an import, or out of its own package."""
    files = {path.stem: path for path in (ROOT / "java" / "src" / "main").rglob("*.java")}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', "", path.read_text("utf-8"), flags=re.DOTALL)
        words = set(re.findall(r"\w+", code))
        graph[name] = (words & files.keys()) - {name}
    return graph


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of files that import each other, however long the way round (Tarjan).

    Each group is in alphabetic order.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        path.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in path:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            group = path[path.index(name) :]
            del path[path.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return sorted(found)


def sources() -> Iterator[Path]:
    """The source files of the packages and of the Java module."""
    for folder in (*PACKAGES, "java"):
        for suffix in ("py", "java"):
            yield from (ROOT / folder).rglob(f"*.{suffix}")


def test_a_circle_is_found_whatever_its_length() -> None:
    """Two files, three files and a file beside them: the groups are told apart."""
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}, "f": {"a"}}
    assert circles(graph) == [["a", "b"], ["c", "d", "e"]]


def test_no_file_imports_itself_in_a_circle() -> None:
    """No group of files imports each other; type imports count."""
    assert circles(imports()) == []


def test_no_java_file_names_itself_in_a_circle() -> None:
    """The same in Java, whose compiler does not mind."""
    graph = java_references()
    assert graph["Enforcement"] > {"Governance", "PolicyRewriter"}
    assert circles(graph) == []


def contracts() -> dict[str, dict[str, list[str]]]:
    """The contracts of import-linter by their type; of those that forbid, the one for Py4J."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        found = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return {one["type"]: one for one in found}


def test_each_part_of_audit_stands_in_the_contracts() -> None:
    """A new module or package of `audit` has its layer, and is asked whether it imports Py4J."""
    parts = {".".join(name.split(".")[:2]) for name in modules() if name.startswith("audit.")}
    layers = {name.strip() for layer in contracts()["layers"]["layers"] for name in layer.split("|")}
    assert layers == parts | {"lineage", "views"}
    assert {*contracts()["forbidden"]["source_modules"]} == layers - {"audit.spark"}


def test_files_are_short() -> None:
    """No source file has more lines than can be read at a sitting."""
    long = {
        str(path.relative_to(ROOT))
        for path in sources()
        if len(path.read_text("utf-8").splitlines()) > LONGEST_FILE
    }
    assert long == set()


def test_folders_are_small() -> None:
    """No source folder has more files than can be seen at a glance."""
    count: dict[str, int] = {}
    for path in sources():
        if path.name != "__init__.py":
            folder = str(path.parent.relative_to(ROOT))
            count[folder] = count.get(folder, 0) + 1
    full = {folder for folder, files in count.items() if files > FULLEST_FOLDER}
    assert full == set()


def test_a_command_starts_without_pyspark() -> None:
    """Importing it takes a quarter of a second: who does not start Spark does without."""
    of_spark = {"audit.cli.doctor", "audit.cli.setup"}  # look at what is installed
    commands = sorted(name for name in modules() if name.startswith("audit.cli") and name not in of_spark)
    names = [*commands, "audit", "audit.store.tables", "audit.store.days.compaction", "lineage"]
    code = f"import importlib, sys; [importlib.import_module(name) for name in {names}]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {"pyspark", "py4j"}.isdisjoint(done.stdout.split())
    assert "audit.cli.answers.query" in done.stdout.split()
