"""Which tests a tier runs, in which order, and how long each may take: a plugin of pytest.

In: the tests that were collected, `tests/durations.json`. Out: the tests of the tier that `--tier` names,
the module that takes longest first, and a failure for a test that takes too long or starts a JVM unmarked.
docs/testing.md describes the tiers.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

DURATIONS = Path(__file__).with_name("durations.json")
# A test takes 15 at most where nothing else runs: on a loaded machine it may take three times as long.
LIMIT_SECONDS = 60.0
KEPT_SECONDS = 1.0  # shorter tests are a part of their module's sum alone
LEFT_OUT = {"quick": {"spark", "long"}, "test": {"long"}, "all": set()}
"""Each tier, and the markers of the tests that it leaves out. A tier holds all tests of the one before it."""

MARKERS = (
    "spark: starts or uses a JVM; a test that asks for the fixture `spark` has it by that",
    f"slow(reason): may take longer than the {LIMIT_SECONDS:.0f} s that a test has",
    "crash: kills drivers; `-m crash` chooses these tests",
    "long(reason): runs in `make test-all` alone",
    "one_in(n, reason): of the cases of a test the first of each n is in `make test`, the others are long",
    "hive(reason): needs a Hive metastore or generated code, and runs with `--hive` alone",
)

TIERS_OF_MODULES = pytest.StashKey[dict[str, set[str]]]()


def markers_of(item: pytest.Item) -> set[str]:
    """The names of a test's markers."""
    return {marker.name for marker in item.iter_markers()}


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tests are left out by the catalog."""
    return "catalog: Hive" if config.option.hive else "catalog: in memory; tests marked hive run with --hive"


def tier_of(item: pytest.Item) -> str:
    """The first tier that runs a test."""
    return next(tier for tier, left_out in LEFT_OUT.items() if left_out.isdisjoint(markers_of(item)))


def module_of(node_id: str) -> str:
    """The file of a test, relative to the root of the project.

    >>> module_of("tests/ops/test_cli.py::test_help[a::b]")
    'tests/ops/test_cli.py'
    """
    return node_id.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this plugin."""
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=list(LEFT_OUT), help="which tests run (default: all)")
    group.addoption(
        "--hive", action="store_true", help="Spark has a Hive metastore and generated code, as users have it"
    )
    group.addoption("--hive-alone", action="store_true", help="as --hive, but only for what needs it")
    group.addoption("--store-durations", action="store_true", help=f"write tests/{DURATIONS.name}")
    group.addoption(
        "--limit-seconds",
        type=float,
        help=f"a test not marked slow or long fails after so long (default: {LIMIT_SECONDS:.0f} where a tier"
        " is named, else 0, which is never)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the plugin that counts and checks."""
    config.option.hive |= config.option.hive_alone
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(_Run(config), "tiers-run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses Spark, leave out the other tiers, put the longest modules first."""
    modules = config.stash[TIERS_OF_MODULES] = defaultdict(set)
    cases: dict[str, int] = defaultdict(int)
    for item in items:
        for marker in item.iter_markers("one_in"):
            every, reason = marker.args
            test = item.nodeid.partition("[")[0]
            if cases[test] % every:
                item.add_marker(pytest.mark.long(reason))
            cases[test] += 1
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        for marker in item.iter_markers():
            if marker.name in {"slow", "long", "hive"} and not marker.args:
                raise pytest.UsageError(
                    f'{item.nodeid}: give a reason, as in @pytest.mark.{marker.name}("…")'
                )
        modules[module_of(item.nodeid)].add(tier_of(item))
    left_out = LEFT_OUT[config.option.tier or "all"] | (set() if config.option.hive else {"hive"})
    wanted = {"hive"} if config.option.hive_alone else set()
    fits = {item: wanted <= markers_of(item) and not markers_of(item) & left_out for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not fits[item]])
    seconds = stored_durations()["modules"]
    # A stable sort: the tests of a module keep their order. A module without a duration comes first.
    items[:] = sorted(
        (item for item in items if fits[item]),
        key=lambda item: -seconds.get(module_of(item.nodeid), float("inf")),
    )


def stored_durations() -> dict[str, dict[str, float]]:
    """Seconds, fixtures included: `modules` by file, `tests` by node id where they take a second or more."""
    if not DURATIONS.is_file():
        return {"modules": {}, "tests": {}}
    return json.loads(DURATIONS.read_text(encoding="utf-8"))


class _Run:
    """The checks and the durations of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self._limit = config.option.limit_seconds
        if self._limit is None:
            self._limit = LIMIT_SECONDS if config.option.tier else 0.0
        # Workers of pytest-xdist send their reports to the controller.
        self._stores = config.option.store_durations and not hasattr(config, "workerinput")
        self._seconds: dict[str, float] = defaultdict(float)
        # A run inside of a test finds the JVM of the run around it.
        self._jvm_ran = _jvm_runs()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]):
        """Fail a test that has passed, but takes too long or has started a JVM without a marker."""
        report = yield
        if call.when == "call":
            fault = self._fault(item, call.duration)
            if report.passed and fault:
                report.outcome = "failed"
                report.longrepr = fault
        return report

    def _fault(self, item: pytest.Item, seconds: float) -> str | None:
        markers = markers_of(item)
        started, self._jvm_ran = _jvm_runs() and not self._jvm_ran, _jvm_runs()
        if started and "spark" not in markers:
            return (
                f"{item.nodeid} starts a JVM: let it ask for the fixture spark, or mark it @pytest.mark.spark"
            )
        if self._limit and seconds > self._limit and markers.isdisjoint({"slow", "long"}):
            return (
                f"{item.nodeid} takes {seconds:.1f} s, and {self._limit:.0f} s are allowed:"
                ' make it faster, or mark it @pytest.mark.slow("reason")'
            )
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up set-up, call and tear-down."""
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the durations; of modules that did not run the old ones stay."""
        if not self._stores:
            return
        modules: dict[str, float] = defaultdict(float)
        for node_id, seconds in self._seconds.items():
            modules[module_of(node_id)] += seconds
        stored = stored_durations()
        tests = {key: seconds for key, seconds in stored["tests"].items() if module_of(key) not in modules}
        tests |= {key: seconds for key, seconds in self._seconds.items() if seconds >= KEPT_SECONDS}
        root = DURATIONS.parents[1]
        kept = {
            kind: {
                key: round(seconds, 1)
                for key, seconds in sorted(values.items())
                if (root / module_of(key)).is_file()
            }
            for kind, values in (("modules", stored["modules"] | modules), ("tests", tests))
        }
        DURATIONS.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _jvm_runs() -> bool:
    module = sys.modules.get("pyspark.core.context")
    return module is not None and module.SparkContext._gateway is not None
