"""Names of a known width, boxes in their places, and trees: whatever the graph."""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.graph.forms.layout import Box, Link, arrange
from audit.graph.forms.mermaid import quoted
from audit.graph.forms.plain_values import EDGE_COLUMNS
from audit.graph.forms.texts import cut, visible, width, xml

from .story import Story


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("名前", 4), ("ｗ", 2), ("e\u0301", 1), ("é", 1), ("ﾊ", 1), ("a表b", 4)],  # noqa: RUF001
)
def test_a_text_takes_as_many_columns_as_a_terminal_gives_it(text, columns):
    """Letters of East Asia two, combining marks none."""
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "short"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "a…d"),
        ("abcdef", 4, "ab…f"),
        ("abcdef", 1, "…"),
        ("名前の表", 5, "名…表"),
        ("名前の表", 6, "名…表"),
    ],
)
def test_the_middle_of_a_long_name_is_left_out(text, columns, short):
    """Beginning and end tell names apart."""
    assert cut(text, columns) == short


@given(st.text(), st.integers(1, 40))
def test_a_cut_text_fits(text, columns):
    """In every script; what fits is not cut."""
    short = cut(text, columns)
    assert width(short) <= columns
    assert short == text or ("…" in short and width(text) > columns)


@given(st.text())
def test_a_visible_text_is_one_line_without_controls(text):
    """Each letter is itself or a mark, so its place is the same."""
    shown = visible(text)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")]
    assert visible(shown) == shown
    assert all(new in (old, "\ufffd") for old, new in zip(text, shown, strict=True))


@given(st.text())
def test_a_text_of_xml_opens_nothing(text):
    """No element, no attribute, no entity of its own."""
    shown = xml(text)
    assert not set("<>\"'") & set(shown)
    assert all(rest.startswith(("amp;", "lt;", "gt;", "quot;", "#x27;")) for rest in shown.split("&")[1:])


@given(st.text())
def test_a_label_of_mermaid_says_its_text(text):
    """Numbered characters are read back as what they were."""
    back = re.sub(r"#(\d+);", lambda number: chr(int(number[1])), quoted(text))
    assert back == visible(text)


@st.composite
def graphs(draw):
    """Boxes of several sizes, and edges between their rows."""
    number = draw(st.integers(1, 12))
    boxes = [Box(draw(st.floats(40, 300)), draw(st.floats(28, 200))) for _ in range(number)]
    ends = st.integers(0, number - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=25, unique=True))
    return boxes, [Link(a, b, boxes[a].height / 2, boxes[b].height / 3) for a, b in pairs]


@given(graphs())
def test_boxes_lie_apart_and_inside_the_picture(graph):
    """With cycles, with edges of a box to itself, with boxes that nothing joins."""
    layout = arrange(*graph)
    for n, one in enumerate(layout.boxes):
        assert one.x >= 0
        assert one.y >= -1e-6
        assert one.x + one.width <= layout.width + 1e-6
        assert one.y + one.height <= layout.height + 1e-6
        for other in layout.boxes[n + 1 :]:
            apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
            apart_y = one.y + one.height <= other.y + 1e-6 or other.y + other.height <= one.y + 1e-6
            assert apart_x or apart_y or one.is_lane or other.is_lane


@given(graphs())
def test_edges_go_to_the_right_but_where_they_close_a_cycle(graph):
    """An edge passes each layer between its ends in a lane of its own."""
    boxes, links = graph
    layout = arrange(boxes, links)
    for (source, target), lanes in layout.lanes.items():
        way = [layout.boxes[n] for n in (source, *lanes, target)]
        assert [box.layer for box in way] == list(range(way[0].layer, way[-1].layer + 1))
        assert all(one.x + one.width < other.x for one, other in pairwise(way))
    drawn = {frozenset(pair) for pair in layout.lanes}
    assert drawn == {frozenset((link.source, link.target)) for link in links if link.source != link.target}


