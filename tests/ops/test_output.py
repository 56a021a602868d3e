"""How a command answers: a table for people, JSON for programs, one line for an error."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.cli.doctor import PACKAGES, examine
from audit.cli.output import Commands, Output, json_option
from audit.core.config import Config
from audit.core.errors import AuditError, ConfigInvalid
from audit.core.plain_text import is_hidden
from audit.spark.embedded import jars

COMMANDS = [
    "backup", "check", "coverage", "digest", "doctor", "export", "failsafe", "import", "ingest", "lineage",
    "prove", "purge", "query", "report", "retain", "setup", "status", "storage", "summarize", "verify",
]  # fmt: skip


def test_json_has_every_value(capsys):
    """Numbers and dates as JSON has them, the rest as text; ids keep their 63 bits."""
    row = {
        "id": (1 << 63) - 1, "none": None, "flag": True, "half": 0.5, "text": "名前 \x1b[31m\"'",
        "many": [1, "a"], "day": date(2026, 1, 31), "time": datetime(2026, 1, 31, 12, tzinfo=timezone.utc),
        "path": Path("/x"), "money": Decimal("1.10"),
    }  # fmt: skip
    Output(as_json=True).rows([row], title="not shown")
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {
        **row, "day": "2026-01-31", "time": "2026-01-31T12:00:00+00:00", "path": "/x", "money": "1.10",
    }  # fmt: skip


def test_json_of_nothing_is_an_empty_list(capsys):
    """A program reads it as any other answer."""
    Output(as_json=True).rows([], title="Deleted")
    assert json.loads(capsys.readouterr().out) == []


def test_a_table_has_the_keys_as_headings(capsys):
    """A missing value is an empty cell, zero and False are values."""
    Output(as_json=False).rows([{"a": 0, "b": None}, {"a": False, "b": "x"}], title="Deleted")
    shown = capsys.readouterr().out
    assert shown.startswith("Deleted")
    assert [line.replace(" ", "") for line in shown.splitlines()[2:-1]] == [
        "┃a┃b┃",
        "┡━━━━━━━╇━━━┩",
        "│0││",
        "│False│x│",
    ]


def test_a_title_is_never_folded_and_numbers_are_right(capsys):
    """A title stands on a line of its own, however narrow its table is."""
    title = "Successful statements that were analysed in full"
    Output(as_json=False).rows([{"name": "full", "n": 7}, {"name": "x", "n": 1_234}], title=title)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == title
    assert lines[3:5] == ["│ full │    7 │", "│ x    │ 1234 │"]


@pytest.mark.parametrize("hostile", ["[/b]", "[red]x[/red]", "[link=http://x]", "\\[", ":smile:", "[[]]"])
def test_no_text_is_markup(capsys, hostile):
    """A heading, a statement or a title with brackets is shown as it is."""
    Output(as_json=False).rows([{"text": hostile, "more": hostile}], title=hostile)
    assert capsys.readouterr().out.count(hostile) == 3


def test_a_heading_is_no_markup_either(capsys):
    """A column of a user's query may have any name."""
    Output(as_json=False).rows([{"[/b]": 1}])
    assert "[/b]" in capsys.readouterr().out


@pytest.mark.parametrize("many", [1, 40], ids=["beside each other", "below each other"])
@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[31mred",
        "\x1b]0;title\x07",
        "\x9b31m",
        "a\rb",
        "a\x08b",
        "\x00",
        "\u202egpj",
        "\u200b",
        "\u2066",
        "\ue000",
    ],
)  # fmt: skip
def test_no_text_steers_a_terminal(capsys, hostile, many):
    """In headings, cells and titles, in a table and in JSON, which still says the same."""
    row = {f"{hostile}{n}": hostile for n in range(many)}
    for as_json in (False, True):
        Output(as_json=as_json).rows([row], title=hostile)
        shown = capsys.readouterr().out
        assert not [one for one in shown if one != "\n" and is_hidden(one)], ascii(shown)
    assert json.loads(shown) == [row]
    Output(as_json=False).rows([], title=hostile)
    Output(as_json=False).progress(hostile)
    said = capsys.readouterr()
    assert not [one for one in said.out + said.err if one != "\n" and is_hidden(one)]


def test_json_of_what_orjson_refuses(capsys):
    """A name of a file that is no UTF-8, a number of more than 64 bits."""
    row = {"path": "a\udcff", "sum": 1 << 70, "day": date(2026, 1, 31)}
    Output(as_json=True).rows([row])
    assert json.loads(capsys.readouterr().out) == [{**row, "day": "2026-01-31"}]


def test_a_long_value_is_folded_and_not_cut(capsys):
    """A query id or a path has to be copied whole."""
    path = "/" + "abcdefghij" * 40
    Output(as_json=False).rows([{"path": path}])
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "".join(line.strip("│ ") for line in shown.splitlines() if line.startswith("│")) == path


