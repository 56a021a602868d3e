"""Every command, asked wrongly: a clear line on stderr, an exit code of 0, 1 or 2, never a traceback."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.core.errors import AuditError

# A command, and arguments that it can be run with.
COMMANDS = {
    "backup estimate": ["s.t"],
    "backup restore": ["s.b", "s.t"],
    "backup run": [],
    "backup verify": [],
    "check": [],
    "coverage": [],
    "digest anchor": ["/nowhere/kept.txt"],
    "digest export": [],
    "digest key": [],
    "digest rotate": [],
    "doctor": [],
    "export access-history": ["--format", "snowflake-json"],
    "export datahub": [],
    "export openlineage": [],
    "export send": [],
    "failsafe list": [],
    "failsafe restore": ["s.t"],
    "import openlineage": ["events.ndjson"],
    "ingest": [],
    "lineage": ["s.t"],
    "prove": ["01a220f1-6b55-745a-94d3-74d326b1e345"],
    "purge": [],
    "query": ["who_read_column"],
    "report": ["access"],
    "retain": [],
    "setup": [],
    "status": [],
    "storage": [],
    "summarize": [],
    "verify": [],
}
MAKES_ROOTS = {"doctor", "setup"}
"""Commands for a root that need not be there."""
MISTAKES = {
    "backup estimate": [[], ["s.t", "--days", "0"], ["s.t", "--conf", "x"]],
    "backup restore": [[], ["s.b"], ["s.b", "s.t", "x"], ["s.b", "s.t", "--conf", "x"]],
    "backup run": [["x"], ["--watch", "--dry-run"], ["--every", "1"]],
    "backup verify": [["a", "b"], ["--days", "1"]],
    "check": [
        ["x"], ["--from", "soon"], ["--min-coverage", "101"], ["-o", "/nowhere/x.html"], ["--format", "pdf"],
    ],
    "coverage": [
        ["x"], ["--from", "soon"], ["--to", "1"], ["--min-coverage", "101"], ["--conf", "x"],
        ["--from", "2026-02-01", "--to", "2026-01-01"],
    ],
    "digest anchor": [[], ["/"], ["a", "b"]],
    "digest export": [["x"], ["--conf", "x"]],
    "digest key": [["x"], ["--conf", "x"]],
    "digest rotate": [["x"], ["--conf", "x"]],
    "doctor": [["x"], ["--rot"]],
    "export access-history": [
        [], ["--format", "csv"], ["--format", "unity-json", "--rows", "audit"],
        ["--format", "unity-json", "x"],
    ],
    "export datahub": [["x"], ["--env"], ["--from", "soon"]],
    "export openlineage": [
        ["x"], ["--from", "soon"], ["--from", "2026-02-01", "--to", "2026-01-01"], ["--conf", "x"],
    ],
    "export send": [["x"], ["--conf", "x"]],
    "failsafe list": [["x"], ["--conf", "x"]],
    "failsafe restore": [[], ["s.t", "--at", "soon", "--as", "s.u"], ["s.t", "--at", "2026-01-01"]],
    "import openlineage": [[], ["/nowhere/events.ndjson"], ["a", "--conf", "x"]],
    "ingest": [["x"], ["--conf", "x"], ["--watch=1"]],
    "lineage": [
        [], ["s.t", "--depth", "0"], ["s.t", "--depth", "x"], ["s.t", "--upstream", "--downstream"],
        ["s.t", "--both", "--upstream"], ["s.t", "--format", "png"],
    ],
    "prove": [[], ["x"], ["01a220f1-6b55-745a-94d3-74d326b1e345", "--key", "x"]],
    "purge": [["x"], ["--conf", "x"]],
    "query": [
        ["nothing"], ["who_read_column", "--param", "x"], ["who_read_column", "--param", "nobody=1"],
        ["--limit", "-1"], ["--format", "csv", "--json"], ["a", "b"], ["--format", "xlsx"],
    ],
    "report": [
        [], ["acces"], ["access", "bob"], ["user"], ["access", "--from", "soon"], ["--pack", "pci"],
        ["access", "--from", "2026-02-01", "--to", "2026-01-01"], ["access", "--format", "xlsx"],
        ["access", "b", "c"],
    ],
    "retain": [["--days", "0"], ["--days", "x"]],
    "setup": [["x"], ["--archiv"]],
    "status": [["x"], ["--conf", "x"]],
    "storage": [["s.t", "t"], ["--days", "-1"], ["--past", "x"]],
    "summarize": [["x"], ["--days", "1"]],
    "verify": [
        ["--from", "soon"], ["--to", "1"], ["x"], ["--from", "2026-02-01", "--to", "2026-01-01"],
        ["--against", "/nowhere/kept.txt"], ["--key", "x"],
    ],
}  # fmt: skip


def run(name, *arguments):
    """A command; whatever is no error of ours or Click's is raised."""
    return CliRunner().invoke(main, [*name.split(), *map(str, arguments)], catch_exceptions=False)