@given(graphs())
def test_without_a_cycle_no_edge_goes_back(graph):
    """Each edge from a lower number to a higher one makes no circle."""
    boxes, links = graph
    links = [link for link in links if link.source < link.target]
    assert set(arrange(boxes, links).lanes) == {(link.source, link.target) for link in links}


def test_nothing_is_a_picture_of_no_size():
    """No box, no layer."""
    layout = arrange([], [])
    assert (layout.boxes, layout.width, layout.height) == ([], 0, 0)


def lines(graph):
    """The tree without what stands in brackets."""
    return [re.sub(r"  \[.*\]", "", line) for line in str(graph).splitlines()]


def test_a_tree_unfolds_each_node_once():
    """A second time it says so; a table is shown column by column, in the order of the alphabet."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.c", {"z": ["s.b.x"], "y": ["s.b.x"]})
    assert lines(story.ask("s.c")) == [
        "spark_catalog.s.c",
        "comes from:",
        "  y",
        "  └─ spark_catalog.s.b.x",
        "     └─ spark_catalog.s.a.x",
        "  z",
        "  └─ spark_catalog.s.b.x (see above)",
    ]


def test_a_tree_of_both_ways_says_where_there_is_nothing():
    """A source comes from nothing on record; a moment stands in the heading."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    assert lines(story.ask("s.a.x", "both", day=1)) == [
        "spark_catalog.s.a.x as of 2026-01-02 12:00:00 UTC",
        "comes from: nothing on record",
        "goes to:",
        "└─ spark_catalog.s.b.x",
    ]


def test_a_line_of_the_tree_tells_how_often_when_and_by_whom():
    """Three users at most, the fields that were read, and when a table was dropped."""
    story = Story()
    for user in ("dan", "ann", "cid", "bob"):
        story.write("s.b", {"x": ["s.a.x.f"]}, user=user)
    story.end("s.a")
    assert str(story.ask("s.b.x")).splitlines()[-1] == (
        "└─ spark_catalog.s.a.x (dropped 2026-01-06)"
        "  [identity; field x.f; 4 times, last 2026-01-05 12:00 by ann, bob, cid]"
    )


def test_a_tree_beyond_two_thousand_lines_is_cut_with_a_count():
    """The rest is in other forms, which it names."""
    story = Story()
    story.write("s.b", {"x": [f"s.a{n}.x" for n in range(2_005)]})
    shown = str(story.ask("s.b.x")).splitlines()
    assert len(shown) == 2_003
    assert shown[-1] == "… and 5 lines more; to_pandas() and to_dict() have all"


def test_rows_of_pandas_have_every_end_of_an_edge():
    """Also of a graph without edges."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]}, indirect=["s.a.k"])
    frame = story.ask("s.b", include_indirect=True).to_pandas()
    assert tuple(frame.columns) == EDGE_COLUMNS == tuple(story.ask("s.a.x").to_pandas().columns)
    assert sorted(zip(frame["source_column_name"], frame["is_indirect"], strict=True)) == [
        ("k", True),
        ("x", False),
    ]
    assert (frame["last"] - frame["first"] == timedelta(0)).all()


def test_tables_keep_direct_and_indirect_edges_apart():
    """The nearest of a table's columns says how far the table is; the name is the table's."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.c", {"x": ["s.b.x", "s.a.y"]}, indirect=["s.a.k"])
    graph = story.ask("s.c", include_indirect=True).by_table()
    assert graph.name == "spark_catalog.s.c"
    assert {node.object_name[-1]: node.hops for node in graph.nodes} == {"a": -1, "b": -1, "c": 0}
    edges = sorted((e.source.object_name[-1], e.target.object_name[-1], e.is_indirect) for e in graph.edges)
    assert edges == [("a", "b", False), ("a", "c", False), ("a", "c", True), ("b", "c", False)]
    assert graph.by_table() == graph
