"""The graph in the forms that people and programs want, with names that mean harm."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET

import pytest

from audit.graph import diff
from audit.graph.errors import NetworkxMissing
from audit.graph.forms.boxes import Card, draw
from audit.graph.model import Node

from .story import Story

EVIL = "<script>alert(1)</script>\"'&]]>--\x1b[31m\u202e\x00"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def evil():
    """A graph of names that want to be something else."""
    story = Story()
    story.write("s.`a.b`", {EVIL: [f"s.`{EVIL}`.名前"], "long_" * 60: ["s.t.x"]}, indirect=["s.t.`a.b`"])
    return story.ask("s.`a.b`", include_indirect=True)


def shape(tables, columns=3):
    """A graph of many tables: each made of one to three of those before it."""
    story = Story()
    for t in range(1, tables):
        sources = {max(0, t - 1 - (t * k) % 7) for k in range(1, 2 + t % 3)}
        made = {f"c{c}": [f"s.t{s}.c{(c + s) % columns}" for s in sources] for c in range(columns)}
        story.write(f"s.t{t}", made)
    return story.ask(f"s.t{tables - 1}")


def test_the_picture_is_xml_without_script(evil):
    """Hostile names are text; there is no element but shapes, and no attribute that runs anything."""
    root = ET.fromstring(evil.to_svg())  # noqa: S314 - our own text
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg", "g", "rect", "path", "text", "title", "style",
    }  # fmt: skip
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or "href" in a]
    said = "".join(root.itertext())
    assert "<script>alert(1)</script>" in said
    assert not set("\x00\x1b\u202e") & set(said)
    assert "<script" not in evil._repr_html_()


def test_a_picture_about_no_single_object_marks_none():
    """It has the heading that it is given."""
    story = Story()
    story.write("s.b", {"c": ["s.a.c"]})
    graph = story.ask("s.b").by_table()
    assert 'class="lg-start"' in graph.to_svg()
    picture = graph.to_svg(heading="All <of> it")
    assert 'class="lg-start"' not in picture
    assert picture.count("All &lt;of&gt; it") == 2


def test_long_names_are_cut_and_stand_in_the_tooltip(evil):
    """What is shown is short; the title has all of it."""
    root = ET.fromstring(evil.to_svg())  # noqa: S314 - our own text
    shown = [e.find(f"{SVG}title").tail for e in root.iter(f"{SVG}text") if e.find(f"{SVG}title") is not None]
    assert [len(text) for text in shown if "long_" in text] == [36]
    assert "long_" * 60 in {e.text for e in root.iter(f"{SVG}title")}


@pytest.mark.parametrize("tables", [2, 5, 30, 100])
def test_no_box_lies_on_another(tables):
    """Boxes have room between them, and an edge ends at a row of its box."""
    drawing = draw(shape(tables))
    boxes = [b for b in drawing.layout.boxes if not b.is_lane]
    assert len(boxes) == len({n.object_id for n in drawing.graph.nodes})
    for n, one in enumerate(boxes):
        for other in boxes[n + 1 :]:
            apart_x = one.x + one.width < other.x or other.x + other.width < one.x
            assert apart_x or one.y + one.height < other.y or other.y + other.height < one.y
    for edge, (source, target) in zip(drawing.graph.edges, drawing.ends, strict=True):
        for node, card in ((edge.source, source), (edge.target, target)):
            assert 0 < drawing.cards[card].row_y(node) < boxes[card].height


def test_data_flows_from_left_to_right():
    """Without cycles every source is to the left of its target."""
    drawing = draw(shape(40))
    boxes = drawing.layout.boxes
    assert all(boxes[a].x + boxes[a].width < boxes[b].x for a, b in drawing.ends)


def test_a_graph_too_large_for_an_eye_shows_tables_alone():
    """Beyond 150 objects without columns, and what is left out is said."""
    story = Story()
    story.write("s.b", {"x": [f"s.a{n}.x" for n in range(200)]})
    drawing = draw(story.ask("s.b"))
    assert (len(drawing.cards), {len(card.rows) for card in drawing.cards}) == (201, {0})
    story.write("s.b", {"x": [f"s.a{n}.x" for n in range(700)]})
    assert "101 farther objects left out" in story.ask("s.b").to_svg()


def test_many_columns_become_one_row():
    """What is beyond thirty columns is counted, its edges end there."""
    story = Story()
    story.write("s.b", {f"c{n}": [f"s.a.c{n}"] for n in range(80)})
    assert "+ 50 more columns" in story.ask("s.b").to_svg()


def test_a_cycle_and_an_own_column_are_drawn():
    """An edge back goes to the left; one within a table bends round its side."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.a", {"x": ["s.b.x"], "y": ["s.a.x"]})
    story.write("s.b", {"x": ["s.a.y"]})
    graph = story.ask("s.b", "both")
    assert graph.to_svg().count('class="lg-head"') == len(graph.edges) == 4


