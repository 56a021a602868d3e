"""What is on the way, and what is in force, statement by statement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.graph.errors import LineageNameUnknown
from audit.graph.snapshot import FOREVER
from audit.graph.walk import WalkOptions, downstream, upstream

from .story import NOON, Story
from .story import at as moment_of


@pytest.fixture
def story():
    """A story to tell."""
    return Story()


def test_a_column_leads_back_over_tables_and_views(story):
    """Each hop is an edge; a view between is a node, and the base source below it no edge of its own."""
    story.write("s.b", {"x": ["s.a.x"]})
    story.view("s.v", {"y": ["s.b.x"]})
    story.write("s.c", {"z": ["s.v.y"]}, base={"z": ["s.b.x"]})
    assert story.edges("s.c.z") == ["s.a.x > s.b.x", "s.b.x > s.v.y", "s.v.y > s.c.z"]
    assert story.edges("s.a.x", "downstream") == story.edges("s.c.z")
    assert story.edges("s.v.y", "both") == story.edges("s.c.z")


def test_a_view_without_a_definition_on_record_gives_way_to_its_base(story):
    """The view stays as a leaf, and the base source below it is an edge."""
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.c", {"z": ["s.v.y"]}, base={"z": ["s.b.x"]})
    assert story.edges("s.c.z") == ["s.a.x > s.b.x", "s.b.x > s.c.z", "s.v.y > s.c.z"]
    assert story.edges("s.a.x", "downstream") == ["s.a.x > s.b.x", "s.b.x > s.c.z"]
    assert [e.kind for e in story.ask("s.c.z").edges if e.source.name.endswith("b.x")] == ["base"]


def test_an_overwrite_ends_what_was_in_the_target(story):
    """Only what the last whole replacement took, and what came on top of it, is in force."""
    story.write("s.t", {"x": ["s.a.x"]})
    story.write("s.t", {"x": ["s.b.x"]}, replaces=True)
    story.write("s.t", {"x": ["s.c.x"]})
    assert story.edges("s.t.x") == ["s.b.x > s.t.x", "s.c.x > s.t.x"]
    assert story.edges("s.a.x", "downstream") == []
    assert story.edges("s.t.x", include_history=True) == ["s.a.x > s.t.x", "s.b.x > s.t.x", "s.c.x > s.t.x"]
    assert story.edges("s.t.x", day=1.5) == ["s.a.x > s.t.x"]


def test_an_overwrite_that_reads_its_target_ends_nothing(story):
    """INSERT OVERWRITE t SELECT … FROM t keeps what was there."""
    story.write("s.t", {"x": ["s.a.x"]})
    story.write("s.t", {"x": ["s.t.x", "s.b.x"]}, replaces=True)
    assert story.edges("s.t.x") == ["s.a.x > s.t.x", "s.b.x > s.t.x"]


def test_what_a_dropped_table_passed_on_is_still_there(story):
    """A staging table that was dropped is on the way; without its successor nothing would lead there."""
    story.write("s.stage", {"x": ["s.a.x"]})
    story.write("s.mart", {"x": ["s.stage.x"]})
    story.end("s.stage")
    assert story.edges("s.mart.x") == ["s.a.x > s.stage.x", "s.stage.x > s.mart.x"]
    assert story.edges("s.a.x", "downstream") == story.edges("s.mart.x")
    assert [n.dropped is None for n in story.ask("s.mart.x").nodes] == [True, False, True]
    story.end("s.mart", "TRUNCATE")
    assert story.edges("s.a.x", "downstream") == story.edges("s.mart.x") == []


def test_what_came_to_a_source_after_it_was_read_is_not_passed_on(story):
    """The mart was made from the first generation of its source; what replaced that has not reached it."""
    story.write("s.stage", {"x": ["s.a.x"]})
    story.write("s.mart", {"x": ["s.stage.x"]})
    story.write("s.stage", {"x": ["s.b.x"]}, replaces=True)
    story.write("s.stage", {"x": ["s.c.x"]})
    assert story.edges("s.mart.x") == ["s.a.x > s.stage.x", "s.stage.x > s.mart.x"]
    assert story.edges("s.b.x", "downstream") == ["s.b.x > s.stage.x"]
    assert story.edges("s.c.x", "downstream") == ["s.c.x > s.stage.x"]
    assert story.edges("s.a.x", "downstream") == story.edges("s.mart.x")


def test_a_view_shows_what_its_sources_are_when_it_is_read(story):
    """A table made through a view has what the view's source held then; the view itself what it holds now."""
    story.write("s.t", {"x": ["s.a.x"]})
    story.view("s.v", {"x": ["s.t.x"]})
    story.write("s.m", {"x": ["s.v.x"]})
    story.write("s.t", {"x": ["s.b.x"]}, replaces=True)
    assert story.edges("s.m.x") == ["s.a.x > s.t.x", "s.t.x > s.v.x", "s.v.x > s.m.x"]
    assert story.edges("s.v.x") == ["s.b.x > s.t.x", "s.t.x > s.v.x"]
    assert story.edges("s.b.x", "downstream") == ["s.b.x > s.t.x", "s.t.x > s.v.x"]


