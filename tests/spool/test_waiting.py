"""What waits in the spools and is no statement: wherever it stands, each once."""

from __future__ import annotations

import json

import pytest

from audit.core.errors import SpoolUnavailableError
from audit.spool import Spool, waiting_events
from audit.spool.entry import encode
from audit.spool.layout import Layout, write_file

from .helpers import abandon


def event(number):
    """The payload of an event of the logging."""
    return {"query": {"query_id": f"g{number}", "query_type": "AUDIT_VERIFY", "query_text": " G {"}}


def waiting(root):
    """The ids of what waits."""
    return sorted(row["query_id"] for row in waiting_events(root))


@pytest.fixture
def spool(tmp_path):
    """A spool with a statement, and an event in an open segment."""
    opened = Spool.open(tmp_path)
    opened.append("S", "q1", {"text": "SELECT 1"}, "now")
    opened.append("G", "g1", event(1), "now")
    yield opened
    opened.close()


def test_of_a_driver_that_lives(tmp_path, spool):
    """Its open segments and its sealed ones; records of statements are none."""
    assert waiting(tmp_path) == ["g1"]
    spool.rotate()
    spool.append("R", "q1", {"query": {"query_id": "q1"}}, "now")
    spool.append("G", "g2", event(2), "now")
    assert waiting(tmp_path) == ["g1", "g2"]


def test_of_a_driver_that_died(tmp_path, spool):
    """Also where a recovery has begun: what stands in two segments counts once."""
    abandon(spool)
    layout = Layout(spool.path)
    assert waiting(tmp_path) == ["g1"]
    write_file(layout.journal / "000000000001.recovered", encode("G", "g1", event(1)))
    assert waiting(tmp_path) == ["g1"]
    layout.open_segments()[0].unlink()
    assert waiting(tmp_path) == ["g1"]


def test_damage_and_other_versions_are_left_out(tmp_path, spool):
    """A torn line is not there yet; a spool of another format is not read."""
    layout = Layout(spool.path)
    line = encode("G", "g3", event(3))
    write_file(layout.sealed_segment(7), b"00000000 G {}\n" + encode("G", "g2", event(2)) + line[:-3])
    assert waiting(tmp_path) == ["g1", "g2"]
    layout.meta.write_text(json.dumps({**json.loads(layout.meta.read_text()), "version": 99}))
    assert waiting(tmp_path) == []


def test_no_spools(tmp_path):
    """Nothing waits under a root without one."""
    assert waiting(tmp_path) == []


def test_a_segment_that_cannot_be_read(tmp_path, spool):
    """It is an error, not an answer without it."""
    Layout(spool.path).sealed_segment(7).mkdir()
    with pytest.raises(SpoolUnavailableError, match=str(tmp_path)):
        waiting_events(tmp_path)