def leaves(command, path=""):
    """The names of all commands, those of groups with the group's."""
    if not isinstance(command, click.Group):
        yield path.strip()
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), f"{path} {name}")


def test_the_table_has_every_command():
    """A new command is asked wrongly as the others are."""
    assert sorted(leaves(main)) == sorted(COMMANDS) == sorted(MISTAKES)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_has_help_json_and_root(name):
    """As docs/operations.md says."""
    answer = run(name, "--help")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "--json" in answer.stdout
    assert "--root" in answer.stdout


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - MAKES_ROOTS))
def test_a_root_that_is_not_there_is_named(name, form, tmp_path):
    """Before Spark starts; nothing is made there, and a folder of something else is none either."""
    (tmp_path / "other").mkdir()
    (tmp_path / "file").write_text("")
    states = {"typo": "is not there", "other": "has no audit in it", "file": "is no folder"}
    for root, state in ((tmp_path / name, state) for name, state in states.items()):
        answer = run(name, *COMMANDS[name], *form, "--root", root)
        assert (answer.exit_code, answer.stdout) == (2, ""), answer.output
        said = answer.stderr.splitlines()[-1]
        assert said.startswith(f"audit: AUDIT_ROOT_MISSING: the root {root} {state}; check --root")
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "file", tmp_path / "other"]


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, one) for name, wrong in MISTAKES.items() for one in wrong]
)
def test_a_wrong_argument_is_named(name, arguments):
    """By Click or by us, before anything is opened."""
    answer = run(name, *arguments)
    assert answer.exit_code == 2, answer.output
    assert answer.stdout == ""
    last = answer.stderr.strip().splitlines()[-1]
    assert last.startswith(("Error: ", "audit: AUDIT_")), last


def test_the_doctor_shows_the_configuration_of_a_root(tmp_path):
    """Also of one that is not there yet."""
    answer = run("doctor", "--root", tmp_path / "new", "--json")
    found = {row["what"]: row for row in json.loads(answer.stdout)}
    assert answer.exit_code in (0, 1)
    assert (found["root"]["found"], found["root"]["source"]) == (str(tmp_path / "new"), "argument")


def test_setup_names_a_root_that_cannot_be(tmp_path):
    """A file, or a place that is not on this machine."""
    (tmp_path / "file").write_text("")
    for root, code in ((tmp_path / "file", "AUDIT_ROOT_UNWRITABLE"), ("s3a://b/x", "AUDIT_ROOT_NOT_LOCAL")):
        answer = run("setup", "--root", root)
        assert answer.exit_code == 2
        assert answer.stderr.startswith(f"audit: {code}: ")


def test_a_file_that_is_no_utf_8_is_named(tmp_path):
    """Before a Spark starts for it; so is one with a parameter that nobody gives."""
    file = tmp_path / "latin.sql"
    file.write_bytes("SELECT 'ä'".encode("latin-1"))
    answer = run("query", file)
    assert (answer.exit_code, str(file) in answer.stderr) == (2, True)
    assert answer.stderr.startswith("audit: AUDIT_QUERY_FILE_UNREADABLE: ")
    file.write_text("SELECT v:field FROM t WHERE a = :who AND b=:what")
    answer = run("query", file, "--param", "who=ann")
    assert (answer.exit_code, "has no value for :what" in answer.stderr) == (2, True)
    answer = run("query", file, "--param", "who=ann", "--param", "what=1", "--param", "field=1")
    assert "has no parameter field" in answer.stderr


def test_an_interrupt_is_no_traceback(monkeypatch):
    """Ctrl-C while it waits for anything."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.cli.tool.Tool.require_audit", interrupted)
    answer = run("status")
    assert answer.exit_code == 2
    assert answer.stderr == "audit: interrupted; what was not done is done by the next run\n"


def test_all_errors_of_ours_are_one_line():
    """`AuditError` has no line break of its own in its class's words."""
    assert "\n" not in AuditError("a", "b").message
