"""What needs no Spark: the expectations, the page, what is said where Great Expectations is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, datetime, timezone
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from audit.checks import COLUMNS, CheckResult, Outcome, suite
from audit.checks.engine import great_expectations, require_suite
from audit.checks.errors import GreatExpectationsMissing, SuiteInvalid
from audit.checks.expectations import COUNTS, TOTALS, checks
from audit.checks.page import page
from audit.checks.results_table import failing
from audit.checks.statements import FLAGS
from audit.checks.validation import ValidatedObject, Validation
from audit.cli import main

EVIL = "<script>alert(1)</script>\"'&--\x1b[31m\u202e\x00"
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def outcome(verdict="FAILED", **values):
    """An outcome with a hostile name for everything that has one."""
    found = {"query_date": EVIL, "offenders": 2, "query_ids": [EVIL, "q2"]}
    return Outcome(
        name=values.get("name", EVIL),
        verdict=verdict,
        description=EVIL,
        expectation_type=EVIL,
        arguments={"unexpected_rows_query": EVIL},
        column=values.get("column"),
        severity="critical",
        result=values.get("result", {"details": {"unexpected_rows": [found]}}),
        error=values.get("error"),
    )


def result(*outcomes):
    """A result with them."""
    totals = dict.fromkeys((*TOTALS, *COUNTS), 1)
    return CheckResult(EVIL, NOON, date(2026, 1, 1), date(2026, 1, 1), totals, EVIL, outcomes)


class Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note it."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        """Note it."""
        self.text += data


def test_the_page_runs_nothing_and_loads_nothing():
    """Hostile names are text; no script, no link, no picture, no event."""
    text = page(result(outcome(), outcome("ERROR", error=EVIL), outcome("PASSED", result={})))
    found = Tags(text)
    assert found.tags <= {
        "html", "head", "meta", "title", "style", "body", "h1", "p", "table", "tr", "th", "td", "strong",
        "details", "summary", "pre",
    }  # fmt: skip
    assert found.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class"}
    assert "<script>alert(1)</script>" in found.text
    assert not set("\x00\x1b\u202e") & set(text)
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_json_has_the_same_keys_whatever_was_found():
    """Of each outcome and each result."""
    one, other = result(outcome(), outcome("PASSED", result={})), result(outcome("ERROR", error="x"))
    first, second = (json.loads(each.to_json()) for each in (one, other))
    assert [*first] == [*second]
    kinds = {
        tuple(each) for told in (first, second) for each in told["validation_results"][0]["expectations"]
    }
    assert len(kinds) == 1
    assert (one.success, other.success, result().success) == (False, False, True)


def test_each_count_has_its_column_and_its_flag():
    """The frame has what the queries ask."""
    assert {*COUNTS} == {*FLAGS, "altered_records", "ambiguous_columns"}
    assert {*COUNTS, *TOTALS, "query_date", "overdue_tables"} <= {*COLUMNS}


def test_the_suite_is_of_great_expectations():
    """With names and descriptions, and open to more."""
    found = suite(99)
    assert [one.meta["name"] for one in found.expectations] == [one.name for one in checks()]
    assert all(one.description.endswith(".") for one in found.expectations)
    assert "99" in found.expectations[-1].unexpected_rows_query
    assert require_suite(found) is found


@pytest.mark.parametrize("bound", [-1, 100.1, float("nan"), True, "95"])
def test_a_coverage_that_is_none(bound):
    """It is named."""
    with pytest.raises(SuiteInvalid, match="the least coverage is"):
        suite(bound)


def test_without_great_expectations(monkeypatch, tmp_path):
    """Both ways in say what to install, before any Spark starts."""
    monkeypatch.setitem(sys.modules, "great_expectations", None)
    for ask in (suite, great_expectations):
        with pytest.raises(GreatExpectationsMissing, match=r"pip install 'spark-access-history\[checks\]'"):
            ask()
    (tmp_path / "spool").mkdir()
    done = CliRunner().invoke(main, ["check", "--root", str(tmp_path)], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "pip install 'spark-access-history[checks]'" in done.stderr


def test_it_is_imported_by_those_alone_who_ask_for_it():
    """Neither `import audit`, nor audit.checks, nor the command line imports it, or PySpark."""
    code = (
        "import sys, audit, audit.checks, audit.checks.results_table; from audit.cli import main\n"
        "main(['check', '--help'], standalone_mode=False)\n"
        "assert not {'great_expectations', 'pyspark'} & sys.modules.keys(), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_goes_on_record_has_no_values():
    """Neither what a column holds nor what an expectation has observed; texts pass the redaction."""
    values = {"element_count": 3, "unexpected_count": 1, "unexpected_percent": 33.3, "observed_value": "ann"}
    one = outcome(column="a", result={**values, "partial_unexpected_list": ["secret"]}, error="token=abc")
    validated = ValidatedObject("c.s.t", 7, "Table", 3, "q1")
    validation = Validation("r1", NOON, "ann", validated, "s", (one, outcome("PASSED", name="b", result={})))
    first, second = validation.rows(lambda text: text.replace("abc", "***"))
    assert "secret" not in str(first)
    assert "observed" not in str(first)
    assert (first["unexpected_count"], first["error_message"]) == (1, "token=***")
    assert (second["outcome"], second["element_count"]) == ("PASSED", None)
    assert str(validation) == f"c.s.t at version 3: 1 of 2 expectations hold\n  failed: {EVIL}"
    assert not validation


def test_which_checks_fail():
    """Of the newest version the newest answer to each expectation; of a view, which has none, of all."""

    def row(name, version, minute, verdict, column="a", of=1):
        return {
            "object_id": of, "object_version": version, "run_time": NOON.replace(minute=minute),
            "suite_name": "s", "expectation_name": name, "arguments": "{}", "column_name": column,
            "outcome": verdict,
        }  # fmt: skip

    history = [
        row("old", 1, 1, "FAILED"),
        row("mended", 2, 2, "FAILED"), row("mended", 2, 3, "PASSED"),
        row("broken", 2, 2, "FAILED"), row("whole", 2, 2, "ERROR", None),
        row("of_view", None, 2, "FAILED", "v", 2), row("of_nothing", 2, 2, "FAILED", "x", None),
    ]  # fmt: skip
    assert failing(reversed(history)) == {
        (1, "a"): ("broken",),
        (1, None): ("whole",),
        (2, "v"): ("of_view",),
    }
