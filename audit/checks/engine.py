"""Runs a suite of Great Expectations over a frame: in memory, with no network and no cache.

In: a suite, a frame. Out: what Great Expectations says of each expectation, as `Outcome`s. It is imported
when a suite is made or run, and nowhere else: it takes seconds, and is an extra of this package.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from audit.checks.errors import GreatExpectationsMissing, SuiteInvalid
from audit.checks.outcome import Outcome, outcome_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = "spark-access-history"
_INSTALL = "pip install 'spark-access-history[checks]'"
_OLDEST, _TOO_NEW = (1, 24), (2,)
# The current context of Great Expectations belongs to the process.
_ONE_AT_A_TIME = threading.RLock()


def require_installed() -> None:
    """Tell at once whether `great_expectations` is there: to import it takes seconds.

    Raises:
        GreatExpectationsMissing: it is not.
    """
    if find_spec("great_expectations") is None:
        raise GreatExpectationsMissing("Great Expectations is not installed", _INSTALL)


def great_expectations() -> Any:
    """The package `great_expectations`.

    Raises:
        GreatExpectationsMissing: it is not installed, or in another version.
    """
    try:
        with _its_own_warnings():
            import great_expectations as gx
    except ImportError as error:
        raise GreatExpectationsMissing(
            f"Great Expectations cannot be imported ({error})", _INSTALL
        ) from error
    version = tuple(int(part) for part in gx.__version__.split(".")[:2] if part.isdigit())
    if not _OLDEST <= version < _TOO_NEW:
        raise GreatExpectationsMissing(
            f"Great Expectations {gx.__version__} is installed, and 1.24 to 1.x is wanted", _INSTALL
        )
    return gx


def require_suite(suite: object) -> Any:
    """The same, if it is a suite.

    Raises:
        GreatExpectationsMissing: see `great_expectations`.
        SuiteInvalid: it is none, or has no expectation.
    """
    gx = great_expectations()
    if not isinstance(suite, gx.ExpectationSuite):
        raise SuiteInvalid(
            f"a {type(suite).__name__} is no suite of expectations",
            "give a great_expectations.ExpectationSuite, as audit.checks.suite() makes one",
        )
    if not suite.expectations:
        raise SuiteInvalid(
            f"the suite {suite.name!r} has no expectation", "add one: suite.add_expectation(…)"
        )
    return suite


def new_suite(name: str, expectations: Iterator[Any]) -> Any:
    """A suite of expectations that a user may extend."""
    gx = great_expectations()
    with _its_own_warnings():
        _require_current_context()
        return gx.ExpectationSuite(name=name, expectations=list(expectations))


def run_suite(suite: Any, frame: DataFrame, name: str, *, in_full: bool) -> tuple[Outcome, ...]:
    """Validate a frame; the outcomes are in the order of the suite.

    Args:
        suite: as `require_suite` gives it.
        frame: what is validated, in the session that may read it.
        name: what the frame is called.
        in_full: all that is not as expected comes to the driver, so the frame is to be small.
    """
    gx = great_expectations()
    with _ONE_AT_A_TIME, _its_own_warnings():
        context = _in_memory()
        batch = _batch_of(context, frame, name)
        own = gx.ExpectationSuite(
            name=suite.name,
            expectations=[_copied(one, number) for number, one in enumerate(suite.expectations)],
            suite_parameters=dict(suite.suite_parameters),
        )
        definition = gx.ValidationDefinition(name=_NAME, data=batch, suite=context.suites.add(own))
        checkpoint = gx.Checkpoint(
            name=_NAME,
            validation_definitions=[context.validation_definitions.add(definition)],
            result_format="COMPLETE" if in_full else "BASIC",
        )
        done = context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": frame})
        (results,) = done.run_results.values()
    found = sorted(results.results, key=lambda one: one.expectation_config.meta[_NUMBER])
    return tuple(outcome_of(one, number) for number, one in enumerate(found))


_NUMBER = "audit_number"


def _copied(expectation: Any, number: int) -> Any:
    """A copy: an expectation belongs to one suite, and a suite to one context.

    It carries its number: results of expectations that raised an error come before the others.
    """
    copied = copy.copy(expectation)
    copied.meta = {**(copied.meta or {}), _NUMBER: number}
    return copied


def _in_memory() -> Any:
    """A context that knows no file, no site and no progress bar."""
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    _require_current_context()
    return EphemeralDataContext(
        DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            progress_bars=ProgressBarsConfig(globally=False),
            analytics_enabled=False,
        )
    )


def _require_current_context() -> None:
    """Parts of Great Expectations (1.24) ask for the current context of the process: there is to be one."""
    from great_expectations.data_context.data_context.context_factory import project_manager
    from great_expectations.exceptions.exceptions import DataContextRequiredError

    gx = great_expectations()
    try:
        project_manager.get_current_project()
    except DataContextRequiredError:
        gx.get_context(mode="ephemeral", cloud_mode=False)


def _batch_of(context: Any, frame: DataFrame, name: str) -> Any:
    gx = great_expectations()
    # Without `persist=False` it caches each frame, and never lets go of it (great_expectations #7830).
    source = context.data_sources.add_spark(_NAME, persist=False)
    # It asks in the first session of the process (1.24), whose user may see more than the frame's does.
    object.__setattr__(source, "_spark", frame.sparkSession)  # there is no public way
    if source.get_execution_engine().spark is not frame.sparkSession:
        raise GreatExpectationsMissing(
            f"Great Expectations {gx.__version__} does not ask in the session that it is given",
            f"install one that does: {_INSTALL}",
        )
    return source.add_dataframe_asset(name).add_batch_definition_whole_dataframe(name)


@contextmanager
def _its_own_warnings() -> Iterator[None]:
    """A block whose warnings about Great Expectations' own code tell its users nothing."""
    with warnings.catch_warnings():
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.filterwarnings("ignore", category=category, module=r"great_expectations\.")
        warnings.filterwarnings("ignore", "force_reuse_spark_context is deprecated", DeprecationWarning)
        yield
