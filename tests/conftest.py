"""What every test may ask for: the one Spark of the test process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from audit.spark.embedded.spark import embedded

from . import quick_spark
from .clock.moving import MovingClock
from .sessions import attached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

BUILD = Path(__file__).parent.parent / "java" / "build.py"

# No test measures time: a slow machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tests that start Spark have the Java of these sources; the others need none."""
    if any(item.get_closest_marker(name) for item in session.items for name in ("spark", "crash")):
        subprocess.run([sys.executable, BUILD], check=True, stdout=subprocess.PIPE)
        os.environ["JAVA_TOOL_OPTIONS"] = quick_spark.JAVA_OF_ONE_TEST
        # A sample is another one in each run. AUDIT_CROSS_CHECK=1 compares what all tests run.
        os.environ.setdefault("AUDIT_CROSS_CHECK", "0")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[SparkSession]:
    """The embedded session, un-audited, with a root of its own; one a test process."""
    root = tmp_path_factory.mktemp("root")
    conf = quick_spark.SETTINGS | ({} if pytestconfig.option.hive else quick_spark.QUICKER)
    session = embedded(root, app_name="tests", master="local[2]", conf=conf)
    quick_spark.use_plain_files(session)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the audit tables of a module lie."""
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def attach_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of `audit.attach` for the sessions of a module: the module's constant ATTACH."""
    return getattr(request.module, "ATTACH", {})


@pytest.fixture(scope="module")
def audited(spark: SparkSession, root: Path, attach_options: dict[str, Any]) -> Iterator[SparkSession]:
    """An audited session for the tests of a module, with Spark's own default provider, Parquet."""
    with attached(spark, root, "tester", "parquet", **attach_options) as session:
        yield session


@pytest.fixture(scope="module")
def session(spark: SparkSession, root: Path, attach_options: dict[str, Any]) -> Iterator[SparkSession]:
    """An audited session for the tests of a module: of ann, who administers; tables are Delta's."""
    with attached(spark, root, **attach_options) as session:
        yield session


@pytest.fixture(scope="module")
def moving_clock(spark: SparkSession) -> Iterator[MovingClock]:
    """The clock of Python, Spark SQL, Delta and local files, all moved together: `advance(days=9)`."""
    clock = MovingClock(spark)
    yield clock
    clock.reset()


@pytest.fixture(scope="module")
def moving_session(
    spark: SparkSession, root: Path, attach_options: dict[str, Any], moving_clock: MovingClock
) -> Iterator[SparkSession]:
    """As `session`, on `moving_clock`, which only moves on: each test makes its own tables."""
    with attached(spark, root, clock=moving_clock, **attach_options) as session:
        yield session


@pytest.fixture(autouse=True)
def ledger(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test of a module what Spark ran is on record, or counted: see `tests/ledger.py`.

    The module's constant LEDGER names the fixture of its session; most modules have none.
    """
    name = getattr(request.module, "LEDGER", None)
    if name is None:
        yield
        return
    from .ledger import balanced  # imports more than tests without Spark need

    with balanced(request.getfixturevalue(name)):
        yield


@pytest.fixture
def schema(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new current schema of `session`, named after the test, gone after it."""
    name = request.node.originalname.removeprefix("test_")[:40]
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE default")
    session.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")
