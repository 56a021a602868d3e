"""The archives that people install: what sdist and wheel hold, and that the sdist passes its own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "audit", "benchmarks", "docs", "examples", "java", "lineage", "sample_queries", "tests", "views",
)  # fmt: skip


def build(kind, folder):
    """The archive that hatchling builds of this tree."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [archive] = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The sdist of this tree."""
    return build("sdist", tmp_path_factory.mktemp("sdist"))


def test_the_sdist_holds_every_file(sdist):
    """Its tests look at benchmarks, pages and pictures as well."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this tree is no clone")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = {name for name in listed.stdout.split("\0") if name.startswith(tuple(f"{f}/" for f in FOLDERS))}
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(name for name in wanted - held if (ROOT / name).exists()) == []


@pytest.mark.spark
def test_the_wheel_holds_what_users_need(tmp_path):
    """The SQL of views and sample queries, the lock of the jars, the marks of types, the licence."""
    with zipfile.ZipFile(build("wheel", tmp_path)) as archive:
        held = set(archive.namelist())
        [license_file] = [name for name in held if name.endswith("licenses/LICENSE")]
        assert b"Apache License" in archive.read(license_file)
    sql = {str(path.relative_to(ROOT)) for path in (ROOT / "views").rglob("*.sql")}
    sql |= {f"views/sample_queries/{path.name}" for path in (ROOT / "sample_queries").glob("*.sql")}
    assert len(sql) > len(list((ROOT / "views").rglob("*.sql"))) > 0
    assert sql <= held
    assert {"audit/py.typed", "lineage/py.typed", "views/py.typed"} <= held
    assert "audit/spark/embedded/jars.lock" in held
    assert {"audit/spark/jar/access-history.jar", "audit/spark/jar/access-history.jar.sha256"} <= held
    assert not [name for name in held if name.startswith(("tests/", "examples/", "benchmarks/", "docs/"))]


@pytest.mark.long("runs the quick tier once more, in the sdist")
@pytest.mark.slow("runs the quick tier once more, in the sdist")
def test_the_sdist_passes_its_own_tests(sdist, tmp_path):
    """Unpacked in an empty folder, with nothing of this tree on the path."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    command = [sys.executable, "-m", "pytest", "--tier", "quick", "-q", "-p", "no:cacheprovider"]
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
