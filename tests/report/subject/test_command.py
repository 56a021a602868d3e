"""`audit report subject` as it is typed, and what of it goes on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from tests.report.pages import read
from tests.report.roots import moment
from tests.spooled_events import spooled_events

from .people import BOTH, DAYS, NAME, NOT_YET, Record, make_people

VALUE = "Ada"
KEY = f"name = '{VALUE}'"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Three statements of bob: one read Ada's row, one could not have, of one nobody knows."""
    folder = tmp_path_factory.mktemp("subject")
    record = Record(make_people(folder / "clients"))
    mask = {"name": "spark_catalog.p.mask", "column": "born", "changed": True}
    record.read("SELECT * FROM p.clients", BOTH, policies=[mask], purpose="case 4711 of bob", query_tag="t1")
    record.read("SELECT * FROM p.clients", NOT_YET)
    record.read("SELECT name FROM p.clients LIMIT 1", BOTH)
    record.story.ran(moment(6), "bob", "SELECT", "SELECT f(x)", _analysis="opaque")
    return record.root(folder / "root")


def run(root, *words):
    """Exit code and stderr."""
    done = CliRunner().invoke(main, ["report", *map(str, words), "--root", root], catch_exceptions=False)
    return done.exit_code, done.stderr


def rows(file, name):
    """The rows of a figure of a JSON report."""
    return next(one for one in json.loads(file.read_text())["figures"] if one["name"] == name)["rows"]


def test_a_report(root, tmp_path):
    """Dates, purposes, columns, masks; without names unless they are asked for."""
    file = tmp_path / "ada.json"
    code, said = run(root, "subject", KEY, "--table", "p.clients", *DAYS, "-o", file)
    assert (code, said) == (0, f"{file}: 2026-11-01 to 2026-11-30\n")
    assert rows(file, "subject_summary") == [
        {"statements": 3, "read": 1, "may_have_read": 1, "could_not_have_read": 1}
    ]
    [found] = rows(file, "subject_read")
    assert found.pop("user_name").startswith("user-")
    assert found.pop("purpose").startswith("case 4711 of user-")
    assert found == {
        "query_start_time": "2026-11-05T12:00:00Z", "query_tag": "t1", "object_name": NAME, "version": "1",
        "columns_read": "name", "masked": "born by spark_catalog.p.mask", "query_id": "q000000",
        "reason": "the version has the row, and it has no condition",
    }  # fmt: skip
    assert [one["query_id"] for one in rows(file, "subject_unknown")] == ["q000003"]
    text = file.read_text()
    assert "bob" not in text
    assert json.loads(text)["title"] == f"Consultations of the row where {KEY}"
    assert run(root, "subject", KEY, "--table", NAME, *DAYS, "-o", file, "--with-names")[0] == 0
    assert [one["user_name"] for one in rows(file, "subject_read")] == ["bob"]


def test_the_page(root, tmp_path):
    """The appendix says of each figure how it was made; the person's value is in no query."""
    pytest.importorskip("altair")
    file = tmp_path / "ada.html"
    assert run(root, "subject", KEY, "--table", "p.clients", *DAYS, "-o", file)[0] == 0
    page = read(file.read_text())
    appendix = page.first(id="appendix").text
    assert "The replay has chosen from them" in appendix
    assert VALUE not in appendix
    assert KEY in page.first("h1").text


def test_the_key_is_not_on_record(root, tmp_path):
    """That the report was made is: of which tables, for which days."""
    assert run(root, "subject", KEY, "--table", "p.clients", *DAYS, "-o", tmp_path / "a.csv")[0] == 0
    spooled = [path.read_text() for path in Path(root, "spool").rglob("*") if path.is_file()]
    assert spooled
    assert not [text for text in spooled if VALUE in text]
    assert spooled_events(root, "AUDIT_REPORT")[-1]["query_text"] == {
        "about": None, "first": "2026-11-01", "last": "2026-11-30", "format": "csv", "norm": None,
        "report": "subject", "tables": ["p.clients"], "without_names": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["subject"], "name the row"),
        (["subject", KEY], "--table catalog.schema.table"),
        (["subject", KEY, "--table", "p.clients", "--pack", "gdpr-30"], "takes no --pack"),
        (["subject", KEY, "--table", "p.clients", "--with-names", "--without-names"], "give one"),
        (["subject", "name", "--table", "p.clients"], "AUDIT_SUBJECT_KEY"),
        (["subject", KEY, "--table", "p.nothing"], "AUDIT_REPORT_NAME_UNKNOWN"),
        (["subject", KEY, "--table", "=x"], "AUDIT_REPORT_NAME_UNKNOWN"),
        (["subject", "email = 'x'", "--table", "p.clients"], "AUDIT_SUBJECT_TABLE"),
        (["access", "--table", "p.clients"], "--table is an option of the report subject alone"),
        (["access", "--with-names"], "--with-names is an option of the report subject alone"),
    ],
)
def test_bad_input(root, tmp_path, words, said):
    """One line on stderr, exit code 2, no file, and the value is not repeated."""
    file = tmp_path / "a.json"
    code, error = run(root, *words, *DAYS, "-o", file)
    assert (code, said in error, file.exists()) == (2, True, False), error
    assert VALUE not in error
