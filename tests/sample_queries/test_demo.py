"""The README's second command, from an empty folder to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import audit
from audit.cli import main
from audit.query.tables import opened
from audit.store.views import VIEWS, description
from examples.demo import workload
from examples.demo.__main__ import show
from examples.demo.screen import Screen
from tests.quick_spark import GENERATED_CODE

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
    "All 17 expectations hold",
    "What next",
)


def is_shown(text, root):
    """Each part has its answer; what the screen proposes next has one, though the schema has come back."""
    assert [said for said in SAID if said not in text] == []
    assert "lineage" in text.partition("What next")[2]
    asked = CliRunner().invoke(main, ["lineage", "mart.carrier_delay", "--root", str(root)])
    assert "spark_catalog.clean.flights.arr_delay" in asked.stdout, asked.output
    page = root / "access.html"
    made = CliRunner().invoke(main, ["report", "access", "-o", str(page), "--root", str(root)])
    assert (made.exit_code, "spark_catalog.clean.flights" in page.read_text()) == (0, True), made.output
    with opened(str(root)) as tables:
        answered = [
            view for view in VIEWS if tables.has(view) and tables.ask(description(view).example, {}).rows
        ]
    # The demo has no tags, grants of roles, exports, backups or validations.
    assert len(answered) > 30


@pytest.fixture
def of_the_demo(spark, tmp_path):
    """A session of the tests' Spark as `audit.session` gives it to the demo."""
    session = spark.newSession()
    session.conf.set(GENERATED_CODE, "FALLBACK")  # for a table of 336,776 rows it pays
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    audit.attach(session, user="loader", root=str(tmp_path))
    yield session
    audit.detach(session)
    for schema in ("raw", "staging", "clean", "mart", "account_usage"):
        spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.mark.long("the whole demo; .ci/run runs the command itself")
def test_what_it_shows(of_the_demo, tmp_path, capsys):
    """In the Spark of the tests; `.ci/run` runs the command itself."""
    workload.write_landing(tmp_path / "landing")
    show(Screen(), of_the_demo, str(tmp_path))
    is_shown(capsys.readouterr().out, tmp_path)


@pytest.mark.long("the whole demo, in a Spark of its own; .ci/run runs it, too")
def test_to_its_end(tmp_path):
    """All is on record in full, nothing fails or warns."""
    root = tmp_path / "root"
    command = [sys.executable, "-m", "examples.demo", "--root", str(root)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [said for said in ("Traceback", "Warning") if said in done.stderr] == []
    is_shown(done.stdout, root)