def test_the_title_of_a_box_is_its_name_without_the_catalog():
    """A path is one word, whatever dots are in it; a dot in back-ticks parts nothing."""

    def title(name):
        return Card(Node(1, name), [], []).title

    assert title("spark_catalog.s.t") == "s.t"
    assert title("spark_catalog.s.`a.b`") == "s.`a.b`"
    assert title("/home/ann/.audit/landing/f.parquet") == "/home/ann/.audit/landing/f.parquet"
    assert title("file:/x/.audit/landing/f.csv") == "file:/x/.audit/landing/f.csv"
    assert title("s.t") == "s.t"


def test_one_edge_is_not_two():
    """The caption counts as people do."""
    story = Story()
    story.write("s.u", {"x": ["s.t.x"]})
    assert "2 objects, 1 edge<" in story.ask("s.u.x").to_svg()


def test_mermaid_takes_every_name_as_a_name(evil):
    """Only letters, digits and numbered characters stand between the quotes."""
    text = evil.to_mermaid()
    labels = re.findall(r'\["(.*)"\]$', text, re.MULTILINE)
    assert len(labels) == len(evil.nodes) + len({n.object_id for n in evil.nodes})
    assert all(re.fullmatch(r"(?:\w|[ .-]|#\d+;)*", label) for label in labels)
    assert text.count("-.->") == 1


def test_the_tree_is_for_a_terminal(evil):
    """No control character reaches it; the filter stands at its end."""
    text = str(evil)
    assert not set("\x00\x1b\u202e") & set(text)
    assert "(all columns)" in text


def test_a_long_chain_is_a_tree_too():
    """Deeper than Python's stack."""
    story = Story()
    for n in range(1, 1500):
        story.write(f"s.t{n}", {"x": [f"s.t{n - 1}.x"]}, day=n / 1000)
    graph = story.ask("s.t1499.x")
    assert (len(graph.edges), str(graph).count("\n")) == (1499, 1500)
    assert len(graph.to_svg()) > 1499


def test_json_pandas_and_dictionary_say_the_same(evil):
    """A row an edge; JSON is readable back; ids keep their 63 bits."""
    value = json.loads(evil.to_json())
    frame = evil.to_pandas()
    assert (len(value["nodes"]), len(value["edges"])) == (len(evil.nodes), len(evil.edges))
    assert list(frame["count"]) == [edge["count"] for edge in value["edges"]]
    assert value["nodes"][0]["object_id"] == evil.nodes[0].object_id
    assert str(frame["first"].dtype) == "datetime64[ns, UTC]"


def test_networkx_is_asked_for_when_it_is_missing(evil, monkeypatch):
    """The error says how to get it."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(NetworkxMissing, match="pip install networkx"):
        evil.to_networkx()


def test_by_table_gathers_the_edges_of_columns():
    """One edge for two tables, with all statements; what stays in a table is left out."""
    story = Story()
    one = story.write("s.b", {"x": ["s.a.x"], "y": ["s.a.y"]})
    two = story.write("s.b", {"y": ["s.b.x", "s.a.y"]})
    (edge,) = story.ask("s.b").by_table().edges
    assert (edge.source.column_id, edge.count, set(edge.query_ids)) == (None, 2, {one, two})


def test_a_diff_says_what_appeared_and_vanished():
    """Between two moments; a rename is no difference."""
    story = Story()
    story.write("s.b", {"x": ["s.a.x"]})
    story.rename("s.b", "s.c")
    assert not diff(story.ask("s.b.x", day=1), story.ask("s.c.x", day=2))
    story.write("s.c", {"x": ["s.d.x"]}, replaces=True)
    found = diff(story.ask("s.c.x", day=2), story.ask("s.c.x"))
    assert [e.source.object_name[-1] for e in found.appeared_edges] == ["d"]
    assert [e.source.object_name[-1] for e in found.vanished_edges] == ["a"]
    assert str(found).splitlines() == [
        "+ spark_catalog.s.d.x -> spark_catalog.s.c.x",
        "- spark_catalog.s.a.x -> spark_catalog.s.c.x",
    ]
    assert str(diff(story.ask("s.c.x"), story.ask("s.c.x"))) == "no difference"
