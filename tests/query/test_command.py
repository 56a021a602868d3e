"""`audit query` as it is typed: names, SQL and files; forms of the answer."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from audit.cli import main
from audit.cli.tool import Tool
from audit.core.config import load
from audit.store.views import VIEWS
from tests.spooled_events import spooled_events

from .roots import add_catalog, add_storage, make_root

NOON = datetime.fromisoformat("2026-11-20T12:00")
COUNT = "SELECT user_name, count(*) AS n FROM account_usage.query_history GROUP BY ALL ORDER BY 1"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Two statements of ann, one of a user with a hostile name."""
    users = ("ann", "ann", '=1+1,"x"\n<b>')
    rows = [{"query_id": f"q{n}", "start_time": NOON, "user_name": user} for n, user in enumerate(users)]
    return make_root(tmp_path_factory.mktemp("root"), {"query_history": rows})


def run(root, *words):
    """Exit code, stdout, stderr."""
    done = CliRunner().invoke(main, ["query", *words, "--root", root], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_forms(root, tmp_path):
    """Each holds the same rows, CSV without a formula; a file's form is that of its name."""
    expected = [{"user_name": '=1+1,"x"\n<b>', "n": 1}, {"user_name": "ann", "n": 2}]
    assert json.loads(run(root, COUNT, "--json")[1]) == expected
    assert json.loads(run(root, COUNT, "--format", "json")[1]) == expected
    assert run(root, COUNT, "--format", "csv")[1] == 'user_name,n\n"\'=1+1,""x""\n<b>",1\nann,2\n'
    assert "ann" in run(root, COUNT)[1]
    for name in ("a.json", "a.csv", "a.parquet"):
        code, said, progress = run(root, COUNT, "-o", str(tmp_path / name))
        assert (code, said, progress) == (0, "", f"2 rows in {tmp_path / name}\n")
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == expected
    assert json.loads((tmp_path / "a.json").read_text()) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELEC * FROM x", "the query has a mistake at line 1, column 12, near 'FROM'"),
        ("SELECT (1", "the query has a mistake at line 1, column 9, near '1'"),
        ("SELECT 1 +\nFROM", "the query has a mistake at line 2, column 4"),
        ("SELECT 'a", "the query has a mistake: a quote or a comment in it has no end"),
        (
            "SELECT * FROM account_usage.statemnts",
            "there is no table or view statemnts among those of",
        ),
        ("SELECT * FROM account_usage.statemnts", "near it: statements"),
        ("SELECT * FROM Columns_read", "Columns_read is named without its schema"),
        ("SELECT * FROM columns_read", "write account_usage.columns_read"),
        ("SELECT * FROM zzz", "there is no table or view zzz among those of account_usage; docs/"),
    ],
)
def test_a_mistake_is_told_in_words(root, text, said):
    """With its place, and what is near it: no word of the parser's or of DuckDB's own tables."""
    code, _, error = run(root, text)
    assert (code, said in error) == (2, True), error
    assert "sqlglot" not in error
    assert "schema.tables" not in error


def test_columns_of_one_name(root, tmp_path):
    """None is lost: the second has a number."""
    text = "SELECT 1 AS a, 2 AS a, count(*) AS n FROM account_usage.query_history"
    assert json.loads(run(root, text, "--json")[1]) == [{"a": 1, "a_1": 2, "n": 3}]
    assert run(root, text, "--format", "csv")[1] == "a,a_1,n\n1,2,3\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("X'00ff'", "00FF"), ("1.50BD", "1.50"), ("named_struct('a', X'0a')", '{"a":"0A"}')],
)
def test_values_that_csv_does_not_have(root, value, shown):
    """Bytes are hexadecimal digits, as Spark's `hex` writes them."""
    assert json.loads(run(root, f"SELECT {value} AS a", "--json")[1]) == [{"a": shown}]


def test_a_limit(root):
    """The answer is cut, and says so."""
    code, said, progress = run(root, COUNT, "--limit", "1", "--format", "csv")
    assert (code, len(said.splitlines()), progress) == (0, 3, "The first 1 rows; --limit 0 shows all\n")
    assert run(root, COUNT, "--limit", "0", "--format", "csv")[2] == ""


def test_a_long_query(root):
    """It is longer than the name of a file may be, and is none."""
    for columns in (150, 2_000):
        code, said, _ = run(root, f"SELECT {', '.join(['1'] * columns)}", "--format", "csv")
        assert (code, len(said.splitlines())) == (0, 2)


def test_names_and_files(root, tmp_path):
    """A sample query by its name, and queries of a file one after the other."""
    assert run(root, "failed_and_denied", "--json") == (0, "[]\n", "")
    file = tmp_path / "two.sql"
    file.write_text("-- How many?\n-- :who = 'bob'  a user\nSELECT 1 AS a;\nSELECT :who AS who")
    assert run(root, str(file), "--format", "csv", "--param", "who=eve")[1] == "a\n1\nwho\neve\n"
    assert run(root, "--list")[1] == run(root)[1]


