"""Checks, formats and tests the Java: `python java/tools.py lint | format | test`.

In: the sources under `java/src`, the tools of `tools.lock`. Out: files formatted, or what is amiss on stderr
and exit code 1. google-java-format formats; JUnit runs the tests, against the jars of the environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import build

from audit.core.errors import AuditError
from audit.spark.embedded import java

TESTS = build.ROOT / "java" / "src" / "test" / "java"
RESOURCES = TESTS.with_name("resources")
# As Spark's own launcher does (JavaModuleOptions), for its serializers.
_OPENS = [f"--add-opens=java.base/java.{part}=ALL-UNNAMED" for part in ("lang", "lang.invoke", "nio", "util")]
LOG = "audit/spark/embedded/log4j2.properties"
# google-java-format reads the parser of the JDK's own compiler.
_JAVAC = [f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED" for part in (
    "api", "code", "file", "parser", "tree", "util")]  # fmt: skip


def format_sources(*, check: bool) -> int:
    """Format all of the Java, or name the files that are not formatted."""
    files = [str(path) for folder in (build.SOURCES, TESTS) for path in sorted(folder.rglob("*.java"))]
    how = ["--dry-run", "--set-exit-if-changed"] if check else ["--replace"]
    done = _java(*_JAVAC, "-jar", str(build.tool("google-java-format")), *how, *files)
    if check and done:
        sys.stderr.write("these are not formatted: run `make format`\n")
    return done


def lint() -> int:
    """Compile with every warning as an error, and check the format."""
    build.build()
    return format_sources(check=True)


def test() -> int:
    """Compile the tests against the jar and run them."""
    junit = build.tool("junit-platform-console-standalone")
    path = os.pathsep.join((str(build.build()), str(junit), build.class_path()))
    with tempfile.TemporaryDirectory(prefix="access-history-") as folder:
        classes = Path(folder) / "classes"
        build.compile_into(classes, sorted(TESTS.rglob("*.java")), path)
        whole = os.pathsep.join((str(classes), str(RESOURCES), path))
        arguments = Path(folder) / "class-path"
        arguments.write_text(f'-cp "{whole}"\n', encoding="utf-8")
        console = "org.junit.platform.console.ConsoleLauncher"
        words = ("execute", "--scan-class-path", str(classes), "--details=summary", "--disable-banner")
        log = f"-Dlog4j2.configurationFile={(build.ROOT / LOG).as_uri()}"
        return _java(
            *_OPENS, f"@{arguments}", "-XX:TieredStopAtLevel=1", log, console, *words, "--fail-if-no-tests"
        )


def _java(*arguments: str) -> int:
    executable = java.find(os.environ).executable
    return subprocess.run([str(executable), *arguments], check=False).returncode


COMMANDS = {"lint": lint, "format": lambda: format_sources(check=False), "test": test}

if __name__ == "__main__":
    try:
        sys.exit(COMMANDS[sys.argv[1]]())
    except AuditError as error:
        sys.exit(str(error))
