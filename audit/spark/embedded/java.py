"""Finds the Java that Spark will start, the way Spark finds it.

In: the environment. Out: a `Java`, or an error that says what to install. `make` asks before the long
installs, `audit doctor` shows it, and a start that failed asks for the reason. Standard library only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.errors import JavaNotFound, JavaUnsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

# Spark 4.2's own floor, and a module that it always loads (`--add-modules` in its launcher). JREs made by
# jlink, such as those in wheels, may lack it.
OLDEST_MAJOR = 17
VECTOR_MODULE = "jdk.incubator.vector"

HINT = (
    "install a JDK 17 (Debian, Ubuntu: `apt install openjdk-17-jdk-headless`; "
    "macOS: `brew install openjdk@17`; "
    "Windows: `winget install EclipseAdoptium.Temurin.17.JDK`; "
    "conda: `conda install -c conda-forge openjdk=17`) and have it on PATH or point JAVA_HOME at it"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can start; `found_by` is `JAVA_HOME` or `PATH`."""

    executable: Path
    version: str
    major: int
    found_by: str


def find(environ: Mapping[str, str]) -> Java:
    """The Java that Spark's launcher would use, checked by running it (about 0.1 s).

    Raises:
        JavaNotFound: JAVA_HOME names a folder without `bin/java`, or PATH has no `java`.
        JavaUnsupported: older than 17, without the vector module, or it does not run.
    """
    executable, found_by = locate(environ)
    done = _run(executable, "--add-modules", VECTOR_MODULE, "-version")
    answer = done if done.returncode == 0 else _run(executable, "-version")
    where = f"{executable} (from {found_by})"
    version = parse_version(answer.stderr + answer.stdout)
    if version is None:
        output = "; ".join((answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines())
        raise JavaUnsupported(f"{where} does not tell its version, it said: {output}", HINT)
    if version[1] < OLDEST_MAJOR:
        raise JavaUnsupported(
            f"{where} is Java {version[0]}, and Spark 4.2 needs {OLDEST_MAJOR} or later", HINT
        )
    if done.returncode != 0:
        raise JavaUnsupported(
            f"{where} is Java {version[0]} without {VECTOR_MODULE}, which Spark loads", HINT
        )
    return Java(executable, *version, found_by)


def locate(environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where Spark's launcher looks: JAVA_HOME when it is set, right or wrong, else PATH.

    Returns:
        The executable and the name of the variable that led to it. Nothing is run.

    Raises:
        JavaNotFound: there is none.
    """
    home = environ.get("JAVA_HOME", "")
    if home:
        found = shutil.which("java", path=str(Path(home) / "bin"))
        if found is None:
            raise JavaNotFound(f"JAVA_HOME is {home}, which has no bin/java", HINT)
        return Path(found), "JAVA_HOME"
    found = shutil.which("java", path=environ.get("PATH", ""))
    if found is None:
        raise JavaNotFound("Spark needs Java 17, and there is no java on PATH", HINT)
    return Path(found), "PATH"


def parse_version(text: str) -> tuple[str, int] | None:
    """The full version and its major number out of what `java -version` prints, None if it is not there.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    ('17.0.15', 17)
    >>> parse_version('java version "1.8.0_401"')
    ('1.8.0_401', 8)
    >>> parse_version('openjdk version "21-ea" 2023-09-19')
    ('21-ea', 21)
    """
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', text)
    return (found[1], int(found[2])) if found else None


def _run(executable: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(executable), *arguments], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaUnsupported(f"{executable} does not run ({error})", HINT) from error
