"""Recovery: exactly one record a statement, wherever a kill strikes."""

import json
import random

import pytest

from audit.core.errors import SpoolUnavailableError, SpoolVersionError
from audit.spool import Spool, read_segment, recover
from audit.spool.layout import Layout

from .helpers import abandon, complete, records, run_module, sealed_entries
from .steps import template


def test_each_statement_gets_its_one_record(tmp_path):
    """Records stay as they were, ended statements are completed with their facts, running ones are
    INCOMPLETE;
    a rotted start is lost and told; damaged files lie in quarantine as they were found.
    """
    spool_dir = template(tmp_path)
    before = {path.name: path.read_bytes() for path in Layout(spool_dir).open_segments()}
    report = recover(spool_dir, complete)
    assert (report.kept, report.completed, report.incomplete) == (1, ("ended",), ("ran", "late"))
    assert report.sealed == spool_dir / "sealed" / "000000000002.jsonl"
    by_id = {entry.query_id: entry.payload for entry in sealed_entries(spool_dir)}
    assert by_id["ended"] == {"query_id": "ended", "status": "FAIL", "facts": [1], "text": "c"}
    assert by_id["ran"]["status"] == "INCOMPLETE"
    assert sorted(by_id) == ["done", "ended", "late", "ran"]
    assert [len(segment.damaged) for segment in report.damaged] == [1, 1]
    assert {path.name: path.read_bytes() for path in (spool_dir / "quarantine").iterdir()} == before
    (gap,) = sealed_entries(spool_dir, "G")
    assert gap.payload["gap"] == "damaged"
    assert gap.payload["damages"] == 2
    assert not list((spool_dir / "journal").iterdir())
    assert not read_segment(report.sealed).damaged


def test_an_end_whose_start_rotted_is_named(tmp_path):
    """A statement of which only the end is readable is an orphan: reported, and in a gap entry."""
    spool = Spool.open(tmp_path)
    spool.start("q1", {"text": "abc"})
    spool.end("q1", {"status": "SUCCESS"})
    abandon(spool)
    segment = Layout(spool.path).open_segment(1)
    segment.write_bytes(segment.read_bytes().replace(b"abc", b"abd"))
    report = recover(spool.path, complete)
    assert report.orphans == ("q1",)
    (gap,) = sealed_entries(spool.path, "G")
    assert gap.payload["orphans"] == ["q1"]
    assert not records(spool.path)


def test_a_second_recovery_finds_nothing(tmp_path):
    """Recovery of a recovered spool changes nothing."""
    spool_dir = template(tmp_path)
    recover(spool_dir, complete)
    first = records(spool_dir)
    report = recover(spool_dir, complete)
    assert (report.sealed, report.kept, report.completed, report.incomplete) == (None, 0, (), ())
    assert records(spool_dir) == first


def test_a_living_driver_is_let_alone(tmp_path):
    """None, and nothing is touched."""
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        assert recover(spool.path, complete) is None
        assert [one.query_id for one in spool.running()] == ["q1"]


def test_what_complete_raises_leaves_everything_as_it_was(tmp_path):
    """An error in the caller's function ends the recovery; the next one starts afresh."""

    def fail(_start, _end, _facts):
        raise ZeroDivisionError

    spool_dir = template(tmp_path)
    before = {path.name: path.read_bytes() for path in (spool_dir / "journal").iterdir()}
    with pytest.raises(ZeroDivisionError):
        recover(spool_dir, fail)
    assert {path.name: path.read_bytes() for path in (spool_dir / "journal").iterdir()} == before
    assert set(records(spool_dir).values()) == set()
    recover(spool_dir, complete)
    assert set(records(spool_dir).values()) == {1}


@pytest.mark.parametrize("meta", [b'{"version":3}', b"{}", b"[]", b"torn", None])
def test_another_format_is_refused_by_name(tmp_path, meta):
    """A spool of another format, or one that does not say, raises with its path and the way out."""
    spool_dir = template(tmp_path)
    if meta is None:
        Layout(spool_dir).meta.unlink()
    else:
        Layout(spool_dir).meta.write_bytes(meta)
    with pytest.raises(SpoolVersionError, match="audit ingest") as refused:
        recover(spool_dir, complete)
    assert str(spool_dir) in str(refused.value)


def test_a_disk_that_refuses_recovery_is_named(tmp_path):
    """An I/O error of recovery is the clear error; the open segments stay."""
    spool_dir = template(tmp_path)
    (spool_dir / "sealed").rmdir()
    with pytest.raises(SpoolUnavailableError, match=spool_dir.name):
        recover(spool_dir, complete)
    (spool_dir / "sealed").mkdir()
    recover(spool_dir, complete)
    assert sorted(records(spool_dir)) == ["done", "ended", "late", "ran"]


def test_recovery_killed_at_every_step_and_run_again(tmp_path):
    """Killed before any of its changes to the disk, with or without an ingest before it runs again, recovery
    leaves each record exactly once.
    """
    runs = [json.loads(line) for line in run_module("steps", "recovery", tmp_path).splitlines()]
    assert sum(run["killed"] for run in runs) > 20
    for run in runs:
        assert run["found"] == {"done": 1, "ended": 1, "ran": 1, "late": 1}, run
        assert run["left"] == [], run


def test_a_driver_killed_at_every_step_of_its_rotations(tmp_path):
    """Killed before any change to the disk, a driver that rotates leaves each statement exactly once."""
    runs = [json.loads(line) for line in run_module("steps", "rotation", tmp_path).splitlines()]
    assert sum(run["killed"] for run in runs) > 20
    for run in runs:
        assert set(run["found"].values()) <= {1}, run
    assert len(runs[-1]["found"]) == 6


def test_drivers_killed_at_random(tmp_path):
    """Twenty-four drivers with two writers and a rotating thread, killed by SIGKILL: every statement
    that started
    has exactly one record, one that had ended never says INCOMPLETE.
    """
    seed = random.randrange(1_000_000)  # noqa: S311 - told when the test fails
    output = run_module("kills", tmp_path, 24, seed)
    runs = [json.loads(line) for line in output.splitlines()]
    assert len(runs) == 24
    for run in runs:
        status = dict(run["records"])
        assert len(status) == len(run["records"]), seed
        assert set(run["started"]) <= set(status), seed
        assert {status[query_id] for query_id in run["ended"]} <= {"SUCCESS"}, seed
        assert (run["alive"], run["dead"], run["again"]) == (True, True, True), seed
    assert sum(len(run["started"]) for run in runs) > 200, seed
    assert any("INCOMPLETE" in dict(run["records"]).values() for run in runs), seed
