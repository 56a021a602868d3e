"""The page: what it shows is what its SQL gives, and nothing in it does anything."""

from __future__ import annotations

import re
from datetime import date

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from audit.query.tables import opened
from audit.report.forms.cover import tiles
from audit.report.forms.html import LONGEST, css_text, page
from audit.report.kinds import KINDS
from audit.report.model import KeyFigures, Table
from audit.report.period import Period
from audit.report.plain import NOTHING, cell, heading
from audit.store.tables import QUERY_HISTORY
from tests.query.roots import make_root, rows_of

from .conftest import made
from .pages import read, sql, table
from .roots import HOSTILE, Story, moment

pytest.importorskip("altair")
EACH = pytest.mark.one_in(2, "each report is drawn")


@pytest.fixture(scope="module")
def page_of(report):
    """The page of a report; each one once."""
    known = {}

    def of(kind):
        if kind not in known:
            known[kind] = page(report(kind))
        return known[kind]

    return of


def shown(value, column):
    """A value as a table shows it."""
    text = cell(value, column)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} letters)"


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_the_sql_beside_a_figure_gives_what_the_figure_shows(kind, page_of, report, tables):
    """Taken from the page as a reader would: query by query, cell by cell."""
    made_of = read(page_of(kind))
    compared = 0
    for one in report(kind).figures:
        figure = made_of.first("figure", id=f"figure-{one.number}")
        if not one.is_there:
            assert "Nothing to show" in figure.text
            continue
        answer = tables.ask(sql(made_of, one.number), {})
        expected = [
            [shown(value, name) for name, value in zip(answer.columns, row, strict=True)]
            for row in answer.rows
        ]
        if not expected:
            assert "None." in figure.text
        elif isinstance(one.figure.shown, Table):
            assert table(figure) == expected
            assert [th.text for th in figure.all("th")] == [heading(name) for name in answer.columns]
        elif isinstance(one.figure.shown, KeyFigures):
            assert [dd.text for dd in figure.all("dd")] == [text or NOTHING for text in expected[0]]
        else:
            assert len(figure.all("svg")) == 1
        compared += 1
    assert compared > 10


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_shows_the_rows_of_its_sql(kind, page_of, report, tables):
    """Each mark has its values as its label, for those who do not see it."""
    made_of = read(page_of(kind))
    for one in report(kind).figures:
        if isinstance(one.figure.shown, (Table, KeyFigures)) or not one.rows:
            continue
        answer = tables.ask(sql(made_of, one.number), {})
        figure = made_of.first("figure", id=f"figure-{one.number}")
        marks = [
            mark
            for mark in figure.all("path") + figure.all("rect")
            if "aria-roledescription" in mark.attributes
        ]
        tips = figure.all("path", class_="lg-edge")
        assert len(marks or tips) == len(answer.rows), one.figure.name


def test_the_cover_shows_what_the_sql_gives(page_of, report, tables):
    """Each number on a tile stands in the figure that it refers to."""
    made_of = read(page_of("access"))
    shown_tiles = made_of.first("ul", class_="tiles").all("li")
    assert len(shown_tiles) == len(tiles(report("access"))) == 8
    for tile in shown_tiles:
        number = int(tile.first("a").attributes["href"].removeprefix("#figure-"))
        answer = tables.ask(sql(made_of, number), {})
        values = {cell(value or 0) for row in answer.rows for value in row}
        for text in re.findall(r"[\d,.]+\d|\d", tile.first("strong").text):
            assert text in values, tile.text


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_fetched_and_nothing_runs(kind, page_of):
    """One file: no script, no font, no image, no link to elsewhere; a policy says so to browsers, too."""
    text = page_of(kind)
    made_of = read(text)
    assert not {"script", "img", "link", "iframe", "object", "image", "foreignobject"} & {
        one.tag for one in made_of.all()
    }
    for one in made_of.all():
        assert not [name for name in one.attributes if name.startswith("on")]
        for name in ("href", "src", "xlink:href"):
            assert one.attributes.get(name, "#").startswith("#")
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "").replace(
        "http://www.w3.org/1999/xlink", ""
    )
    assert re.search(r"@import|url\((?!#)", text) is None
    assert "default-src 'none'" in text


def test_ids_are_given_once(page_of):
    """Those inside of charts as well; each link has its end."""
    made_of = read(page_of("access"))
    ids = [one.attributes["id"] for one in made_of.all() if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    links = {one.attributes["href"][1:] for one in made_of.all("a")}
    assert links <= set(ids)


def test_charts_follow_light_and_dark(page_of):
    """No colour of theirs is their own."""
    for svg in read(page_of("access")).all("svg"):
        colours = {
            one.attributes[name] for one in svg.all() for name in ("fill", "stroke") if name in one.attributes
        }
        assert {one for one in colours if not one.startswith("var(")} <= {"none", "transparent"}
        assert "var(--ink)" in colours


def test_hostile_names_are_text(page_of):
    """HTML stays text, and a mark that turns the direction of reading stands as its escape."""
    text = page_of("access")
    assert "<script" not in text
    assert "\u202e" not in text
    made_of = read(text)
    assert HOSTILE.replace("\u202e", "\\u202e") in made_of.first("main").text
    assert "</pre>" in made_of.first("main").text


def test_a_hostile_root_ends_no_style():
    """The foot of each page names it."""
    assert css_text('</style>"\\') == '"\\00003c\\00002fstyle\\00003e\\000022\\00005c"'


def test_nothing_on_record(tmp_path):
    """It says so; no figure fails."""
    with opened(make_root(tmp_path, {})) as tables:
        text = page(made(tables, None, pack="sox"))
    assert "No statement is on record in this period." in text
    assert read(text).first("ul", class_="tiles").all("strong")[0].text == "0"


def test_many_rows_are_cut(tmp_path):
    """The page says how many there are, of a million."""
    story = Story()
    story.ran(moment(16), "bob", "SELECT", "SELECT nothing", "FAIL")
    root = make_root(tmp_path, story.rows)
    failed = pa.concat_tables([rows_of(QUERY_HISTORY, story.rows["query_history"])] * 1_000)
    many = pa.concat_tables([failed.combine_chunks()] * 1_000)
    write_deltalake(f"{root}/query_history", many, mode="append", partition_by=["query_date"])
    with opened(root) as tables:
        report = made(tables, "access")
        refused = report.figure("failed_and_denied")
        assert (len(refused.rows), refused.total) == (500, 1_000_001)
        figure = read(page(report)).first("figure", id=f"figure-{refused.number}")
    assert len(table(figure)) == 500
    assert "The first 500 of 1,000,001 rows" in figure.text


@pytest.mark.parametrize(
    ("last", "step"), [("2026-11-30", "DAY"), ("2027-10-31", "WEEK"), ("2029-11-30", "MONTH")]
)
def test_a_long_period_has_wider_bars(tables, last, step):
    """A bar a day, a week, a month: the picture is never wider."""
    period = Period(date(2026, 11, 1), date.fromisoformat(last))
    report = made(tables, "access", period=period)
    assert (period.step, len(report.figure("reads_over_time").rows)) == (
        step,
        {"DAY": 6, "WEEK": 2, "MONTH": 1}[step],
    )
    assert read(page(report)).all("svg")
