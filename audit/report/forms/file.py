"""The content of a report's file.

In: a report, a path, a format. Out: bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from audit.report.answers import Report
from audit.report.errors import ReportUnwritable

FORMATS = ("html", "pdf", "csv", "json")


def format_of(path: Path, form: str | None) -> str:
    """The format as asked for, else by the ending of the file's name.

    Raises:
        ReportUnwritable: neither names one.

    >>> format_of(Path("a.PDF"), None), format_of(Path("a.txt"), "csv")
    ('pdf', 'csv')
    """
    found = form or path.suffix.removeprefix(".").lower()
    if found in FORMATS:
        return found
    raise ReportUnwritable(
        f"the ending of {path} names no format of a report",
        f"end it with .{', .'.join(FORMATS)}, or give --format",
    )


def content(report: Report, form: str) -> bytes:
    """The file's content.

    Args:
        report: with its rows.
        form: one of FORMATS.

    Raises:
        ReportExtraMissing: the packages that draw it are not installed.
        BrowserMissing: no Chromium prints the PDF.
        PrintFailed: it has not printed it.
    """
    # Imported here: csv and json need neither altair nor jinja2.
    from audit.report.forms.data import as_csv, as_json

    if form == "csv":
        # With the mark by which Excel knows UTF-8.
        return as_csv(report).encode("utf-8-sig", "backslashreplace")
    if form == "json":
        return as_json(report).encode()
    from audit.report.forms.html import page
    from audit.report.forms.paper import browser, printed

    if form == "html":
        return page(report).encode("utf-8", "backslashreplace")
    command = browser(os.environ)
    return printed(page(report), command)
