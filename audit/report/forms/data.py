"""A report as CSV and as JSON.

In: a report. Out: its text. Both hold what the page holds: the same figures, under the same numbers.
"""

from __future__ import annotations

import csv
import io
from datetime import date, datetime
from typing import Any

from audit.core.json_text import shown_json
from audit.core.plain_text import escaped, harmless
from audit.report.answers import Filled, Report
from audit.report.findings import findings
from audit.report.model import WORDING

_FIGURE = ("figure", "name", "title")


def as_csv(report: Report) -> str:
    """All figures in one table: `figure`, `name` and `title` say whose row it is, before its own columns.

    A column that a figure does not have is empty in its rows. A text that a spreadsheet would take for a
    formula begins with an apostrophe.
    """
    columns = list(dict.fromkeys(column for one in report.figures for column in one.columns))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_FIGURE, *columns], restval="", lineterminator="\r\n")
    writer.writeheader()
    for one in report.figures:
        whose = dict(zip(_FIGURE, (one.number, one.figure.name, one.figure.title), strict=True))
        for row in one.rows:
            writer.writerow({**whose, **dict(zip(one.columns, map(_cell, row), strict=True))})
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return escaped(harmless(", ".join(map(str, value))), "\n\t")
    # Before it is escaped: a tab at the beginning would be none afterwards.
    return escaped(harmless(_text(value) if isinstance(value, date) else str(value)), "\n\t")


def as_json(report: Report) -> str:
    """The cover, and each figure with its SQL and its rows."""
    document = {
        "report": report.name,
        "title": report.title,
        "norm": report.norm.title if report.norm else None,
        "norm_wording": WORDING if report.norm else None,
        "root": report.root,
        "from": str(report.period.first),
        "to": str(report.period.last),
        "made_at": _text(report.made.at),
        "made_by": report.made.by,
        "version": report.made.version,
        "without_names": report.without_names,
        "findings": [
            {"state": one.state, "text": one.text, "figure": one.figure.number} for one in findings(report)
        ],
        "chapters": [
            {
                "title": chapter.title,
                "text": chapter.text,
                "figures": [one.number for one in (*chapter.again, *chapter.figures)],
            }
            for chapter in report.chapters
        ],
        "figures": [_figure(one) for one in report.figures],
    }
    return shown_json(document, _text)


def _figure(one: Filled) -> dict[str, Any]:
    return {
        "number": one.number,
        "name": one.figure.name,
        "title": one.figure.title,
        "question": one.figure.question,
        "sql": one.sql,
        "worked_out": one.figure.worked_out or None,
        "is_there": one.is_there,
        "rows_in_all": one.total,
        "columns": list(one.columns),
        "rows": [dict(zip(one.columns, row, strict=True)) for row in one.rows],
    }


def _text(value: Any) -> str:
    """A time as ISO 8601 in UTC, anything else as its text."""
    if isinstance(value, datetime):
        return value.isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else str(value)
