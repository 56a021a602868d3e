"""The notebooks of examples/ run from top to bottom, and their committed outputs are what they show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import audit
from examples.run import run

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
OWN_SPARK = 'spark = audit.session(root=root, user="ann")'
WITH_A_SPARK = 'audited = audit.attach(spark, user="ann", root=root)'

pytestmark = [pytest.mark.spark, pytest.mark.slow("some twenty statements")]
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def shown(notebook):
    """What the cells show as text, without the picture of a graph and without paths and times of a run."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        "".join(output["text"] if "text" in output else output["data"]["text/plain"])
        for cell in cells
        for output in cell["outputs"]
        if "image/svg+xml" not in output.get("data", {})
    ]


@pytest.fixture
def of_a_reader(spark):
    """A session that a reader has already; the notebook's objects are gone afterwards."""
    session = spark.newSession()
    yield session
    session.sql("USE default")
    session.sql("DROP SCHEMA shop CASCADE")
    audit.detach(session)
    session.sql("DROP SCHEMA account_usage CASCADE")


@each
def test_it_shows_what_is_committed(path, tmp_path, of_a_reader):
    """Run with a Spark that is there, as the notebook says how: the same answers, and a picture."""
    text = path.read_text(encoding="utf-8")
    own, with_a_spark = (json.dumps(line)[1:-1] for line in (OWN_SPARK, WITH_A_SPARK))
    assert text.count(own) == 1
    copy = tmp_path / path.name
    copy.write_text(text.replace(own, with_a_spark), encoding="utf-8")
    after = run(copy, {"__name__": "__main__", "spark": of_a_reader})
    assert shown(after) == shown(json.loads(text))
    assert "image/svg+xml" in json.dumps(after)


@pytest.mark.long("the same in a Spark of its own")
@each
def test_it_runs_by_itself(path, tmp_path):
    """As a reader runs it who has no Spark, in a folder of their own."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    command = [sys.executable, str(EXAMPLES / "run.py"), str(copy)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = (json.loads(one.read_text(encoding="utf-8")) for one in (path, copy))
    assert shown(after) == shown(before)
    assert "image/svg+xml" in copy.read_text(encoding="utf-8")
