"""The file of a report.

In: a report, a path, a format. Out: the file, whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def written(path: Path) -> Iterator[Callable[[bytes], object]]:
    """A file that is there when the block has ended well; gives what takes its content.

    It is opened at once: whoever may not write it learns so before the work.

    Raises:
        ReportUnwritable: the path cannot be written.
    """
    own = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
        with own.open("xb") as file:
            yield file.write
        own.replace(path)
    except OSError as error:
        raise ReportUnwritable(
            f"{path} cannot be written ({error})", "name a file that you may write"
        ) from error
    finally:
        own.unlink(missing_ok=True)


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
