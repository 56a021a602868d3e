"""Compiles the Java of this project into one jar, which `audit` brings into Spark's driver.

In: `java/src/main/java`, the jars of the environment's PySpark and Delta's. Out: the jar `access-history.jar`
in `audit/spark/jar`, and its sha256 beside it. javac compiles where there is a JDK, else Eclipse's compiler
(ecj), which needs Java alone. The same sources and compiler give the same bytes. `make setup`, the build hook
of the wheel and the tests call it; where the jar is that of the sources, it does nothing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a build has no installed `audit`, and a script only its own folder

from audit.core.errors import AuditError, JavaClassesError  # noqa: E402
from audit.spark.embedded import jars, java  # noqa: E402

SOURCES = ROOT / "java" / "src" / "main" / "java"
TOOLS = ROOT / "java" / "tools.lock"
JAR = ROOT / "audit" / "spark" / "jar" / "access-history.jar"
STAMP = "io/sparkaccesshistory/sources.sha256"
RELEASE = "17"
# Jars of Spark's name others in their manifests that are not there (`path`).
LINT = "-Xlint:all,-path"
_OPTIONS = ("-proc:none", "-encoding", "UTF-8")
_LINES = 60  # of what a compiler says
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can hold


def digest() -> str:
    """What the sources are, names and contents, in hexadecimal."""
    found = hashlib.sha256()
    for path in _sources():
        found.update(f"{path.relative_to(SOURCES).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def is_current() -> bool:
    """Whether the jar is there and was made of these sources."""
    try:
        with ZipFile(JAR) as jar:
            return jar.read(STAMP).decode() == digest() and _checksum(JAR).is_file()
    except (OSError, KeyError, BadZipFile):
        return False


def build() -> Path:
    """Make the jar where it is not current.

    Raises:
        JavaClassesError: there is no PySpark to compile against, or the compiler refuses the sources.
        JavaNotFound, JavaUnsupported: there is no Java 17.
        JarUnavailable: Delta's jars, or ecj, are not here and cannot be fetched.
    """
    if not is_current():
        with tempfile.TemporaryDirectory(prefix="access-history-") as folder:
            classes = Path(folder) / "classes"
            compile_into(classes, _sources(), class_path())
            _pack(classes)
    return JAR


def compile_into(classes: Path, sources: list[Path], path: str) -> None:
    """Compile sources against a class path.

    Raises:
        JavaClassesError: the compiler refuses them.
    """
    classes.mkdir()
    arguments = classes.with_name("arguments")  # in a file: a command line may be too short for all jars
    words = ("-d", str(classes), "-cp", path, *map(str, sources))
    arguments.write_text("".join(f'"{word}"\n' for word in words).replace("\\", "\\\\"), encoding="utf-8")
    command = [*compiler(), f"@{arguments}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "".join((done.stdout + done.stderr).splitlines(keepends=True)[-_LINES:])
        raise JavaClassesError(f"{command[0]} does not compile {SOURCES}:\n{said}", "mend what it names")


def compiler() -> list[str]:
    """The command that compiles Java here."""
    executable = java.find(os.environ).executable
    beside = shutil.which("javac", path=str(executable.resolve().parent)) or shutil.which("javac")
    if beside:
        return [beside, "--release", RELEASE, LINT, "-Werror", *_OPTIONS]
    return [str(executable), "-jar", str(tool("ecj")), f"-{RELEASE}", "-nowarn", *_OPTIONS]


def class_path() -> str:
    """What the sources are compiled against: Spark's jars and Delta's."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JavaClassesError(
            f"{sys.executable} has no pyspark, whose jars the Java of this project is compiled against",
            "pip install 'pyspark>=4.2,<4.3' there first, or build with isolation",
        )
    spark = sorted((Path(spec.origin).parent / "jars").glob("*.jar"))  # ecj knows no `*` in a class path
    return os.pathsep.join(map(str, (*spark, *jars.resolve(os.environ))))


def tool(artifact: str) -> Path:
    """A jar of `java/tools.lock`, fetched where it is not here."""
    (wanted,) = (jar for jar in jars.read_lock(TOOLS.read_text(encoding="utf-8")) if jar.artifact == artifact)
    return jars.resolve(os.environ, (wanted,))[0]


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _checksum(jar: Path) -> Path:
    return jar.with_name(f"{jar.name}.sha256")


def _pack(classes: Path) -> None:
    """Write the jar and its sha256; whoever reads meanwhile sees the old jar or the new one, whole."""
    files = {path.relative_to(classes).as_posix(): path.read_bytes() for path in classes.rglob("*.class")}
    files["META-INF/MANIFEST.MF"] = b"Manifest-Version: 1.0\r\n\r\n"
    files[STAMP] = digest().encode()
    JAR.parent.mkdir(parents=True, exist_ok=True)
    part = JAR.with_name(f".{JAR.name}.{os.getpid()}")
    with ZipFile(part, "w", ZIP_DEFLATED) as jar:
        for name in sorted(files):
            entry = ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
            jar.writestr(entry, files[name])
    _checksum(JAR).write_text(f"{jars.sha256_of(part)}  {JAR.name}\n", encoding="utf-8")
    part.replace(JAR)


if __name__ == "__main__":
    try:
        print(build())  # noqa: T201
    except AuditError as error:
        sys.exit(str(error))
