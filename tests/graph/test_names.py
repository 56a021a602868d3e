"""Names as people write them, and what an error says of those that are not there."""

from __future__ import annotations

import pytest

from audit.graph.errors import LineageNameAmbiguous, LineageNameUnknown, LineageOptionInvalid
from audit.graph.history import History
from audit.graph.question import Question, parse_as_of
from lineage.catalog.object_ids import column_id, object_id

from .story import Story, at, short


@pytest.fixture
def story():
    """A mart with a struct and names that hold what a name can hold."""
    told = Story()
    told.write("s.b", {"x": ["s.a.x"], "`d.t`": ["s.a.y"]})
    told.write("s.m", {"Total": ["s.b.x.f.g"], "n": ["s.b.x.h"]})
    told.write("s.`t.u`", {"名前": ["s.`ba``ck`.x"], "<b>\"'": ["s.m.n"]})
    return told


@pytest.mark.parametrize(
    ("asked", "means"),
    [
        ("s.m", "s.m"),
        ("S.M", "s.m"),
        ("m", "s.m"),
        ("spark_catalog.s.m", "s.m"),
        ("`s`.`m`.`TOTAL`", "s.m.Total"),
        ("spark_catalog.s.m.total", "s.m.Total"),
        ("s.b.x.f.g", "s.b.x"),
        ("s.`t.u`", "s.`t.u`"),
        ("s.`t.u`.名前", "s.`t.u`.名前"),
        ("s.`t.u`.<B>\"'", "s.`t.u`.<b>\"'"),
        ("s.`ba``ck`.x", "s.`ba``ck`.x"),
    ],
)
def test_a_name_is_found_however_it_is_written(story, asked, means):
    """Without regard to case, with and without catalog and back-ticks; a field leads to its column."""
    graph = story.ask(asked)
    assert short(graph.name) == means
    assert graph.nodes[0].name == graph.name


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("s.mm", "near it: spark_catalog.s.m"),
        ("s.m.totl", "columns of spark_catalog.s.m that it has: Total"),
        ("", "is it spelled"),
        ("`", "is it spelled"),
        ("....", "is it spelled"),
        ("zzz.qqqqqqqq.'; DROP TABLE x", "is it spelled"),
    ],
)
def test_an_unknown_name_is_named_with_what_is_near(story, asked, hint):
    """The error tells what was asked for and what would have been an answer."""
    with pytest.raises(LineageNameUnknown, match="AUDIT_LINEAGE_NAME_UNKNOWN") as raised:
        story.ask(asked)
    assert repr(asked) in raised.value.problem
    assert hint in raised.value.way_out


def test_a_name_of_before_a_rename_leads_to_the_new_one(story):
    """Who asks by the old name is told the new one."""
    story.rename("s.m", "s.mart")
    with pytest.raises(LineageNameUnknown) as raised:
        story.ask("s.m")
    assert raised.value.way_out == "it is spark_catalog.s.mart now"


def test_a_name_that_two_objects_have_is_ambiguous(story):
    """Without its schema it may be either; with it, it is one."""
    story.write("other.m", {"Total": ["s.a.x"]})
    with pytest.raises(LineageNameAmbiguous, match=r"spark_catalog\.s\.m, spark_catalog\.other\.m|other"):
        story.ask("m.total")
    assert short(story.ask("other.m.total").name) == "other.m.Total"


def test_a_column_without_edges_is_a_graph_of_one_node(story):
    """A source has nothing upstream."""
    graph = story.ask("s.a.x")
    assert (len(graph.nodes), graph.edges, graph.nodes[0].hops) == (1, (), 0)


def test_nothing_at_all_is_on_record():
    """An empty root knows no name, and says so."""
    with pytest.raises(LineageNameUnknown):
        Story().ask("s.t.x")


def test_a_moment_is_utc_where_it_says_no_zone():
    """Texts with and without zone, and datetimes."""
    assert parse_as_of("2026-01-02T12:00:00Z") == parse_as_of("2026-01-02 13:00+01:00") == parse_as_of(at(1))
    assert parse_as_of(at(1).replace(tzinfo=None)) == parse_as_of(at(1))


@pytest.mark.parametrize("wrong", ["yesterday", "", "2026-13-01", 5])
def test_what_is_no_moment_is_refused(wrong):
    """The error tells how to write one."""
    with pytest.raises(LineageOptionInvalid):
        parse_as_of(wrong)


@pytest.mark.parametrize("wrong", [{"direction": "up"}, {"depth": -1}, {"depth": True}])
def test_an_option_that_does_not_exist_is_refused(wrong):
    """Direction and depth."""
    with pytest.raises(LineageOptionInvalid):
        Question("s.t", **wrong)


def test_rows_without_an_id_have_that_of_their_name():
    """A location has no id in a row of an older record: it is numbered as an analysis numbers it today."""
    story = Story()
    story.write("s.t", {"a": ["s.u.b"]})
    for row in (*story.columns, *story.tables):
        row |= {"source_object_id": None, "source_object_domain": "STAGE", "source_object_name": "/x/a.csv"}
    for row in story.columns:
        row["source_column_id"] = None
    history = History.read(*story.arrow())
    identity = object_id("STAGE", "/x/a.csv")
    assert identity in history.object_ids
    assert column_id(identity, "b") in history.column_ids
