"""Appending, group commit, rotation, the bound, forks."""

import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.core.clock import ManualClock
from audit.core.errors import (
    RecordLossWarning,
    SpoolClosedError,
    SpoolForkedError,
    SpoolFullError,
    SpoolUnavailableError,
)
from audit.core.ids import IdGenerator
from audit.spool import Spool, find_spools, read_segment, recover, remove_ingested

from .helpers import abandon, complete, records, sealed_entries


def _kinds(path):
    return [(entry.kind, entry.query_id) for entry in read_segment(path).entries]


def _threads(count, work):
    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_rotated_segment_carries_what_is_not_complete(tmp_path):
    """Start, end and facts of a statement without record head the next segment; the others do not."""
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {"text": "a"})
        spool.start("q2", {"text": "b"})
        spool.fact("q2", {"fact": 7})
        spool.end("q2", {"status": "SUCCESS"})
        spool.end("q1", {"status": "SUCCESS"})
        spool.record("q1", {"text": "a"})
        assert spool.rotate() == spool.path / "sealed" / "000000000001.jsonl"
        (segment,) = (spool.path / "journal").iterdir()
        assert segment.name == "000000000002.open"
        assert _kinds(segment) == [("S", "q2"), ("F", "q2"), ("E", "q2")]
        assert spool.sealed() == (spool.path / "sealed" / "000000000001.jsonl",)


def test_a_segment_without_records_is_not_sealed(tmp_path):
    """Nothing for ingest, nothing to seal; numbers are used once and rise."""
    with Spool.open(tmp_path) as spool:
        assert spool.rotate() is None
        spool.start("q1", {})
        assert spool.rotate() is None
        for number in (1, 2, 3):
            spool.record(f"r{number}", {})
            assert spool.rotate().name == f"{number:012d}.jsonl"
            remove_ingested(spool.path, spool.sealed())


def test_running_are_those_with_a_start_and_no_end(tmp_path):
    """running() names what runs, with its start, across a rotation."""
    with Spool.open(tmp_path) as spool:
        for query_id in ("q1", "q2", "q3", "q4"):
            spool.start(query_id, {"text": query_id})
        spool.end("q1", {})
        spool.record("q2", {})
        spool.rotate()
        assert [(one.query_id, one.start["text"]) for one in spool.running()] == [("q3", "q3"), ("q4", "q4")]
        assert spool.stats().unfinished == 3


def test_a_large_segment_rotates_by_itself(tmp_path):
    """Ingest in another process sees sealed segments without anyone calling rotate()."""
    with Spool.open(tmp_path, segment_bytes=1000) as spool:
        for number in range(100):
            spool.record(f"q{number}", {"text": "x" * 100})
        assert len(spool.sealed()) > 10
    assert set(records(spool.path).values()) == {1}
    assert len(records(spool.path)) == 100


def test_threads_share_their_fsyncs(tmp_path):
    """Eight threads that append durably need fewer fdatasyncs than appends, and each line is there once."""
    with Spool.open(tmp_path) as spool:
        _threads(8, lambda index: [spool.start(f"{index}-{number}", {}) for number in range(100)])
        stats = spool.stats()
        assert stats.appends == 800
        assert 0 < stats.syncs < 600
        (segment,) = (spool.path / "journal").iterdir()
        assert len(set(_kinds(segment))) == 800


def test_rotation_under_concurrent_writers_loses_and_doubles_nothing(tmp_path):
    """Six writers, one rotating thread: every record is sealed exactly once, and every sealed segment with a
    record of a statement holds its start and end, or a segment before it did.
    """
    done = threading.Event()

    def write(index):
        for number in range(60):
            query_id = f"{index}-{number}"
            spool.start(query_id, {"text": query_id})
            spool.end(query_id, {"status": "SUCCESS"})
            spool.record(query_id, {"status": "SUCCESS"}, "now" if number % 7 == 0 else "later")

    def rotate():
        while not done.is_set():
            spool.rotate()

    with Spool.open(tmp_path) as spool:
        rotator = threading.Thread(target=rotate)
        rotator.start()
        _threads(6, write)
        done.set()
        rotator.join()
    counted = records(spool.path)
    assert len(counted) == 360
    assert set(counted.values()) == {1}
    assert not list((spool.path / "journal").iterdir())
    numbers = [int(path.stem) for path in sorted((spool.path / "sealed").iterdir())]
    assert numbers == sorted(set(numbers))


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("SEFRrk"), st.integers(0, 5)), max_size=30))
def test_any_order_of_calls_then_a_crash_gives_one_record_a_statement(tmp_path_factory, steps):
    """Whatever the order of appends, rotations and ingests, a crash and a recovery leave exactly one
    record for
    each statement that was started or recorded.
    """
    root = tmp_path_factory.mktemp("any")
    spool = Spool.open(root)
    known, recorded, ingested = set(), set(), []
    for kind, number in steps:
        query_id = f"q{number}"
        if kind == "r":
            spool.rotate()
        elif kind == "k":
            ingested += [entry.query_id for entry in sealed_entries(spool.path)]
            remove_ingested(spool.path, spool.sealed())
        elif kind != "R" or query_id not in recorded:
            if query_id in recorded or (kind == "S" and query_id in known):
                continue
            spool.append(kind, query_id, {"status": "SUCCESS", "fact": 1}, "later")
            known |= {query_id} if kind in "SR" else set()
            recorded |= {query_id} if kind == "R" else set()
    abandon(spool)
    report = recover(spool.path, complete)
    found = ingested + [entry.query_id for entry in sealed_entries(spool.path)]
    assert sorted(found) == sorted(known)
    assert set(report.completed) | set(report.incomplete) == known - recorded


