"""The table of internals lists what the code relies on, its page is not stale, the probe finds a change."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from audit.core.errors import AuditError, InternalsChangedError
from audit.spark.internals import page, probe
from audit.spark.internals.pyspark_members import PYTHON_SURFACES
from audit.spark.internals.spark_members import JVM_SURFACES
from audit.spark.internals.surface import Kind, Member, PythonMember

ROOT = Path(__file__).parents[2]
JAVA = sorted((ROOT / "java" / "src" / "main" / "java").rglob("*.java"))
PYTHON = [path for part in ("audit", "lineage") for path in sorted((ROOT / part).rglob("*.py"))]
LITERAL = r'"([\w.]+)"'
# Reflection of the JDK, and the small helpers that lead to it with a name.
REFLECTION = [
    re.compile(rf"get(?:Declared)?(?:Field|Method)\(\s*{LITERAL}"),
    re.compile(rf"Class\.forName\(\s*{LITERAL}"),
    re.compile(rf"getMethodName\(\)\.(?:startsWith|equals)\({LITERAL}"),
    re.compile(rf"\b(?:call|hidden|called)\([^\";]*?{LITERAL}\)"),
    re.compile(rf"\bfield\([\w.()]+, {LITERAL}\)"),
    # What a clone of a session gets, by the names of fields.
    re.compile(r'"(_(?:current|session)\w+)"'),
    re.compile(rf"\bset\([\w.]+\.class, {LITERAL}"),
    re.compile(rf"field\.getName\(\)\.equals\({LITERAL}\)"),
]
PLACES = re.compile(
    r"\b(?:getDeclaredFields?|getDeclaredMethods?|getMethod|getField|setAccessible|Unsafe|getStackTrace|StackWalker)\b"
)
PRIVATE = re.compile(
    r"\b(?!self\b|cls\b)\w+(?:\.\w+|\(\))*\.(_(?:j[a-z]\w*|active_spark_context|gateway|df|spark|sc))\b"
)


def listed(path):
    """Whether the table names a file, or a folder that it is in."""
    name = path.relative_to(ROOT).as_posix()
    used = {one for surface in probe.SURFACES for one in surface.used_in}
    return any(name == one or name.startswith(f"{one}/") for one in used)


def test_reflection_names_what_the_table_has():
    """Each name that Java code passes to reflection is listed; a new one has to be, with what breaks."""
    known = {name for surface in JVM_SURFACES for name in surface.reflective}
    found = {
        (path.name, name)
        for path in JAVA
        for one in REFLECTION
        for name in one.findall(path.read_text("utf-8"))
    }
    assert {(file, name) for file, name in found if name not in known} == set()
    assert len({name for _, name in found}) > 40


def test_files_with_reflection_are_in_the_table():
    """A Java file that reflects stands in `used_in` of a surface; the probe itself is none."""
    found = [
        path for path in JAVA if PLACES.search(path.read_text("utf-8")) and path.stem != "InternalsProbe"
    ]
    assert [path.name for path in found if not listed(path)] == []
    assert len(found) >= 5


def test_the_members_that_plans_are_asked_for_are_in_the_table():
    """What Members.java takes for an error where a class lacks it, the probe looks for at attach."""
    (source,) = (path.read_text("utf-8") for path in JAVA if path.stem == "Members")
    known = {(member.owner.rpartition(".")[2], member.name) for one in JVM_SURFACES for member in one.members}
    asked = {
        (owner.rpartition(".")[2], name)
        for owner, names in re.findall(rf"method\(\s*\w+ \+ {LITERAL},([^;]*?)\);", source)
        for name in re.findall(LITERAL, names)
    }
    assert asked - known == set()
    assert len(asked) > 50


def test_private_attributes_of_pyspark_are_in_the_table():
    """Each private attribute of PySpark's that Python code reads is listed, and so is the file."""
    names = {member.name for surface in PYTHON_SURFACES for member in surface.python}
    found = {(path, name) for path in PYTHON for name in PRIVATE.findall(path.read_text("utf-8"))}
    assert {(path.name, name) for path, name in found if name not in names} == set()
    assert {path.relative_to(ROOT).as_posix() for path, _ in found if not listed(path)} == set()
    assert {name for _, name in found} >= {"_jdf", "_jsparkSession", "_jwrite"}


def test_used_in_names_files_that_are_there():
    """The table names no file that has moved."""
    named = {one for surface in probe.SURFACES for one in surface.used_in}
    assert {one for one in named if not (ROOT / one).exists()} == set()


def test_the_page_is_not_stale():
    """docs/internals.md is what `python -m audit.spark.internals.page` writes."""
    assert (ROOT / "docs" / "internals.md").read_text("utf-8") == page.page()


def test_every_surface_says_what_breaks():
    """No entry is without a purpose, what breaks, the public way, and something to look for."""
    for surface in probe.SURFACES:
        assert all((surface.used_in, surface.purpose, surface.breaks, surface.instead)), surface.title
        assert surface.members or surface.python, surface.title


def test_python_members_are_there_and_a_missing_one_is_found():
    """All that is replaced is there; a method that is not, or takes other parameters, is named."""
    everything = [member for surface in PYTHON_SURFACES for member in surface.python]
    assert len(everything) > 140
    assert probe.missing_in_python(everything) == []
    gone = [
        PythonMember("pyspark.sql.session.SparkSession", "sql", ("text",)),
        PythonMember("pyspark.sql.session.SparkSession", "query"),
        PythonMember("pyspark.sql.nowhere.Frame", "collect"),
        PythonMember("pyspark.sql.readwriter.DataFrameReader", "_jnothing", (), is_instance=True),
    ]
    assert probe.missing_in_python(gone) == [member.line for member in gone]


@pytest.mark.spark
def test_the_probe_finds_everything_and_names_what_is_missing(spark, monkeypatch):
    """In the supported versions nothing is missing; a change is one error with versions and a way out."""
    probe.require_internals(spark)
    lines = [member.line for surface in JVM_SURFACES for member in surface.members]
    assert probe.missing_in_jvm(spark, lines) == []
    state = "org.apache.spark.sql.internal.SessionState"
    changed = [
        Member(Kind.CLASS, "org.apache.spark.sql.Nowhere"),
        Member(Kind.CONSTRUCTOR, state, "", "1"),
        Member(Kind.FIELD, state, "planNormalizationRules", "java.lang.String"),
        Member(Kind.FIELD, state, "rules", "scala.collection.immutable.Seq"),
        Member(Kind.METHOD, state, "sqlParser", "2"),
    ]
    gone = [member.line for member in changed]
    assert probe.missing_in_jvm(spark, gone) == gone
    monkeypatch.setattr(probe, "PYTHON_SURFACES", ())
    monkeypatch.setattr(probe, "JVM_SURFACES", (replace(JVM_SURFACES[0], members=tuple(changed)),))
    probe._WHOLE.clear()
    with pytest.raises(InternalsChangedError, match=r"Spark 4\.2\.\d and Delta 4\.4\.\d") as raised:
        probe.require_internals(spark)
    assert isinstance(raised.value, AuditError)
    assert raised.value.code == "AUDIT_INTERNALS_CHANGED"
    assert all(member.line in raised.value.problem for member in changed)
    assert "docs/internals.md" in raised.value.way_out
