"""Finding Java as Spark does, with executables of our own in its place."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from audit.spark.embedded import java

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts")


def stand_in(folder, script):
    """A `java` in a folder's bin, which is this script."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def test_this_machines_java_will_do():
    """The Java that the tests run on is found, whole."""
    found = java.find(os.environ)
    assert found.major >= java.OLDEST_MAJOR
    assert found.version.startswith(str(found.major))


def test_java_home_wins_over_path(tmp_path):
    """JAVA_HOME is what Spark takes when it is set, even where PATH has another."""
    home = stand_in(tmp_path / "home", """echo 'openjdk version "21.0.2" 2024-01-16' >&2""")
    other = stand_in(tmp_path / "other", "exit 1")
    found = java.find({"JAVA_HOME": home, "PATH": f"{other}/bin"})
    assert (found.version, found.major, found.found_by) == ("21.0.2", 21, "JAVA_HOME")


def test_a_java_home_without_java_is_named(tmp_path):
    """A wrong JAVA_HOME is an error even where PATH has a Java: Spark would not look there."""
    with pytest.raises(java.JavaNotFound, match=f"JAVA_HOME is {tmp_path}, which has no bin/java; install"):
        java.find({"JAVA_HOME": str(tmp_path), "PATH": os.environ["PATH"]})


def test_no_java_says_what_to_install(tmp_path):
    """No Java at all: one sentence with the commands for each system."""
    with pytest.raises(
        java.JavaNotFound, match=r"apt install openjdk-17.*brew install.*winget.*conda"
    ) as caught:
        java.find({"PATH": str(tmp_path)})
    assert caught.value.code == "AUDIT_JAVA_NOT_FOUND"
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            """[ "$1" = -version ] || exit 1; echo 'java version "1.8.0_401"' >&2""",
            r"is Java 1\.8\.0_401, and .* needs 17",
        ),
        ("""echo 'openjdk version "11.0.2" 2019' >&2""", r"is Java 11\.0\.2, and .* needs 17"),
        (
            """[ "$1" = -version ] || exit 1; echo 'openjdk version "17.0.9" 2023' >&2""",
            "without jdk.incubator.vector",
        ),
        ("echo 'Unable to locate a Java Runtime.' >&2; exit 1", "it said: Unable to locate a Java Runtime"),
        ("exit 1", "it said: nothing"),
    ],
)
def test_a_java_that_will_not_do_is_told_apart(tmp_path, script, says):
    """Too old, without the vector module, macOS's placeholder: each says what it is, and what to install."""
    home = stand_in(tmp_path / "home", script)
    with pytest.raises(java.JavaUnsupported, match=f"{home}/bin/java .*{says}.*install a JDK 17"):
        java.find({"JAVA_HOME": home})