def test_the_bound_refuses_new_statements_and_lets_running_ones_end(tmp_path):
    """At max_bytes a start is refused by name and way out; what runs may end; ingest makes room again."""
    with Spool.open(tmp_path, max_bytes=2000) as spool:
        spool.start("q1", {})
        with pytest.raises(SpoolFullError, match=r"max_bytes") as full:  # noqa: PT012 - one of many
            for number in range(50):
                spool.record(f"r{number}", {"text": "x" * 100})
        assert str(spool.path) in str(full.value)
        with pytest.raises(SpoolFullError):
            spool.start("q2", {"text": "x" * 200})
        assert spool.end("q1", {"text": "x" * 500})
        assert spool.record("q1", {"text": "x" * 500})
        spool.rotate()
        with pytest.raises(SpoolFullError):
            spool.start("q2", {})
        # As another process does, behind this one's back.
        for path in spool.sealed():
            path.unlink()
        assert spool.start("q2", {})


def test_under_warn_a_loss_is_warned_of_once_and_told_by_a_gap(tmp_path):
    """The bound under "warn": one warning, no error, and one gap entry that counts as soon as there is
    room.
    """
    with Spool.open(tmp_path, max_bytes=960, on_record_failure="warn") as spool:
        spool.record("q0", {"text": "x" * 900})
        with pytest.warns(RecordLossWarning, match="max_bytes") as warned:  # noqa: PT031 - one warning for all
            assert not spool.start("q1", {})
            assert not spool.record("q1", {"text": "x" * 900})
            assert not spool.start("q2", {"text": "x" * 900})
            assert not spool.end("q2", {"text": "x" * 900})
        assert len(warned) == 1
        assert warned[0].filename == __file__
        assert spool.stats().lost == 2
        assert spool.stats().refused == 4
        spool.rotate()
        remove_ingested(spool.path, spool.sealed())
        assert spool.record("q2", {})
        spool.rotate()
        (gap,) = sealed_entries(spool.path, "G")
        assert gap.payload["queries"] == 1
        assert gap.payload["records"] == 1
        assert gap.payload["causes"] == {"max_bytes": 3}
        row = gap.payload["query"]
        assert (row["query_type"], row["error_code"]) == ("GAP", "AUDIT_GAP_REFUSED")
        assert row["error_message"].startswith("1 statements may have run without a record")
        assert spool.stats().lost == 1


def test_each_outage_is_warned_of(tmp_path):
    """A record that got through after all ends the outage; the next one is another."""
    with Spool.open(tmp_path, max_bytes=2000, on_record_failure="warn") as spool:
        for number in range(2):
            with pytest.warns(RecordLossWarning, match="max_bytes"):
                assert not spool.start(f"q{number}", {"text": "x" * 3000})
            assert spool.record(f"q{number}", {})
        assert spool.stats().lost == 0


def test_a_fork_cannot_write_into_its_parents_journal(tmp_path):
    """A forked child gets an error that says what to do; its parent's journal and lock stay as they are."""
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                spool.start("q2", {})
            except SpoolForkedError:
                spool.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        (info,) = find_spools(tmp_path)
        assert info.alive
        (segment,) = (spool.path / "journal").iterdir()
        assert _kinds(segment) == [("S", "q1")]


def test_a_forked_child_does_not_keep_a_dead_driver_alive(tmp_path):
    """When the driver is gone its spool is dead, although a child of it lives on."""
    spool = Spool.open(tmp_path)
    (born, say_born), (end, say_end) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(say_end)
        os.write(say_born, b".")
        os.read(end, 1)
        os._exit(0)
    os.read(born, 1)
    abandon(spool)
    (info,) = find_spools(tmp_path)
    assert not info.alive
    for descriptor in (born, say_born, end, say_end):
        os.close(descriptor)
    os.waitpid(child, 0)


def test_a_closed_spool_says_so(tmp_path):
    """After close() everything raises SpoolClosedError, and nothing open is left of a finished driver."""
    spool = Spool.open(tmp_path)
    spool.record("q1", {})
    spool.close()
    spool.close()
    with pytest.raises(SpoolClosedError):
        spool.start("q2", {})
    assert not list((spool.path / "journal").iterdir())
    assert records(spool.path) == {"q1": 1}


def test_close_leaves_the_unfinished_to_recovery(tmp_path):
    """A statement that still runs at close() becomes INCOMPLETE."""
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        spool.record("q2", {})
    assert recover(spool.path, complete).incomplete == ("q1",)
    assert records(spool.path) == {"q1": 1, "q2": 1}


def test_ids_and_times_are_passed_in(tmp_path):
    """The driver id and meta.json come from the clock and ids given."""
    clock = ManualClock(1_643_127_467_388_000)
    with Spool.open(tmp_path, clock=clock, ids=IdGenerator(clock, bytes), application_id="app-1") as spool:
        (info,) = find_spools(tmp_path)
        assert spool.driver_id == info.driver_id == "017e9207-6d7c-7000-8000-000000000000"
        assert info.meta["created"] == "2022-01-25T16:17:47.388000Z"
        assert info.meta["application_id"] == "app-1"
        assert info.version == 2


def test_a_root_that_is_a_file_is_named(tmp_path):
    """An unusable root is one clear error with its path."""
    (tmp_path / "root").write_text("")
    with pytest.raises(SpoolUnavailableError, match="root"):
        Spool.open(tmp_path / "root")
