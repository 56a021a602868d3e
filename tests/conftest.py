"""What every test may ask for: the one Spark of the test process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import audit
from audit.embedded.spark import embedded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# No test measures time: a slow machine is no failure.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# The quick compiler alone, and less to compile: tests run many plans once each, not one plan long. What it
# compiles fills its default of 48 MB, and is thrown away and compiled again.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=400m -XX:+UseSerialGC -Xmn400m"
    " -Djdk.lang.Process.launchMechanism=VFORK"
)
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.default.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.sql.ui.retainedExecutions": "10",
    # Each broadcast takes a page, whatever is in it: a sixteenth of the heap by default.
    "spark.buffer.pageSize": "2m",
    # Hadoop's FileContext starts a process for each look at a local file, ten a commit: these go without it.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.driver.extraJavaOptions": JAVA,
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The embedded session, un-audited, with a root of its own; one a test process."""
    session = embedded(tmp_path_factory.mktemp("root"), app_name="tests", master="local[2]", conf=QUICK)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A new session of the one Spark, audited under a root of its own for the tests of a module."""
    session = spark.newSession()
    audit.attach(session, user="tester", root=str(tmp_path_factory.mktemp("audit")))
    yield session
    audit.detach(session)
    session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")