def test_a_view_that_is_defined_anew_keeps_its_old_sources_for_old_readers(story):
    """Its new definition counts for itself and for who reads it from then on."""
    story.view("s.v", {"x": ["s.a.x"]})
    story.write("s.m", {"x": ["s.v.x"]})
    story.view("s.v", {"x": ["s.b.x"]})
    story.write("s.n", {"x": ["s.v.x"]})
    assert story.edges("s.v.x") == ["s.b.x > s.v.x"]
    assert story.edges("s.m.x") == ["s.a.x > s.v.x", "s.v.x > s.m.x"]
    assert story.edges("s.n.x") == ["s.b.x > s.v.x", "s.v.x > s.n.x"]


def test_an_undrop_brings_the_edges_back(story):
    """What a DROP ended is in force again."""
    story.write("s.t", {"x": ["s.a.x"]})
    story.end("s.t")
    assert story.edges("s.t.x") == []
    story.end("s.t", "UNDROP_TABLE")
    assert story.edges("s.t.x") == ["s.a.x > s.t.x"]
    assert story.ask("s.t.x").nodes[0].dropped is None


def test_a_dropped_schema_takes_its_tables_along(story):
    """What was in it by its name of then is gone; what had moved out, or came later, is there."""
    story.write("s.t", {"x": ["q.a.x"]})
    story.write("s.old", {"x": ["q.a.x"]})
    story.rename("s.old", "q.kept")
    story.write("s2.t", {"x": ["q.a.x"]})
    story.end("S", "DROP_SCHEMA")
    gone = story.day
    assert story.edges("q.a.x", "downstream") == ["q.a.x > q.kept.x", "q.a.x > s2.t.x"]
    assert story.ask("s.t").nodes[0].dropped == moment_of(gone)
    assert story.edges("s.t.x", day=gone - 0.5) == ["q.a.x > s.t.x"]
    with pytest.raises(LineageNameUnknown):
        story.ask("s")
    story.anew("s.t")
    story.write("s.t", {"x": ["q.b.x"]}, query="CREATE_TABLE_AS_SELECT", replaces=True)
    assert story.edges("s.t.x") == ["q.b.x > s.t.x"]


def test_a_schema_that_comes_back_brings_its_tables(story):
    """Those that went with its last drop; what was dropped before by itself stays gone."""
    story.write("s.t", {"x": ["q.a.x"]})
    story.write("s.gone", {"x": ["q.a.x"]})
    story.end("s.gone")
    for _ in range(2):
        story.end("s", "DROP_SCHEMA")
        assert story.edges("s.t.x") == []
        story.end("s", "UNDROP_SCHEMA")
        assert story.edges("s.t.x") == ["q.a.x > s.t.x"]
        assert story.ask("s.t").nodes[0].dropped is None
    assert story.edges("s.gone.x") == []
    story.write("s.m", {"x": ["s.t.x"]})
    assert story.edges("s.m.x") == ["q.a.x > s.t.x", "s.t.x > s.m.x"]


def test_a_rename_keeps_a_node_one_node(story):
    """Before and after it is the same node, by the name of the moment."""
    story.write("s.old", {"x": ["s.a.x"]})
    story.rename("s.old", "s.new")
    story.write("s.m", {"x": ["s.new.x"]})
    assert story.edges("s.m.x") == ["s.a.x > s.new.x", "s.new.x > s.m.x"]
    assert story.edges("s.old.x", day=1.5) == ["s.a.x > s.old.x"]


