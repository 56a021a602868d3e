"""A report as PDF: Chromium prints its page.

In: the page. Out: the bytes of a PDF. The browser reads one local file, and nothing of the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from audit.report.errors import BrowserMissing, PrintFailed

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_VARIABLE = "CHROME_PATH"
_SECONDS = 180
_FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
    "--disable-background-networking", "--disable-sync", "--disable-dev-shm-usage", "--no-pdf-header-footer",
)  # fmt: skip
_LARGE = 500_000
"""Letters of a page from which on its PDF does without tags. They are an object for each cell (Chromium 156):
84 pages have 5.3 MB with them, 0.6 MB without, and the same text."""
_ANY = "HTML prints as well: name a file that ends with .html, and print it from any browser"


def browser(environ: Mapping[str, str]) -> str:
    """The Chromium of this machine: that of CHROME_PATH, else the first one on the path.

    Raises:
        BrowserMissing: there is none.
    """
    named = environ.get(_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserMissing(
                f"{_VARIABLE} is {named}, which cannot be run", f"name Chromium or Chrome; {_ANY}"
            )
        return found
    for name in _BROWSERS:
        found = shutil.which(name, path=environ.get("PATH"))
        if found is not None:
            return found
    raise BrowserMissing(
        "PDF is printed by Chromium or Chrome, and none was found",
        f"install one (Debian: apt-get install chromium), or name it by {_VARIABLE}; {_ANY}",
    )


def printed(page: str, command: str) -> bytes:
    """The page as PDF.

    Args:
        page: HTML.
        command: the browser.

    Raises:
        PrintFailed: it has not printed it.
    """
    with tempfile.TemporaryDirectory(prefix="audit-report-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_text(page, encoding="utf-8", errors="backslashreplace")
        own = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri()]
        try:
            done = subprocess.run(
                [command, *_FLAGS, *tagging(page), *_sandbox(), *own],
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                text=True,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PrintFailed(f"{command} has not printed the report ({error})", _ANY) from error
        if done.returncode or not target.is_file():
            last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise PrintFailed(f"{command} has not printed the report: {last}", _ANY)
        return target.read_bytes()


def tagging(page: str) -> tuple[str, ...]:
    """Chromium's options for tags, which screen readers want, and the outline, which is made of them.

    >>> tagging("<p>short</p>")
    ('--generate-pdf-document-outline',)
    """
    return ("--disable-pdf-tagging",) if len(page) > _LARGE else ("--generate-pdf-document-outline",)


def _sandbox() -> tuple[str, ...]:
    # Chromium refuses to run as root with its sandbox. The page is ours, and has no script.
    return ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
