"""A start of the embedded Spark, seen from outside: silent, off line, alone on its root."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.spark

START = """
    import sys
    from audit.spark.embedded.spark import embedded
    quick = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    quick["spark.sql.codegen.wholeStage"] = "false"
    spark = embedded(sys.argv[1], master="local[2]", conf=quick)
"""


def start(root, then="", **environ):
    """A process that starts Spark on a root and goes on with `then`."""
    program = textwrap.dedent(START) + textwrap.dedent(then)
    # A proxy that does not exist and no caches of Ivy or Maven: whoever asks for the network fails.
    nowhere = {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https", "HTTP", "HTTPS")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(root)],
        env={**os.environ, **nowhere, **environ},
        cwd=root.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


@pytest.mark.long("starts two drivers; .ci/run runs the demo")
def test_start_and_first_table_print_nothing(tmp_path):
    """Start, a Delta table written, read and kept in the metastore, stop: not one byte on the terminal.

    All lies under the root, though its path has a space; nothing is left in the current folder.
    """
    then = """
        spark.sql("CREATE TABLE t (a INT) USING delta")
        spark.sql("INSERT INTO t VALUES (1)")
        assert spark.sql("SELECT * FROM t WHERE a = :a", args={"a": 1}).count() == 1
        assert embedded(sys.argv[1]) is spark
    """
    root = tmp_path / "a root"
    done = start(root, then, HOME=str(tmp_path / "a root" / "home"), AUDIT_JARS_DIR=jars_dir())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a root"]
    assert {"metastore", "warehouse", "logs"} <= {path.name for path in root.iterdir()}
    again = start(root, "assert spark.table('t').count() == 1")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def jars_dir():
    """Where this machine's jars are, as a variable for a process with another home."""
    from audit.spark.embedded import jars

    return str(jars.cache_dir(os.environ))
