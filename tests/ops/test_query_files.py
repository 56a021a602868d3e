"""Files of SQL for `audit query`: what the first comment says, and the values that are given."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from audit.cli import main
from lineage.sql.tokens import split_statements
from views.query_file import Parameter, QueryParameterError, SampleQueryUnknown, read, sample, sample_names


def written(tmp_path, text):
    """The query of a file with this text."""
    file = tmp_path / "my question.sql"
    file.write_text(text, encoding="utf-8")
    return read(file)


def test_a_file_is_a_question_parameters_and_sql(tmp_path):
    """The name is the file's; the SQL is all of the text."""
    text = "-- Who read\n-- what? In short.\n-- :days = 30  how far back\nSELECT :days\n"
    query = written(tmp_path, text)
    assert (query.name, query.question, query.sql) == ("my question", "Who read what?", text)
    assert query.parameters == (Parameter("days", 30, "how far back"),)


@pytest.mark.parametrize(
    ("line", "parameter"),
    [
        ("-- :days = 30  how far back", Parameter("days", 30, "how far back")),
        ("-- :days = 007 agents", Parameter("days", 7, "agents")),
        ("-- :who = 'ann'   a user", Parameter("who", "ann", "a user")),
        ("-- :who = ''  nobody", Parameter("who", "", "nobody")),
        (r"-- :path = 'C:\new\'  a folder", Parameter("path", r"C:\new" + "\\", "a folder")),
        ("-- :名前 = '表'  unicode", Parameter("名前", "表", "unicode")),
        ("-- :a = 'x = 1 -- y'  hostile", Parameter("a", "x = 1 -- y", "hostile")),
        ("-- :days = 30", Parameter("days", 30, "")),
        ("-- :days = 30   ", Parameter("days", 30, "")),
    ],
)
def test_a_line_declares_a_parameter(tmp_path, line, parameter):
    """Its default as it is written: a number, or a text between quotes."""
    query = written(tmp_path, f"-- What?\n{line}\n-- :last = 1  one more\nSELECT 1")
    assert query.parameters == (parameter, Parameter("last", 1, "one more"))
    assert query.question == "What?"


@pytest.mark.parametrize(
    "line",
    [
        "-- :days = 30days",
        "-- :days = -1 below",
        "-- :days 30",
        "-- : = 30 x",
        "-- days = 30 x",
        "-- :x = it's",
    ],
)
def test_another_line_declares_none(tmp_path, line):
    """It is text of the comment."""
    assert written(tmp_path, f"-- What?\n{line}\nSELECT 1").parameters == ()


@pytest.mark.parametrize(
    ("text", "question", "parameters"),
    [
        ("", "", []),
        ("SELECT 1", "", []),
        ("SELECT 1 -- why not?\n", "", []),
        ("-- Rows by user\nSELECT 1\n-- and why not?\n", "Rows by user", []),
        ("-- Rows by user\n-- :days = 1  back\nSELECT 1", "Rows by user", ["days"]),
        ("\n\n-- What?\n--\n-- :days = 1  back\nSELECT 1", "What?", ["days"]),
        ("-- What?\nSELECT 1;\n-- :late = 1  no\nSELECT 2", "What?", []),
        ("-- What?\nSELECT '\n-- :inside = 1  no\n'", "What?", []),
        ("-- What? Why?\r\n-- :days = 1  back\r\nSELECT 1", "What?", ["days"]),
    ],
)
def test_only_the_first_comment_counts(tmp_path, text, question, parameters):
    """Later comments and texts of the SQL declare nothing."""
    query = written(tmp_path, text)
    assert (query.question, [one.name for one in query.parameters]) == (question, parameters)


def test_what_is_given_replaces_the_defaults(tmp_path):
    """A parameter that the query does not have is an error that lists those that it has."""
    query = written(tmp_path, "-- What?\n-- :a = 1  x\n-- :b = 'y'  z\nSELECT :a, :b")
    assert query.arguments({}) == {"a": 1, "b": "y"}
    assert query.arguments({"b": "; DROP TABLE t"}) == {"a": 1, "b": "; DROP TABLE t"}
    with pytest.raises(QueryParameterError, match="my question has no parameter B, c; its parameters: a, b"):
        query.arguments({"a": 1, "c": 1, "B": 1})
    with pytest.raises(QueryParameterError, match="its parameters: none"):
        written(tmp_path, "SELECT 1").arguments({"a": 1})


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_query_says_what_it_answers(name):
    """A theme, a question, a meaning for each parameter, one statement in which each parameter stands."""
    query = sample(name)
    assert query.theme
    assert "Theme" not in query.question
    assert query.question.endswith("?")
    assert all(one.meaning for one in query.parameters)
    (statement,) = split_statements(query.sql)
    assert all(f":{one.name}" in statement for one in query.parameters)


@pytest.mark.parametrize("name", ["", "nothing", "../query_file", "who_read_column.sql", "WHO_READ_COLUMN"])
def test_another_name_is_no_sample_query(name):
    """The error names it and lists those that there are; no path leads out of the folder."""
    with pytest.raises(SampleQueryUnknown, match="who_read_column") as raised:
        sample(name)
    assert repr(name) in raised.value.problem


@pytest.mark.parametrize("wrong", ["days", "", "days 7"])
def test_a_parameter_of_the_command_line_is_a_pair(wrong):
    """No Spark is started for another one."""
    answer = CliRunner().invoke(main, ["query", "who_read_column", "--param", wrong])
    assert answer.exit_code == 2
    assert f"{wrong!r} is not NAME=VALUE" in answer.stderr


@pytest.mark.parametrize("command", ["query", "status", "verify", "retain", "ingest"])
def test_a_setting_of_the_command_line_is_a_pair(command):
    """Of every command that takes one."""
    answer = CliRunner().invoke(main, [command, "--conf", "spark.x"])
    assert answer.exit_code == 2
    assert "'spark.x' is not KEY=VALUE" in answer.stderr
