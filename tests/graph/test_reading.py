"""The tables as Delta writes them: read without a JVM, from roots of any name, on the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from audit.cli import main
from audit.graph.errors import LineageTablesUnreadable
from audit.store.lineage_tables import LineageTables, snapshot_of

from .story import Story


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root whose name needs quoting in a URL, with a chain and its views."""
    story = Story()
    story.write("raw.f", {"d": ["raw.file.c"]})
    story.view("clean.v", {"delay": ["raw.f.d"]})
    story.write("mart.m", {"avg": ["clean.v.delay"]}, indirect=["raw.f.k"])
    return story.save(tmp_path_factory.mktemp("a root % with+ 表"))


def run(root, *arguments):
    """A command in this process: exit code and what it says."""
    answer = CliRunner().invoke(main, ["lineage", *arguments, "--root", str(root)], catch_exceptions=False)
    return answer.exit_code, answer.output


def test_the_shell_shows_a_tree(root):
    """Upstream if nothing is said, hop by hop."""
    code, said = run(root, "mart.m.avg")
    assert (code, [line.split("  [")[0].strip("│└─ ") for line in said.splitlines()]) == (
        0,
        [
            "spark_catalog.mart.m.avg",
            "comes from:",
            "spark_catalog.clean.v.delay",
            "spark_catalog.raw.f.d",
            "spark_catalog.raw.file.c",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "edges"),
    [
        (("mart.m.avg",), 3),
        (("mart.m", "--depth", "1"), 1),
        (("mart.m.avg", "--include-indirect"), 4),
        (("raw.f.d", "--downstream"), 2),
        (("raw.f.d", "--both"), 3),
        (("clean.v", "--upstream", "--as-of", "2026-01-03T12:00"), 2),
        (("raw.f", "--downstream", "--as-of", "2026-01-03"), 0),
        (("mart.m", "--tables"), 3),
    ],
)
def test_the_shell_answers_in_json(root, arguments, edges):
    """Every option changes the answer as it says."""
    code, said = run(root, *arguments, "--format", "json")
    assert (code, len(json.loads(said)["edges"])) == (0, edges)


def test_the_shell_draws(root):
    """Mermaid and SVG."""
    assert run(root, "mart.m", "--format", "mermaid")[1].startswith("flowchart LR\n")
    assert run(root, "mart.m", "--format", "svg")[1].startswith("<svg ")


def test_what_cannot_be_answered_is_one_line_and_exit_code_2(root, tmp_path):
    """An unknown name, a moment that is none, a root without tables."""
    (tmp_path / "spool").mkdir()
    for where, arguments, code in (
        (root, ("mart.n",), "AUDIT_LINEAGE_NAME_UNKNOWN"),
        (root, ("mart.m", "--as-of", "soon"), "AUDIT_LINEAGE_OPTION_INVALID"),
        (tmp_path, ("mart.m",), "AUDIT_LINEAGE_TABLES_UNREADABLE"),
    ):
        exit_code, said = run(where, *arguments)
        assert (exit_code, said.count("\n"), said.split(": ")[1]) == (2, 1, code)


def test_a_root_elsewhere_that_nothing_can_read_says_so():
    """A store that delta-rs does not know, without a Spark."""
    with pytest.raises(LineageTablesUnreadable, match=r"ask with audit\.lineage"):
        snapshot_of("hdfs2://nowhere/audit")


def test_the_shell_starts_no_jvm_and_imports_no_spark(root):
    """In a process of its own nothing of PySpark, sqlglot or pandas is imported."""
    code = (
        "import sys; from audit.cli import main\n"
        f"try: main(['lineage', 'mart.m', '--root', {str(root)!r}])\n"
        "except SystemExit as end: assert not end.code\n"
        "print(sorted({'pyspark', 'py4j', 'sqlglot', 'pandas', 'rich'} & set(sys.modules)))"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_new_version_is_read_and_an_old_one_is_not_read_twice(tmp_path):
    """What a table's commit adds is in the next answer; without one the same snapshot serves."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.save(tmp_path)
    first = snapshot_of(str(tmp_path))
    assert snapshot_of(str(tmp_path)) is first
    story.write("s.c", {"x": ["s.b.x"]})
    story.save(tmp_path)
    assert len(snapshot_of(str(tmp_path)).row) == len(first.row) + 1


def test_tables_without_rows_are_an_empty_graph(tmp_path):
    """Just made, nothing in them yet."""
    for name, rows in zip(("column_lineage", "table_lineage"), Story().arrow(), strict=True):
        DeltaTable.create(str(tmp_path / name), rows.schema, partition_by=["query_date"])
    assert len(snapshot_of(str(tmp_path)).row) == 0


def test_files_without_a_column_read_as_null(tmp_path):
    """Older files lack what a later version has added."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.save(tmp_path)
    more = Story()
    more.write("s.c", {"x": ["s.b.x"]})
    columns, _ = more.arrow()
    write_deltalake(
        str(tmp_path / "column_lineage"),
        columns.append_column("later", pa.array(["new"])),
        mode="append",
        schema_mode="merge",
    )
    assert LineageTables.newest(str(tmp_path)).read("column_lineage").num_rows == 2