def test_a_table_made_anew_is_one_node(story):
    """Dropped and made again under its name with another id: one node, and the old sources are gone."""
    story.write("s.t", {"x": ["s.a.x"], "y": ["s.a.y"]})
    story.write("s.m", {"x": ["s.t.x"]})
    story.end("s.t")
    story.anew("s.t")
    story.write("s.t", {"x": ["s.b.x"]}, query="CREATE_TABLE_AS_SELECT")
    assert story.edges("s.t.x") == ["s.b.x > s.t.x"]
    assert story.edges("s.m.x") == ["s.a.x > s.t.x", "s.t.x > s.m.x"]
    nodes = story.ask("s.t", "both").nodes
    assert len({node.key for node in nodes}) == len({node.name for node in nodes})


def test_locations_differ_by_case():
    """A path is no name: files that differ by a letter's case are two nodes."""
    story = Story()
    story.ids = {"s./in/A": 1, "s./in/a": 2}
    story.write("s.t", {"x": ["s.`/in/A`.x", "s.`/in/a`.x"]})
    assert story.edges("s.t") == ["s./in/A.x > s.t.x", "s./in/a.x > s.t.x"]


def test_indirect_edges_are_followed_when_asked_for(story):
    """A filter shapes all columns of the target, and what shaped the filter's column is on the way."""
    story.write("s.b", {"f": ["s.a.f"]})
    story.write("s.c", {"x": ["s.b.x"]}, indirect=["s.b.f"])
    assert story.edges("s.c.x") == ["s.b.x > s.c.x"]
    assert story.edges("s.c.x", include_indirect=True) == ["s.a.f > s.b.f", "s.b.f > s.c", "s.b.x > s.c.x"]
    assert story.edges("s.a.f", "downstream", include_indirect=True) == ["s.a.f > s.b.f", "s.b.f > s.c"]


def test_a_statement_whose_columns_are_unknown_joins_its_tables(story):
    """Asked for a table, the way goes on over it; asked for a column, nobody can say."""
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.c", {"?": ["s.b.?"]}, known=False)
    assert story.edges("s.c") == ["s.a.x > s.b.x", "s.b > s.c"]
    assert story.edges("s.a", "downstream") == ["s.a.x > s.b.x", "s.b > s.c"]
    assert story.edges("s.a.x", "downstream") == ["s.a.x > s.b.x"]


def test_depth_counts_hops(story):
    """Depth 1 is the nearest edges, 0 none; hops are negative upstream."""
    for one, two in ("ab", "bc", "cd"):
        story.write(f"s.{two}", {"x": [f"s.{one}.x"]})
    assert story.edges("s.d.x", depth=0) == []
    assert story.edges("s.d.x", depth=2) == ["s.b.x > s.c.x", "s.c.x > s.d.x"]
    assert story.edges("s.a.x", "downstream", depth=1) == ["s.a.x > s.b.x"]
    assert {n.name[-3:]: n.hops for n in story.ask("s.c.x", "both").nodes} == {
        "a.x": -2, "b.x": -1, "c.x": 0, "d.x": 1,
    }  # fmt: skip


def test_a_cycle_ends(story):
    """Two tables that feed each other are walked once."""
    story.write("s.b", {"x": ["s.a.x"]})
    story.write("s.a", {"x": ["s.b.x"]})
    story.write("s.b", {"x": ["s.a.x"]})
    assert story.edges("s.b.x") == ["s.a.x > s.b.x", "s.b.x > s.a.x"]
    assert story.edges("s.a.x", "both", include_history=True) == ["s.a.x > s.b.x", "s.b.x > s.a.x"]


def test_an_edge_gathers_its_statements(story):
    """Count, first, last, query ids and users of all statements that made it."""
    first = story.write("s.b", {"x": ["s.a.x.f.g"]}, user="bob")
    last = story.write("s.b", {"x": ["s.a.x.f.g", "s.a.x"]})
    (edge,) = story.ask("s.b.x").edges
    assert (edge.count, edge.query_ids, edge.users) == (2, (first, last), ("ann", "bob"))
    assert (edge.first < edge.last, edge.fields) == (True, ("x.f.g",))


# A naive walk, row by row, that says the same in as few words as can be.


def naive_upstream(rows, resets, views, defined, start, until):
    """Rows on the way, each with the time its source was read.

    `rows` are (time, source, target, kind, query), columns are (object, column).
    """
    found, todo, seen = set(), [(start, until)], set()
    while todo:
        node, moment = todo.pop()
        if (node, moment) in seen:
            continue
        seen.add((node, moment))
        mine = [
            r for r in rows
            if r[2] == node and r[0] <= moment
            and not any(o == node[0] and r[0] < t <= moment for o, t in resets)
        ]  # fmt: skip
        read = {r: moment if node[0] in views else r[0] for r in mine}
        opaque = {
            r[4] for r in mine
            if r[3] == 0 and r[1][0] in views and not any(o == r[1][0] and t <= read[r] for o, t in defined)
        }  # fmt: skip
        for r in mine:
            if r[3] == 0 or r[4] in opaque:
                found.add((r, read[r]))
                todo.append((r[1], read[r]))
    return found


