"""A root that was copied in part, is damaged, or may not be read: the file is named, and no Spark starts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from audit.cli import main
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY

from .roots import make_root, rows_of

COMMANDS = {
    "status": ["status"],
    "coverage": ["coverage"],
    "verify": ["verify"],
    "query": ["query", "SELECT count(*) FROM account_usage.statements"],
    "report": ["report", "access", "--json"],
}
TABLE = "query_history"


def row(n):
    """A statement of one day, which has succeeded."""
    return {
        "query_id": f"q{n}",
        "start_time": f"2026-11-{n + 1:02}T12:00",
        "query_type": "SELECT",
        "execution_status": "SUCCESS",
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Three commits in each of the two tables of statements, a checkpoint in none."""
    root = make_root(tmp_path_factory.mktemp("root"), {})
    for n in (1, 2):
        write_deltalake(f"{root}/{TABLE}", rows_of(QUERY_HISTORY, [row(n)]), mode="append")
        record = {"query_id": f"q{n}", "query_start_time": row(n)["start_time"]}
        write_deltalake(f"{root}/access_history", rows_of(ACCESS_HISTORY, [record]), mode="append")
    return root


@pytest.fixture
def root(whole, tmp_path, monkeypatch):
    """A copy to be damaged. Whatever would start Spark fails by its Java."""
    monkeypatch.setenv("JAVA_HOME", "/nonexistent/java")
    return Path(shutil.copytree(whole, tmp_path / "root"))


def run(name, root):
    """Exit code and the last line of what a command says on stderr."""
    done = CliRunner().invoke(main, [*COMMANDS[name], "--root", str(root)], catch_exceptions=False)
    return done.exit_code, (done.stderr.splitlines() or [""])[-1]


def commit(root, version):
    """A commit of the table."""
    return root / TABLE / "_delta_log" / f"{version:020}.json"


def data_file(root):
    """One of the table's data files."""
    return next((root / TABLE).glob("query_date=*/*.parquet"))


def half(file):
    """A copy that was cut off."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def hint_of_nothing(root):
    """The hint at a checkpoint that was not copied."""
    hint = commit(root, 0).with_name("_last_checkpoint")
    hint.write_text('{"version":2,"size":3}')
    return hint.with_name(f"{2:020}.checkpoint.parquet")


def after_a_lost_checkpoint(root):
    """Delta has cleaned up what was before its checkpoint, and that was not copied."""
    for version in (0, 1):
        commit(root, version).unlink()
    return commit(root, 0)


def touched(damage, file):
    """The file, damaged."""
    damage(file)
    return file


DAMAGES = {
    "the newest commit is empty": lambda root: touched(lambda file: file.write_bytes(b""), commit(root, 2)),
    "the newest commit is cut off": lambda root: touched(half, commit(root, 2)),
    "a commit is cut off": lambda root: touched(half, commit(root, 1)),
    "the first commit is gone": lambda root: touched(Path.unlink, commit(root, 0)),
    "a commit is gone": lambda root: touched(Path.unlink, commit(root, 1)),
    "the checkpoint is gone": hint_of_nothing,
    "the hint is damaged": lambda root: touched(
        lambda file: file.write_text("{"), commit(root, 0).with_name("_last_checkpoint")
    ),
    "all before the checkpoint is gone": after_a_lost_checkpoint,
    "a data file is gone": lambda root: touched(Path.unlink, data_file(root)),
    "a data file is cut off": lambda root: touched(half, data_file(root)),
    "a data file is empty": lambda root: touched(lambda file: file.write_bytes(b""), data_file(root)),
}


# `verify` wants the types that Spark writes: tests/query/test_verification.py damages its data files.
@pytest.mark.parametrize(
    ("damage", "name"),
    [(damage, name) for damage in DAMAGES for name in COMMANDS if "data" not in damage or name != "verify"],
)
def test_the_file_is_named(root, damage, name):
    """One line: no answer is made of what is left."""
    file = DAMAGES[damage](root)
    code, said = run(name, root)
    assert code == 2, said
    assert said.startswith("audit: AUDIT_TABLE_UNREADABLE: "), said
    assert str(file) in said
    assert "bring it back from a backup" in said


def test_a_log_with_a_checkpoint_is_whole(root):
    """Without the commits before it, which Delta cleans up, and with those after it."""
    DeltaTable(f"{root}/{TABLE}").create_checkpoint()
    write_deltalake(f"{root}/{TABLE}", rows_of(QUERY_HISTORY, [row(3)]), mode="append")
    for version in (0, 1, 2):
        commit(root, version).unlink()
    done = CliRunner().invoke(main, [*COMMANDS["query"], "--json", "--root", str(root)])
    assert (done.exit_code, [*json.loads(done.stdout)[0].values()]) == (0, [3])
    commit(root, 3).write_bytes(b"")
    assert str(commit(root, 3)) in run("query", root)[1]


def test_the_log_of_governance(root):
    """Of another table than those of statements, too."""
    write_deltalake(f"{root}/governance_history", rows_of(QUERY_HISTORY, [row(1)]))
    file = root / "governance_history" / "_delta_log" / f"{0:020}.json"
    half(file)
    asked = ["query", "SELECT count(*) FROM account_usage.object_governance", "--root", str(root)]
    done = CliRunner().invoke(main, asked, catch_exceptions=False)
    assert (done.exit_code, str(file) in done.stderr) == (2, True), done.output


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes the rights of root away")
@pytest.mark.parametrize("folder", ["", TABLE, f"{TABLE}/_delta_log"], ids=["root", "table", "log"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_without_rights(root, folder, name):
    """The folder is named; it is not said that nothing is there."""
    said = without_rights(root, folder, name)
    assert str(root / folder) in said
    assert "Permission denied" in said
    assert "let this user read" in said


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes the rights of root away")
def test_a_spool_without_rights(root):
    """`status` cannot say what waits there, and says that."""
    (root / "spool").mkdir()
    said = without_rights(root, "spool", "status")
    assert said.startswith(f"audit: AUDIT_SPOOL_UNAVAILABLE: the spool {root}/spool cannot be used")


def without_rights(root, folder, name):
    """The last line of a command that may not read a folder of the root."""
    (root / folder).chmod(0)
    command = [sys.executable, "-m", "audit.cli", *COMMANDS[name], "--root", str(root)]
    without = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    try:
        done = subprocess.run([*without, *command], capture_output=True, text=True, check=False, timeout=120)
    finally:
        (root / folder).chmod(0o700)
    if "setpriv" in done.stderr:
        pytest.skip("only root may take rights away")
    *_, said = done.stderr.splitlines()
    assert (done.returncode, done.stdout, said.startswith("audit: AUDIT_")) == (2, "", True), done.stderr
    return said
