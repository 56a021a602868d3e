"""The archive of Java's classes: used where it is there, another one for other jars, errors that say why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.core.errors import ClassArchiveError
from audit.spark.embedded import class_archive, jars
from audit.spark.embedded.java import locate


def test_other_jars_and_another_java_have_another_archive(tmp_path):
    """The name stands for all that the archive was made from."""
    jar = tmp_path / "delta.jar"
    jar.write_bytes(b"1")
    environ = {**os.environ, "AUDIT_JARS_DIR": str(tmp_path)}
    first = class_archive.locate(environ, [jar])
    assert first == class_archive.locate(environ, [jar])
    jar.write_bytes(b"22")
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh")
    java.chmod(0o755)
    others = {
        class_archive.locate(environ, [jar]),
        class_archive.locate(environ, []),
        class_archive.locate({**environ, "JAVA_HOME": str(tmp_path)}, [jar]),
    }
    assert len(others | {first}) == 4
    assert {path.parent for path in others} == {tmp_path}


@pytest.mark.spark
@pytest.mark.skipif(sys.platform != "linux", reason="the maps of a process are Linux's")
def test_a_session_maps_the_archive_that_setup_made(spark):
    """`make test` makes the archive; Spark's JVM has it in memory, so it fits Java and the class path."""
    done = CliRunner().invoke(main, ["setup", "--archive", "--json"], catch_exceptions=False)
    path = json.loads(done.stdout)[-1]["path"]
    assert Path(path) == class_archive.locate(os.environ, jars.resolve(os.environ))
    jvm = getattr(spark.sparkContext._jvm, "java.lang.ProcessHandle").current().pid()
    assert path in Path(f"/proc/{jvm}/maps").read_text()


def test_a_jvm_that_writes_none_is_an_error_with_the_log(tmp_path):
    """A full disk leaves no archive; the error names file, log and way out, and nothing lies at the name."""
    target = tmp_path / "classes.jsa"
    java, _ = locate(os.environ)
    with (
        subprocess.Popen([java, "-version"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
        pytest.raises(ClassArchiveError, match=r"none\.part.*spark\.log says why; free 250 MB"),
    ):
        class_archive.keep(process, tmp_path / "none.part", target, tmp_path / "spark.log")
    assert not target.exists()
