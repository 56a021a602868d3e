"""`audit doctor` and `audit setup`: what they answer, and with which exit code."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.spark.embedded import jars


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command line in a folder of its own; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments, **environ):
        answer = CliRunner().invoke(
            main, arguments, env={"COLUMNS": "200", **environ}, catch_exceptions=False
        )
        return answer.exit_code, answer.stdout, answer.stderr

    return command


def by_name(text):
    """The findings of the JSON answer, by what they are about."""
    return {finding["what"]: finding for finding in json.loads(text)}


def test_all_is_well(run):
    """On a machine that is set up, doctor exits with 0 and every finding is ok."""
    code, out, err = run("doctor", "--json")
    findings = by_name(out)
    assert [what for what, finding in findings.items() if not finding["ok"]] == []
    assert (code, err) == (0, "")
    assert {"python", "java", "pyspark", *(jar.name for jar in jars.locked()), "root"} <= set(findings)


def test_text_and_json_say_the_same(run):
    """Each finding of the JSON is a line for people, however narrow their terminal is."""
    _, as_json, _ = run("doctor", "--json")
    code, as_text, _ = run("doctor", COLUMNS="80")
    assert code == 0
    assert [line.split()[:2] for line in as_text.splitlines()] == [
        ["ok", what.split()[0]] for what in by_name(as_json)
    ]


def test_what_is_amiss_is_told_and_exits_with_1(run, tmp_path):
    """Missing Java, missing jars and a bad setting are each a finding with the way out; exit code 1."""
    environ = {
        "JAVA_HOME": str(tmp_path),
        "AUDIT_JARS_DIR": str(tmp_path / "none"),
        "AUDIT_RETENTION_DAYS": "0",
    }
    code, out, _ = run("doctor", "--json", **environ)
    findings = by_name(out)
    assert code == 1
    assert "install a JDK 17" in findings["java"]["found"]
    assert "run `audit setup`" in findings["delta-storage-4.4.0.jar"]["found"]
    assert "AUDIT_RETENTION_DAYS" in findings["configuration"]["found"]


def test_each_fields_source_is_shown(run):
    """The configuration stands there with where each value came from."""
    _, out, _ = run("doctor", "--json", AUDIT_USER="ada")
    findings = by_name(out)
    assert (findings["user"]["found"], findings["user"]["source"]) == ("ada", "AUDIT_USER")
    assert findings["retention_days"]["source"] == "default"


def test_setup_gives_the_jars_paths(run):
    """`audit setup` answers with the path of each jar of the lock file."""
    code, out, _ = run("setup", "--json")
    assert code == 0
    assert [row["what"] for row in json.loads(out)] == [jar.name for jar in jars.locked()]


def test_an_error_is_one_line_and_exit_code_2(run, tmp_path):
    """A command that cannot be run says so in one line on stderr, with its stable code."""
    code, out, err = run("setup", JAVA_HOME=str(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith("audit: AUDIT_JAVA_NOT_FOUND: JAVA_HOME is ")
    assert err.count("\n") == 1
