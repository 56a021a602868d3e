"""`audit report` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from tests.query.roots import make_root
from tests.spooled_events import spooled_events

from .roots import DAYS, HOSTILE, story_root


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["acces"], "there is no report 'acces'; the reports are access, "),
        (["sensitive"], "the reports are sensitive-data, "),
        ([], "name a report (access, sensitive-data, "),
        (["access", "--pack", "pci"], "there is no norm 'pci'; the norms are pci-dss-10, "),
        (
            ["access", "--from", "2026-11-30", "--to", "2026-11-01"],
            "turn it round: --from 2026-11-01 --to 2026-11-30",
        ),
        (["access", "--from", "2026-02-30"], "--from 2026-02-30 is no day"),
        (["access", "--to", "yesterday"], "--to yesterday is no day"),
        (["access", "--to", "20261130"], "--to 20261130 is no day"),
        (["user"], "user is a report about one user: audit report user NAME"),
        (["access", "bob"], "takes no name"),
        (["user", "bop", *DAYS], "no statement on record is of a user 'bop'; near it: bob"),
        (["user", "zzz", *DAYS], "users on record: "),
        (
            ["object", "p.peple", *DAYS],
            "nothing on record is called 'p.peple'; near it: spark_catalog.p.people",
        ),
    ],
)
def test_bad_input(run, tmp_path, words, said):
    """One line says what is wrong, and what to do; no file is made."""
    code, error = run(*words, "-o", tmp_path / "a.json")
    assert code == 2
    assert said in error
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file(run, tmp_path):
    """Before the work is done."""
    assert "end it with" in run("access", "-o", tmp_path / "a.txt")[1]
    assert "cannot be written" in run("access", "-o", tmp_path / "no" / "a.json")[1]
    assert "name the file" in run("access")[1]
    assert "name the file" in run("access", "--format", "pdf")[1]
    assert "give one" in run("access", "--json", "--format", "csv")[1]


def test_an_ambiguous_name(tmp_path, run):
    """The names that it may mean are listed."""
    other = {"objectDomain": "Table", "objectName": "spark_catalog.q.people", "columns": []}
    rows = [{"query_id": "q", "query_start_time": "2026-11-02", "direct_objects_accessed": [other]}]
    one = {**other, "objectName": "spark_catalog.p.people"}
    rows.append({"query_id": "r", "query_start_time": "2026-11-02", "direct_objects_accessed": [one]})
    root = make_root(tmp_path / "root", {"access_history": rows})
    code, error = run("object", "people", *DAYS, "-o", tmp_path / "a.json", of=root)
    assert (code, "'people' may be spark_catalog.p.people, spark_catalog.q.people" in error) == (2, True)


def test_a_name_out_of_the_period(run, tmp_path):
    """It is known, and the period says nothing of it."""
    path = tmp_path / "a.json"
    assert run("object", "P.PEOPLE", "--from", "2020-01-01", "--to", "2020-01-02", "-o", path)[0] == 0
    document = json.loads(path.read_text())
    assert document["title"] == "What happened to spark_catalog.p.people"
    assert all(len(one["rows"]) <= 1 for one in document["figures"] if one["name"].startswith("object"))


def test_a_hostile_name_is_bound(run, tmp_path, tables):
    """In the SQL it is a literal, and what cannot be seen in it an escape of Spark's."""
    path = tmp_path / "a.json"
    assert run("user", HOSTILE, *DAYS, "-o", path)[0] == 0
    [summary] = [one for one in json.loads(path.read_text())["figures"] if one["name"] == "user_summary"]
    assert "\\u202e" in summary["sql"]
    assert summary["rows"][0]["statements"] == tables.ask(summary["sql"], {}).rows[0][0] == 1


def test_each_format(run, tmp_path):
    """By the file's name."""
    for ending in ("html", "csv"):
        path = tmp_path / f"a.{ending}"
        assert run("access", *DAYS, "-o", path) == (0, f"{path}: 2026-11-01 to 2026-11-30\n")
        assert path.stat().st_size > 1_000


def test_without_a_file_it_is_printed(root):
    """What is text, as any other command's answer."""
    done = CliRunner().invoke(main, ["report", "access", "--json", "--root", root, *DAYS])
    assert (done.exit_code, json.loads(done.stdout)["report"]) == (0, "access")
    done = CliRunner().invoke(main, ["report", "access", "--format", "csv", "--root", root, *DAYS])
    assert done.stdout.startswith("\ufefffigure,name,title,day,reads")


