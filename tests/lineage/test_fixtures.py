"""SQL behaviour, one fixture a rule; the fixture files say the rule and its source."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from lineage import analyze, analyze_script

_SPEC = importlib.util.spec_from_file_location("lineage_fixtures", Path(__file__).parent / "fixtures.py")
fixtures = importlib.util.module_from_spec(_SPEC)
sys.modules["lineage_fixtures"] = fixtures
_SPEC.loader.exec_module(fixtures)

CASES = [case for path in sorted(fixtures.FOLDER.glob("*.sql")) for case in fixtures.cases(path.name)]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_statement_accesses_what_its_fixture_says(case):
    """The result of the statement, written as text, is the fixture's."""
    if case.name.startswith("scripts"):
        accesses = analyze_script(case.sql, fixtures.catalog())
    else:
        accesses = (analyze(case.sql.rstrip(";"), fixtures.catalog()),)
    lines = tuple(line for access in accesses for line in fixtures.rendered(access))
    assert lines == case.expected, case.rule


def test_every_fixture_states_its_rule_and_its_source():
    """A fixture without a reason is a guess."""
    assert CASES
    assert all(case.rule and case.source for case in CASES)


@pytest.mark.parametrize("end", ["", "--->\n-- SELECT full", "-->"])
def test_a_statement_without_an_expectation_is_an_error(tmp_path, end):
    """Else a mistyped separator would take a case out of the tests in silence."""
    path = tmp_path / "some.sql"
    path.write_text(f"-- rule: a\n-- source: b\nSELECT 1;\n{end}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no expectation"):
        fixtures.cases(str(path))