def naive_downstream(rows, resets, views, defined, start, nodes):
    """Rows in force that data of the start has reached, in the order of time."""
    force = set().union(*(naive_upstream(rows, resets, views, defined, n, FOREVER) for n in nodes))

    def passes(node, since, moment):
        if since is None or node[0] in views:
            return since in (None, moment)
        return since <= moment and not any(o == node[0] and since < t <= moment for o, t in resets)

    found, todo, seen = set(), [(start, None)], set()
    while todo:
        node, since = todo.pop()
        if (node, since) in seen:
            continue
        seen.add((node, since))
        for row, moment in force:
            if row[1] == node and passes(node, since, moment):
                found.add(row)
                todo.append((row[2], moment))
    return found


OBJECTS = ("a", "b", "c", "v", "w")
COLUMN = st.sampled_from("xy")
STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(OBJECTS),
        st.lists(st.tuples(st.sampled_from(OBJECTS), COLUMN, COLUMN), max_size=3),
        st.lists(st.tuples(st.sampled_from("abc"), COLUMN, COLUMN), max_size=2),
        st.booleans(),
        st.sampled_from(["write", "write", "write", "drop"]),
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip


def _told(statements):
    """A story of random statements; views begin with v and are named so."""
    story, rows, resets, defined = Story(), [], [], []
    name = {one: f"s.{'v_' + one if one in 'vw' else one}" for one in OBJECTS}
    for target, sources, base, replaces, verb in statements:
        if verb == "drop":
            story.end(name[target], "DROP_VIEW" if target in "vw" else "DROP_TABLE")
            resets.append((target, NOON + story.day * 86_400_000_000))
            continue
        is_view = target in "vw"
        columns, below = {}, {}
        for source, one, other in sources:
            if source != target:
                columns.setdefault(other, []).append(f"{name[source]}.{one}")
        for source, one, other in base if any(s in "vw" for s, _, _ in sources) else ():
            if source != target:
                below.setdefault(other, []).append(f"{name[source]}.{one}")
        columns |= {column: [] for column in below if column not in columns}
        tell = story.view if is_view else story.write
        more = {} if is_view else {"replaces": replaces}
        query = tell(name[target], columns, base=below, **more)
        time = NOON + story.day * 86_400_000_000
        back = {f"{name[o]}.{c}": (o, c) for o in OBJECTS for c in "xy"}
        for kind, made in ((0, columns), (1, below)):
            rows += [(time, back[s], (target, c), kind, (query, c)) for c, many in made.items() for s in many]
        if is_view or replaces:
            resets.append((target, time))
        if is_view:
            defined.append((target, time))
    return story, list(dict.fromkeys(rows)), resets, defined, name


@settings(max_examples=150)
@given(STATEMENTS)
def test_the_walk_is_the_naive_walk(statements):
    """From every column, up and down: the same rows as by the rule of thumb above, and no others."""
    story, rows, resets, defined, name = _told(statements)
    if not rows:
        return
    snapshot = story.snapshot()
    history = snapshot.history
    labels = {}
    for at in range(len(history.time)):
        for ends, texts in ((history.source, history.source_name), (history.target, history.target_name)):
            if ends[at] >= 0:
                labels[int(ends[at])] = history.column_names[texts[at]]
    short = {full: one for one, full in name.items()}

    def key(node):
        obj = history.object_names[snapshot.name_of[snapshot.node_object[node]]]
        return short[obj.removeprefix("spark_catalog.")], labels[int(node)]

    def said(walked):
        return {
            (int(snapshot.time[r]), key(snapshot.source[r]), key(snapshot.target[r]), int(snapshot.kind[r]))
            for r in walked.rows
        }

    nodes = {key(node): node for node in labels}
    for node, number in nodes.items():
        start = np.array([number])
        up = naive_upstream(rows, resets, set("vw"), defined, node, FOREVER)
        assert said(upstream(snapshot, start, WalkOptions())) == {row[:4] for row, _ in up}
        down = naive_downstream(rows, resets, set("vw"), defined, node, list(nodes))
        assert said(downstream(snapshot, start, WalkOptions())) == {row[:4] for row in down}
