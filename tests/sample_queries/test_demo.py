"""The README's second command, from an empty folder to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main

pytestmark = pytest.mark.spark

SAID = (
    "Who read planes?",
    "DENIED",
    "N*****",
    "engineers_only, masked",
    "UNDROP SCHEMA mart",
    "2 tables",
    "100.0 % of",
    "; 0 lost.",
    "What next",
)


@pytest.mark.slow("the whole demo, in a Spark of its own")
def test_to_its_end(tmp_path):
    """Each part has its answer, all is on record in full, nothing fails or warns."""
    command = [sys.executable, "-m", "examples.demo", "--root", str(tmp_path / "root")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [said for said in ("Traceback", "Warning") if said in done.stderr] == []
    assert [said for said in SAID if said not in done.stdout] == []
    # What the screen proposes next has an answer, though the schema was dropped and has come back.
    assert "lineage" in done.stdout.partition("What next")[2]
    asked = CliRunner().invoke(main, ["lineage", "mart.carrier_delay", "--root", str(tmp_path / "root")])
    assert "spark_catalog.clean.flights.arr_delay" in asked.stdout, asked.output