def test_the_views(root):
    """What each answers, and a query of it; DESCRIBE tells the columns of one."""
    listed = json.loads(run(root, "--views", "--json")[1])
    assert [one["name"] for one in listed] == sorted(VIEWS)
    assert json.loads(run(root, "--views", "exports", "--json")[1]) == [
        one for one in listed if one["name"] == "exports"
    ]
    assert [one for one in listed if one["name"] not in one["example"] or "?" not in one["answers"]] == []
    told = run(root, "DESCRIBE account_usage.objects_read", "--format", "csv")[1].splitlines()
    assert told[:2] == ["col_name,data_type,comment", "query_id,string,Identifier of the statement"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["who_read"], "there is no sample query 'who_read'"),
        (["--views", "export"], "there is no view 'export'"),
        (["objects_read"], "it is a view, account_usage.objects_read: put it into a query"),
        (["SELECT nothing FROM account_usage.statements"], "AUDIT_QUERY_FAILED"),
        (["DELETE FROM account_usage.query_history"], "DELETE is no query"),
        ([COUNT, "--format", "parquet"], "--format parquet needs a file"),
        ([COUNT, "--json", "--format", "csv"], "give one"),
        ([COUNT, "-o", "/nowhere/a.csv"], "/nowhere/a.csv cannot be written"),
        ([COUNT, "-o", "answer.xlsx"], "give --format"),
        (["SELECT :who"], "has no value for :who"),
        (["unused_tables"], "account_usage.unused_tables is not there yet"),
    ],
)
def test_bad_input(root, words, said):
    """One line says what is wrong."""
    code, answer, error = run(root, *words)
    assert (code, answer) == (2, "")
    assert said in error


def test_what_a_session_has_measured(tmp_path):
    """`unused_tables` is answered from it; a dropped table is none that nobody uses."""
    made = make_root(tmp_path, {})
    rows = [
        ("RELATION", (name, "s", "Table", 7, *[None] * 7, deleted, None, None), *[None] * 3, NOON)
        for name, deleted in (("c.s.idle", None), ("c.s.gone", NOON))
    ]
    add_catalog(made, rows)
    add_storage(made, [])
    found = json.loads(run(made, "unused_tables", "--json")[1])
    assert [row["object_name"] for row in found] == ["c.s.idle"]


def test_a_root_that_is_not_there(tmp_path):
    """It is named, and nothing is made."""
    code, _, error = run(str(tmp_path / "typo"), COUNT)
    assert (code, (tmp_path / "typo").exists()) == (2, False)
    assert str(tmp_path / "typo") in error


def test_no_spark_is_imported(root):
    """Neither PySpark nor pandas: a question is answered within a second."""
    code = (
        "import sys; from audit.cli import main\n"
        f"main(['query', {COUNT!r}, '--root', {root!r}, '--json'], standalone_mode=False)\n"
        f"main(['query', 'grants_of_user', '--root', {root!r}, '--json'], standalone_mode=False)\n"
        "assert not {'pyspark', 'pandas', 'py4j'} & sys.modules.keys(), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def own_root(tmp_path):
    """A root for one test."""
    return make_root(tmp_path / "root", {"query_history": [{"query_id": "q", "start_time": NOON}]})


def test_that_the_tables_were_read_is_on_record(own_root, tmp_path, monkeypatch):
    """Each run with its name or its text, before it answers; a list, and what fails, reads nothing."""
    monkeypatch.setenv("AUDIT_USER", "ann")
    file = tmp_path / "failed_and_denied.sql"
    file.write_text("SELECT 1 AS a; SELECT :who AS who")
    runs = (
        (
            ["failed_and_denied", "--param", "days=3"],
            {"query": "failed_and_denied", "parameters": {"days": 3}},
        ),
        ([COUNT], {"sql": COUNT, "parameters": {}}),
        ([str(file), "--param", "who=eve"], {"sql": file.read_text(), "parameters": {"who": "eve"}}),
    )
    for words, _ in runs:
        assert run(own_root, *words)[::2] == (0, "")
    assert run(own_root, "--list")[0] == 0
    assert run(own_root, "SELECT nothing FROM account_usage.statements")[0] == 2
    events = spooled_events(own_root, "AUDIT_QUERY")
    for (_, details), event in zip(runs, events, strict=True):
        assert event["query_text"] == details
        assert (event["user_name"], event["action"]) == ("ann", "audit query")


def test_a_secret_in_a_query_is_not_on_record(own_root, monkeypatch):
    """As of statements: what the configuration hides is hidden."""
    text = "SELECT 'ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS token"
    assert run(own_root, text)[0] == 0
    monkeypatch.setenv("AUDIT_REDACT", "literals")
    assert run(own_root, "SELECT 'hunter2' AS a, :b AS b", "--param", "b=hunter3")[0] == 0
    said = str(spooled_events(own_root, "AUDIT_QUERY"))
    assert not [one for one in ("ghp_a", "hunter2", "hunter3") if one in said]


def test_who_may_not_write_reads_all_the_same(own_root):
    """It says so in a line on stderr."""
    Path(own_root, "spool").write_text("no folder")
    code, said, error = run(own_root, COUNT, "--format", "csv")
    assert (code, said.count("\n")) == (0, 2)
    assert error.startswith("that the tables were read is not on record: ")
    assert error.count("\n") == 1


def test_the_event_costs_little(own_root):
    """Less than 50 ms, once its modules are there."""
    tool = Tool(load({"root": own_root}), {})
    tool.note("AUDIT_QUERY", "audit query", {})
    began = time.process_time()
    tool.note("AUDIT_QUERY", "audit query", {})
    assert time.process_time() - began < 0.05