def test_roots_that_cannot_be_read(run, tmp_path):
    """A folder without an audit, and one with half of it."""
    path = tmp_path / "a.json"
    assert "is not there" in run("access", "-o", path, of=str(tmp_path / "typo"))[1]
    (tmp_path / "half" / "spool").mkdir(parents=True)
    assert "AUDIT_TABLE_MISSING" in run("access", "-o", path, of=str(tmp_path / "half"))[1]
    assert "AUDIT_REPORT_ROOT_UNREADABLE" in run("access", "-o", path, of="hdfs://nowhere/audit")[1]


def test_a_root_without_lineage(run, tmp_path):
    """One of before lineage has all other figures."""
    from shutil import rmtree

    root = story_root(tmp_path / "old")
    for name in ("table_lineage", "column_lineage"):
        rmtree(f"{root}/{name}")
    path = tmp_path / "a.json"
    assert run("lineage", *DAYS, "-o", path, of=root)[0] == 0
    there = {one["name"]: one["is_there"] for one in json.loads(path.read_text())["figures"]}
    assert (there["flow"], there["written_to_files"]) == (False, True)


def test_no_spark_is_imported(root, tmp_path):
    """Nor py4j: a report is there within seconds."""
    code = (
        "import sys; from audit.cli import main\n"
        f"words = ['report', 'access', '-o', {str(tmp_path / 'a.json')!r}, '--root', {root!r}]\n"
        "main(words, standalone_mode=False)\n"
        "assert not {'pyspark', 'py4j'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_that_a_report_was_made_is_on_record(tmp_path, run):
    """What it was about, before the file is there; a report that fails has shown nothing."""
    root = story_root(tmp_path / "root")
    assert run("user", "bob", *DAYS, "-o", tmp_path / "a.csv", "--without-names", of=root)[0] == 0
    assert run(*DAYS, "--pack", "sox", "-o", tmp_path / "b.json", of=root)[0] == 0
    assert run("user", "nobody", *DAYS, "-o", tmp_path / "c.json", of=root)[0] == 2
    bob, sox = (event["query_text"] for event in spooled_events(root, "AUDIT_REPORT"))
    days = {"first": "2026-11-01", "last": "2026-11-30"}
    assert bob == {
        "report": "user", "about": "bob", "norm": None, "tables": [], "without_names": True,
        "format": "csv", **days,
    }  # fmt: skip
    assert sox == {
        "report": "sox", "about": None, "norm": "sox", "tables": [], "without_names": False,
        "format": "json", **days,
    }  # fmt: skip


def test_who_may_not_write_gets_the_report(tmp_path, run):
    """A line says that it is not on record."""
    root = story_root(tmp_path / "root")
    Path(root, "spool").write_text("no folder")
    code, said = run("access", *DAYS, "-o", tmp_path / "a.json", of=root)
    lost, made = said.splitlines()
    assert (code, lost.partition(": ")[0]) == (0, "that the tables were read is not on record")
    assert made.endswith("2026-11-01 to 2026-11-30")


def test_a_file_that_is_there(tmp_path, run):
    """It is replaced when the new one is whole; a folder is none; a link is followed by its name."""
    path = tmp_path / "a.json"
    path.write_text("old")
    assert run("user", "nobody", *DAYS, "-o", path)[0] == 2
    assert path.read_text() == "old"
    assert run("access", *DAYS, "-o", path)[0] == 0
    assert json.loads(path.read_text())["report"] == "access"
    (tmp_path / "b.json").mkdir()
    code, said = run("access", *DAYS, "-o", tmp_path / "b.json")
    assert (code, "AUDIT_REPORT_UNWRITABLE" in said, "is a folder" in said) == (2, True, True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["user", ""], "user is a report about one user"),
        (["user", " bob "], "no statement on record is of a user ' bob '; near it: bob"),
        (["user", "a\nb\u202e"], "'a\\nb\\u202e'"),
        (["object", "*"], "nothing on record is called '*'"),
        (["object", "'; DROP TABLE x --"], "nothing on record is called"),
        (["access", "--from", "0000-01-01"], "is no day"),
        (["access", "--from", "10000-01-01"], "is no day"),
        (["access", "--to", "2026-11-30T00:00"], "is no day"),
        (["access", "--from", ""], "is no day"),
        (["--pack", ""], "there is no norm ''"),
    ],
)
def test_hostile_input(run, tmp_path, words, said):
    """One line, whatever is typed; nothing of it steers the terminal."""
    code, error = run(*words, "-o", tmp_path / "a.json")
    assert (code, said in error, list(tmp_path.iterdir())) == (2, True, []), error
    assert "\u202e" not in error


def test_a_period_without_a_statement(run, tmp_path):
    """Each format is made, and says that nothing is on record."""
    for ending in ("json", "csv", "html"):
        path = tmp_path / f"a.{ending}"
        assert run("access", "--from", "9999-12-30", "--to", "9999-12-31", "-o", path)[0] == 0
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["findings"][0]["text"] == "No statement is on record in this period."
