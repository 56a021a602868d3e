"""Draws docs/report.png, the first page of a report: `python docs/_build/report_picture.py ROOT FROM TO`.

In: a root of audit tables, a period. Out: the picture, by the Chromium that prints reports as PDF.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

from audit.cli import main
from audit.report.forms.paper import browser

PICTURE = Path(__file__).parents[1] / "report.png"
WIDTH, HEIGHT = 1080, 860  # pixels: the cover on a screen


def draw(root: str, first: str, last: str) -> None:
    """Make the report `access` and its picture.

    Args:
        root: the folder of the audit tables; the picture shows it.
        first: the first day, as 2026-01-31.
        last: the last day.

    Raises:
        BrowserMissing: no Chromium was found.
        CalledProcessError: Chromium has not drawn it.
    """
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        words = ["report", "access", "--root", root, "--from", first, "--to", last, "-o", str(page)]
        done = CliRunner().invoke(main, words, catch_exceptions=False)
        if done.exit_code:
            sys.exit(done.stderr)
        command = [
            browser(os.environ), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{HEIGHT}",
            f"--screenshot={PICTURE}", page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    draw(*sys.argv[1:])
