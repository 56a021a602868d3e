"""Charts as SVG, drawn when the report is made: no script runs where it is read.

In: a figure with its rows. Out: SVG whose colours are variables of the page: it follows light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from audit.core.plain_text import escaped
from audit.graph.forms.texts import cut, width
from audit.report.forms.extra import required
from audit.report.model import Bars, Days, Hours
from audit.report.plain import cell, heading

if TYPE_CHECKING:
    from audit.report.answers import Filled
    from audit.report.period import Period

    Row = dict[str, Any]

# Vega knows no variables of CSS: each of these colours stands for one, and is replaced in the SVG.
_COLOURS: Mapping[str, str] = {
    "#010101": "--ink", "#020202": "--soft", "#030303": "--line", "#040404": "--paper", "#050505": "--shade",
    "#0a0a01": "--series-1", "#0a0a02": "--series-2", "#0a0a03": "--series-3", "#0a0a04": "--series-4",
    "#0a0a05": "--series-5", "#0a0a06": "--series-6",
}  # fmt: skip
_INK, _SOFT, _LINE, _PAPER, _SHADE, *_SERIES = _COLOURS
_WIDTH, _HEIGHT, _BAR = 820, 180, 20  # pixels
# Vega measures Liberation Sans for Arial: both are as wide.
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
_LETTER, _LETTERS = 6.9, 36
"""Pixels of a letter of a name, of a wide font; the most letters that are shown."""
_NUMBER = 60  # pixels to the right of a bar
_TICKS = 10
_STEPS = {"DAY": 1, "WEEK": 7}
_LAST_HOUR = 23


def chart(filled: Filled, period: Period) -> str:
    """The picture of a figure that is a chart.

    Args:
        filled: the figure, whose `shown` is one of the charts.
        period: the days of a chart over time.

    Raises:
        ReportExtraMissing: altair or vl-convert-python is not installed.
    """
    alt, convert = required("altair"), required("vl_convert")
    rows = [dict(zip(filled.columns, map(_plain, row), strict=True)) for row in filled.rows]
    shown = filled.figure.shown
    if isinstance(shown, Days):
        made = _days(alt, shown, rows, period)
    elif isinstance(shown, Hours):
        made = _hours(alt, shown, rows)
    else:
        assert isinstance(shown, Bars)  # noqa: S101 - the only other chart
        made = _bars(alt, shown, rows)
    spec = (
        made.properties(background="transparent", padding={"left": 0, "right": 5, "top": 5, "bottom": 5})
        .configure(**_style())
        .to_dict(validate=False)
    )
    svg = convert.vegalite_to_svg(spec, vl_version=_version(alt), allowed_base_urls=[])
    return _of_the_page(str(svg), filled)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, date, type(None))) else escaped(cell(value))


def _version(alt: Any) -> str:
    """The version of Vega-Lite that altair writes, as vl-convert names it: 5.20."""
    return ".".join(str(alt.SCHEMA_VERSION).removeprefix("v").split(".")[:2])


def _data(alt: Any, rows: Sequence[Row]) -> Any:
    return alt.Chart(alt.Data(values=list(rows)))


def _days(alt: Any, shown: Days, rows: Sequence[Row], period: Period) -> Any:
    """Bars over time; a day without a row stays empty."""
    drawn = [
        {**row, shown.day: _moment(row[shown.day]), "until": _moment(_end(row[shown.day], period))}
        for row in rows
    ]
    ends = [_moment(period.first), _moment(period.last + timedelta(days=1))]
    highest = max(_totals(rows, shown.day, shown.value).values())
    along = alt.X(
        f"{shown.day}:T",
        title=None,
        scale=alt.Scale(type="utc", domain=ends),
        axis=alt.Axis(
            format="%-d %b" if period.step == "DAY" else "%b %Y", values=_ticks(alt, period), grid=False
        ),
    )
    # Statements are whole ones: no tick between them.
    ticks = alt.Axis(tickCount=int(min(5, highest)), format=",d", titlePadding=8)
    up = alt.Y(f"sum({shown.value}):Q", title=heading(shown.value), axis=ticks)
    # A thin line between bars, as wide as the paper shows.
    bars = _data(alt, drawn).mark_bar(stroke=_PAPER, strokeWidth=0.6)
    return bars.encode(x=along, x2="until:T", y=up, color=_colour(alt, shown.part, rows)).properties(
        width=_WIDTH - _NUMBER, height=_HEIGHT
    )


def _ticks(alt: Any, period: Period) -> list[Any]:
    """The days under a chart over time: as many as an eye takes in, from the first one on."""
    step = max(1, -(-period.days // _TICKS))
    days = (period.first + timedelta(days=n) for n in range(0, period.days, step))
    return [alt.DateTime(year=one.year, month=one.month, date=one.day, utc=True) for one in days]


def _end(day: Any, period: Period) -> date:
    """The day after what a bar stands for, within the period."""
    begin = day.date() if isinstance(day, datetime) else day
    if period.step in _STEPS:
        end = begin + timedelta(days=_STEPS[period.step])
    else:
        end = (begin.replace(day=1) + timedelta(days=32)).replace(day=1)
    return min(end, period.last + timedelta(days=1))


def _moment(day: Any) -> str:
    begin = day.date() if isinstance(day, datetime) else day
    return f"{begin.isoformat()}T00:00:00Z"


def _bars(alt: Any, shown: Bars, rows: Sequence[Row]) -> Any:
    """Bars from left to right, the longest on top, with their values."""
    drawn = [{**row, shown.label: _short(row[shown.label])} for row in rows]
    total = {row[shown.label]: row[shown.total or shown.value] for row in drawn}
    named, room = _named(alt, shown.label, total)
    long = alt.X(f"sum({shown.value}):Q", title=None, axis=None)
    bars = (
        _data(alt, drawn)
        .mark_bar(height=_BAR * 0.7)
        .encode(y=named, x=long, color=_colour(alt, shown.part, rows))
    )
    numbers = _data(alt, [{shown.label: one, shown.value: n, "text": cell(n)} for one, n in total.items()])
    texts = numbers.mark_text(align="left", dx=4, color=_INK, aria=False).encode(
        y=named, x=alt.X(f"{shown.value}:Q", axis=None), text="text:N"
    )
    return (bars + texts).properties(width=_WIDTH - room - _NUMBER, height=_BAR * max(1, len(total)))


def _hours(alt: Any, shown: Hours, rows: Sequence[Row]) -> Any:
    """A line of 24 fields for each name; the number stands in the field, for paper without colour."""
    drawn = [{**row, shown.row: _short(row[shown.row]), "text": cell(row[shown.value])} for row in rows]
    named, room = _named(alt, shown.row, _totals(drawn, shown.row, shown.value))
    hour = alt.X(
        f"{shown.hour}:O",
        title="hour of the day (UTC)",
        scale=alt.Scale(domain=list(range(_LAST_HOUR + 1))),
        axis=alt.Axis(labelAngle=0, ticks=False, domain=False),
    )
    base = _data(alt, drawn).encode(x=hour, y=named)
    dark = alt.Opacity(f"{shown.value}:Q", scale=alt.Scale(range=[0.15, 0.7], zero=True), legend=None)
    fields = base.mark_rect(color=_SERIES[0], stroke=_PAPER, strokeWidth=1.5).encode(opacity=dark)
    texts = base.mark_text(color=_INK, fontSize=9, aria=False).encode(text="text:N")
    # What is empty shows as a field, too.
    return (fields + texts).properties(
        width=_WIDTH - room, height=_BAR * 1.1 * len({row[shown.row] for row in drawn}),
        view=alt.ViewBackground(fill=_SHADE),
    )  # fmt: skip


def _named(alt: Any, column: str, total: Mapping[str, Any]) -> tuple[Any, float]:
    """The axis of names, the greatest on top, and the pixels that it takes.

    The room is set here: the font of the reader's machine may be wider than the one that Vega measures.
    """
    order = sorted(total, key=lambda one: (-total[one], one))
    room = max(width(one) for one in order) * _LETTER + 10
    axis = alt.Axis(
        labelLimit=0, labelAlign="left", labelPadding=room, minExtent=room, ticks=False, domain=False
    )
    return alt.Y(f"{column}:N", title=None, sort=order, axis=axis), room


def _totals(rows: Sequence[Row], column: str, value: str) -> dict[Any, Any]:
    """How long a bar is that has several parts: what orders it, and no number that is shown."""
    found: dict[Any, Any] = {}
    for row in rows:
        found[row[column]] = found.get(row[column], 0) + row[value]
    return found


def _colour(alt: Any, part: str, rows: Sequence[Row]) -> Any:
    if not part:
        return alt.value(_SERIES[0])
    names = sorted({row[part] for row in rows})
    # More parts than colours begin anew.
    scale = alt.Scale(domain=names, range=[_SERIES[n % len(_SERIES)] for n in range(len(names))])
    return alt.Color(
        f"{part}:N", scale=scale, legend=alt.Legend(title=None, orient="top", direction="horizontal")
    )


def _short(name: Any) -> str:
    return "(none)" if name in (None, "") else cut(str(name), _LETTERS)


def _style() -> dict[str, Any]:
    words = {
        "labelColor": _INK,
        "titleColor": _SOFT,
        "labelFont": _FONT,
        "titleFont": _FONT,
        "labelFontSize": 11,
    }
    return {
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {
            **words, "titleFontSize": 11, "titleFontWeight": "normal", "gridColor": _LINE,
            "domainColor": _LINE, "tickColor": _LINE,
        },
        "legend": {**words, "symbolType": "square", "symbolSize": 90, "columnPadding": 26},
        "text": {"font": _FONT, "fontSize": 11},
    }  # fmt: skip


def _of_the_page(svg: str, filled: Filled) -> str:
    """The SVG with variables for colours, and ids of its own, so that several stand in one page."""
    for colour, variable in _COLOURS.items():
        svg = svg.replace(f'"{colour}"', f'"var({variable})"')
    own = f"f{filled.number}-"
    svg = re.sub(r'\bid="', f'id="{own}', svg)
    svg = re.sub(r"url\(#", f"url(#{own}", svg)
    return svg.replace('href="#', f'href="#{own}')
