"""The oldest versions that pyproject.toml allows give the answers that the locked ones give."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
READ_WITHOUT_A_JVM = ("deltalake", "duckdb", "orjson", "pandas", "pyarrow", "cronsim", "rich")
ASKED = (
    "tests/core",
    "tests/query",
    "tests/report/subject",
    "tests/ops/test_status.py",
    "tests/ops/test_standard_output.py",
)


def lowest():
    """The oldest version that is allowed, of each library that reads the tables without a JVM."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for requirement in map(Requirement, listed):
        if requirement.name in READ_WITHOUT_A_JVM:
            [oldest] = [one.version for one in requirement.specifier if one.operator == ">="]
            yield f"{requirement.name}=={oldest}"


@pytest.mark.long("two minutes: it installs half a gigabyte")
def test_the_oldest_versions_that_are_allowed(tmp_path):
    """DuckDB 1.4 and delta-rs 1.2 were allowed: hashes differed, and `audit status` ended in a traceback."""
    asked, folder = list(lowest()), str(tmp_path / "oldest")
    assert len(asked) == len(READ_WITHOUT_A_JVM)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, *asked]
    installed = subprocess.run(install, check=False, capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    # An older pyarrow imports pandas by itself, which costs time alone. delta-rs 1.5 holds Python's lock
    # while it waits; the server of the test needs it.
    chosen = ["--tier", "quick", "-k", "not no_spark_is_imported and not root_on_s3", *ASKED]
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n0",
            "-p",
            "no:cacheprovider",
            "--limit-seconds",
            "0",
            *chosen,
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((folder, str(ROOT)))},
    )
    assert ran.returncode == 0, ran.stdout[-5_000:]
