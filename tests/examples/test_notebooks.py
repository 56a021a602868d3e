"""The notebooks of examples/ run from top to bottom, and their committed outputs are what they show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

pytestmark = [pytest.mark.spark, pytest.mark.slow("a Spark of its own, and some twenty statements")]


def shown(notebook):
    """What the cells show as text, without the picture of a graph and without paths and times of a run."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [
        "".join(output["text"] if "text" in output else output["data"]["text/plain"])
        for cell in cells
        for output in cell["outputs"]
        if "image/svg+xml" not in output.get("data", {})
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_it_shows_what_is_committed(path, tmp_path):
    """Run as a reader would, in a folder of one's own: the same answers, and a picture of the lineage."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    command = [sys.executable, str(EXAMPLES / "run.py"), str(copy)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = (json.loads(one.read_text(encoding="utf-8")) for one in (path, copy))
    assert shown(after) == shown(before)
    assert "image/svg+xml" in copy.read_text(encoding="utf-8")
