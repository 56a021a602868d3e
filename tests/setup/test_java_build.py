"""The jar of our own Java: the same sources give the same bytes, with a JDK or without, and it is checked."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from audit.core.errors import JavaClassesError
from audit.spark import java_classes
from audit.spark.embedded.java import locate

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "java"))
import build  # noqa: E402

pytestmark = pytest.mark.spark  # a compiler is a JVM
SMALL = "package io.sparkaccesshistory; class Small { java.util.List<String> names = java.util.List.of(); }"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The build compiles one small class, against nothing, into a folder of the test."""
    jar = tmp_path / "jar" / build.JAR.name
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "Small.java").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(build, "class_path", lambda: str(tmp_path))
    monkeypatch.setattr(build, "JAR", jar)
    monkeypatch.setattr(java_classes, "JAR", jar)
    java_classes._verified.cache_clear()
    yield jar
    java_classes._verified.cache_clear()


@pytest.fixture
def without_javac(tmp_path, monkeypatch):
    """There is a Java, and no compiler beside it."""
    java, _ = locate(os.environ)
    alone = tmp_path / "jre" / "bin" / "java"
    alone.parent.mkdir(parents=True)
    alone.write_text(f'#!/bin/sh\nexec {java.resolve()} "$@"\n', encoding="utf-8")
    alone.chmod(alone.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    monkeypatch.setenv("PATH", str(tmp_path))


def test_the_same_sources_give_the_same_bytes(elsewhere):
    """No time and no order of files is in the jar; a current one is not built again."""
    build.build()
    first = elsewhere.read_bytes()
    written = elsewhere.stat().st_mtime_ns
    build.build()
    assert elsewhere.stat().st_mtime_ns == written
    elsewhere.unlink()
    build.build()
    assert elsewhere.read_bytes() == first


def test_other_sources_are_another_jar(elsewhere):
    """A changed source makes the jar stale."""
    build.build()
    assert build.is_current()
    with (build.SOURCES / "Small.java").open("a", encoding="utf-8") as file:
        file.write("// changed\n")
    assert not build.is_current()


def test_a_java_without_a_compiler_compiles_too(elsewhere, without_javac):
    """Where there is no javac, Eclipse's compiler makes the jar."""
    assert build.compiler()[1] == "-jar"
    build.build()
    assert java_classes._verified() == elsewhere


@pytest.mark.slow("compiles all of the Java")
def test_all_of_the_java_compiles_without_a_jdk(without_javac, tmp_path):
    """ECJ takes Scala's methods otherwise than javac does: `Scala.java` is written for both."""
    build.compile_into(tmp_path / "classes", build._sources(), build.class_path())
    assert (tmp_path / "classes" / "io" / "sparkaccesshistory" / "AccessHistoryExtensions.class").is_file()


def test_a_warning_is_an_error(elsewhere):
    """A raw type is what javac warns of."""
    (build.SOURCES / "Small.java").write_text("class Small { java.util.List names; }", encoding="utf-8")
    with pytest.raises(JavaClassesError, match=r"(?s)Small\.java:1.*rawtypes"):
        build.build()


def test_sources_that_do_not_compile_name_the_line(elsewhere):
    """The error has what the compiler says, and no jar is left."""
    (build.SOURCES / "Broken.java").write_text("class Broken { int x = y; }", encoding="utf-8")
    with pytest.raises(JavaClassesError, match=r"(?s)Broken\.java:1.*symbol.*y"):
        build.build()
    assert not elsewhere.exists()


def test_an_altered_jar_is_refused(elsewhere):
    """One byte more than the build has written: no JVM gets it."""
    build.build()
    with elsewhere.open("ab") as file:
        file.write(b"0")
    with pytest.raises(JavaClassesError, match="its build wrote") as caught:
        java_classes._verified()
    assert "make setup" in caught.value.way_out


def test_a_missing_jar_says_how_to_build_it(elsewhere):
    """A checkout that has not been set up."""
    with pytest.raises(JavaClassesError, match="cannot be read") as caught:
        java_classes._verified()
    assert caught.value.code == "AUDIT_JAVA_CLASSES"
