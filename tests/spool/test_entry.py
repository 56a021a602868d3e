"""Framing: what one line holds."""

import zlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.errors import SpoolEntryError
from audit.spool.entry import Entry, decode, encode

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(st.text().filter(lambda key: key != "query_id"), JSON, max_size=4)
IDS = st.text(min_size=1)


@given(st.sampled_from("SEFRG"), IDS, PAYLOADS)
def test_what_is_written_is_read(kind, query_id, payload):
    """Any kind, id and JSON payload comes back as it was, from one line that ends in its only newline."""
    line = encode(kind, query_id, payload)
    assert line.count(b"\n") == 1
    assert decode(line[:-1]) == Entry(kind, query_id, {"query_id": query_id, **payload}, line)


def test_a_line_is_what_the_format_says():
    """The checksum is CRC-32 in eight hex digits over `<kind> <json>`; the JSON begins with the query id."""
    line = encode("R", "q1", {"text": "SELECT\n'é'"})
    assert line[9:-1] == 'R {"query_id":"q1","text":"SELECT\\n\'é\'"}'.encode()
    assert int(line[:8], 16) == zlib.crc32(line[9:-1])


def test_text_with_lone_surrogates_is_recordable():
    """A Python string that is no UTF-8 is written with its surrogates escaped, not refused."""
    entry = decode(encode("S", "q1", {"text": "a\udc80b"})[:-1])
    assert entry.payload["text"] == "a\\udc80b"


@pytest.mark.parametrize("payload", [{"x": object()}, {"x": 2**70}, {"query_id": "other"}])
def test_what_no_entry_can_hold_is_refused_by_name(payload):
    """A payload that is no JSON, or another statement's, raises an error with the query id in it."""
    with pytest.raises(SpoolEntryError, match="q1"):
        encode("S", "q1", payload)


def test_an_unknown_kind_is_refused():
    """Only the five kinds are written."""
    with pytest.raises(SpoolEntryError, match="'X'"):
        encode("X", "q1", {})


@pytest.mark.parametrize("body", [b"X {}", b"S []", b'S {"query_id":1}', b"S nonsense", b"S"])
def test_a_right_checksum_does_not_make_an_entry(body):
    """A line that matches its checksum and holds something else is damage, not a crash."""
    assert isinstance(decode(b"%08x %s" % (zlib.crc32(body), body)), str)


def test_the_json_part_stands_at_a_fixed_place():
    """Ingest cuts the JSON out at byte 11 without parsing the rest."""
    assert orjson.loads(encode("R", "q1", {"a": 1})[11:]) == {"query_id": "q1", "a": 1}