def test_an_answer_without_rows_says_so(capsys):
    """One blank line would leave open whether the command has run."""
    Output(as_json=False).rows([], title="Who read it?")
    Output(as_json=False).rows([])
    assert capsys.readouterr().out == "Who read it?: no rows\nno rows\n"


def test_what_is_too_wide_for_a_table_stands_below_each_other(capsys, monkeypatch):
    """On 80 columns a query of many columns had columns one letter wide."""
    monkeypatch.setenv("COLUMNS", "80")
    row = {"query_id": "0" * 36, "text": "SELECT 1\nFROM t", **{f"c{n}": n for n in range(20)}, "none": None}
    Output(as_json=False).rows([row, row], title="All")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["All", "-[ 1 ]--------------"]
    assert "query_id  " + "0" * 36 in lines
    assert lines[lines.index("text      SELECT 1") + 1] == "          FROM t"
    assert lines[-1] == "none"
    assert len([line for line in lines if line.startswith("-[ ")]) == 2


def test_progress_leaves_stdout_to_the_answer(capsys):
    """So that its JSON can be read."""
    Output(as_json=True).progress("Purging")
    assert capsys.readouterr() == ("", "Purging\n")


def test_every_command_is_listed_and_has_help():
    """In the order of the alphabet, without Spark."""
    assert main.list_commands(click.Context(main)) == COMMANDS
    for name in COMMANDS:
        answer = CliRunner().invoke(main, [name, "--help"])
        assert (answer.exit_code, answer.stderr) == (0, "")
        assert answer.stdout.startswith(f"Usage: main {name}")


def test_an_unknown_command_is_a_usage_error():
    """Exit code 2, as for every command that could not be run."""
    answer = CliRunner().invoke(main, ["doctr"])
    assert answer.exit_code == 2
    assert "doctr" in answer.stderr


@pytest.fixture
def group():
    """Two commands: one asks for JSON or a table, the other fails."""

    @click.group(cls=Commands)
    def tool():
        """A tool."""

    @tool.command()
    @json_option
    def show(output):
        """Show."""
        output.rows([{"a": 1}])

    @tool.command()
    def fail():
        """Fail."""
        raise ConfigInvalid("the root is x", "name another")

    @tool.command()
    def burst():
        """Fail as nobody expects."""
        raise ValueError("a bug")

    return tool


def test_an_error_is_one_line_with_its_code_and_exit_code_2(group):
    """On stderr, without a traceback; a bug keeps its traceback."""
    answer = CliRunner().invoke(group, ["fail"])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == f"audit: {ConfigInvalid.code}: the root is x; name another\n"
    assert isinstance(CliRunner().invoke(group, ["burst"]).exception, ValueError)
    assert issubclass(ConfigInvalid, AuditError)


def test_json_is_asked_for_by_a_flag(group):
    """Without it there is a table."""
    assert json.loads(CliRunner().invoke(group, ["show", "--json"]).stdout) == [{"a": 1}]
    assert "┃ a ┃" in CliRunner().invoke(group, ["show"]).stdout


@pytest.fixture
def environ(tmp_path):
    """An environment with a cache and a home of its own, in which nothing is set up."""
    return {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": str(tmp_path)}


def test_the_doctor_finds_what_is_missing(environ):
    """Java, each jar with the way out, and every option of the configuration with its source."""
    found = {one.what: one for one in examine(environ)}
    assert (found["java"].ok, found["class archive"].ok) == (False, True)
    for jar in jars.locked():
        assert not found[jar.name].ok
        assert found[jar.name].found.startswith("missing: ")
        assert found[jar.name].found.endswith("run `audit setup`")
    options = {field.name for field in fields(Config)} - {"sources"}
    assert options <= set(found)
    assert all(found[option].source for option in options)
    assert set(PACKAGES) <= set(found)


def test_the_doctor_tells_a_damaged_jar_from_a_missing_one(environ):
    """A download that broke off leaves a file of another content."""
    jar = jars.locked()[0]
    place = jars.cache_dir(environ) / jar.name
    place.parent.mkdir(parents=True)
    place.write_bytes(b"half")
    found = {one.what: one for one in examine(environ)}
    assert (found[jar.name].ok, found[jar.name].found) == (False, f"damaged: {place}; run `audit setup`")


def test_the_doctor_shows_a_configuration_that_cannot_be(environ):
    """As one finding, with the error's words; the other checks go on."""
    found = {one.what: one for one in examine({**environ, "AUDIT_RETENTION_DAYS": "soon"})}
    assert not found["configuration"].ok
    assert "soon" in found["configuration"].found
    assert "java" in found


def test_the_doctor_changes_nothing(environ, tmp_path):
    """It makes no folder, and fetches nothing."""
    list(examine(environ))
    assert list(tmp_path.iterdir()) == []
