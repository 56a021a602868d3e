"""The text of a row: what DuckDB writes is what Python's `json.dumps` writes, whatever a row holds."""

from __future__ import annotations

import json
from hashlib import sha256

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.clock import to_datetime, to_micros
from audit.evidence.leaves import leaf, leaves_of
from audit.evidence.merkle import Frontier, leaf_hash, root
from audit.evidence.row_texts import Repeated, by_duckdb, by_python, row_texts, texts_of, with_columns
from audit.spark.arrow import arrow_type

COLUMNS = [
    ("id", "STRING"),
    ("at", "TIMESTAMP"),
    ("number", "BIGINT"),
    ("small", "INT"),
    ("flag", "BOOLEAN"),
    ("names", "ARRAY<STRING>"),
    ("objects", "ARRAY<STRUCT<name: STRING, columns: ARRAY<STRUCT<id: BIGINT, name: STRING>>>>"),
    ("one", "STRUCT<kind: STRING, number: BIGINT>"),
]
SCHEMA = pa.schema([(name, arrow_type(kind)) for name, kind in COLUMNS])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["\\", '"', "\\u0000", "\x00", "\x1f\x7f", "\u2028", "\U0001f600", "a\nb", "'", "</script>", "\\u00e9"]
)
LONG = st.integers(-(2**63), 2**63 - 1)
ROWS = st.fixed_dictionaries({
    "id": TEXT,
    "at": st.none() | st.integers(-62_135_000_000_000_000, 253_370_000_000_000_000).map(to_datetime),
    "number": st.none() | LONG,
    "small": st.none() | st.integers(-(2**31), 2**31 - 1),
    "flag": st.none() | st.booleans(),
    "names": st.none() | st.lists(st.none() | TEXT, max_size=3),
    "objects": st.none() | st.lists(
        st.none() | st.fixed_dictionaries({
            "name": st.none() | TEXT,
            "columns": st.none() | st.lists(
                st.fixed_dictionaries({"id": st.none() | LONG, "name": st.none() | TEXT}), max_size=2
            ),
        }),
        max_size=3,
    ),
    "one": st.none() | st.fixed_dictionaries({"kind": st.none() | TEXT, "number": st.none() | LONG}),
})  # fmt: skip


def table(rows):
    """As ingest has it."""
    return pa.Table.from_pylist(rows, SCHEMA)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_duckdb_writes_what_python_writes(rows):
    """Controls, quotes, nulls at every depth, the ends of numbers and times."""
    assert [bytes(text) for text in texts_of(by_duckdb(table(rows), COLUMNS))] == by_python(table(rows))


@given(ROWS)
def test_the_text_holds_the_row(row):
    """Whoever reads it has all of the row."""
    (text,) = by_python(table([row]))
    read = json.loads(text)
    assert list(read) == [name for name, _ in COLUMNS]
    at = None if row["at"] is None else to_micros(row["at"])
    assert read == {**row, "at": at}


def test_it_is_written_down():
    """docs/evidence.md says so; somebody else's program may have been written after it."""
    row = {name: None for name, _ in COLUMNS} | {
        "id": "é\x1f",
        "at": to_datetime(1_767_225_600_000_000),
    }
    text = (
        '{"id":"é\\u001f","at":1767225600000000,"number":null,"small":null,"flag":null,"names":null,'
        '"objects":null,"one":null}'
    ).encode()
    assert [bytes(one) for one in row_texts(table([row]), COLUMNS)] == [text]
    leaves = leaves_of(["a"], [text])
    assert leaves.hashes == leaf([text], has_groups=False) == sha256(b"\0" + text).digest()


def test_a_group_is_its_hash():
    """docs/evidence.md says so; what repeats has the same text as what is there in each row."""
    columns = [("id", "STRING"), ("what", [("number", "BIGINT"), ("name", "STRING")])]
    rows = pa.table({"name": ["x", "é\x01", "x"], "id": ["a", "b\x02", "c"], "number": [1, None, 1]})
    of_groups = [b'{"number":1,"name":"x"}', '{"number":null,"name":"é\\u0001"}'.encode()]
    first, second = (sha256(text).hexdigest() for text in of_groups)
    expected = [
        f'{{"id":"a","what":"{first}"}}', f'{{"id":"b\\u0002","what":"{second}"}}',
        f'{{"id":"c","what":"{first}"}}',
    ]  # fmt: skip
    assert [bytes(one).decode() for one in row_texts(rows, columns)] == expected
    short = pa.table({"id": rows["id"], "place": pa.array([0, 1, 0], pa.int32())})
    repeated = {"what": Repeated(rows.slice(0, 2), "place")}
    assert [bytes(one).decode() for one in row_texts(short, columns, repeated)] == expected


@given(st.lists(ROWS, max_size=4))
def test_groups_of_random_columns(rows):
    """Half of the columns in two groups: the text is Python's, and holds the hashes of theirs."""
    own, one, other = COLUMNS[:3], COLUMNS[3:6], COLUMNS[6:]
    found = [json.loads(bytes(text)) for text in row_texts(table(rows), [*own, ("g", one), ("h", other)])]
    of_group = {
        name: by_python(table(rows).select([column for column, _ in some]))
        for name, some in {"g": one, "h": other}.items()
    }
    for number, text in enumerate(found):
        assert list(text) == ["id", "at", "number", "g", "h"]
        for name, some in of_group.items():
            assert text[name] == sha256(some[number]).hexdigest()


def test_floats_are_pythons():
    """DuckDB would write some of them otherwise."""
    columns = [("id", "STRING"), ("share", "DOUBLE")]
    rows = pa.table({"id": ["a", "b"], "share": [1e16, 0.1]})
    assert [bytes(one) for one in row_texts(rows, columns)] == [
        b'{"id":"a","share":1e+16}', b'{"id":"b","share":0.1}',
    ]  # fmt: skip


@given(st.lists(ROWS, max_size=5))
def test_a_row_is_as_it_was_when_it_was_signed(rows):
    """Fields that structs have gained since are left out, and those of other columns."""
    before = [
        ("objects", "ARRAY<STRUCT<columns: ARRAY<STRUCT<name: STRING>>>>"), ("one", "STRUCT<number: BIGINT>"),
    ]  # fmt: skip
    chosen = with_columns(table(rows), before).to_pylist()
    assert chosen == [
        {
            "objects": row["objects"]
            and [
                one
                and {"columns": one["columns"] and [{"name": column["name"]} for column in one["columns"]]}
                for one in row["objects"]
            ],
            "one": row["one"] and {"number": row["one"]["number"]},
        }
        for row in rows
    ]
    assert [json.loads(bytes(text)) for text in row_texts(table(rows), before)] == chosen


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.binary(min_size=1, max_size=3)), max_size=9), st.randoms()
)
def test_the_order_of_rows_does_not_count(pairs, random):
    """Neither that of statements nor that of a statement's rows."""
    shuffled = random.sample(pairs, len(pairs))
    one, other = (
        leaves_of([key for key, _ in some], [text for _, text in some]) for some in (pairs, shuffled)
    )
    assert one == other
    assert (one.rows, len(one.keys)) == (len(pairs), len({key for key, _ in pairs}))
    assert one.root == root(one.each())


@pytest.mark.parametrize("size", range(20))
def test_a_tree_that_grows(size):
    """Its root is that of all leaves at once, and its nodes fit its size."""
    hashes = [leaf_hash(bytes([number])) for number in range(size)]
    tree = Frontier()
    for one in hashes:
        tree = tree.with_leaf(one)
    assert (tree.size, tree.root, len(tree.nodes)) == (size, root(hashes), size.bit_count())
