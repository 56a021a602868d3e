"""Parts that records of a segment repeat: written once, put back when read, lost with their line alone."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ingest.rows import rows_of
from audit.record.access_record import Ended, Finding, Started, build_row
from audit.spool import parts, read_segment
from audit.spool.entry import encode
from audit.spool.parts import cut, is_part
from audit.spool.segment import SegmentFile, parse_segment, survey
from audit.store.tables import QUERY_HISTORY
from lineage import MemoryCatalog, analyze

CATALOG = MemoryCatalog({"s.t": {"a": "int", "b": "int"}, "s.u": {"a": "int"}}, current_schema="s")
NOON = 1_767_268_800_000_000
TEXTS = [
    "SELECT a FROM t",
    "INSERT INTO u SELECT a FROM t",
    'SELECT \'"text_part":"\' FROM t',
    "DROP TABLE u",
]


def record(number, text):
    """The line of a statement's record."""
    query_id = f"q{number:03}"
    started = Started(query_id, NOON + number, "ann", text, "SELECT", "SparkSession.sql", is_sql=True)
    finding = Finding(analyze(text, CATALOG), "text")
    return encode("R", query_id, build_row(started, Ended("SUCCESS", NOON + number), finding))


RECORDS = [record(number, TEXTS[number % 2]) for number in range(5)]
OTHERS = [encode("S", "q000", {"query_text": "SELECT 1"}), encode("G", "g1", {"gap": "refused"})]
LINES = [OTHERS[0], *RECORDS[:3], OTHERS[1], *RECORDS[3:]]


@pytest.fixture
def segment(tmp_path):
    """A segment that is being written."""
    found = SegmentFile(tmp_path / "000000000001.jsonl")
    yield found
    found.close()


def key(line):
    """Kind and query id of an entry."""
    return line[9:10], orjson.loads(line[11:])["query_id"]


def read(segment):
    """The lines of its entries."""
    content = read_segment(segment.path)
    assert content.damaged == ()
    return [entry.line for entry in content.entries]


@given(st.lists(st.sampled_from([*TEXTS, "SELECT b FROM t"]), max_size=8))
def test_what_is_cut_is_put_back(texts):
    """Each line is as it was, and no part has two lines."""
    lines = [record(number, text) for number, text in enumerate(texts)]
    data = b"".join(cut(lines))
    assert [entry.line for entry in parse_segment(data).entries] == lines
    written = [line for line in data.splitlines() if is_part(line)]
    assert len(written) == len(set(written))
    assert survey(data).statements == len(lines)
    assert survey(data).is_whole


def test_a_repeated_statement_takes_little_room(segment):
    """Its parts are written before it, whole JSON each, and never again."""
    for line in LINES:
        segment.append(line)
    first, *rest = [
        line for line in segment.path.read_bytes().splitlines() if b"q001" in line or is_part(line)
    ]
    assert list(orjson.loads(first[11:]))[:2] == ["text_part", "query_text"]
    assert max(len(line) for line in rest if b"q001" in line) < len(RECORDS[1]) / 2
    assert read(segment) == LINES


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80])
def test_a_damaged_byte(tmp_path, flip):
    """It costs the record of its line, or those that name the part of its line; ingest says the same."""
    data = b"".join(cut(LINES))
    lines = data.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    places = [
        (number, at) for number, line in enumerate(lines) for at in (0, 9, len(line) // 2, len(line) - 1)
    ]
    for number, at in places:
        offset = starts[number] + at
        damaged = bytearray(data)
        damaged[offset] ^= flip
        hit = lines[number]
        if data[offset] == 0x0A:
            lost = set()
        elif is_part(hit):
            ident = parts.part_of(hit)[1]
            named = [line for line in lines if ident in line and not is_part(line)]
            lost = {key(line) for line in named}
        else:
            lost = {key(hit)}
        content = parse_segment(bytes(damaged))
        assert content.damaged
        kept = [entry for entry in content.entries if entry.line in LINES]
        assert {key(entry.line) for entry in kept} == {*map(key, LINES)} - lost
        found = survey(bytes(damaged))
        assert not found.is_whole
        if data[offset] != 0x0A:
            assert found.statements == sum(entry.kind == "R" for entry in kept)
            file = tmp_path / "1.jsonl"
            file.write_bytes(damaged)
            ids = rows_of([file])[QUERY_HISTORY].table["query_id"].to_pylist()
            assert sorted(filter(None, ids)) == sorted(entry.query_id for entry in kept if entry.kind == "R")


def test_lines_that_were_taken_back(segment):
    """A part that went with them is written again."""
    segment.append(RECORDS[0])
    segment.take_back([RECORDS[1]])
    segment.append(RECORDS[2])
    assert read(segment) == RECORDS[1:3]


def test_a_write_that_fails(segment, monkeypatch):
    """The part counts as written only when it is."""

    def full(_self, _data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SegmentFile, "write", full)
        with pytest.raises(OSError, match="No space"):
            segment.append(RECORDS[0])
    segment.append(RECORDS[2])
    assert read(segment) == [RECORDS[2]]


def test_memory_has_a_bound(segment, monkeypatch):
    """Parts are written again when there are too many to remember."""
    monkeypatch.setattr(parts, "_MOST_BYTES", 1)
    for line in RECORDS:
        segment.append(line)
    assert read(segment) == RECORDS
    written = [line for line in segment.path.read_bytes().splitlines() if is_part(line)]
    assert len(written) > len(set(written))


def test_records_that_become_one_row_stay_whole():
    """Those with a mark, and what has no parts."""
    marked = orjson.loads(RECORDS[0][11:]) | {"aggregate": {"key": "k", "text": "t"}}
    lines = [encode("R", "q000", marked), encode("R", "q2", {"rows": [1]}), *OTHERS]
    assert list(cut(lines)) == lines
