"""CSV, JSON and PDF hold what the page holds."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date, datetime

import pytest

from audit.core.plain_text import harmless
from audit.core.whole_file import whole_file
from audit.report.errors import BrowserMissing, PrintFailed, ReportUnwritable
from audit.report.forms.data import as_csv, as_json
from audit.report.forms.file import content, format_of
from audit.report.forms.html import page
from audit.report.forms.paper import browser, printed

from .roots import HOSTILE

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def as_read(value):
    """A value of an answer as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat() + "Z"
    if isinstance(value, date):
        return value.isoformat()
    return [as_read(one) for one in value] if isinstance(value, (list, tuple)) else value


def test_json_has_the_sql_and_its_rows(report, tables):
    """Whoever runs the query gets the rows."""
    document = json.loads(as_json(report("access")))
    assert (document["report"], document["from"], document["to"]) == ("access", "2026-11-01", "2026-11-30")
    for figure in document["figures"]:
        answer = tables.ask(figure["sql"], {})
        expected = [dict(zip(answer.columns, map(as_read, row), strict=True)) for row in answer.rows]
        assert figure["rows"] == expected
        assert figure["rows_in_all"] == len(expected)
    assert {one["state"] for one in document["findings"]} == {"good", "open", "bad"}


def test_csv_says_which_figure_a_row_is_of(report):
    """One table; the columns of a figure are filled in its rows alone."""
    rows = list(csv.DictReader(io.StringIO(as_csv(report("access")))))
    figures = {one.number: one for one in report("access").figures}
    for number, figure in figures.items():
        own = [row for row in rows if row["figure"] == str(number)]
        assert len(own) == len(figure.rows)
        assert {row["name"] for row in own} <= {figure.figure.name}
        for row in own:
            assert {name for name, value in row.items() if value} <= {
                "figure",
                "name",
                "title",
                *figure.columns,
            }
    readers = [row["user_name"] for row in rows if row["name"] == "top_readers"]
    assert readers == ["ann", "bob", "'" + HOSTILE.replace("\u202e", "\\u202e")]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_no_cell_is_a_formula(text):
    """What a spreadsheet would compute begins with an apostrophe."""
    assert harmless(text) == f"'{text}"
    assert harmless(f"a{text}") == f"a{text}"


def test_the_format_is_that_of_the_name(tmp_path):
    """Unless it is said."""
    assert format_of(tmp_path / "a.JSON", None) == "json"
    assert format_of(tmp_path / "a.csv", "html") == "html"
    with pytest.raises(ReportUnwritable, match=r"end it with \.html, \.pdf, \.csv, \.json"):
        format_of(tmp_path / "a.docx", None)


def test_a_file_is_whole_or_not_there(tmp_path):
    """An error leaves what was there before."""
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(TypeError), whole_file(path, ReportUnwritable) as write:
        write("no bytes")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "old")]
    with whole_file(path, ReportUnwritable) as write:
        write(b"new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.csv", "new")]
    for bad in (tmp_path, tmp_path / "no" / "a.csv"):
        with pytest.raises(ReportUnwritable, match="cannot be written"), whole_file(bad, ReportUnwritable):
            pass


def test_no_browser(tmp_path):
    """It is said what to install, and that HTML prints as well."""
    with pytest.raises(BrowserMissing, match=r"apt-get install chromium.*HTML prints as well"):
        browser({"PATH": str(tmp_path)})
    with pytest.raises(BrowserMissing, match="CHROME_PATH is /no/chrome, which cannot be run"):
        browser({"CHROME_PATH": "/no/chrome", "PATH": os.environ["PATH"]})
    assert browser({"CHROME_PATH": sys.executable}) == sys.executable


def test_a_browser_that_does_not_print():
    """Its last line is told."""
    with pytest.raises(PrintFailed, match="has not printed the report"):
        printed("<p>x", shutil.which("false") or "/bin/false")


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_pdf(report):
    """Chromium prints the page: several pages, with their text."""
    made = content(report("changes"), "pdf")
    assert made.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", made)) > 3
    assert b"/StructTreeRoot" in made
    assert b"/Outlines" in made


@pytest.mark.long("a large report; test_pdf has a small one")
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_large_pdf_has_no_tags():
    """They would be most of the file."""
    text = "<p>" + "<i>word</i> " * 50_000
    assert b"/StructTreeRoot" not in printed(text, browser(os.environ))


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_in_a_browser_needs_nothing(report, tmp_path):
    """It is drawn, and says nothing against it: no policy is broken, nothing is missing."""
    file = tmp_path / "report.html"
    file.write_text(page(report("access")))
    picture = tmp_path / "picture.png"
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
        f"--user-data-dir={tmp_path}/profile", f"--screenshot={picture}", file.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert picture.stat().st_size > 20_000
    assert "CONSOLE" not in done.stderr, done.stderr


def test_without_the_extra(report):
    """CSV and JSON do without it; a page says what to install."""
    code = (
        "import sys; sys.modules['altair'] = sys.modules['jinja2'] = None\n"
        "from audit.report.errors import ReportExtraMissing\n"
        "from audit.report.forms.extra import required\n"
        "import audit.report.forms.data, audit.cli.answers.report\n"
        "try: required('jinja2')\n"
        "except ReportExtraMissing as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'spark-access-history[report]'" in done.stdout
