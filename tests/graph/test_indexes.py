"""The indexes of a snapshot against plain loops, and tables of other shapes that say the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.graph import Question, answer
from audit.graph.errors import LineageOptionInvalid
from audit.graph.history import History
from audit.graph.question import parse_as_of
from audit.graph.snapshot import Generations, Index, Snapshot

from .story import Story, short

NODES = st.lists(st.integers(0, 6), max_size=20)
TIMES = st.integers(-3, 9)


def ints(values):
    """Numbers as the arrays have them."""
    return np.array(values, np.int64)


@given(NODES, st.lists(st.integers(0, 6), max_size=5))
def test_an_index_has_all_rows_of_a_node(nodes, asked):
    """Each row of each node that is asked for, with the position of its node; a node may come twice."""
    rows, owner = Index.of(ints(nodes), 7).rows(ints(asked))
    found = sorted(zip(owner.tolist(), rows.tolist(), strict=True))
    assert found == [
        (at, row) for at, node in enumerate(asked) for row, one in enumerate(nodes) if one == node
    ]


@given(st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=12), st.integers(0, 3), TIMES, TIMES)
def test_two_times_share_a_generation_if_nothing_emptied_the_object_between_them(resets, obj, one, other):
    """A reset at the later time is between them, one at the earlier time is not."""
    generations = Generations.of(ints([of for of, _ in resets]), ints([time for _, time in resets]))
    first, last = sorted((one, other))
    between = any(of == obj and first < time <= last for of, time in resets)
    numbers = generations.at(ints([obj, obj]), ints([first, last]))
    assert (numbers[0] != numbers[1]) == between
    began = generations.began(ints([obj]), ints([last]))[0]
    assert began == any(of == obj and time <= last for of, time in resets)


@pytest.fixture(scope="module")
def story():
    """Statements with all kinds of rows."""
    told = Story()
    told.write("raw.f", {"d": ["raw.x.c"], "k": ["raw.x.k"]}, user="bob")
    told.view("s.v", {"d": ["raw.f.d"]})
    told.write("s.m", {"avg": ["s.v.d"]}, base={"avg": ["raw.f.d"]}, indirect=["raw.f.k"], replaces=True)
    told.write("s.n", {"?": ["s.m.?"]}, known=False)
    told.end("raw.x")
    told.rename("s.n", "s.last")
    return told


def whole(columns, tables):
    """The answer to the widest question, as plain values."""
    question = Question("s.last", include_indirect=True, include_history=True)
    return answer(Snapshot.of(History.read(columns, tables)), question).to_dict()


def _each_row_a_chunk(table):
    return pa.concat_tables([table.slice(at, 1) for at in range(len(table))])


def _dictionaries(table):
    for at, field in enumerate(table.schema):
        if field.type == pa.string():
            table = table.set_column(at, field.name, _by_chunk(table[field.name]))
    return table


def _by_chunk(column):
    """A dictionary for each chunk, as each Parquet file has its own."""
    return pa.chunked_array([chunk.dictionary_encode() for chunk in column.chunks])


def _cast(table, kinds):
    fields = [pa.field(field.name, kinds.get(field.type, field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


@pytest.mark.parametrize(
    "form",
    [
        _each_row_a_chunk,
        _dictionaries,
        lambda table: _dictionaries(_each_row_a_chunk(table)),
        lambda table: _cast(table, {pa.string(): pa.large_string()}),
        lambda table: _cast(table, {pa.timestamp("us", "UTC"): pa.timestamp("us", "America/New_York")}),
        lambda table: _cast(table, {pa.timestamp("us", "UTC"): pa.timestamp("ns", "UTC")}),
        lambda table: pa.concat_tables([table.slice(0, 0), table.slice(0, 3), table.slice(3)]),
        lambda table: pa.concat_tables([table, table.slice(2)]).slice(0, len(table)),
    ],
    ids=["chunks", "dictionaries", "both", "large", "zone", "nanoseconds", "empty chunk", "slice"],
)
def test_the_form_of_the_tables_does_not_matter(story, form):
    """Files differ in chunks, dictionaries and types, and the answer is the same."""
    columns, tables = story.arrow()
    expected = whole(columns, tables)
    assert len(expected["edges"]) == 6
    assert whole(form(columns), form(tables)) == expected


@settings(max_examples=15)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(story, random):
    """Delta's files have none: the time of a statement tells what came first."""
    columns, tables = story.arrow()
    mixed = [table.take(random.sample(range(len(table)), len(table))) for table in (columns, tables)]
    assert whole(*mixed) == whole(columns, tables)


def test_depths_grow_to_the_whole_answer(story):
    """Each depth has the edges of the one before it; hops tell how far a node is."""
    before = set()
    for depth in range(6):
        graph = story.ask("s.m.avg", depth=depth)
        found = {edge.key for edge in graph.edges}
        assert before <= found
        assert max(abs(node.hops) for node in graph.nodes) <= depth
        before = found
    assert before == {edge.key for edge in story.ask("s.m.avg").edges}


def test_both_ways_are_the_sum_of_the_two(story):
    """Upstream and downstream of a node in the middle."""
    edges = [set(story.edges("raw.f.d", way)) for way in ("upstream", "downstream", "both")]
    assert edges[0] | edges[1] == edges[2]
    assert edges[0].isdisjoint(edges[1])
    hops = {short(node.name): node.hops for node in story.ask("raw.f.d", "both").nodes}
    assert hops == {"raw.x.c": -1, "raw.f.d": 0, "s.v.d": 1, "s.m.avg": 2}


@pytest.mark.parametrize("wrong", ["9999-12-31T23:59:59-10:00", "0001-01-01T00:00+14:00"])
def test_a_moment_beyond_the_calendar_in_utc_is_refused(wrong):
    """The error names it."""
    with pytest.raises(LineageOptionInvalid, match=wrong[:10]):
        parse_as_of(wrong)


@pytest.mark.parametrize("moment", ["0001-01-01", "9999-12-31T23:59:59.999999Z"])
def test_the_first_and_the_last_moment_are_moments(story, moment):
    """Nothing was on record at the first, all of it at the last."""
    at = parse_as_of(moment)
    snapshot = Snapshot.of(History.read(*story.arrow()), at)
    assert len(snapshot.row) == (0 if moment.startswith("0001") else len(story.snapshot().row))
    if len(snapshot.row):
        assert str(answer(snapshot, Question("s.m", as_of=at))).startswith(
            "spark_catalog.s.m as of 9999-12-31"
        )
