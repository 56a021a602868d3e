"""The embedded session: what it is, and what it refuses."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys

import pytest

from audit.spark.embedded.rootlock import RootBusy, RootLock
from audit.spark.embedded.spark import ROOT_KEY, SparkUnavailable, embedded


@pytest.mark.spark
def test_the_second_call_gives_the_same_session(spark):
    """Two calls on one root in one process: one session."""
    assert embedded(spark.conf.get(ROOT_KEY)) is spark


@pytest.mark.spark
def test_another_root_in_the_same_process_is_refused(spark, tmp_path):
    """A process has one Spark; a second root is an error that names both and the way out."""
    with pytest.raises(
        SparkUnavailable, match=f"already runs a Spark, one at .*none can start at {tmp_path}"
    ) as caught:
        embedded(tmp_path)
    assert caught.value.code == "AUDIT_SPARK_RUNS"


@pytest.mark.spark
def test_other_settings_in_the_same_process_are_refused(spark):
    """Settings that the running session does not have are not dropped in silence."""
    with pytest.raises(SparkUnavailable, match=r"another spark\.driver\.memory"):
        embedded(spark.conf.get(ROOT_KEY), conf={"spark.driver.memory": "3g"})


@pytest.mark.spark
def test_parameters_work(spark):
    """Named and positional parameters work although Delta's parser stands before Spark's."""
    assert spark.sql("SELECT :a + 1 AS n", args={"a": 1}).first().n == 2
    assert spark.sql("SELECT ? + 1 AS n", args=[1]).first().n == 2


@pytest.mark.spark
def test_the_session_lives_in_utc(spark):
    """A timestamp's date is its UTC date, whatever this machine's zone."""
    query = "SELECT CAST(TIMESTAMP '2026-01-01 23:30:00Z' AS DATE) AS d"
    assert spark.sql(query).first().d == dt.date(2026, 1, 1)


@pytest.mark.spark
def test_python_functions_run_on_this_python(spark):
    """A Python UDF runs in this interpreter, not in the first python3 of PATH."""
    from pyspark.sql.functions import udf

    executable = udf(lambda: sys.executable)
    assert spark.range(1).select(executable().alias("e")).first().e == sys.executable


@pytest.mark.spark
def test_sparks_own_errors_arrive(spark):
    """Silence is for logs; what a user did wrong still raises."""
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM nowhere")


def test_a_root_elsewhere_is_refused():
    """The metastore of the embedded session is local; a remote root says what to do instead."""
    with pytest.raises(SparkUnavailable, match=r"s3a://bucket/x is elsewhere.*audit\.attach"):
        embedded("s3a://bucket/x")


HOLD = """
import sys
from pathlib import Path
from audit.spark.embedded.rootlock import RootLock
lock = RootLock.claim(Path(sys.argv[1]), 0.1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no flock; Derby's own refusal remains")
def test_a_second_process_is_refused_by_name(tmp_path):
    """While one process has a root, another is told which, what is locked and what to do; then it is free."""
    lock = RootLock.claim(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", HOLD, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert f"process {os.getpid()} has the metastore {tmp_path / 'metastore'} open" in done.stderr
    assert "end that process, take another root" in done.stderr
    lock.release()
    RootLock.claim(tmp_path).release()


@pytest.mark.skipif(sys.platform == "win32", reason="no flock; Derby's own refusal remains")
def test_the_jvm_of_a_dead_process_is_waited_for(tmp_path):
    """The lock lives on in a child that inherited it; the next process waits, then gives up by name."""
    program = HOLD + "import subprocess; subprocess.Popen(['sleep', '1'], pass_fds=lock.descriptors)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], check=True)
    with pytest.raises(RootBusy, match="has the metastore"):
        RootLock.claim(tmp_path, patience_seconds=0.1)
    RootLock.claim(tmp_path, patience_seconds=20).release()
