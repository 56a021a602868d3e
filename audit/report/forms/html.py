"""A report as one HTML page: for a screen, light or dark, and for paper. No script, nothing from elsewhere.

In: a report. Out: the text of the page. All that comes from records is escaped by the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from typing import TYPE_CHECKING, Any

from audit.core.plain_text import escaped
from audit.report.answers import SHOWN_ROWS, Filled, Report
from audit.report.findings import findings
from audit.report.forms.charts import chart
from audit.report.forms.cover import tiles
from audit.report.forms.extra import required
from audit.report.forms.picture import is_wide, picture
from audit.report.model import WORDING, KeyFigures, Picture, Table
from audit.report.plain import NOTHING, cell, heading

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 300
"""Letters of a text in a table; the rest is left out."""
_TEXTS = frozenset(
    {
        "query_text",
        "message",
        "columns",
        "columns_read",
        "sources",
        "objects_tried",
        "objects",
        "analysis_reason",
    }
)
_IDS = frozenset({"query_id", "session_id", "application_id"})
# Not inside of an address: 192.0.2.2.
_BREAKS = re.compile(r"(?<=/)(?=\w)|(?<=\.)(?=[^\W\d])")
_SHORT = 16
"""Letters of a word that has room in one line: AUDIT_SUPPRESS."""
_OF_CAPITALS = re.compile(r"(?<=_)(?=[A-Z])")
# Not a space: CSS takes one after an escape as a part of it.
_PLAIN = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, and how its cells are set."""

    heading: str
    style: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure as the template shows it: one of its forms, the others being empty.

    `columns` and `rows` are those of a table, `pairs` those of key figures, `svg` the picture of a chart.
    """

    filled: Filled
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    svg: str = ""
    wide: bool = False


def page(report: Report) -> str:
    """The page.

    Raises:
        ReportExtraMissing: jinja2, altair or vl-convert-python is not installed.
    """
    shown = {one.number: _shown(one, report) for one in report.figures}
    footer = f"{report.title}, {report.period} - {report.root}"
    made: str = (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            tiles=tiles(report),
            findings=findings(report),
            shown=shown,
            footer=css_text(escaped(footer)),
            most_rows=SHOWN_ROWS,
            longest=LONGEST,
            wording=WORDING,
        )
    )
    return made


def css_text(text: str) -> str:
    r"""A text as a string of CSS that no HTML parser and no parser of CSS sees an end in.

    >>> print(css_text("a</style>"))
    "a\00003c\00002fstyle\00003e"
    """
    return '"' + "".join(one if _PLAIN.match(one) else f"\\{ord(one):06x}" for one in text) + '"'


def _environment() -> Environment:
    jinja2 = required("jinja2")
    made: Environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"breakable": _breakable, "coded": _coded, "seen": escaped, "cell": cell}
    return made


def _source(name: str) -> str:
    return (resources.files("audit.report") / "templates" / name).read_text(encoding="utf-8")


def _breakable(text: str) -> Any:
    """A text in which a name may break after a dot or a slash, and REPLACE_TABLE after its line."""
    markup = required("markupsafe")
    parts = [text] if len(text) <= _SHORT else (_OF_CAPITALS if text.isupper() else _BREAKS).split(text)
    return markup.Markup("<wbr>").join(markup.escape(part) for part in parts)


def _coded(text: str) -> Any:
    """A sentence with what stands in back-ticks as code."""
    markup = required("markupsafe")
    parts = (markup.escape(part) for part in text.split("`"))
    return markup.Markup("").join(
        markup.Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts)
    )


def _shown(filled: Filled, report: Report) -> Shown:
    form = filled.figure.shown
    if not filled.rows:
        return Shown(filled)
    if isinstance(form, KeyFigures):
        pairs = [(heading(name), cell(value, name) or NOTHING) for name, value in _pairs(filled)]
        return Shown(filled, pairs=tuple(pairs))
    if isinstance(form, Picture):
        svg = picture(filled, report.about)
        return Shown(filled, svg=svg, wide=is_wide(svg))
    if not isinstance(form, Table):
        return Shown(filled, svg=chart(filled, report.period))
    columns = tuple(
        Column(heading(name), _style(name, values))
        for name, values in zip(filled.columns, _columns(filled), strict=True)
    )
    rows = tuple(
        tuple(_cut(cell(value, name)) for name, value in zip(filled.columns, row, strict=True))
        for row in filled.rows
    )
    return Shown(filled, columns, rows, wide=form.is_wide)


def _pairs(filled: Filled) -> Iterator[tuple[str, Any]]:
    return zip(filled.columns, filled.rows[0], strict=True)


def _columns(filled: Filled) -> Iterator[Sequence[Any]]:
    return zip(*filled.rows, strict=True)


def _style(name: str, values: Sequence[Any]) -> str:
    """How a column is set: numbers to the right, statements as code, times in one line."""
    if name == "query_text":
        return "code"
    if name in _TEXTS:
        return "text"
    if name in _IDS:
        return "id"
    if name == "reason":
        return "reason"
    known = [one for one in values if one is not None]
    if known and all(isinstance(one, date) for one in known):
        return "time"
    is_number = known and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in known)
    return "number" if is_number and not name.endswith("_id") else "name"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} letters)"
