"""docs/testing.md says of every test module in which tier it stands, and says it truly."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests import tiers
from tests.tiers import TIERS_OF_MODULES, stored_durations

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(?P<pattern>[^`]+)` \| (?P<tiers>[a-z, ]+) \| (?P<why>.+) \|$", re.MULTILINE)
ROWS = [match.groups() for match in ROW.finditer((ROOT / "docs" / "testing.md").read_text("utf-8"))]
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py"))


def rows_of(module):
    """The first row whose pattern fits, as a list."""
    return [row for row in ROWS if fnmatch(module, row[0])][:1]


def test_every_module_is_in_the_list():
    """A new folder of tests gets a row; a row that fits nothing goes."""
    assert [module for module in MODULES if not rows_of(module)] == []
    used = {row for module in MODULES for row in rows_of(module)}
    assert [row for row in ROWS if row not in used] == []


def test_the_list_is_true(request):
    """The tests of a module, of those collected in this run, are in the tiers that its row names."""
    collected = request.config.stash[TIERS_OF_MODULES]
    wrong = {
        module: (sorted(collected[module]), row[1])
        for module in MODULES
        if module in collected
        for row in rows_of(module)
        if not collected[module] <= set(row[1].split(", "))
    }
    assert wrong == {}


def test_durations_are_of_modules_that_are_there():
    """A module that has moved takes its duration along."""
    assert [name for name in stored_durations()["modules"] if not (ROOT / name).is_file()] == []


def test_a_marker_without_a_reason_is_refused(pytester):
    """Whoever lets a test take long says why."""
    pytester.makepyfile("import pytest\n@pytest.mark.slow\ndef test_it(): pass")
    done = pytester.runpytest("-p", "tests.tiers")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*give a reason*"])


def test_an_unmarked_test_over_the_limit_fails(pytester):
    """With the marker it passes."""
    pytester.makepyfile(
        "import time, pytest\n"
        "def test_slow(): time.sleep(0.1)\n"
        "@pytest.mark.slow('it sleeps')\n"
        "def test_marked(): time.sleep(0.1)\n"
        "def test_quick(): pass"
    )
    done = pytester.runpytest("-p", "tests.tiers", "--limit-seconds", "0.05")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*test_slow takes * s, and 0 s are allowed*"])


def test_a_tier_leaves_out_what_takes_longer(pytester):
    """`quick` starts no JVM, `test` runs nothing long, without a tier all is run."""
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.fixture\n"
        "def spark(): pass\n"
        "def test_quick(): pass\n"
        "def test_spark(spark): pass\n"
        "@pytest.mark.long('200 kills')\n"
        "def test_long(): pass"
    )
    for tier, passed in (("quick", 1), ("test", 2), ("all", 3)):
        pytester.runpytest("-p", "tests.tiers", "--tier", tier).assert_outcomes(
            passed=passed, deselected=3 - passed
        )


def test_one_case_in_some_is_not_long(pytester):
    """The first of each three cases is in `test`, whatever else the test is marked with."""
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.one_in(3, 'each case')\n"
        "@pytest.mark.parametrize('case', range(7))\n"
        "def test_it(case): assert case % 3 == 0"
    )
    pytester.runpytest("-p", "tests.tiers", "--tier", "test").assert_outcomes(passed=3, deselected=4)
    pytester.runpytest("-p", "tests.tiers", "--tier", "all").assert_outcomes(passed=3, failed=4)


def test_a_jvm_without_the_marker_fails(pytester):
    """So that the quick tier stays quick."""
    pytester.makepyfile(
        "import sys, types\n"
        "def test_it(monkeypatch):\n"
        "    context = types.SimpleNamespace(SparkContext=types.SimpleNamespace(_gateway=object()))\n"
        "    sys.modules['pyspark.core.context'] = context"
    )
    pytester.runpytest_subprocess("-p", "tests.tiers").assert_outcomes(failed=1)


def test_durations_are_kept_by_module(pytester, monkeypatch):
    """Modules that did not run keep theirs, those that are gone lose them; a long test has its own."""
    kept = pytester.mkdir("tests") / "durations.json"
    monkeypatch.setattr(tiers, "DURATIONS", kept)
    monkeypatch.setattr(tiers, "KEPT_SECONDS", 0.1)
    old = {"tests/test_gone.py": 9.0, "tests/test_other.py": 9.0}
    kept.write_text(json.dumps({"modules": old, "tests": {"tests/test_other.py::test_it": 8.0}}))
    (pytester.path / "tests" / "test_other.py").write_text("def test_it(): pass")
    module = pytester.path / "tests" / "test_this.py"
    module.write_text("import time\ndef test_slow(): time.sleep(0.15)\ndef test_quick(): pass")
    pytester.runpytest("-p", "tests.tiers", "--store-durations", module)
    assert stored_durations() == {
        "modules": {"tests/test_other.py": 9.0, "tests/test_this.py": pytest.approx(0.2, abs=0.1)},
        "tests": {
            "tests/test_other.py::test_it": 8.0,
            "tests/test_this.py::test_slow": pytest.approx(0.2, abs=0.1),
        },
    }
    module.write_text("def test_it(): pass")
    done = pytester.runpytest("-p", "tests.tiers", "-v", "tests")
    done.stdout.fnmatch_lines(["tests/test_other.py::test_it*", "tests/test_this.py::test_it*"])


def test_a_run_inside_of_another_does_not_count_its_jvm(pytester, monkeypatch):
    """The tests of this module run in a process that may have a JVM."""
    pytester.makepyfile("def test_it(): pass")
    with monkeypatch.context() as patched:  # not for the run around this one
        patched.setattr(tiers, "_jvm_runs", lambda: True)
        done = pytester.runpytest("-p", "tests.tiers")
    done.assert_outcomes(passed=1)
