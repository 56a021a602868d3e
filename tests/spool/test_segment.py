"""Damaged segments: torn and corrupt at every byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spool.entry import encode
from audit.spool.segment import parse_segment, read_segment, survey

LINES = [
    encode("S", "q1", {"text": "SELECT 1"}),
    encode("E", "q1", {"status": "SUCCESS"}),
    encode("R", "q1", {"text": "é\n", "rows": [1, None]}),
    encode("G", "g1", {"gap": "refused"}),
]
DATA = b"".join(LINES)


def _line_of(offset):
    """Index of the line that holds a byte, its newline included."""
    for index, line in enumerate(LINES):
        if offset < len(line):
            return index
        offset -= len(line)
    raise AssertionError


def _read(data):
    return [entry.line for entry in parse_segment(data).entries]


def test_a_sound_segment_has_no_damage(tmp_path):
    """All entries in order, no damage."""
    path = tmp_path / "1.jsonl"
    path.write_bytes(DATA)
    content = read_segment(path)
    assert [entry.line for entry in content.entries] == LINES
    assert content.damaged == ()
    assert survey(DATA).is_whole


def test_torn_at_every_byte():
    """A file cut anywhere keeps every line before the cut, and says where the torn one begins."""
    for cut in range(len(DATA)):
        content = parse_segment(DATA[:cut])
        whole = _line_of(cut)
        begin = sum(map(len, LINES[:whole]))
        assert [damage.offset for damage in content.damaged] == ([] if cut == begin else [begin])
        assert survey(DATA[:cut]).is_whole == (cut == begin)
        lacks_newline_only = cut == begin + len(LINES[whole]) - 1
        assert _read(DATA[:cut]) == LINES[: whole + lacks_newline_only]


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_corrupt_at_every_byte(flip):
    """A byte changed anywhere costs at most its own line; a changed newline costs none."""
    for offset in range(len(DATA)):
        data = bytearray(DATA)
        data[offset] ^= flip
        hit = _line_of(offset)
        content = parse_segment(bytes(data))
        assert content.damaged, offset
        assert not survey(bytes(data)).is_whole
        expected = LINES if DATA[offset] == 0x0A else LINES[:hit] + LINES[hit + 1 :]
        assert [entry.line for entry in content.entries] == expected, offset


@given(st.binary(max_size=60), st.integers(0, len(LINES)))
def test_garbage_between_lines_costs_nothing(garbage, place):
    """Any bytes put between two lines, with or without newlines, leave all good lines readable."""
    data = b"".join([*LINES[:place], garbage, *LINES[place:]])
    kept = _read(data)
    assert [line for line in kept if line in LINES] == LINES


def test_a_statements_text_cannot_forge_an_entry():
    """An entry's line inside a user's text does not come out as an entry, even when its own line is
    damaged.
    """
    forged = encode("R", "q2", {"forged": True}).decode()
    line = encode("S", "q1", {"text": "\n" + forged})
    assert _read(line) == [line]
    assert _read(b"0" + line[1:]) in ([], [line])
    assert _read(line[:-3]) == []
